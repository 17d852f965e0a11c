//===- DriftModels.h - What the drift of a kernel is measured beside -*- C++ -*-===//
//
// Models of one (row, value head). States are [K][V] (DriftMath.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Reference/Reference.h"

namespace replayssm::run {

/// A token as a model in T sees it: raw q and k beside their norms (the scale is
/// part of q's), the normalised key, and the decay.
template <typename T> struct ModelToken {
  /// `gates` are those of the token, in double.
  ModelToken(const KernelSpec &spec, const reference::Token &token, const std::vector<double> &gates);
  std::vector<T> q, k, v, kn, g, alpha;
  T rq, rk, beta, kq; ///< kq: the product of the normalised k and q.
};

/// The recurrence in plain T arithmetic, token after token: the truth in double;
/// in float its sums over K have the kernels' order, so that only the form of the
/// recurrence differs.
template <typename T> class Recurrence {
public:
  Recurrence(const KernelSpec &spec, std::vector<T> state) : spec(spec), state_(std::move(state)) {}
  /// d of the token; o too if asked for. The state is left alone.
  void read(const ModelToken<T> &token, std::vector<T> &d, std::vector<T> *o = nullptr) const;
  /// The state behind the token.
  void step(const ModelToken<T> &token);
  void advance(const std::vector<T> &alpha, const T *d, const T *k);
  const std::vector<T> &state() const { return state_; }

private:
  KernelSpec spec;
  std::vector<T> state_;
};

/// Records of one head: d [n, V], k [n, K], g [n, GK].
struct RingRecords {
  std::vector<float> d, k, g;
};

/// The tokens of one window by the ring form in f32 fma arithmetic, from a stored
/// state and the first `wp` records.
class RingWindow {
public:
  RingWindow(const KernelSpec &spec, const std::vector<float> &state, const RingRecords &records,
             int64_t wp);
  /// The next token of the window.
  void step(const ModelToken<float> &token);
  std::vector<float> d, o; ///< Of the last token.

private:
  std::vector<float> read(const std::vector<float> &x, float rnorm) const;
  float score(const std::vector<float> &x, float rnorm, size_t j) const;

  const KernelSpec &spec;
  const std::vector<float> &state;
  const RingRecords &records;
  int64_t wp;
  std::vector<float> weights, total, weightedKeys; ///< exp(s_j), exp(s_-1); KDA: exp(s_j) .* k_j.
  std::vector<float> sinceStart;                   ///< exp(G) of the current token.
  std::vector<std::vector<float>> gates, keys, deltas;
};

/// What must not be done: the records of a ring cycle from (I + A)^-1 kept in
/// bf16. Everything else is fp64, so that the inverse alone shows.
class OpenLoop {
public:
  OpenLoop(const KernelSpec &spec, std::vector<double> state) : spec(spec), model(spec, std::move(state)) {}
  void step(const ModelToken<double> &token);
  /// Folds the tokens since the last fold.
  void fold();
  const std::vector<double> &state() const { return model.state(); }

private:
  /// A_ij, all j < i.
  std::vector<double> row(size_t i) const;

  KernelSpec spec;
  Recurrence<double> model;
  std::vector<std::vector<double>> keys, gates, rhs; ///< By token: k, g, beta (v - S k).
  std::vector<double> betas;
};

} // namespace replayssm::run
