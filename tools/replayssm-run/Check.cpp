//===- Check.cpp - Kernels against the fp64 oracle ------------------------===//
//
// Each launch is checked on its own: the oracle starts from the buffers that
// the kernel itself stored before it. For f32 states a second, independent
// trajectory in fp64 runs along. Bytes that a launch may not touch are compared
// with what they held.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Compare.h"

#include <cmath>
#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

namespace {

class Checker {
public:
  Checker(Device &device, Kernel &kernel, Kernel *cursors, const KernelSpec &spec,
          const CheckOptions &options)
      : device(device), kernel(kernel), cursors(cursors), spec(spec), options(options),
        rec(spec), report(rec.report) {
    usesRing = spec.phase == Phase::Replay && spec.L > 1;
  }

  Result<CheckReport> run();

private:
  Status step(int64_t index);
  Status compare();
  void compareHead(int64_t row, int64_t hv);
  void compareUntouched();
  Status advanceCursors();
  Status followStates();

  Device &device;
  Kernel &kernel;
  Kernel *cursors;
  KernelSpec spec;
  CheckOptions options;
  bool usesRing;

  std::optional<Case> c;          ///< Buffers after the launch.
  std::optional<Case> before;     ///< Host mirrors before it (no device buffers).
  std::vector<std::vector<double>> trajectory; ///< [row * HV + hv] fp64 state.
  std::vector<double> gateSum;    ///< What gates that no ring stored may add.
  std::vector<Rms> deltaRms, stateRms;
  Recorder rec;
  CheckReport &report;
};

bool flushes(const KernelSpec &spec, const Case &c, int64_t row) {
  return spec.phase == Phase::Packed || spec.L == 1 || c.wp(row) >= spec.L - 1 || c.forced(row);
}

Result<CheckReport> Checker::run() {
  auto created = Case::create(device, spec, caseOptions(spec, options));
  if (!created)
    return created.status();
  c.emplace(created.take());
  size_t heads = options.rows * spec.HV;
  deltaRms.resize(heads);
  stateRms.resize(heads);
  gateSum.assign(heads, 0);
  if (spec.state == DType::F32) {
    trajectory.resize(heads);
    for (int64_t row = 0; row < options.rows; ++row)
      if (c->live(row))
        for (int64_t hv = 0; hv < spec.HV; ++hv)
          trajectory[row * spec.HV + hv] = c->state(row, hv);
  }
  int64_t steps = options.steps ? options.steps : usesRing ? 2 * spec.L + 3 : 6;
  for (int64_t i = 0; i < steps; ++i)
    RSSM_RETURN_IF_ERROR(step(i));
  rec.summarise(deltaRms, report.deltaRms, 6e-7 * rec.growth);
  if (spec.state == DType::F32 && spec.phase == Phase::Replay && spec.L > 1)
    rec.summarise(stateRms, report.stateRms, 6e-7);
  report.steps = steps;
  report.buffers = c->history;
  rec.takeResources(device, kernel);
  rec.digest(c->arrays["state"]);
  return std::move(report);
}

Status Checker::step(int64_t index) {
  rec.stepIndex = index;
  RSSM_RETURN_IF_ERROR(c->nextToken());
  before.emplace(mirror(*c));
  RSSM_RETURN_IF_ERROR(c->launch(device, kernel, &report.launchSeconds));
  RSSM_RETURN_IF_ERROR(c->download());
  RSSM_RETURN_IF_ERROR(compare());
  rec.digest(c->arrays["out"]);
  RSSM_RETURN_IF_ERROR(followStates());
  return usesRing || spec.phase == Phase::Replay ? advanceCursors() : Status::ok();
}

Status Checker::compare() {
  parallelFor(options.rows * spec.HV, [&](int64_t i) {
    if (c->live(i / spec.HV))
      compareHead(i / spec.HV, i % spec.HV);
  });
  for (int64_t row = 0; row < options.rows; ++row)
    if (!c->live(row))
      rec.compareZero(c->arrays["out"], row, "null row " + std::to_string(row));
  compareUntouched();
  return Status::ok();
}

void Checker::compareHead(int64_t row, int64_t hv) {
  int64_t index = row * spec.HV + hv;
  reference::Token token = before->token(row, hv);
  std::vector<double> state = before->state(row, hv);
  Case::OwnedRecords records = before->records(row, hv);
  reference::Step ref = reference::step(spec, state, records.view(), token);
  std::string where = place(row, hv);

  rec.compareOutput(c->arrays.at("out"), row, hv, ref.o, norm(token.v), where);
  bool flush = flushes(spec, *before, row);
  if (!flush) {
    std::vector<double> gates;
    deltaRms[index].add(rec.compareRecord(*c, before->ringSlot(row), hv, before->wp(row), ref, token,
                                          gates, where));
    // The trajectory runs on the stored gates.
    if (!trajectory.empty())
      reference::advance(spec, trajectory[index],
                         reference::step(spec, trajectory[index], {}, token, &gates));
    return;
  }

  // The stored state.
  std::vector<double> next = reference::materialise(spec, state, records.view());
  reference::advance(spec, next, ref);
  std::vector<double> got = c->stateOf("state", c->targetSlot(row), hv);
  double slack = rec.gateSlack(token, ref.g), error = rec.compareState(got, next, slack, where);
  if (spec.state != DType::F32)
    return;
  // Without the share of the one gate that no ring stored.
  stateRms[index].add(std::max(0.0, error - slack));
  reference::advance(spec, trajectory[index], reference::step(spec, trajectory[index], {}, token));
  gateSum[index] += slack;
  rec.record(report.trajectory, relativeError(got, trajectory[index]),
             2e-6 * rec.growth + gateSum[index], where);
}

/// A state that was stored elsewhere is where its row goes on.
Status Checker::followStates() {
  if (!spec.dst)
    return Status::ok();
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c->live(row) || !flushes(spec, *before, row))
      continue;
    int32_t old = c->integer("state_idx", row);
    c->setInteger("state_idx", row, c->targetSlot(row));
    c->setInteger("dst_idx", row, old);
  }
  RSSM_RETURN_IF_ERROR(c->arrays["state_idx"].upload());
  return c->arrays["dst_idx"].upload();
}

