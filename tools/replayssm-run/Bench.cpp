//===- Bench.cpp - Timings of one kernel ----------------------------------===//
//
// Graph replay, slots rotating over a pool several times the L2, means over the
// moments of a plan, beside the card's own streams of the same bytes in the same
// run. Ratios are what counts; absolutes vary between cards.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Bench.h"

#include <algorithm>
#include <cmath>

using namespace replayssm;
using namespace replayssm::run;

/// Bytes that are only read or written: between the fewest and the most as timed;
/// beside bytes in place by their share of the fewest.
Result<std::vector<double>> Bench::floors(Buffer &pool, const CompileOptions &compile) const {
  std::vector<Traffic> all;
  double fewest = 0, most = 0, mostInPlace = 0;
  for (const BenchMoment &moment : plan.moments) {
    Traffic one = trafficOf(spec, moment);
    all.push_back({one.oneWay * rows * layers, one.update * rows * layers});
    mostInPlace = std::max(mostInPlace, all.back().update);
    if (one.update > 0)
      continue;
    fewest = most > 0 ? std::min(fewest, all.back().oneWay) : all.back().oneWay;
    most = std::max(most, all.back().oneWay);
  }
  // A few bytes say nothing about the speed of a stream: with those of the states.
  double stateBytes = double(layers * rows * spec.HV * spec.V * spec.K) * byteWidth(spec.state);
  auto stream = [&](double bytes, bool update) -> Result<double> {
    return bytes > 0 ? timeStream(*device, pool, uint64_t(bytes), update, compile) : Result<double>(0.0);
  };
  auto readFewest = stream(fewest, false), readMost = stream(most, false), inPlace = stream(mostInPlace, true);
  auto readStates = stream(stateBytes + fewest, false);
  for (const Result<double> *time : {&readFewest, &readMost, &inPlace, &readStates})
    if (!*time)
      return time->status();
  std::vector<double> floors;
  for (const Traffic &bytes : all) {
    double share = most > fewest ? (bytes.oneWay - fewest) / (most - fewest) : 0;
    double alone = *readFewest + share * (*readMost - *readFewest);
    double beside = bytes.oneWay * *readStates / (stateBytes + fewest);
    floors.push_back(bytes.update > 0 ? *inPlace * bytes.update / mostInPlace + beside : alone);
  }
  return floors;
}

Timing Bench::timingOf(std::vector<double> times, const std::vector<double> &floors) const {
  Timing timing;
  timing.spec = print(spec);
  timing.rows = rows;
  timing.layers = layers;
  for (const BenchColumn &column : plan.columns) {
    Column mean;
    mean.name = column.name;
    for (size_t i : column.moments) {
      double share = 1 / double(column.moments.size());
      Traffic bytes = trafficOf(spec, plan.moments[i]);
      mean.time += times[i] * share;
      mean.floor += floors[i] * share;
      mean.bytes.oneWay += bytes.oneWay * rows * layers * share;
      mean.bytes.update += bytes.update * rows * layers * share;
    }
    timing.columns.push_back(mean);
  }
  timing.moments = std::move(times);
  return timing;
}

Result<Timing> Bench::run(Kernel &kernel, Buffer &pool, const CompileOptions &compile) {
  std::vector<double> times;
  for (size_t i = 0; i < plan.moments.size(); ++i) {
    auto args = launchArgs(kernel, i);
    if (!args)
      return args.status();
    auto time = timeLaunches(*device, std::max<int64_t>(sets, 8), [&](int64_t launch) {
      return kernel.launch((*args)[launch % sets], uint32_t(rows), uint32_t(layers));
    });
    if (!time)
      return time.status();
    times.push_back(*time);
  }
  auto floors = this->floors(pool, compile);
  if (!floors)
    return floors.status();
  return timingOf(std::move(times), *floors);
}

Result<Timing> Bench::dryRun(Kernel &kernel) {
  for (const BenchColumn &column : plan.columns) {
    size_t last = column.moments.back();
    auto args = launchArgs(kernel, last);
    if (!args)
      return args.status();
    RSSM_RETURN_IF_ERROR(kernel.launch(args->back(), uint32_t(rows), uint32_t(layers)));
  }
  RSSM_RETURN_IF_ERROR(device->synchronize());
  std::vector<double> unknown(plan.moments.size(), NAN);
  return timingOf(unknown, unknown);
}
