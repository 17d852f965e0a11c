//===- DriftTrace.h - The windows and tokens of a drift run -----*- C++ -*-===//
//
// Keys are correlated and beta is near 1, so that errors of d are large; gates
// are near or at zero, so that nothing forgets them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/replayssm-run/Case.h"
#include "tools/replayssm-run/Drift.h"

namespace replayssm::run {

/// What one row does in one step, by the rule of its cursors.
struct DriftWindow {
  int32_t length = 1, accepted = 1;
  bool forced = false;
  int64_t wp = 0;    ///< Records before the step.
  int64_t folds = 0; ///< Records, or decoded tokens, that the step puts into the state.
};

/// About how many bytes driftWindows takes, which may be more than 64 bits can say.
double driftWindowBytes(const KernelSpec &spec, const DriftOptions &options);
/// The steps of all rows, [step * rows + row], long enough for every row to see
/// its flushes.
std::vector<DriftWindow> driftWindows(const KernelSpec &spec, const DriftOptions &options);

/// Inputs of one row as kernels get them, token by token.
class DriftInputs {
public:
  DriftInputs(const KernelSpec &spec, const DriftOptions &options, int64_t row);
  /// The next token; bytes of one token each.
  void next(uint8_t *qkv, uint8_t *a, uint8_t *b);

private:
  KernelSpec spec;
  std::vector<double> common; ///< [H, K]: the direction that the row's keys share.
  std::mt19937_64 rng;
};

/// A_log and dt_bias: exp(A_log) softplus(a + dt_bias) is about 1e-4; far below
/// zero it is 0.
double driftLogA();
double driftBias(const DriftOptions &options);

} // namespace replayssm::run
