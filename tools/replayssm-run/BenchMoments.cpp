//===- BenchMoments.cpp - What a timed launch finds -----------------------===//
#include "tools/replayssm-run/BenchMoments.h"
#include "tools/replayssm-run/Case.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace replayssm;
using namespace replayssm::run;

namespace {

constexpr int64_t traceSteps = 8;

class Planner {
public:
  Planner(const KernelSpec &spec, int64_t slots) : spec(spec), slots(slots) {}
  BenchPlan plan();

private:
  /// A moment at which all slots agree; returns its number.
  size_t at(int64_t wp, int64_t foldLen, int64_t accepted, bool isFlush = false);
  void column(std::string name, std::vector<size_t> moments) {
    result.columns.push_back({std::move(name), std::move(moments)});
  }
  void verify();
  void fold();
  void replay();
  void mix();

  const KernelSpec &spec;
  int64_t slots;
  BenchPlan result;
};

size_t Planner::at(int64_t wp, int64_t foldLen, int64_t accepted, bool isFlush) {
  auto all = [&](int64_t value) { return std::vector<int32_t>(slots, int32_t(value)); };
  result.moments.push_back({all(wp), all(0), all(foldLen), all(accepted), std::vector<int8_t>(slots, isFlush)});
  return result.moments.size() - 1;
}

void Planner::replay() {
  std::vector<size_t> cycle;
  for (int64_t wp = 0; wp < spec.L; ++wp)
    cycle.push_back(at(wp, 0, 1));
  column("cycle", cycle);
  column("middle", {cycle[cycle.size() / 2]});
  column("flush", {cycle.back()});
}

void Planner::verify() {
  if (spec.flushAt == FlushAt::EveryCommit)
    return column("window", {at(0, 0, spec.T)});
  if (spec.flushAt == FlushAt::Verify) {
    mix();
    column("history " + std::to_string(spec.L - 2 * spec.Tmax), {at(spec.L - 2 * spec.Tmax, 0, spec.T)});
    return column("all flush " + std::to_string(spec.L - spec.Tmax), {at(spec.L - spec.Tmax, 0, spec.T, true)});
  }
  std::vector<int64_t> histories = {0, std::min(spec.L / 2, spec.L - spec.Tmax), spec.L - spec.Tmax};
  histories.erase(std::unique(histories.begin(), histories.end()), histories.end());
  for (int64_t wp : histories)
    column("history " + std::to_string(wp), {at(wp, 0, spec.T)});
}

void Planner::fold() {
  bool isEvery = spec.flushAt == FlushAt::EveryCommit;
  int64_t most = isEvery ? spec.T : spec.L;
  if (!isEvery)
    mix();
  if (most > 1)
    column("fold " + std::to_string(most / 2), {at(0, most / 2, 0)});
  column("fold " + std::to_string(most), {at(0, most, 0)});
}

/// The cursors by their rule, once the start is forgotten.
void Planner::mix() {
  std::vector<size_t> steps;
  for (int64_t i = 0; i < traceSteps; ++i)
    steps.push_back(at(0, 0, 0));
  for (int64_t slot = 0; slot < slots; ++slot) {
    std::mt19937_64 rng(uint64_t(slot) + 1);
    std::uniform_real_distribution<double> uniform(0, 1);
    int64_t wp = 0, base = 0, isFlush = 0, warmUp = 2 * spec.L + int64_t(rng() % uint64_t(spec.L));
    for (int64_t step = -warmUp; step < traceSteps; ++step) {
      int64_t n = 1, foldLen = 0, before = wp, flushed = isFlush, baseBefore = base;
      while (n < spec.T && uniform(rng) < 0.7)
        ++n;
      if (spec.flushAt == FlushAt::Verify) {
        base = flushed ? (base + wp) % spec.L : base;
        wp = flushed ? n : wp + n;
        isFlush = wp + 2 * spec.Tmax > spec.L;
      } else {
        foldLen = wp + n + spec.Tmax > spec.L ? wp + n : 0;
        wp = foldLen ? 0 : wp + n;
      }
      if (step < 0)
        continue;
      BenchMoment &moment = result.moments[steps[step]];
      moment.wp[slot] = int32_t(before);
      moment.base[slot] = int32_t(baseBefore);
      moment.isFlush[slot] = int8_t(flushed);
      moment.foldLen[slot] = int32_t(foldLen);
      moment.accepted[slot] = int32_t(n);
    }
  }
  column("mix", steps);
}

BenchPlan Planner::plan() {
  switch (spec.phase) {
  case Phase::Replay:
    replay();
    break;
  case Phase::Verify:
    verify();
    break;
  case Phase::Fold:
    fold();
    break;
  case Phase::InputReplay:
    if (spec.T > 1)
      column("accepted " + std::to_string(spec.T / 2), {at(0, 0, spec.T / 2)});
    column("accepted " + std::to_string(spec.T), {at(0, 0, spec.T)});
    break;
  case Phase::Compact: {
    int64_t moved = std::max<int64_t>(spec.T / 2, 1);
    column("moved " + std::to_string(moved), {at(0, 0, moved)});
    break;
  }
  case Phase::Packed:
  case Phase::Cursors:
  case Phase::Snapshots:
  case Phase::Reset:
    column("us", {at(0, 0, spec.T)});
    break;
  }
  return std::move(result);
}

/// Bytes of tensors of one token or record, all heads.
struct Sizes {
  explicit Sizes(const KernelSpec &s) {
    double io = byteWidth(s.io), GK = double(s.gateDim());
    gates = s.HV * (GK * byteWidth(s.aType()) + byteWidth(s.bType()));
    token = io * double(2 * s.H * s.K + 2 * s.HV * s.V) + gates;
    recurrence = io * double(s.H * s.K + s.HV * s.V) + gates; // neither q nor o
    state = double(s.HV * s.V * s.K) * byteWidth(s.state);
    double g = 4 * s.HV * GK, delta = 4 * double(s.H * s.K + s.HV * s.V);
    double raw = io * double(s.H * s.K + s.HV * s.V) + 4.0 * s.HV;
    record = delta + g;
    rawRecord = raw + g;
    stored = g + (s.storesDelta() ? delta : 0) + (s.storesRaw() ? raw : 0);
  }
  double gates, token, recurrence, state;
  double record, rawRecord; ///< Read as d, k, g; as raw inputs.
  double stored;
};

Traffic rowTraffic(const KernelSpec &spec, const Sizes &size, const BenchMoment &m, size_t slot) {
  double wp = m.wp[slot], T = double(spec.T);
  bool folds = false;
  switch (spec.phase) {
  case Phase::Packed:
    return {size.token, size.state};
  case Phase::Replay:
    folds = m.wp[slot] >= spec.L - 1;
    return {(folds ? 0 : size.state) + size.token + size.record * (wp + (folds ? 0 : 1)), folds ? size.state : 0};
  case Phase::Verify:
    folds = m.isFlush[slot];
    return {(folds ? 0 : size.state) + T * size.token + wp * size.record + T * size.stored +
                (folds && spec.storesRaw() ? wp * (size.rawRecord - 4.0 * spec.HV * spec.gateDim()) : 0),
            folds ? size.state : 0};
  case Phase::Fold:
    return {m.foldLen[slot] * (spec.storesRaw() ? size.rawRecord : size.record), m.foldLen[slot] ? size.state : 0};
  case Phase::InputReplay:
    return {m.accepted[slot] * size.recurrence, size.state};
  case Phase::Snapshots: // one state read, T written: so many bytes as (T + 1) / 2 in place
    return {T * size.token, size.state * (T + 1) / 2};
  case Phase::Compact:
    return {0, m.accepted[slot] * size.stored};
  case Phase::Cursors:
  case Phase::Reset: // a mask
    return {4, 4};
  }
  __builtin_unreachable();
}

} // namespace

BenchPlan run::benchPlan(const KernelSpec &spec, int64_t slots) { return Planner(spec, slots).plan(); }

Traffic run::trafficOf(const KernelSpec &spec, const BenchMoment &moment) {
  Sizes size(spec);
  Traffic sum;
  for (size_t slot = 0; slot < moment.wp.size(); ++slot) {
    Traffic row = rowTraffic(spec, size, moment, slot);
    sum.oneWay += row.oneWay / double(moment.wp.size());
    sum.update += row.update / double(moment.wp.size());
  }
  return sum;
}