/// What the launch was allowed to write is copied over what was there before;
/// then every byte must agree.
void Checker::compareUntouched() {
  for (int64_t row = 0; row < options.rows; ++row) {
    allow(*c, *before, "out", row, 0, c->arrays["out"].inner);
    if (!c->live(row))
      continue;
    if (flushes(spec, *c, row)) {
      allow(*c, *before, "state", c->targetSlot(row), 0, c->arrays["state"].inner);
      continue;
    }
    allowRecord(*c, *before, c->ringSlot(row), c->wp(row));
  }
  rec.compareBytes(*c, *before);
}

Status Checker::advanceCursors() {
  if (!cursors)
    return Status::ok();
  std::vector<uint8_t> expected = c->arrays["wp"].host;
  std::vector<bool> flushed(options.rows);
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c->live(row))
      continue;
    flushed[row] = flushes(spec, *c, row);
    int32_t next = flushed[row] ? 0 : c->wp(row) + 1;
    std::memcpy(expected.data() + 4 * c->ringSlot(row), &next, 4);
  }
  auto args = c->args(cursors->manifest());
  if (!args)
    return args.status();
  RSSM_RETURN_IF_ERROR(cursors->launch(*args, uint32_t(options.rows)));
  RSSM_RETURN_IF_ERROR(device.synchronize());
  RSSM_RETURN_IF_ERROR(c->arrays["wp"].download());
  if (c->arrays["wp"].host != expected)
    rec.fail("cursors: wp differs from the model");
  // Stale records of a flushed ring must not be read again.
  for (int64_t row = 0; row < options.rows; ++row)
    if (flushed[row] && usesRing)
      c->poisonRing(c->ringSlot(row));
  if (usesRing)
    for (const Case::Field &field : c->fields())
      RSSM_RETURN_IF_ERROR(c->arrays[field.name].upload());
  return Status::ok();
}

} // namespace

Result<CheckReport> run::checkKernel(Device &device, Kernel &kernel, Kernel *cursors,
                                     const KernelSpec &spec, const CheckOptions &options) {
  Checker checker(device, kernel, cursors, spec, options);
  return checker.run();
}
