//===- Reference.cpp - The fp64 oracle ------------------------------------===//
#include "lib/Reference/Reference.h"

#include <cmath>

using namespace replayssm;
using namespace replayssm::reference;

static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// x + y, and what that rounds away; 0 of an infinite sum.
static double twoSum(double x, double y, double &lost) {
  double sum = x + y, part = sum - x;
  lost = std::isfinite(sum) ? (x - (sum - part)) + (y - part) : 0;
  return sum;
}

// Through logarithms: of factors beyond double, and of infinite ones, the product is
// what it is in exact arithmetic, and NaN only where that is undefined.
double reference::gate(const KernelSpec &spec, double a, double aLog, double dtBias) {
  if (spec.gate == Gate::Precomputed)
    return a;
  double lost, x = twoSum(a, dtBias, lost);
  if (spec.gate == Gate::Safe) {
    double z = std::copysign(std::exp(aLog + std::log(std::fabs(x))), x);
    return spec.lowerBound * sigmoid(z);
  }
  // log(softplus(x)), which is x far below zero, to the last bit.
  bool isFar = x < -40;
  double logSoftplus = isFar ? x : std::log(x <= 20 ? std::log1p(std::exp(x)) : x), lostHere;
  double exponent = twoSum(aLog, logSoftplus, lostHere);
  return -std::exp(exponent + (lostHere + (isFar ? lost : 0)));
}

double reference::roundTo(DType dtype, double value) {
  int mantissaBits = dtype == DType::F32 ? 23 : dtype == DType::BF16 ? 7 : 10;
  if (value == 0 || !std::isfinite(value))
    return value;
  int least = dtype == DType::F16 ? -14 : -126; // below lie subnormals
  double step = std::ldexp(1.0, std::max(std::ilogb(value), least) - mantissaBits);
  return std::nearbyint(value / step) * step;
}

double reference::beta(const KernelSpec &spec, double b) {
  auto value = [&] {
    switch (spec.beta) {
    case Beta::SigmoidF32:
      return sigmoid(b);
    case Beta::SigmoidIO:
      return roundTo(spec.io, sigmoid(b));
    case Beta::Precomputed:
      return b;
    }
    __builtin_unreachable();
  };
  return static_cast<double>(spec.betaFactor) * value();
}

static std::vector<double> l2norm(const std::vector<double> &x, double eps, double scale) {
  double sum = 0;
  for (double value : x)
    sum += value * value;
  double r = scale / std::sqrt(sum + eps);
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * r;
  return y;
}

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// exp(sum of the gates of records first .. wp-1), by gate channel.
static std::vector<double> decayFrom(const KernelSpec &spec, const Records &records, int64_t first) {
  int64_t gateDim = spec.gateDim();
  std::vector<double> sum(gateDim, 0.0);
  for (int64_t j = records.wp - 1; j >= first; --j)
    for (int64_t c = 0; c < gateDim; ++c)
      sum[c] += records.g[j * gateDim + c];
  for (double &value : sum)
    value = std::exp(value);
  return sum;
}

/// (S0 + ring) x.
static std::vector<double> read(const KernelSpec &spec, const std::vector<double> &state,
                                const Records &records, const std::vector<double> &x) {
  int64_t K = spec.K, V = spec.V;
  bool perChannel = spec.gateDim() > 1;
  std::vector<double> decay = decayFrom(spec, records, 0), operand(K), y(V);
  for (int64_t c = 0; c < K; ++c)
    operand[c] = decay[perChannel ? c : 0] * x[c];
  for (int64_t v = 0; v < V; ++v)
    y[v] = dot(&state[v * K], operand.data(), K);
  for (int64_t j = 0; j < records.wp; ++j) {
    std::vector<double> w = decayFrom(spec, records, j + 1);
    double score = 0;
    for (int64_t c = 0; c < K; ++c)
      score += w[perChannel ? c : 0] * records.k[j * K + c] * x[c];
    for (int64_t v = 0; v < V; ++v)
      y[v] += records.d[j * V + v] * score;
  }
  return y;
}

