//===- Drift.cpp - Errors of a kernel over many flushes -------------------===//
//
// The device runs a block of steps, then the models of all (row, head) catch up.
// The state of the kernel is its checkpoint with its ring, applied in fp64. One
// step errors are taken cycle by cycle, from the ring that a fold leaves behind.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Drift.h"
#include "tools/replayssm-run/Compare.h"
#include "tools/replayssm-run/DriftCycle.h"
#include "tools/replayssm-run/DriftDevice.h"
#include "tools/replayssm-run/HostMemory.h"

#include <chrono>
#include <cmath>

using namespace replayssm;
using namespace replayssm::run;

void ErrorStat::add(double error) {
  squares += error * error;
  if (!(error <= max))
    max = std::isnan(error) ? INFINITY : error;
  ++count;
}
void ErrorStat::add(const ErrorStat &other) {
  squares += other.squares;
  max = std::max(max, other.max);
  count += other.count;
}
double ErrorStat::rms() const { return count ? std::sqrt(squares / double(count)) : 0; }

namespace {

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One (row, value head).
struct Head {
  int64_t row, hv;
  Recurrence<double> exact;
  Recurrence<float> recurrence;
  OpenLoop control;
  DriftCycle open;
};

class Drift {
public:
  Drift(Device &device, const KernelSpec &spec, const DriftOptions &options)
      : device(device), spec(spec), options(options) {}
  Result<DriftReport> run();

private:
  Status create();
  Status block(int64_t from, int64_t steps);
  void follow(Head &head, int64_t from, int64_t steps, const std::vector<DriftSnapshot> &folds,
              std::vector<DriftCycle> &closed) const;
  void close(Head &head, const DriftSnapshot &snapshot, std::vector<DriftCycle> &closed) const;
  void take(DriftCycle &cycle);
  Status checkpoint(int64_t steps);
  void compareStates(Head &head, const DriftSnapshot &snapshot, int64_t wp);
  void judge();

  std::vector<float> stateOf(const DriftSnapshot &snapshot, int64_t hv) const;
  RingRecords recordsOf(const DriftSnapshot &snapshot, int64_t hv) const;

