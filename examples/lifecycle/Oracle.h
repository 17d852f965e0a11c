//===- Oracle.h - The model, and its recurrence in double precision -------===//
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace lifecycle {

// Three layers of Gated DeltaNet and one of Kimi Delta Attention.
constexpr int layers = 4;
constexpr bool isKda(int layer) { return layer == 3; }
constexpr int64_t H = 1, HV = 2, K = 32, V = 16;
constexpr int64_t ringLength = 8, window = 3;
constexpr int64_t gates(int layer) { return isKda(layer) ? K : 1; }
constexpr int64_t tokenSize = 2 * H * K + HV * V; // q, k and v of all heads
constexpr int64_t stateSize = HV * V * K;

/// Inputs of one token in one layer: q | k | v, a [HV, gates], b [HV].
struct Token {
  std::vector<float> qkv, a, b;
};
Token randomToken(int layer, std::mt19937_64 &rng);

/// What a layer was trained to: A_log [HV] and dt_bias [HV, gates].
struct Params {
  std::vector<float> aLog, dtBias;
};

/// One layer of one sequence, from the formulas: with alpha = exp(g),
///   d = beta (v - S (alpha .* k)),  S <- S .* alpha + d k^T,  o = S q.
class Sequence {
public:
  Sequence(int layer, const Params &params, const std::vector<float> &prefilled)
      : layer(layer), params(&params), state_(prefilled.begin(), prefilled.end()) {}
  /// Takes the token; returns its output [HV, V].
  std::vector<double> step(const Token &token);
  const std::vector<double> &state() const { return state_; } ///< [HV, V, K]

private:
  void stepHead(const Token &token, int64_t hv, double *out);
  int layer;
  const Params *params;
  std::vector<double> state_;
};

} // namespace lifecycle
