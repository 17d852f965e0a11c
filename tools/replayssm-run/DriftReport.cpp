//===- DriftReport.cpp - A drift report as table, Markdown and JSON -------===//
#include "tools/replayssm-run/Drift.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace replayssm;
using namespace replayssm::run;

[[gnu::format(printf, 1, 2)]] static std::string format(const char *pattern, ...) {
  char text[512];
  va_list list;
  va_start(list, pattern);
  std::vsnprintf(text, sizeof text, pattern, list);
  va_end(list);
  return text;
}

std::string run::toText(const DriftReport &report) {
  std::string text = format("%s %s  rows %lld, %lld steps, %lld flushes (%lld forced), %.1f s (device %.1f s)\n  %s\n",
                            report.violations.empty() ? "PASS" : "FAIL", report.title.c_str(),
                            static_cast<long long>(report.options.rows), static_cast<long long>(report.steps),
                            static_cast<long long>(report.flushes), static_cast<long long>(report.forced),
                            report.seconds, report.deviceSeconds, report.spec.c_str());
  text += "            state error (rms over heads)                  d, one step       out, one step\n"
          "    tokens    kernel       f32  worst/f32  open loop   kernel  f32 ring    kernel  f32 ring\n";
  for (const DriftPoint &p : report.points)
    text += format("  %8lld  %8.2e  %8.2e  %9.2f  %9.2e  %7.1e  %8.1e   %7.1e  %8.1e\n",
                   static_cast<long long>(p.tokens), p.kernel.rms(), p.recurrence.rms(), p.worstRatio,
                   p.control.rms(), p.dKernel.rms(), p.dRing.rms(), p.oKernel.rms(), p.oRing.rms());
  for (size_t i = 0; i < report.violations.size() && i < 8; ++i)
    text += "    FAILED: " + report.violations[i] + "\n";
  return text;
}

std::string run::toMarkdown(const std::vector<DriftReport> &reports, const std::string &device) {
  std::string text = "# Drift on " + device + "\n\n" +
                     format("State errors against fp64 (rms over heads) at the last checkpoint; worst = the largest ratio to "
                            "the f32 recurrence of the same tokens, of one head at any checkpoint (bound %.3g); open loop = "
                            "records from an inverse kept in bf16, which has to fail. d = one-step error over that of the "
                            "same ring form in f32, the largest at any checkpoint (bound %.3g).\n\n",
                            driftStateBound, driftDeltaBound) +
                     "| case | tokens | flushes | state | f32 | worst | open loop | d | result |\n"
                     "|---|--:|--:|--:|--:|--:|--:|--:|---|\n";
  for (const DriftReport &report : reports) {
    double worst = 0, delta = 0;
    for (const DriftPoint &p : report.points) {
      worst = std::max(worst, p.worstRatio);
      delta = std::max(delta, p.dKernel.rms() / p.dRing.rms());
    }
    const DriftPoint &last = report.points.back();
    text += format("| %s | %lld | %lld | %.2e | %.2e | %.2f | %.2e | %.2f | %s |\n", report.title.c_str(),
                   static_cast<long long>(last.tokens),
                   static_cast<long long>(report.flushes / report.options.rows), last.kernel.rms(),
                   last.recurrence.rms(), worst, last.control.rms(), delta,
                   report.violations.empty() ? "holds" : "VIOLATED");
  }
  return text;
}

/// JSON has no infinity.
static std::string number(double value) {
  return value < 1e300 ? format("%.6g", value) : std::string("null");
}

std::string run::toJson(const DriftReport &report) {
  auto stat = [](const char *key, const ErrorStat &value) {
    return format("\"%s\": {\"rms\": ", key) + number(value.rms()) + ", \"max\": " + number(value.max) + "}";
  };
  std::string json = "{\"title\": \"" + report.title + "\", \"spec\": \"" + report.spec + "\"" +
                     format(", \"rows\": %lld, \"steps\": %lld, \"cycles\": %lld, \"flushes\": %lld, \"forced\": %lld, \"points\": [",
                            static_cast<long long>(report.options.rows), static_cast<long long>(report.steps),
                            static_cast<long long>(report.options.cycles),
                            static_cast<long long>(report.flushes), static_cast<long long>(report.forced));
  for (size_t i = 0; i < report.points.size(); ++i) {
    const DriftPoint &p = report.points[i];
    json += format("%s\n    {\"tokens\": %lld, ", i ? "," : "", static_cast<long long>(p.tokens)) +
            stat("state", p.kernel) + ", " + stat("state_f32", p.recurrence) + ", " +
            stat("state_open_loop", p.control) + ", \"worst_ratio\": " + number(p.worstRatio) + ", " +
            stat("d", p.dKernel) + ", " + stat("d_f32_ring", p.dRing) + ", " + stat("out", p.oKernel) +
            ", " + stat("out_f32_ring", p.oRing) + "}";
  }
  json += "], \"failures\": [";
  for (size_t i = 0; i < report.violations.size(); ++i)
    json += (i ? ", \"" : "\"") + report.violations[i] + "\"";
  return json + "]}";
}
