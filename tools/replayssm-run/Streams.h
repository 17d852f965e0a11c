//===- Streams.h - The card's read and in-place streams ---------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Commands.h"

#include <functional>

namespace replayssm::run {

/// Median microseconds of one launch of `launches` in one graph, over `repeats`
/// replays after a warm-up; the smaller of two such medians.
Result<double> timeLaunches(Device &device, int64_t launches,
                            const std::function<Status(int64_t)> &launch, int repeats = 10);

/// Microseconds of the fastest plain kernel that reads (`update` false), or
/// reads and writes back in place, `bytes` bytes out of `pool`, rotating over it.
Result<double> timeStream(Device &device, Buffer &pool, uint64_t bytes, bool update,
                          const CompileOptions &compile);

} // namespace replayssm::run
