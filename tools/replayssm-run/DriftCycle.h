//===- DriftCycle.h - One-step errors between two folds ---------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Drift.h"
#include "tools/replayssm-run/DriftModels.h"

namespace replayssm::run {

/// An accepted token of one head, and what the kernel made of it.
struct AcceptedToken {
  reference::Token token;
  std::vector<double> gates, out;
  int64_t wp = 0;       ///< Records before its window.
  bool begins = false;  ///< A window.
  bool isStored = true; ///< In the ring; a flush of decode folds its own token.
};

/// What happened since the last fold of one head, and its one-step errors.
struct DriftCycle {
  std::vector<float> checkpoint; ///< [K][V]
  RingRecords records;
  std::vector<AcceptedToken> tokens;
  size_t compared = 0; ///< The tokens whose errors were taken before.
  ErrorStat dKernel, dRing, oKernel, oRing;
};

/// Takes the errors of the tokens that are new: every window from the checkpoint and from the records that
/// were there before it.
void compareCycle(const KernelSpec &spec, DriftCycle &cycle);
/// The records from .. to - 1 applied to a state, in fp64.
void applyRecords(const KernelSpec &spec, Recurrence<double> &state, const RingRecords &records,
                  int64_t from, int64_t to);

} // namespace replayssm::run
