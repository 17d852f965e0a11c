//===- DriftReport.cpp - replayssm-run drift: cases, table and JSON -------===//
#include "tools/replayssm-run/Drift.h"

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
  std::string text = format("%s %s  rows %lld, %lld flushes (%lld forced), %.1f s\n  %s\n",
                            report.violations.empty() ? "PASS" : "FAIL", report.title.c_str(),
                            static_cast<long long>(report.options.rows),
                            static_cast<long long>(report.flushes),
                            static_cast<long long>(report.forced), report.seconds, report.spec.c_str());
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

/// JSON has no infinity.
static std::string number(double value) {
  return value < 1e300 ? format("%.6g", value) : std::string("null");
}

std::string run::toJson(const DriftReport &report) {
  auto stat = [](const char *key, const ErrorStat &value) {
    return format("\"%s\": {\"rms\": ", key) + number(value.rms()) + ", \"max\": " + number(value.max) + "}";
  };
  std::string json = "{\"title\": \"" + report.title + "\", \"spec\": \"" + report.spec + "\"" +
                     format(", \"rows\": %lld, \"cycles\": %lld, \"flushes\": %lld, \"forced\": %lld, \"points\": [",
                            static_cast<long long>(report.options.rows),
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

namespace {
/// Small on the host device, which runs every thread of every block.
const char *const hostSpecs[] = {"rule=gdn,phase=replay,H=1,HV=2,K=64,V=64,L=16",
                                 "rule=kda,phase=replay,H=1,HV=2,K=64,V=64,L=16"};
const char *const cudaSpecs[] = {"rule=gdn,phase=replay,H=2,HV=4,K=128,V=128,L=16",
                                 "rule=kda,phase=replay,H=4,HV=4,K=128,V=128,L=16"};

Result<std::vector<KernelSpec>> driftSpecs(const Options &options, bool isHost) {
  std::vector<std::string> texts;
  if (options.spec.empty())
    for (const char *text : isHost ? hostSpecs : cudaSpecs)
      texts.push_back(std::string(text) + ",gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,io=f32");
  else
    texts.push_back(options.spec);
  std::vector<KernelSpec> specs;
  for (const std::string &text : texts) {
    auto spec = parseKernelSpec(text);
    if (!spec)
      return spec.status();
    // The inputs are made for these, and the bounds are those of f32 states.
    if (spec->phase != Phase::Replay || spec->L < 2 || spec->state != DType::F32 ||
        spec->gate != Gate::Softplus || spec->beta == Beta::Precomputed || spec->betaFactor != 1)
      return Status(StatusCode::Unsupported,
                    "drift: expected phase=replay, L > 1, state=f32, gate=softplus, beta from a sigmoid "
                    "and beta_factor=1 but got " + text);
    specs.push_back(*spec);
  }
  return specs;
}

Result<bool> runAll(const Options &options) {
  auto device = openDevice(options);
  if (!device)
    return device.status();
  auto specs = driftSpecs(options, device->isHost());
  if (!specs)
    return specs.status();
  std::printf("device: %s\n", device->name().c_str());
  std::vector<DriftReport> reports;
  std::string json = "{\"device\": \"" + device->name() + "\", \"cases\": [";
  bool ok = true;
  for (const KernelSpec &spec : *specs)
    for (bool noDecay : {false, true}) {
      DriftOptions drift;
      drift.rows = options.rows.empty() ? (device->isHost() ? 1 : 4) : options.rows[0];
      drift.cycles = options.cycles ? options.cycles : device->isHost() ? 50 : 1000;
      drift.seed = options.seed;
      drift.noDecay = noDecay;
      auto report = runDriftCase(*device, spec, drift);
      if (!report)
        return report.status();
      ok &= report->violations.empty();
      std::printf("%s", toText(*report).c_str());
      std::fflush(stdout);
      json += (reports.empty() ? "\n  " : ",\n  ") + toJson(*report);
      reports.push_back(report.take());
    }
  if (!options.jsonPath.empty())
    RSSM_RETURN_IF_ERROR(writeFile(options.jsonPath, json + "\n]}\n"));
  if (!options.svgPath.empty())
    RSSM_RETURN_IF_ERROR(writeFile(options.svgPath, toSvg(reports, device->name())));
  std::printf("bounds: state %.3g x the f32 recurrence at every checkpoint, its ratio growing by %.3g at most; "
              "d %.3g x the f32 ring form. %s\n",
              driftStateBound, driftGrowthBound, driftDeltaBound, ok ? "All hold." : "VIOLATED");
  return ok;
}
} // namespace

int run::runDrift(const Options &options) {
  auto ok = runAll(options);
  if (!ok)
    std::fprintf(stderr, "replayssm-run: %s\n", ok.status().str().c_str());
  return ok && *ok ? 0 : 1;
}
