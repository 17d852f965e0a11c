//===- DriftModelsTest.cpp - The models of drift against the oracle -------===//
#include "tools/replayssm-run/DriftMath.h"
#include "tools/replayssm-run/DriftModels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace replayssm;
using namespace replayssm::run;

namespace {

constexpr int64_t history = 5, tokens = 4;

double relative(const std::vector<double> &got, const std::vector<double> &expected) {
  double squares = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    squares += (got[i] - expected[i]) * (got[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(squares / size);
}

class DriftModels : public testing::TestWithParam<Rule> {
protected:
  void SetUp() override {
    spec.rule = GetParam();
    spec.phase = Phase::Verify;
    spec.H = spec.HV = 1;
    spec.K = 40; // no multiple of 32: the last lanes have less to do
    spec.V = 24;
    for (int64_t i = 0; i < spec.K * spec.V; ++i)
      state.push_back(float(0.1 * normal(rng)));
    for (int64_t t = 0; t < history + tokens; ++t) {
      reference::Token token;
      token.q = values(spec.K);
      token.k = values(spec.K);
      token.v = values(spec.V);
      token.a = values(spec.gateDim());
      token.dtBias = values(spec.gateDim());
      token.b = normal(rng);
      token.aLog = -1;
      all.push_back(token);
    }
  }
  std::vector<double> values(int64_t n) {
    std::vector<double> x(n);
    for (double &value : x)
      value = float(normal(rng));
    return x;
  }
  std::vector<double> gates(const reference::Token &token) const {
    std::vector<double> g;
    for (int64_t c = 0; c < spec.gateDim(); ++c)
      g.push_back(reference::gate(spec, token.a[c], token.aLog, token.dtBias[c]));
    return g;
  }
  template <typename T> ModelToken<T> model(int64_t t) const { return {spec, all[t], gates(all[t])}; }
  /// [V, K] of the oracle from [K][V] of the models.
  template <typename T> std::vector<double> turned(const std::vector<T> &x) const {
    std::vector<double> y(x.size());
    for (int64_t c = 0; c < spec.K; ++c)
      for (int64_t v = 0; v < spec.V; ++v)
        y[v * spec.K + c] = x[c * spec.V + v];
    return y;
  }

  KernelSpec spec;
  std::mt19937_64 rng{3};
  std::normal_distribution<double> normal{0, 1};
  std::vector<float> state; ///< [K][V]
  std::vector<reference::Token> all;
};

TEST_P(DriftModels, RecurrencesFollowTheOracle) {
  Recurrence<double> exact(spec, {state.begin(), state.end()});
  Recurrence<float> single(spec, state);
  std::vector<double> expected = turned(state), d, o;
  for (int64_t t = 0; t < history + tokens; ++t) {
    reference::Step step = reference::step(spec, expected, {}, all[t]);
    exact.read(model<double>(t), d, &o);
    EXPECT_LT(relative(d, step.d), 1e-13);
    EXPECT_LT(relative(o, step.o), 1e-13);
    reference::advance(spec, expected, step);
    exact.step(model<double>(t));
    single.step(model<float>(t));
  }
  EXPECT_LT(relative(turned(exact.state()), expected), 1e-13);
  EXPECT_LT(relative(turned(single.state()), expected), 1e-6);
  EXPECT_GT(relative(turned(single.state()), expected), 1e-9);
}

TEST_P(DriftModels, RingWindowIsTheOraclesWindow) {
  std::vector<double> start = turned(state), before = start;
  RingRecords records;
  for (int64_t t = 0; t < history; ++t) {
    reference::Step step = reference::step(spec, before, {}, all[t]);
    reference::advance(spec, before, step);
    records.d.insert(records.d.end(), step.d.begin(), step.d.end());
    records.k.insert(records.k.end(), step.k.begin(), step.k.end());
    records.g.insert(records.g.end(), step.g.begin(), step.g.end());
  }
  std::vector<reference::Token> window(all.begin() + history, all.end());
  std::vector<reference::Step> expected = reference::window(
      spec, start, {records.d.data(), records.k.data(), records.g.data(), history}, window);
  RingWindow ring(spec, state, records, history);
  for (int64_t t = 0; t < tokens; ++t) {
    ring.step(model<float>(history + t));
    EXPECT_LT(relative({ring.d.begin(), ring.d.end()}, expected[t].d), 3e-6) << t;
    EXPECT_LT(relative({ring.o.begin(), ring.o.end()}, expected[t].o), 3e-6) << t;
  }
}

TEST_P(DriftModels, OnlyTheRoundedInverseSeparatesTheControl) {
  std::vector<double> wide(state.begin(), state.end());
  Recurrence<double> exact(spec, wide);
  OpenLoop alone(spec, wide), together(spec, wide);
  for (int64_t t = 0; t < history; ++t) {
    exact.step(model<double>(t));
    alone.step(model<double>(t));
    alone.fold(); // The inverse of one token is 1.
    together.step(model<double>(t));
  }
  together.fold();
  EXPECT_LT(relative(alone.state(), exact.state()), 1e-13);
  EXPECT_LT(relative(together.state(), exact.state()), 1e-2);
  EXPECT_GT(relative(together.state(), exact.state()), 1e-6);
}

/// Lane (i / 4) mod 8 owns row i; the lanes are joined by a butterfly.
TEST(DriftMath, SumsHaveTheOrderOfTheKernels) {
  std::vector<float> x(40), y(40);
  for (int i = 0; i < 40; ++i)
    x[i] = y[i] = i == 0 ? 4096.0f : 1.0f;
  // Lane 0 has 2^24 and seven ones, each rounded to even and lost. Lane 1 keeps its
  // eight (36 .. 39 are its own), the others their four; two are joined at a time.
  float lane0 = 16777216.0f;
  float expected = ((lane0 + 8.0f) + 8.0f) + 16.0f;
  EXPECT_EQ(dotF32(x.data(), y.data(), 40), expected);
  float read;
  readState(x.data(), y.data(), 40, 1, &read);
  EXPECT_EQ(read, expected);
}

INSTANTIATE_TEST_SUITE_P(, DriftModels, testing::Values(Rule::GDN, Rule::KDA),
                         [](const auto &info) { return std::string(name(info.param)); });

} // namespace
