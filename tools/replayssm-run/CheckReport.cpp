//===- CheckReport.cpp - A report of check as text and as JSON ------------===//
#include "tools/replayssm-run/Check.h"

#include <cmath>
#include <cstdio>

using namespace replayssm;
using namespace replayssm::run;

std::string run::quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
  }
  return result + "\"";
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string run::toText(const CheckReport &report) {
  std::string text;
  for (const Metric *metric : report.metrics()) {
    if (metric->count == 0)
      continue;
    char line[256];
    std::snprintf(line, sizeof line, "    %-17s %10.3g  bound %-9.3g (%.2f of it)  %lld checked\n",
                  metric->name.c_str(), metric->max, metric->bound, metric->worstRatio,
                  static_cast<long long>(metric->count));
    text += line;
  }
  for (const std::string &violation : report.firstViolations)
    text += "    FAILED: " + violation + "\n";
  return text;
}

std::string run::toJson(const CheckReport &report) {
  std::string json = "{\"steps\": " + std::to_string(report.steps) +
                     ", \"violations\": " + std::to_string(report.violations);
  for (auto [name, value] : {std::pair{"digest", report.digest}, {"buffers", report.buffers}}) {
    char text[32];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    json += std::string(", \"") + name + "\": \"" + text + "\"";
  }
  auto ofKernel = [&](int value) { return report.hasRegisters ? std::to_string(value) : "null"; };
  json += ", \"registers\": " + ofKernel(report.resources.registers) +
          ", \"local_bytes\": " + ofKernel(report.resources.localBytes) +
          ", \"shared_bytes\": " + std::to_string(report.resources.sharedBytes);
  json += ", \"metrics\": {";
  bool first = true;
  for (const Metric *metric : report.metrics()) {
    if (metric->count == 0)
      continue;
    json += std::string(first ? "" : ", ") + quoted(metric->name) + ": {\"max\": " +
            (std::isfinite(metric->max) ? number(metric->max) : "null") + ", \"of_bound\": " +
            (metric->worstRatio > 1e300 ? "null" : number(metric->worstRatio)) +
            ", \"count\": " + std::to_string(metric->count) + "}";
    first = false;
  }
  json += "}, \"failures\": [";
  for (size_t i = 0; i < report.firstViolations.size(); ++i)
    json += (i ? ", " : "") + quoted(report.firstViolations[i]);
  return json + "]}";
}