Step reference::step(const KernelSpec &spec, const std::vector<double> &state,
                     const Records &records, const Token &token,
                     const std::vector<double> *gates) {
  int64_t K = spec.K, V = spec.V, gateDim = spec.gateDim();
  Step result;
  result.g.resize(gateDim);
  for (int64_t c = 0; c < gateDim; ++c)
    result.g[c] = gate(spec, token.a[c], token.aLog, token.dtBias[c]);
  if (gates)
    result.g = *gates;
  std::vector<double> q = l2norm(token.q, spec.eps, spec.effectiveScale());
  result.k = l2norm(token.k, spec.eps, 1.0);

  std::vector<double> qa(K), ka(K);
  for (int64_t c = 0; c < K; ++c) {
    double alpha = std::exp(result.g[gateDim > 1 ? c : 0]);
    qa[c] = alpha * q[c];
    ka[c] = alpha * result.k[c];
  }
  std::vector<double> yq = read(spec, state, records, qa);
  std::vector<double> yk = read(spec, state, records, ka);
  double beta = reference::beta(spec, token.b);
  double kq = dot(result.k.data(), q.data(), K);
  result.d.resize(V);
  result.o.resize(V);
  for (int64_t v = 0; v < V; ++v) {
    result.d[v] = beta * (token.v[v] - yk[v]);
    result.o[v] = yq[v] + result.d[v] * kq;
  }
  return result;
}

std::vector<double> reference::materialise(const KernelSpec &spec, std::vector<double> state,
                                           const Records &records) {
  int64_t K = spec.K, V = spec.V;
  bool perChannel = spec.gateDim() > 1;
  std::vector<double> decay = decayFrom(spec, records, 0);
  for (int64_t v = 0; v < V; ++v)
    for (int64_t c = 0; c < K; ++c)
      state[v * K + c] *= decay[perChannel ? c : 0];
  for (int64_t j = 0; j < records.wp; ++j) {
    std::vector<double> w = decayFrom(spec, records, j + 1);
    for (int64_t c = 0; c < K; ++c)
      w[perChannel ? c : 0] *= perChannel ? records.k[j * K + c] : 1.0;
    for (int64_t v = 0; v < V; ++v)
      for (int64_t c = 0; c < K; ++c)
        state[v * K + c] += records.d[j * V + v] *
                            (perChannel ? w[c] : w[0] * records.k[j * K + c]);
  }
  return state;
}

void reference::advance(const KernelSpec &spec, std::vector<double> &state, const Step &step) {
  int64_t K = spec.K, V = spec.V;
  bool perChannel = spec.gateDim() > 1;
  std::vector<double> alpha(step.g.size());
  for (size_t c = 0; c < alpha.size(); ++c)
    alpha[c] = std::exp(step.g[c]);
  for (int64_t v = 0; v < V; ++v)
    for (int64_t c = 0; c < K; ++c)
      state[v * K + c] = state[v * K + c] * alpha[perChannel ? c : 0] + step.d[v] * step.k[c];
}

std::vector<Step> reference::window(const KernelSpec &spec, const std::vector<double> &state,
                                    const Records &records, const std::vector<Token> &tokens,
                                    const std::vector<std::vector<double>> *gates) {
  std::vector<int64_t> parents(tokens.size());
  for (size_t s = 0; s < tokens.size(); ++s)
    parents[s] = int64_t(s) - 1;
  return tree(spec, state, records, tokens, parents, gates);
}

std::vector<Step> reference::tree(const KernelSpec &spec, const std::vector<double> &state,
                                  const Records &records, const std::vector<Token> &tokens,
                                  const std::vector<int64_t> &parents,
                                  const std::vector<std::vector<double>> *gates) {
  const std::vector<double> root = materialise(spec, state, records);
  std::vector<std::vector<double>> behind; // the state behind each token
  std::vector<Step> steps;
  for (size_t s = 0; s < tokens.size(); ++s) {
    behind.push_back(parents[s] < 0 ? root : behind[parents[s]]);
    steps.push_back(step(spec, behind.back(), {}, tokens[s], gates ? &(*gates)[s] : nullptr));
    advance(spec, behind.back(), steps.back());
  }
  return steps;
}
