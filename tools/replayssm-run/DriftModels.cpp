//===- DriftModels.cpp - What the drift of a kernel is measured beside ----===//
#include "tools/replayssm-run/DriftModels.h"
#include "tools/replayssm-run/DriftMath.h"

#include <cmath>

using namespace replayssm;
using namespace replayssm::run;

static double dot(const double *x, const double *y, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += x[i] * y[i];
  return sum;
}
static float dot(const float *x, const float *y, int64_t n) { return dotF32(x, y, n); }

template <typename T>
ModelToken<T>::ModelToken(const KernelSpec &spec, const reference::Token &token,
                          const std::vector<double> &gates)
    : q(token.q.begin(), token.q.end()), k(token.k.begin(), token.k.end()),
      v(token.v.begin(), token.v.end()), g(gates.begin(), gates.end()) {
  auto rnorm = [&](const std::vector<T> &x) {
    return T(1) / std::sqrt(dot(x.data(), x.data(), spec.K) + T(spec.eps));
  };
  rq = rnorm(q) * T(spec.effectiveScale());
  rk = rnorm(k);
  for (T x : k)
    kn.push_back(x * rk);
  kq = rk * rq * dot(k.data(), q.data(), spec.K);
  for (T x : g)
    alpha.push_back(std::exp(x));
  beta = T(reference::beta(spec, token.b));
}

//===----------------------------------------------------------------------===//
// The recurrence
//===----------------------------------------------------------------------===//

template <typename T>
void Recurrence<T>::read(const ModelToken<T> &token, std::vector<T> &d, std::vector<T> *o) const {
  bool perChannel = spec.gateDim() > 1;
  std::vector<T> operand(spec.K), y(spec.V);
  for (int64_t c = 0; c < spec.K; ++c)
    operand[c] = token.alpha[perChannel ? c : 0] * token.kn[c];
  readState(operand.data(), state_.data(), spec.K, spec.V, y.data());
  d.resize(spec.V);
  for (int64_t v = 0; v < spec.V; ++v)
    d[v] = token.beta * (token.v[v] - y[v]);
  if (!o)
    return;
  for (int64_t c = 0; c < spec.K; ++c)
    operand[c] = token.alpha[perChannel ? c : 0] * (token.q[c] * token.rq);
  o->resize(spec.V);
  readState(operand.data(), state_.data(), spec.K, spec.V, o->data());
  for (int64_t v = 0; v < spec.V; ++v)
    (*o)[v] += d[v] * token.kq;
}

template <typename T> void Recurrence<T>::advance(const std::vector<T> &alpha, const T *d, const T *k) {
  updateState(state_.data(), alpha.data(), spec.gateDim() > 1, d, k, spec.K, spec.V);
}

template <typename T> void Recurrence<T>::step(const ModelToken<T> &token) {
  std::vector<T> d;
  read(token, d);
  advance(token.alpha, d.data(), token.kn.data());
}

template struct run::ModelToken<float>;
template struct run::ModelToken<double>;
template class run::Recurrence<float>;
template class run::Recurrence<double>;

//===----------------------------------------------------------------------===//
// The ring form
//===----------------------------------------------------------------------===//

RingWindow::RingWindow(const KernelSpec &spec, const std::vector<float> &state,
                       const RingRecords &records, int64_t wp)
    : spec(spec), state(state), records(records), wp(wp) {
  int64_t GK = spec.gateDim(), K = spec.K;
  std::vector<float> sum(GK, 0.0f);
  weights.resize(wp * GK);
  for (int64_t j = wp - 1; j >= 0; --j)
    for (int64_t c = 0; c < GK; ++c) {
      weights[j * GK + c] = std::exp(sum[c]);
      sum[c] += records.g[j * GK + c];
    }
  for (float s : sum)
    total.push_back(std::exp(s));
  for (int64_t i = 0; GK > 1 && i < wp * K; ++i)
    weightedKeys.push_back(weights[i] * records.k[i]);
}

/// (S0 and the ring, decayed up to the current token) x. KDA decays the operand,
/// GDN the result.
std::vector<float> RingWindow::read(const std::vector<float> &x, float rnorm) const {
  int64_t K = spec.K, V = spec.V;
  bool perChannel = spec.gateDim() > 1;
  std::vector<float> operand(x), ringOperand(x), weight(wp), checkpoint(V), ring(V), y(V);
  if (perChannel)
    for (int64_t c = 0; c < K; ++c) {
      ringOperand[c] = sinceStart[c] * x[c];
      operand[c] = total[c] * ringOperand[c];
    }
  const std::vector<float> &keys = perChannel ? weightedKeys : records.k;
  for (int64_t j = 0; j < wp; ++j)
    weight[j] = dotF32(ringOperand.data(), &keys[j * K], K) * (perChannel ? 1.0f : weights[j]);
  readState(operand.data(), state.data(), K, V, checkpoint.data());
  readRows(weight.data(), records.d.data(), wp, V, ring.data());
  float front = perChannel ? rnorm : rnorm * sinceStart[0];
  for (int64_t v = 0; v < V; ++v)
    y[v] = front * (perChannel ? checkpoint[v] + ring[v] : std::fma(total[0], checkpoint[v], ring[v]));
  return y;
}

