//===- Oracle.cpp - The model, and its recurrence in double precision -----===//
#include "Oracle.h"

#include <cmath>

using namespace lifecycle;

Token lifecycle::randomToken(int layer, std::mt19937_64 &rng) {
  std::normal_distribution<float> normal(0, 1);
  auto values = [&](int64_t n) {
    std::vector<float> x(n);
    for (float &value : x)
      value = normal(rng);
    return x;
  };
  return {values(tokenSize), values(HV * gates(layer)), values(HV)};
}

/// x / sqrt(sum x^2 + eps), times `scale`.
static std::vector<double> normalised(const float *x, double scale) {
  double sum = 1e-6;
  for (int64_t c = 0; c < K; ++c)
    sum += double(x[c]) * x[c];
  std::vector<double> y(K);
  for (int64_t c = 0; c < K; ++c)
    y[c] = x[c] / std::sqrt(sum) * scale;
  return y;
}

void Sequence::stepHead(const Token &token, int64_t hv, double *out) {
  int64_t h = hv / (HV / H), n = gates(layer);
  std::vector<double> q = normalised(&token.qkv[h * K], 1 / std::sqrt(double(K)));
  std::vector<double> k = normalised(&token.qkv[(H + h) * K], 1);
  const float *v = &token.qkv[2 * H * K + hv * V];
  std::vector<double> alpha(K);
  for (int64_t c = 0; c < K; ++c) {
    int64_t i = hv * n + (n > 1 ? c : 0);
    double x = double(token.a[i]) + params->dtBias[i];
    alpha[c] = std::exp(-std::exp(double(params->aLog[hv])) * (x > 20 ? x : std::log1p(std::exp(x))));
  }
  double beta = 1 / (1 + std::exp(-double(token.b[hv])));
  for (int64_t r = 0; r < V; ++r) {
    double *S = &state_[(hv * V + r) * K], read = 0;
    for (int64_t c = 0; c < K; ++c)
      read += S[c] * alpha[c] * k[c];
    double d = beta * (v[r] - read);
    out[r] = 0;
    for (int64_t c = 0; c < K; ++c) {
      S[c] = S[c] * alpha[c] + d * k[c];
      out[r] += S[c] * q[c];
    }
  }
}

std::vector<double> Sequence::step(const Token &token) {
  std::vector<double> out(HV * V);
  for (int64_t hv = 0; hv < HV; ++hv)
    stepHead(token, hv, &out[hv * V]);
  return out;
}
