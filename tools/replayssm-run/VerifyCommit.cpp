//===- VerifyCommit.cpp - Cursors, folds and resets against their rules ---===//
#include "tools/replayssm-run/VerifyChecker.h"

using namespace replayssm;
using namespace replayssm::run;

//===----------------------------------------------------------------------===//
// Cursors
//===----------------------------------------------------------------------===//

/// What the rule says is what the buffers hold from here on.
void VerifyChecker::expectInteger(int64_t row, const char *name, int64_t index, int64_t value) {
  Array &array = c.arrays.at(name);
  bool isFlag = array.width == 1;
  int64_t got = isFlag ? *array.at(0, index) : integer(name, index);
  if (got != value)
    rec.fail("row " + std::to_string(row) + ": expected '" + name + "' to be " + std::to_string(value) +
             " but got " + std::to_string(got));
  if (isFlag)
    *array.at(0, index) = uint8_t(value);
  else
    integer(name, index) = int32_t(value);
  allow(c, before, name, 0, index, 1);
}

void VerifyChecker::expectCursors(int64_t row) {
  int64_t slot = c.ringSlot(row), wp = before.wp(row), n = windows.accepted(row);
  if (spec.flushAt == FlushAt::Commit) {
    bool folds = integer("fold_len", row) > 0 || wp + n + spec.Tmax > spec.L || before.forced(row) || isTracked(row);
    expectInteger(row, "wp", slot, folds ? 0 : wp + n);
  } else if (spec.flushAt == FlushAt::Verify) {
    bool flushed = before.flushing(row);
    int64_t next = flushed ? n : wp + n;
    expectInteger(row, "base", slot, flushed && n > 0 ? (before.base(row) + wp) % spec.L : before.base(row));
    expectInteger(row, "is_flush", slot, next + 2 * spec.Tmax > spec.L || before.forced(row));
    expectInteger(row, "wp", slot, next);
  }
}

/// What the cursors tell the fold.
void VerifyChecker::expectRowLengths(int64_t row) {
  if (spec.flushAt == FlushAt::Verify)
    return;
  bool live = c.live(row), always = spec.flushAt == FlushAt::EveryCommit;
  int64_t wp = live ? before.wp(row) : 0, n = live ? windows.accepted(row) : 0;
  if (spec.track) {
    int64_t step = integer("track_step", row);
    expectInteger(row, "track_pos", row, live && step >= 0 && step < n ? wp + step : -1);
  }
  bool folds = live && (always || wp + n + spec.Tmax > spec.L || before.forced(row) || isTracked(row));
  expectInteger(row, "fold_len", row, folds ? wp + n : 0);
}

void VerifyChecker::advanceTrajectory(int64_t row, int64_t hv) {
  int64_t index = headIndex(row, hv), count = 0;
  std::vector<int64_t> path = windows.path(row);
  std::vector<std::vector<double>> stored;
  for (int64_t s : path)
    stored.push_back(gates[index][s]);
  for (const reference::Step &step :
       reference::window(spec, trajectory[index], {}, windows.tokens(row, hv, path), &stored)) {
    reference::advance(spec, trajectory[index], step);
    if (spec.track && integer("track_step", row) == count++)
      tracked[index] = trajectory[index];
  }
}

Status VerifyChecker::advance() {
  for (int64_t row = 0; row < options.rows; ++row) {
    if (c.live(row) && c.flushing(row))
      moveToTarget(row);
    integer("fold_len", row) = -7;
    if (!spec.track)
      continue;
    int64_t n = windows.accepted(row);
    integer("track_pos", row) = -9;
    integer("track_step", row) = chance(0.4)   ? -1
                                 : chance(0.1) ? INT32_MAX
                                 : chance(0.1) ? INT32_MIN
                                               : int32_t(c.rng() % (n + 2)); // also the first that is none
  }
  RSSM_RETURN_IF_ERROR(launch(kernels.cursors));
  for (int64_t row = 0; row < options.rows; ++row) {
    expectRowLengths(row);
    if (c.live(row))
      expectCursors(row);
  }
  rec.compareBytes(c, before);
  if (spec.state == DType::F32)
    forEachLayer([&] { forEachHead([&](int64_t row, int64_t hv) { advanceTrajectory(row, hv); }); });
  return Status::ok();
}