  Device &device;
  KernelSpec spec;
  DriftOptions options;
  std::optional<DriftDevice> kernels;
  std::vector<DriftWindow> windows;
  std::vector<DriftInputs> inputs;
  std::vector<Head> heads;
  DriftPoint current;
  DriftReport report;
};

std::vector<float> Drift::stateOf(const DriftSnapshot &snapshot, int64_t hv) const {
  std::vector<float> state(spec.K * spec.V);
  const float *stored = &snapshot.state[hv * spec.V * spec.K];
  for (int64_t v = 0; v < spec.V; ++v)
    for (int64_t c = 0; c < spec.K; ++c)
      state[c * spec.V + v] = stored[v * spec.K + c];
  return state;
}

RingRecords Drift::recordsOf(const DriftSnapshot &snapshot, int64_t hv) const {
  auto part = [&](const std::vector<float> &all, int64_t head, int64_t n) {
    auto begin = all.begin() + head * spec.L * n;
    return std::vector<float>(begin, begin + spec.L * n);
  };
  return {part(snapshot.d, hv, spec.V), part(snapshot.k, hv / (spec.HV / spec.H), spec.K),
          part(snapshot.g, hv, spec.gateDim())};
}

Status Drift::create() {
  RSSM_RETURN_IF_ERROR(expectHostMemory("drift: the steps of " + std::to_string(options.cycles) + " cycles",
                                        driftWindowBytes(spec, options)));
  auto created = DriftDevice::create(device, spec, options);
  if (!created)
    return created.status();
  kernels.emplace(created.take());
  windows = driftWindows(spec, options);
  report.steps = int64_t(windows.size()) / options.rows;
  for (int64_t row = 0; row < options.rows; ++row) {
    inputs.emplace_back(spec, options, row);
    auto snapshot = kernels->snapshot(0, row);
    if (!snapshot)
      return snapshot.status();
    for (int64_t hv = 0; hv < spec.HV; ++hv) {
      std::vector<float> state = stateOf(*snapshot, hv);
      std::vector<double> wide(state.begin(), state.end());
      DriftCycle open;
      open.checkpoint = state;
      heads.push_back({row, hv, {spec, wide}, {spec, state}, {spec, wide}, std::move(open)});
    }
  }
  for (const DriftWindow &w : windows) {
    bool isFull = spec.phase == Phase::Replay ? w.wp >= spec.L - 1 : w.wp + w.accepted + spec.Tmax > spec.L;
    report.flushes += w.folds > 0;
    report.forced += w.folds > 0 && !isFull;
  }
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Drift::close(Head &head, const DriftSnapshot &snapshot, std::vector<DriftCycle> &closed) const {
  head.open.records = recordsOf(snapshot, head.hv);
  DriftCycle next;
  next.checkpoint = stateOf(snapshot, head.hv);
  closed.push_back(std::exchange(head.open, std::move(next)));
}

/// The models see the accepted tokens of a block.
void Drift::follow(Head &head, int64_t from, int64_t steps, const std::vector<DriftSnapshot> &folds,
                   std::vector<DriftCycle> &closed) const {
  for (int64_t step = 0; step < steps; ++step) {
    const DriftWindow &w = windows[(from + step) * options.rows + head.row];
    for (int64_t t = 0; t < w.accepted; ++t) {
      int64_t index = kernels->firstToken(step, head.row) + t;
      AcceptedToken accepted{kernels->token(index, head.hv), {}, kernels->output(index, head.hv), w.wp, t == 0,
                             spec.phase != Phase::Replay || !w.folds};
      const reference::Token &inputs = accepted.token;
      for (int64_t c = 0; c < spec.gateDim(); ++c)
        accepted.gates.push_back(reference::gate(spec, inputs.a[c], inputs.aLog, inputs.dtBias[c]));
      ModelToken<double> token(spec, inputs, accepted.gates);
      head.exact.step(token);
      head.recurrence.step(ModelToken<float>(spec, inputs, accepted.gates));
      head.control.step(token);
      head.open.tokens.push_back(std::move(accepted));
    }
    if (!w.folds)
      continue;
    head.control.fold();
    for (const DriftSnapshot &snapshot : folds)
      if (snapshot.step == step && snapshot.row == head.row)
        close(head, snapshot, closed);
  }
}

/// The one-step errors of a cycle go into the next checkpoint.
void Drift::take(DriftCycle &cycle) {
  for (auto [from, into] : {std::pair(&cycle.dKernel, &current.dKernel), {&cycle.dRing, &current.dRing},
                            {&cycle.oKernel, &current.oKernel}, {&cycle.oRing, &current.oRing}})
    into->add(std::exchange(*from, ErrorStat()));
}

Status Drift::block(int64_t from, int64_t steps) {
  auto start = Clock::now();
  auto folds = kernels->run(&windows[from * options.rows], steps, inputs);
  report.deviceSeconds += secondsSince(start);
  if (!folds)
    return folds.status();
  std::vector<std::vector<DriftCycle>> closed(heads.size());
  parallelFor(int64_t(heads.size()), [&](int64_t i) { follow(heads[i], from, steps, *folds, closed[i]); },
              /*least=*/2);
  std::vector<DriftCycle *> cycles;
  for (std::vector<DriftCycle> &ofHead : closed)
    for (DriftCycle &cycle : ofHead)
      cycles.push_back(&cycle);
  parallelFor(int64_t(cycles.size()), [&](int64_t i) { compareCycle(spec, *cycles[i]); }, /*least=*/2);
  for (DriftCycle *cycle : cycles)
    take(*cycle);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

void Drift::compareStates(Head &head, const DriftSnapshot &snapshot, int64_t wp) {
  std::vector<float> stored = stateOf(snapshot, head.hv);
  head.open.records = recordsOf(snapshot, head.hv);
  compareCycle(spec, head.open);
  take(head.open);
  Recurrence<double> state(spec, {stored.begin(), stored.end()});
  applyRecords(spec, state, head.open.records, 0, wp);
  // As if every ring were folded here.
  OpenLoop control = head.control;
  control.fold();
  auto errorOf = [&](const auto &of) { return relativeError({of.begin(), of.end()}, head.exact.state()); };
  double kernelError = errorOf(state.state()), recurrenceError = errorOf(head.recurrence.state());
  current.kernel.add(kernelError);
  current.recurrence.add(recurrenceError);
  current.control.add(errorOf(control.state()));
  double ratio = kernelError / recurrenceError;
  current.worstRatio = std::isnan(ratio) ? INFINITY : std::max(current.worstRatio, ratio);
}

/// Behind `steps` steps.
Status Drift::checkpoint(int64_t steps) {
  current.tokens = INT64_MAX;
  for (int64_t row = 0; row < options.rows; ++row) {
    const DriftWindow &last = windows[(steps - 1) * options.rows + row];
    int64_t wp = last.folds ? 0 : last.wp + last.accepted, tokens = 0;
    for (int64_t step = 0; step < steps; ++step)
      tokens += windows[step * options.rows + row].accepted;
    current.tokens = std::min(current.tokens, tokens);
    auto snapshot = kernels->snapshot(steps, row);
    auto cursor = kernels->cursor(row);
    if (!snapshot || !cursor)
      return snapshot ? cursor.status() : snapshot.status();
    if (*cursor != wp)
      report.violations.push_back("row " + std::to_string(row) + ": expected wp to be " + std::to_string(wp) +
                                  " but got " + std::to_string(*cursor));
    for (int64_t hv = 0; hv < spec.HV; ++hv)
      compareStates(heads[row * spec.HV + hv], *snapshot, wp);
  }
  report.points.push_back(current);
  current = DriftPoint();
  return Status::ok();
}

void Drift::judge() {
  auto fail = [&](const std::string &what, double bound, double got) {
    char text[256];
    std::snprintf(text, sizeof text, "%s: expected at most %.3g but got %.3g", what.c_str(), bound, got);
    report.violations.push_back(text);
  };
  // Written so that NaN fails.
  auto limit = [&](const std::string &what, double value, double bound) {
    if (!(value <= bound))
      fail(what, bound, value);
  };
  double early = 0, late = 0;
  size_t third = std::max<size_t>(1, report.points.size() / 3);
  for (size_t i = 0; i < report.points.size(); ++i) {
    const DriftPoint &point = report.points[i];
    std::string at = "token " + std::to_string(point.tokens) + ": ";
    limit(at + "state error over that of the f32 recurrence", point.worstRatio, driftStateBound);
    limit(at + "rms error of d over that of the f32 ring form", point.dKernel.rms() / point.dRing.rms(),
          driftDeltaBound);
    limit(at + "largest error of d over that of the f32 ring form", point.dKernel.max / point.dRing.max,
          driftDeltaBound);
    double ratio = point.kernel.rms() / point.recurrence.rms();
    early += i < third ? ratio / double(third) : 0;
    late += i + third >= report.points.size() ? ratio / double(third) : 0;
  }
  if (report.points.size() >= 6)
    limit("growth of the ratio of state errors, last third over first third", late / early, driftGrowthBound);
  // A test that the fault passes is none.
  const DriftPoint &last = report.points.back();
  if (!(last.control.rms() > driftStateBound * last.recurrence.rms()))
    report.violations.push_back("the open-loop control passes: this run could not see the fault");
}

Result<DriftReport> Drift::run() {
  auto start = Clock::now();
  RSSM_RETURN_IF_ERROR(create());
  int64_t points = std::min(options.checkpoints, options.cycles), done = 0;
  for (int64_t point = 1; point <= points; ++point) {
    int64_t until = report.steps * point / points;
    for (; done < until; done = std::min(until, done + DriftDevice::blockSteps))
      RSSM_RETURN_IF_ERROR(block(done, std::min(until - done, DriftDevice::blockSteps)));
    RSSM_RETURN_IF_ERROR(checkpoint(done));
  }
  judge();
  report.spec = print(spec);
  report.options = options;
  report.title = std::string(name(spec.rule)) + " " + name(spec.phase);
  if (spec.phase == Phase::Verify)
    report.title += " T=" + std::to_string(spec.T) + ", fold " + name(spec.fold);
  report.title += options.noDecay ? ", alpha = 1" : ", alpha near 1";
  report.seconds = secondsSince(start);
  return std::move(report);
}

} // namespace

Result<DriftReport> run::runDriftCase(Device &device, const KernelSpec &spec, const DriftOptions &options) {
  return Drift(device, spec, options).run();
}
