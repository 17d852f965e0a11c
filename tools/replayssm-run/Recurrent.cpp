//===- Recurrent.cpp - Snapshots and input replay against the oracle ------===//
//
// The recurrence run token by token, from what the kernel itself stored before.
// What nobody may read holds NaN: snapshots of earlier windows, tokens of no row,
// what lies between slots.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Verify.h"

#include <cmath>
#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

namespace {

class RecurrentChecker {
public:
  RecurrentChecker(Device &device, Kernel &kernel, const KernelSpec &spec, const CheckOptions &options,
                   Case created)
      : device(device), kernel(kernel), spec(spec), options(options), c(std::move(created)), windows(c),
        before(mirror(c)), rec(spec), storesAll(spec.phase == Phase::Snapshots) {}

  Result<CheckReport> run();

private:
  Status launch();
  void compareSnapshots(int64_t row, int64_t hv);
  void compareReplayed(int64_t row, int64_t hv);
  void allowSnapshots();
  void allowReplayed();
  void commit();
  int64_t headIndex(int64_t row, int64_t hv) const {
    return (c.layer() * options.rows + row) * spec.HV + hv;
  }
  template <typename F> void forEachLayer(F body) {
    for (int64_t layer = 0; layer < c.layers(); ++layer) {
      c.select(layer);
      before.select(layer);
      rec.select(layer);
      body();
    }
    rec.select(-1);
  }
  template <typename F> void forEachHead(F body) {
    parallelFor(options.rows * spec.HV, [&](int64_t i) {
      if (c.live(i / spec.HV))
        body(i / spec.HV, i % spec.HV);
    });
  }
  int64_t snapshotElements() const { return spec.HV * spec.V * spec.K; }