/// Some rows begin anew: whatever their rings hold is forgotten.
Status VerifyChecker::reset() {
  if (!kernels.reset)
    return Status::ok();
  for (int64_t row = 0; row < options.rows; ++row)
    *c.arrays.at("reset_mask").at(0, row) = chance(0.05) ? uint8_t(1 + c.rng() % 255) : 0;
  RSSM_RETURN_IF_ERROR(launch(*kernels.reset));
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row) || *c.arrays.at("reset_mask").at(0, row) == 0)
      continue;
    expectInteger(row, "wp", c.ringSlot(row), 0);
    if (spec.isCircular()) {
      expectInteger(row, "base", c.ringSlot(row), 0);
      expectInteger(row, "is_flush", c.ringSlot(row), 0);
    }
    forEachLayer([&] {
      for (int64_t hv = 0; hv < spec.HV && spec.state == DType::F32; ++hv)
        trajectory[headIndex(row, hv)] = c.state(row, hv);
    });
  }
  rec.compareBytes(c, before);
  return Status::ok();
}

/// The accepted records of a tree come to stand one behind the other.
Status VerifyChecker::compact() {
  if (!kernels.compact)
    return Status::ok();
  RSSM_RETURN_IF_ERROR(launch(*kernels.compact));
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row))
      continue;
    forEachLayer([&] {
      int64_t wp = c.wp(row), to = wp;
      for (int64_t s : windows.path(row))
        moveRecord(before, c.ringSlot(row), c.position(row, wp + s), c.position(row, to++));
    });
  }
  rec.compareBytes(c, before);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

/// Where the records that a fold reads lie: of a tree that is not compacted, along
/// the path.
std::vector<int64_t> VerifyChecker::foldedPositions(int64_t row, int64_t count) const {
  std::vector<int64_t> positions = foldsPath() ? windows.path(row) : c.positions(row, 0, count);
  positions.resize(count);
  return positions;
}

/// NaN in all records of a row but those of its path.
void VerifyChecker::poisonOthers(int64_t row) {
  if (!c.live(row))
    return;
  Case kept = mirror(c);
  poisonRecords(c, row, 0);
  for (int64_t s : windows.path(row))
    allowRecord(kept, c, c.ringSlot(row), s);
}

Status VerifyChecker::fold() {
  forEachLayer([&] {
    if (foldsPath())
      for (int64_t row = 0; row < options.rows; ++row)
        poisonOthers(row);
    else
      poisonRings([&](int64_t row) { return foldLength(row) > 0 ? foldLength(row) : c.wp(row); });
  });
  RSSM_RETURN_IF_ERROR(launch(*kernels.fold));
  forEachLayer([&] { compareFolds(); });
  rec.compareBytes(c, before);
  for (int64_t row = 0; row < options.rows; ++row)
    if (c.live(row) && foldLength(row) > 0)
      moveToTarget(row);
  return Status::ok();
}

void VerifyChecker::compareFolds() {
  forEachHead([&](int64_t row, int64_t hv) {
    if (foldLength(row) == 0)
      return;
    compareFold(row, hv, c.targetSlot(row), foldedPositions(row, foldLength(row)), trajectory);
    if (isTracked(row))
      compareFold(row, hv, integer("track_idx", row), foldedPositions(row, integer("track_pos", row) + 1), tracked);
  });
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row) || foldLength(row) == 0)
      continue;
    allow(c, before, "state", c.targetSlot(row), 0, c.arrays["state"].inner);
    if (isTracked(row))
      allow(c, before, "state", integer("track_idx", row), 0, c.arrays["state"].inner);
  }
}

/// `state` with records of `from`: applied, or the recurrence run again from the
/// inputs that they hold.
std::vector<double> VerifyChecker::folded(const Case &from, int64_t row, int64_t hv, std::vector<double> state,
                                          const std::vector<int64_t> &positions) const {
  if (spec.fold == Fold::Records)
    return reference::materialise(spec, std::move(state), from.recordsAt(row, hv, positions).view());
  KernelSpec raw = from.rawSpec();
  for (int64_t position : positions) {
    std::vector<double> stored;
    reference::Token token = from.rawToken(row, hv, position, stored);
    reference::advance(spec, state, reference::step(raw, state, {}, token, &stored));
  }
  return state;
}

/// The state at `slot` is the checkpoint + the records at `positions`; `exact` is it in fp64.
void VerifyChecker::compareFold(int64_t row, int64_t hv, int64_t slot, const std::vector<int64_t> &positions,
                                const std::vector<std::vector<double>> &exact) {
  int64_t index = headIndex(row, hv);
  std::vector<double> got = c.stateOf("state", slot, hv);
  std::vector<double> expected = folded(before, row, hv, before.state(row, hv), positions);
  double error = rec.compareState(got, expected, 0, place(row, hv));
  if (spec.state != DType::F32)
    return;
  stateRms[index].add(error);
  rec.record(rec.report.trajectory, relativeError(got, exact[index]), 2e-6 * rec.growth, place(row, hv));
}

/// The request goes on from the slot that its state was stored to.
void VerifyChecker::moveToTarget(int64_t row) {
  if (spec.dst)
    std::swap(integer("state_idx", row), integer("dst_idx", row));
}
