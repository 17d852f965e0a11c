//===- DriftMath.cpp - Loops over one head's state ------------------------===//
#include "tools/replayssm-run/DriftMath.h"

#include <algorithm>
#include <cmath>

using namespace replayssm;

// Without fma instructions each fma is a call: which there are is asked at run time.
// f32 results are the same either way, every fused operation is written as one.
#if defined(__x86_64__)
#define RSSM_CLONES [[gnu::target_clones("arch=x86-64-v3", "default")]]
#else
#define RSSM_CLONES
#endif

namespace {

constexpr int64_t lanes = 8, maxV = 256;

[[gnu::always_inline]] inline float mulAdd(float a, float b, float c) { return std::fma(a, b, c); }
[[gnu::always_inline]] inline double mulAdd(double a, double b, double c) { return a * b + c; }

/// Rows of `data` weighted by x; row i belongs to lane (i / vec) mod 8.
template <int64_t vec, typename T>
[[gnu::always_inline]] inline void sumRows(const T *x, const T *data, int64_t n, int64_t V, T *y) {
  T lane[lanes][maxV];
  int64_t used = std::min(lanes, (n + vec - 1) / vec);
  for (int64_t l = 0; l < lanes; ++l)
    std::fill(lane[l], lane[l] + V, T(0));
  for (int64_t l = 0; l < used; ++l)
    for (int64_t base = l * vec; base < n; base += lanes * vec)
      for (int64_t i = base; i < std::min(n, base + vec); ++i)
        for (int64_t v = 0; v < V; ++v)
          lane[l][v] = mulAdd(x[i], data[i * V + v], lane[l][v]);
  for (int64_t v = 0; v < V; ++v)
    y[v] = ((lane[0][v] + lane[1][v]) + (lane[2][v] + lane[3][v])) +
           ((lane[4][v] + lane[5][v]) + (lane[6][v] + lane[7][v]));
}

template <typename T>
[[gnu::always_inline]] inline void update(T *state, const T *alpha, bool perChannel, const T *d,
                                          const T *k, int64_t K, int64_t V) {
  for (int64_t c = 0; c < K; ++c) {
    T decay = alpha[perChannel ? c : 0];
    for (int64_t v = 0; v < V; ++v) {
      T added = d[v] * k[c];
      state[c * V + v] = mulAdd(decay, state[c * V + v], added);
    }
  }
}

} // namespace

RSSM_CLONES void run::readState(const float *x, const float *state, int64_t K, int64_t V, float *y) {
  sumRows<4>(x, state, K, V, y);
}
RSSM_CLONES void run::readState(const double *x, const double *state, int64_t K, int64_t V, double *y) {
  sumRows<4>(x, state, K, V, y);
}
RSSM_CLONES void run::updateState(float *state, const float *alpha, bool perChannel, const float *d,
                                  const float *k, int64_t K, int64_t V) {
  update(state, alpha, perChannel, d, k, K, V);
}
RSSM_CLONES void run::updateState(double *state, const double *alpha, bool perChannel, const double *d,
                                  const double *k, int64_t K, int64_t V) {
  update(state, alpha, perChannel, d, k, K, V);
}
RSSM_CLONES void run::readRows(const float *x, const float *rows, int64_t n, int64_t V, float *y) {
  sumRows<1>(x, rows, n, V, y);
}
RSSM_CLONES float run::dotF32(const float *x, const float *y, int64_t n) {
  float result;
  sumRows<4>(x, y, n, 1, &result);
  return result;
}
