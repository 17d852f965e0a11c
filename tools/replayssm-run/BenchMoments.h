//===- BenchMoments.h - What a timed launch finds ---------------*- C++ -*-===//
#pragma once

#include "replayssm/KernelSpec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace replayssm::run {

/// The cursors before one launch, slot by slot (what a kernel finds by batch row
/// is that of the slot of the same number).
struct BenchMoment {
  std::vector<int32_t> wp, base, foldLen, accepted;
  std::vector<int8_t> isFlush;
};

/// A column of a table: the mean over some moments.
struct BenchColumn {
  std::string name;
  std::vector<size_t> moments;
};

struct BenchPlan {
  std::vector<BenchMoment> moments;
  std::vector<BenchColumn> columns;
};

/// Moments where all slots agree; and for kernels that fold now and then (fold at
/// commit, verify with flush_at=verify) eight steps of a fixed trace of acceptance,
/// each slot at another point of it: every draft is accepted with 0.7, and what
/// follows a rejected one is rejected.
BenchPlan benchPlan(const KernelSpec &spec, int64_t slots);

/// The fewest bytes that one row has to move: only read or only written; read and
/// written back in place.
struct Traffic {
  double oneWay = 0, update = 0;
};
/// Of one row on average.
Traffic trafficOf(const KernelSpec &spec, const BenchMoment &moment);

} // namespace replayssm::run
