//===- DriftModels.h - What the drift of a kernel is measured beside -*- C++ -*-===//
#pragma once

#include "lib/Reference/Reference.h"

namespace replayssm::run {

/// The recurrence in plain f32 fma arithmetic, token after token. Its sums over K
/// have the kernels' order, so that only the form of the recurrence differs.
class RecurrenceF32 {
public:
  RecurrenceF32(const KernelSpec &spec, const std::vector<double> &state);
  void step(const reference::Token &token);
  std::vector<double> state() const { return {state_.begin(), state_.end()}; }

private:
  KernelSpec spec;
  std::vector<float> state_;
};

/// One token by the ring form in f32 fma arithmetic, from stored buffers.
reference::Step ringStepF32(const KernelSpec &spec, const std::vector<double> &state,
                            const reference::Records &records, const reference::Token &token);

/// What must not be done: the records of a ring cycle from (I + A)^-1 kept in
/// bf16. Everything else is fp64, so that the inverse alone shows.
class OpenLoop {
public:
  OpenLoop(const KernelSpec &spec, std::vector<double> state) : spec(spec), state_(std::move(state)) {}
  void step(const reference::Token &token);
  /// Folds the tokens since the last fold.
  void fold();
  const std::vector<double> &state() const { return state_; }

private:
  /// x_c y_c exp(sum of the gates of tokens after j, up to i), summed over c.
  double score(size_t i, size_t j) const;

  KernelSpec spec;
  std::vector<double> state_;
  std::vector<std::vector<double>> keys, gates, rhs; ///< By token: k, g, beta (v - S k).
  std::vector<double> betas;
};

} // namespace replayssm::run
