//===- Check.h - Kernels against the fp64 oracle ----------------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Commands.h"

#include <optional>

namespace replayssm::run {

struct Metric {
  std::string name;
  double max = 0;        ///< The value closest to (or furthest over) its bound.
  double bound = 0;      ///< Largest bound in use (it may depend on the gates).
  double worstRatio = 0; ///< max over all of value / bound.
  int64_t count = 0;
  std::string where;
};

struct CheckOptions {
  int64_t rows = 3;
  int64_t steps = 0;
  uint64_t seed = 1;
  double nullRate = 0.15;
  double flushRate = 0.1;
  Gates gates = Gates::Mixed;
};

struct CheckReport {
  Metric out, delta, key, gate, farGate, beta, state, trajectory, deltaRms, stateRms;
  int64_t steps = 0, violations = 0;
  std::vector<std::string> firstViolations;
  uint64_t digest = 0xcbf29ce484222325ull; ///< Of all outputs and the final states.
  uint64_t buffers = 0; ///< Of every byte of every buffer behind each launch.
  double launchSeconds = 0;
  KernelResources resources;
  bool hasRegisters = false; ///< Not the host device.
  std::vector<const Metric *> metrics() const {
    return {&out, &delta, &key, &gate, &farGate, &beta, &state, &trajectory, &deltaRms, &stateRms};
  }
};

/// Runs `kernel` (packed or replay) over ring cycles. `cursors` moves wp after
/// each launch; it is required for replay.
Result<CheckReport> checkKernel(Device &device, Kernel &kernel, Kernel *cursors,
                                const KernelSpec &spec, const CheckOptions &options);

std::string toText(const CheckReport &report);
std::string toJson(const CheckReport &report);
std::string quoted(const std::string &text); ///< As a JSON string.
/// The cursor kernel that belongs to a replay kernel; none for others.
Result<std::optional<Kernel>> jitCursors(Device &device, const KernelSpec &spec, const Options &options);

} // namespace replayssm::run
