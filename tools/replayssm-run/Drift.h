//===- Drift.h - Errors of a kernel over many flushes -----------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Commands.h"

namespace replayssm::run {

/// Root mean square and maximum of relative errors.
struct ErrorStat {
  double squares = 0, max = 0;
  int64_t count = 0;
  void add(double error);
  void add(const ErrorStat &other);
  double rms() const;
};

/// What was seen up to one checkpoint, over all (row, head); `d` and `o` are
/// one-step errors since the checkpoint before.
struct DriftPoint {
  int64_t tokens = 0; ///< Of the row that has the fewest.
  ErrorStat kernel, recurrence, control; ///< Of the state, against fp64.
  double worstRatio = 0;                 ///< Kernel over recurrence, of one (row, head).
  ErrorStat dKernel, dRing, oKernel, oRing;
};

struct DriftOptions {
  int64_t rows = 1;
  int64_t cycles = 50;
  int64_t checkpoints = 12;
  uint64_t seed = 1;
  double flushRate = 0.02;
  bool noDecay = false; ///< alpha = 1 exactly; else a little below.
  CompileOptions compile;
};

struct DriftReport {
  std::string title, spec;
  DriftOptions options;
  std::vector<DriftPoint> points;
  int64_t flushes = 0, forced = 0; ///< Over all rows.
  int64_t steps = 0;               ///< Forwards: launches of each kernel but the fold.
  double seconds = 0, deviceSeconds = 0;
  std::vector<std::string> violations;
};

/// The bounds of the contract for what drifts.
constexpr double driftStateBound = 2.0, driftDeltaBound = 2.5, driftGrowthBound = 1.25;

/// Runs a replay kernel, or a verify set, beside the fp64 recurrence, the f32 recurrence, the f32
/// ring form and the open-loop control, on the same tokens.
Result<DriftReport> runDriftCase(Device &device, const KernelSpec &spec, const DriftOptions &options);

std::string toText(const DriftReport &report);
/// One line a report, at its last checkpoint.
std::string toMarkdown(const std::vector<DriftReport> &reports, const std::string &device);
std::string toJson(const DriftReport &report);
/// One panel a report: state errors over tokens, on a logarithmic scale.
std::string toSvg(const std::vector<DriftReport> &reports, const std::string &device);

} // namespace replayssm::run
