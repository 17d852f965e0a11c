//===- Reference.h - The fp64 oracle ----------------------------*- C++ -*-===//
//
// One token of one (row, value head), straight from the formulas of
// docs/spec.md in double precision. Knows nothing of the IR or of kernels.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/KernelSpec.h"

#include <cstdint>
#include <vector>

namespace replayssm::reference {

/// The records 0 .. wp-1 of one ring as stored: d [wp, V], k [wp, K], g [wp, GK].
struct Records {
  const float *d = nullptr;
  const float *k = nullptr;
  const float *g = nullptr;
  int64_t wp = 0;
};

/// Inputs of one token as stored; A_log and dt_bias of the head.
struct Token {
  std::vector<double> q, k, v; ///< [K], [K], [V]
  std::vector<double> a;       ///< [GK]
  double b = 0;
  double aLog = 0;
  std::vector<double> dtBias; ///< [GK]
};

struct Step {
  std::vector<double> o; ///< [V] output
  std::vector<double> d; ///< [V] beta (v - S (alpha .* k))
  std::vector<double> k; ///< [K] normalised key
  std::vector<double> g; ///< [GK] log decay
};

/// softplus: g = -exp(A_log) softplus(a + dt_bias), softplus(x) = log1p(exp(x)), x
/// above 20; safe: g = lower_bound sigmoid(exp(A_log) (a + dt_bias)); or a itself. In
/// exact arithmetic of the numbers as they are, infinite ones too: NaN only where g is undefined.
double gate(const KernelSpec &spec, double a, double aLog, double dtBias);
/// sigmoid(b), also rounded to b's dtype, or b itself; times the factor.
double beta(const KernelSpec &spec, double b);
/// `value` rounded to the nearest of `dtype`, ties to even; in its normal range.
double roundTo(DType dtype, double value);

/// One step on checkpoint `state` [V, K] and `records`; nothing is written.
/// `gates` replace the token's own: those that a kernel has stored.
Step step(const KernelSpec &spec, const std::vector<double> &state,
          const Records &records, const Token &token,
          const std::vector<double> *gates = nullptr);

/// The state [V, K] after the records: S0 .* exp(s_-1) + sum_j d_j (exp(s_j) .* k_j)^T.
std::vector<double> materialise(const KernelSpec &spec, std::vector<double> state,
                                const Records &records);

/// The tokens of a window on checkpoint and records: the recurrence itself, each
/// token on the state that the one before it left. `gates` as for a step.
std::vector<Step> window(const KernelSpec &spec, const std::vector<double> &state,
                         const Records &records, const std::vector<Token> &tokens,
                         const std::vector<std::vector<double>> *gates = nullptr);

/// The same of a tree: token s on the state that token parents[s] < s left, on
/// checkpoint and records where that is -1.
std::vector<Step> tree(const KernelSpec &spec, const std::vector<double> &state, const Records &records,
                       const std::vector<Token> &tokens, const std::vector<int64_t> &parents,
                       const std::vector<std::vector<double>> *gates = nullptr);

/// S .* exp(g) + d k^T, in place.
void advance(const KernelSpec &spec, std::vector<double> &state, const Step &step);

} // namespace replayssm::reference
