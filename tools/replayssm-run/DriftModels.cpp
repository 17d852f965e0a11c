//===- DriftModels.cpp - What the drift of a kernel is measured beside ----===//
#include "tools/replayssm-run/DriftModels.h"

#include <cmath>

using namespace replayssm;
using namespace replayssm::run;

namespace {

constexpr int64_t lanes = 8;

/// Lane l of eight owns `vec` elements of every 8 * vec; then a butterfly.
template <typename F> float laneSum(int64_t n, int64_t vec, F term) {
  float lane[lanes] = {};
  for (int64_t base = 0; base < n; base += lanes * vec)
    for (int64_t l = 0; l < lanes; ++l)
      for (int64_t i = base + l * vec; i < std::min(n, base + (l + 1) * vec); ++i)
        lane[l] = term(i, lane[l]);
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

float dotF32(const float *x, const float *y, int64_t n, int64_t vec = 4) {
  return laneSum(n, vec, [&](int64_t i, float acc) { return std::fma(x[i], y[i], acc); });
}

/// A token in f32: raw q and k with their norms, alpha, beta.
struct TokenF32 {
  std::vector<float> q, k, v, g, alpha;
  float rq, rk, beta;
};

TokenF32 narrow(const KernelSpec &spec, const reference::Token &token) {
  TokenF32 t;
  auto floats = [](const std::vector<double> &x) { return std::vector<float>(x.begin(), x.end()); };
  t.q = floats(token.q);
  t.k = floats(token.k);
  t.v = floats(token.v);
  auto rnorm = [&](const std::vector<float> &x) {
    return 1.0f / std::sqrt(dotF32(x.data(), x.data(), spec.K) + float(spec.eps));
  };
  t.rq = rnorm(t.q) * float(spec.effectiveScale());
  t.rk = rnorm(t.k);
  for (int64_t c = 0; c < spec.gateDim(); ++c) {
    t.g.push_back(float(reference::gate(spec, token.a[c], token.aLog, token.dtBias[c])));
    t.alpha.push_back(std::exp(t.g[c]));
  }
  t.beta = float(reference::beta(spec, token.b));
  return t;
}

} // namespace

RecurrenceF32::RecurrenceF32(const KernelSpec &spec, const std::vector<double> &state)
    : spec(spec), state_(state.begin(), state.end()) {}

void RecurrenceF32::step(const reference::Token &token) {
  TokenF32 t = narrow(spec, token);
  bool perChannel = spec.gateDim() > 1;
  std::vector<float> k(spec.K), decayed(spec.K);
  for (int64_t c = 0; c < spec.K; ++c) {
    k[c] = t.k[c] * t.rk;
    decayed[c] = t.alpha[perChannel ? c : 0] * k[c];
  }
  for (int64_t v = 0; v < spec.V; ++v) {
    float *row = &state_[v * spec.K];
    float d = t.beta * (t.v[v] - dotF32(decayed.data(), row, spec.K));
    for (int64_t c = 0; c < spec.K; ++c)
      row[c] = std::fma(t.alpha[perChannel ? c : 0], row[c], d * k[c]);
  }
}

reference::Step run::ringStepF32(const KernelSpec &spec, const std::vector<double> &state,
                                 const reference::Records &records, const reference::Token &token) {
  TokenF32 t = narrow(spec, token);
  int64_t K = spec.K, V = spec.V, GK = spec.gateDim(), n = records.wp;
  bool perChannel = GK > 1;
  // w_j = exp(sum of the gates behind j), tot = exp(all of them).
  std::vector<float> w(n * GK), sum(GK, 0.0f), tot(GK);
  for (int64_t j = n - 1; j >= 0; --j)
    for (int64_t c = 0; c < GK; ++c) {
      w[j * GK + c] = std::exp(sum[c]);
      sum[c] += records.g[j * GK + c];
    }
  for (int64_t c = 0; c < GK; ++c)
    tot[c] = std::exp(sum[c]);

  auto read = [&](const std::vector<float> &x, float rnorm) {
    // KDA decays the operand, GDN the result.
    std::vector<float> operand(x), ringOperand(x), weight(n), key(K), y(V), row(K);
    if (perChannel)
      for (int64_t c = 0; c < K; ++c) {
        ringOperand[c] = t.alpha[c] * x[c];
        operand[c] = tot[c] * ringOperand[c];
      }
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t c = 0; c < K; ++c)
        key[c] = perChannel ? w[j * K + c] * records.k[j * K + c] : records.k[j * K + c];
      weight[j] = dotF32(ringOperand.data(), key.data(), K) * (perChannel ? 1.0f : w[j]);
    }
    float front = perChannel ? rnorm : rnorm * t.alpha[0];
    for (int64_t v = 0; v < V; ++v) {
      for (int64_t c = 0; c < K; ++c)
        row[c] = float(state[v * K + c]);
      float checkpoint = dotF32(operand.data(), row.data(), K);
      float ring = laneSum(n, 1, [&](int64_t j, float acc) {
        return std::fma(weight[j], records.d[j * V + v], acc);
      });
      y[v] = front * (perChannel ? checkpoint + ring : std::fma(tot[0], checkpoint, ring));
    }
    return y;
  };
  std::vector<float> yq = read(t.q, t.rq), yk = read(t.k, t.rk);
  float kq = t.rk * t.rq * dotF32(t.k.data(), t.q.data(), K);
  reference::Step result;
  for (int64_t v = 0; v < V; ++v) {
    float d = t.beta * (t.v[v] - yk[v]);
    result.d.push_back(d);
    result.o.push_back(std::fma(d, kq, yq[v]));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The control
//===----------------------------------------------------------------------===//

double OpenLoop::score(size_t i, size_t j) const {
  std::vector<double> sum(spec.gateDim(), 0.0);
  for (size_t l = i; l > j; --l)
    for (size_t c = 0; c < sum.size(); ++c)
      sum[c] += gates[l][c];
  double result = 0;
  for (int64_t c = 0; c < spec.K; ++c)
    result += keys[i][c] * keys[j][c] * std::exp(sum[sum.size() > 1 ? c : 0]);
  return result;
}

void OpenLoop::step(const reference::Token &token) {
  // The right-hand side is d on the checkpoint alone, decayed by all gates so far.
  std::vector<double> sum(spec.gateDim());
  for (int64_t c = 0; c < spec.gateDim(); ++c)
    sum[c] = reference::gate(spec, token.a[c], token.aLog, token.dtBias[c]);
  gates.push_back(sum);
  for (size_t j = 0; j + 1 < gates.size(); ++j)
    for (size_t c = 0; c < sum.size(); ++c)
      sum[c] += gates[j][c];
  reference::Step first = reference::step(spec, state_, {}, token, &sum);
  keys.push_back(first.k);
  rhs.push_back(first.d);
  betas.push_back(reference::beta(spec, token.b));
}

void OpenLoop::fold() {
  size_t n = keys.size();
  // Row i of (I + A)^-1: e_i - sum_{j<i} A_ij (row j).
  std::vector<std::vector<double>> inverse(n, std::vector<double>(n, 0.0));
  for (size_t i = 0; i < n; ++i) {
    inverse[i][i] = 1;
    for (size_t j = 0; j < i; ++j) {
      double a = betas[i] * score(i, j);
      for (size_t l = 0; l <= j; ++l)
        inverse[i][l] -= a * inverse[j][l];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    reference::Step step;
    step.d.assign(spec.V, 0.0);
    step.k = keys[i];
    step.g = gates[i];
    for (size_t l = 0; l <= i; ++l) {
      double weight = reference::roundTo(DType::BF16, inverse[i][l]);
      for (int64_t v = 0; v < spec.V; ++v)
        step.d[v] += weight * rhs[l][v];
    }
    reference::advance(spec, state_, step);
  }
  keys.clear();
  gates.clear();
  rhs.clear();
  betas.clear();
}