/// P(x, k_j) between token j of the window and the current one.
float RingWindow::score(const std::vector<float> &x, float rnorm, size_t j) const {
  bool perChannel = spec.gateDim() > 1;
  std::vector<float> sum(spec.gateDim(), 0.0f), operand(x);
  for (size_t l = gates.size() - 1; l > j; --l)
    for (size_t c = 0; c < sum.size(); ++c)
      sum[c] += gates[l][c];
  for (size_t c = 0; perChannel && c < x.size(); ++c)
    operand[c] = std::exp(sum[c]) * x[c];
  float product = rnorm * dotF32(operand.data(), keys[j].data(), spec.K);
  return perChannel ? product : std::exp(sum[0]) * product;
}

void RingWindow::step(const ModelToken<float> &token) {
  gates.push_back(token.g);
  std::vector<float> sum(spec.gateDim(), 0.0f);
  for (size_t l = gates.size(); l-- > 0;)
    for (size_t c = 0; c < sum.size(); ++c)
      sum[c] += gates[l][c];
  sinceStart.clear();
  for (float s : sum)
    sinceStart.push_back(std::exp(s));
  std::vector<float> yk = read(token.k, token.rk);
  o = read(token.q, token.rq);
  for (size_t j = 0; j < keys.size(); ++j) {
    float ofKey = score(token.k, token.rk, j), ofQuery = score(token.q, token.rq, j);
    for (int64_t v = 0; v < spec.V; ++v) {
      yk[v] = std::fma(ofKey, deltas[j][v], yk[v]);
      o[v] = std::fma(ofQuery, deltas[j][v], o[v]);
    }
  }
  d.resize(spec.V);
  for (int64_t v = 0; v < spec.V; ++v) {
    d[v] = token.beta * (token.v[v] - yk[v]);
    o[v] = std::fma(d[v], token.kq, o[v]);
  }
  keys.push_back(token.kn);
  deltas.push_back(d);
}

//===----------------------------------------------------------------------===//
// The control
//===----------------------------------------------------------------------===//

std::vector<double> OpenLoop::row(size_t i) const {
  std::vector<double> sum(spec.gateDim(), 0.0), row(i);
  for (size_t j = i; j-- > 0;) {
    for (size_t c = 0; c < sum.size(); ++c)
      sum[c] += gates[j + 1][c];
    double common = std::exp(sum[0]);
    for (int64_t c = 0; c < spec.K; ++c)
      row[j] += keys[i][c] * keys[j][c] * (sum.size() > 1 ? std::exp(sum[c]) : common);
    row[j] *= betas[i];
  }
  return row;
}

void OpenLoop::step(const ModelToken<double> &token) {
  gates.push_back(token.g);
  keys.push_back(token.kn);
  betas.push_back(token.beta);
  // The right-hand side is d on the checkpoint alone, decayed by all gates so far.
  ModelToken<double> decayed = token;
  for (size_t c = 0; c < token.g.size(); ++c) {
    double sum = 0;
    for (const std::vector<double> &g : gates)
      sum += g[c];
    decayed.alpha[c] = std::exp(sum);
  }
  rhs.emplace_back();
  model.read(decayed, rhs.back());
}

void OpenLoop::fold() {
  size_t n = keys.size();
  // Row i of (I + A)^-1: e_i - sum_{j<i} A_ij (row j).
  std::vector<std::vector<double>> inverse(n, std::vector<double>(n, 0.0));
  for (size_t i = 0; i < n; ++i) {
    std::vector<double> a = row(i);
    inverse[i][i] = 1;
    for (size_t j = 0; j < i; ++j)
      for (size_t l = 0; l <= j; ++l)
        inverse[i][l] -= a[j] * inverse[j][l];
  }
  for (size_t i = 0; i < n; ++i) {
    std::vector<double> d(spec.V, 0.0), alpha;
    for (size_t l = 0; l <= i; ++l) {
      double weight = reference::roundTo(DType::BF16, inverse[i][l]);
      for (int64_t v = 0; v < spec.V; ++v)
        d[v] += weight * rhs[l][v];
    }
    for (double g : gates[i])
      alpha.push_back(std::exp(g));
    model.advance(alpha, d.data(), keys[i].data());
  }
  keys.clear();
  gates.clear();
  rhs.clear();
  betas.clear();
}
