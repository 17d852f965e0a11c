//===- DriftPlot.cpp - State errors over tokens as an SVG -----------------===//
#include "tools/replayssm-run/Drift.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

using namespace replayssm;
using namespace replayssm::run;

namespace {

constexpr double panelWidth = 460, panelHeight = 280, left = 62, top = 34, right = 14, bottom = 40;

[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...) {
  char text[512];
  va_list list;
  va_start(list, pattern);
  std::vsnprintf(text, sizeof text, pattern, list);
  va_end(list);
  return text;
}

struct Curve {
  const char *label, *color;
  const ErrorStat DriftPoint::*field;
};
const Curve curves[] = {{"kernel", "#1f77b4", &DriftPoint::kernel},
                        {"f32 recurrence", "#2ca02c", &DriftPoint::recurrence},
                        {"open-loop bf16 inverse (control)", "#d62728", &DriftPoint::control}};

std::string textAt(double x, double y, const char *anchor, const std::string &text) {
  return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + text + "</text>\n";
}

/// The decades that the errors of all panels lie in.
std::pair<int, int> decades(const std::vector<DriftReport> &reports) {
  double low = 1e300, high = 0;
  for (const DriftReport &report : reports)
    for (const DriftPoint &point : report.points)
      for (const Curve &curve : curves)
        if (double value = (point.*curve.field).rms(); value > 0 && std::isfinite(value)) {
          low = std::min(low, value);
          high = std::max(high, value);
        }
  if (high == 0)
    return {-8, 0};
  int first = int(std::floor(std::log10(low)));
  return {first, std::max(first + 1, int(std::ceil(std::log10(high))))};
}

std::string panel(const DriftReport &report, double x0, double y0, std::pair<int, int> range) {
  double width = panelWidth - left - right, height = panelHeight - top - bottom;
  double last = report.points.empty() ? 1 : double(report.points.back().tokens);
  auto xOf = [&](double tokens) { return x0 + left + width * tokens / last; };
  auto yOf = [&](double error) {
    double place = (std::log10(error) - range.first) / (range.second - range.first);
    return y0 + top + height * (1 - place);
  };
  std::string svg = textAt(x0 + left + width / 2, y0 + 20, "middle", report.title);
  for (int decade = range.first; decade <= range.second; ++decade) {
    double y = yOf(std::pow(10.0, decade));
    svg += format("<path d=\"M%.1f %.1fh%.1f\" stroke=\"#ddd\"/>\n", x0 + left, y, width);
    svg += textAt(x0 + left - 6, y + 4, "end", format("1e%d", decade));
  }
  for (int i = 0; i <= 4; ++i)
    svg += textAt(xOf(last * i / 4), y0 + panelHeight - bottom + 16, "middle", format("%.0f", last * i / 4));
  svg += textAt(x0 + left + width / 2, y0 + panelHeight - 6, "middle", "tokens");
  svg += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#444\"/>\n",
                x0 + left, y0 + top, width, height);
  for (const Curve &curve : curves) {
    std::string path;
    for (const DriftPoint &point : report.points)
      if (double value = (point.*curve.field).rms(); value > 0 && std::isfinite(value))
        path += format("%c%.1f %.1f", path.empty() ? 'M' : 'L', xOf(double(point.tokens)), yOf(value));
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke-width=\"1.6\" stroke=\"" + curve.color + "\"/>\n";
  }
  return svg;
}

} // namespace

std::string run::toSvg(const std::vector<DriftReport> &reports, const std::string &device) {
  int columns = reports.size() > 1 ? 2 : 1, rows = (int(reports.size()) + columns - 1) / columns;
  double width = columns * panelWidth, height = rows * panelHeight + 44;
  std::string svg = format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                           "font-family=\"sans-serif\" font-size=\"12\">\n"
                           "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", width, height);
  svg += textAt(left, 18, "start", "relative state error against fp64, " + device);
  double x = left;
  for (const Curve &curve : curves) {
    svg += format("<path d=\"M%.1f 32h20\" stroke-width=\"2\" stroke=\"%s\"/>\n", x, curve.color);
    svg += textAt(x + 26, 36, "start", curve.label);
    x += columns > 1 ? 200 : 130;
  }
  for (size_t i = 0; i < reports.size(); ++i)
    svg += panel(reports[i], double(i % columns) * panelWidth, 44 + double(i / columns) * panelHeight,
                 decades(reports));
  return svg + "</svg>\n";
}