  Device &device;
  Kernel &kernel;
  KernelSpec spec;
  CheckOptions options;
  Case c; ///< Buffers after the launch.
  Windows windows;
  Case before; ///< Host mirrors before it (no device buffers).
  std::vector<std::vector<double>> trajectory; ///< [headIndex] fp64 state.
  std::vector<double> gateSum;                 ///< What gates may add to its error.
  std::vector<Rms> stateRms;
  Recorder rec;
  bool storesAll;
};

Result<CheckReport> RecurrentChecker::run() {
  size_t heads = c.layers() * options.rows * spec.HV;
  stateRms.resize(heads);
  gateSum.assign(heads, 0);
  if (spec.state == DType::F32 && !storesAll) {
    trajectory.resize(heads);
    forEachLayer([&] {
      forEachHead([&](int64_t row, int64_t hv) { trajectory[headIndex(row, hv)] = c.state(row, hv); });
    });
  }
  int64_t steps = options.steps ? options.steps : 8;
  for (int64_t i = 0; i < steps; ++i) {
    rec.stepIndex = i;
    windows.fill();
    if (storesAll)
      std::fill(c.arrays["snapshots"].host.begin(), c.arrays["snapshots"].host.end(), uint8_t(0xff));
    RSSM_RETURN_IF_ERROR(launch());
    forEachLayer([&] {
      forEachHead([&](int64_t row, int64_t hv) {
        storesAll ? compareSnapshots(row, hv) : compareReplayed(row, hv);
      });
      storesAll ? allowSnapshots() : allowReplayed();
    });
    rec.compareBytes(c, before);
    rec.digest(c.arrays[storesAll ? "out" : "state"]);
    commit();
  }
  if (spec.state == DType::F32)
    rec.summarise(stateRms, rec.report.stateRms, 6e-7);
  rec.report.steps = steps;
  rec.report.buffers = c.history;
  rec.takeResources(device, kernel);
  rec.digest(c.arrays["state"]);
  return std::move(rec.report);
}

/// Uploads everything, launches, downloads everything.
Status RecurrentChecker::launch() {
  RSSM_RETURN_IF_ERROR(c.upload());
  before = mirror(c);
  RSSM_RETURN_IF_ERROR(c.launch(device, kernel, &rec.report.launchSeconds));
  return c.download();
}

//===----------------------------------------------------------------------===//
// Snapshots
//===----------------------------------------------------------------------===//

/// Along a chain the state stays in registers. At another edge of a tree it comes
/// from where it was stored, rounded.
void RecurrentChecker::compareSnapshots(int64_t row, int64_t hv) {
  std::vector<reference::Token> tokens = windows.tokens(row, hv, windows.all(row));
  std::vector<double> committed = before.state(row, hv), slack;
  std::vector<std::vector<double>> after;
  for (int64_t t = 0; t < int64_t(tokens.size()); ++t) {
    std::string where = place(row, hv) + ", token " + std::to_string(t);
    int64_t parent = windows.parents(row)[t], slot = c.ringSlot(row);
    bool isEdge = parent >= 0 && parent != t - 1;
    after.push_back(parent < 0 ? committed
                    : isEdge && spec.state != DType::F32
                        ? c.stateOf("snapshots", slot, hv, parent * snapshotElements())
                        : after[parent]);
    reference::Step step = reference::step(spec, after[t], {}, tokens[t]);
    rec.compareOutput(c.arrays.at("out"), windows.first(row) + t, hv, step.o, norm(tokens[t].v), where);
    reference::advance(spec, after[t], step);
    slack.push_back((parent < 0 ? 0 : slack[parent]) + rec.gateSlack(tokens[t], step.g));
    double error = rec.compareState(c.stateOf("snapshots", slot, hv, t * snapshotElements()), after[t],
                                    slack[t], where);
    if (spec.state == DType::F32)
      stateRms[headIndex(row, hv)].add(std::max(0.0, error - slack[t]));
  }
}

void RecurrentChecker::allowSnapshots() {
  for (int64_t row = 0; row < options.rows; ++row)
    for (int64_t t = 0; t < windows.length(row); ++t) {
      int64_t token = windows.first(row) + t;
      if (!c.live(row))
        rec.compareZero(c.arrays["out"], token, "null row " + std::to_string(row));
      else
        allow(c, before, "snapshots", c.ringSlot(row), t * snapshotElements(), snapshotElements());
      allow(c, before, "out", token, 0, c.arrays["out"].inner);
    }
}

//===----------------------------------------------------------------------===//
// Input replay
//===----------------------------------------------------------------------===//

void RecurrentChecker::compareReplayed(int64_t row, int64_t hv) {
  int64_t index = headIndex(row, hv);
  std::vector<double> state = before.state(row, hv);
  double slack = 0;
  for (int64_t t : windows.path(row)) {
    reference::Token token = c.token(windows.first(row) + t, hv);
    reference::Step step = reference::step(spec, state, {}, token);
    reference::advance(spec, state, step);
    slack += rec.gateSlack(token, step.g);
    if (!trajectory.empty())
      reference::advance(spec, trajectory[index], reference::step(spec, trajectory[index], {}, token));
  }
  if (windows.accepted(row) == 0)
    return;
  std::vector<double> got = c.stateOf("state", c.targetSlot(row), hv);
  double error = rec.compareState(got, state, slack, place(row, hv));
  if (spec.state != DType::F32)
    return;
  stateRms[index].add(std::max(0.0, error - slack));
  gateSum[index] += slack;
  rec.record(rec.report.trajectory, relativeError(got, trajectory[index]),
             2e-6 * rec.growth + gateSum[index], place(row, hv));
}

void RecurrentChecker::allowReplayed() {
  for (int64_t row = 0; row < options.rows; ++row)
    if (c.live(row) && windows.accepted(row) > 0)
      allow(c, before, "state", c.targetSlot(row), 0, c.arrays["state"].inner);
}

/// The next window begins behind the accepted tokens: at one of the snapshots, or
/// where the state was stored.
void RecurrentChecker::commit() {
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row) || windows.accepted(row) == 0)
      continue;
    if (storesAll) {
      const Array &from = c.arrays["snapshots"];
      Array &to = c.arrays["state"];
      std::memcpy(to.at(c.stateSlot(row)),
                  from.at(c.ringSlot(row), windows.path(row).back() * snapshotElements()),
                  to.inner * to.width);
    } else if (spec.dst) {
      int64_t old = c.stateSlot(row);
      c.setInteger("state_idx", row, c.targetSlot(row));
      c.setInteger("dst_idx", row, old);
    }
  }
}

} // namespace

Result<CheckReport> run::checkRecurrent(Device &device, Kernel &kernel, const KernelSpec &spec,
                                        const CheckOptions &options) {
  auto created = Case::create(device, spec, caseOptions(spec, options));
  if (!created)
    return created.status();
  return RecurrentChecker(device, kernel, spec, options, created.take()).run();
}
