//===- MathTest.cpp - Errors of the sequences of replay-expand-math -------===//
//
// The same roundings in the same order, on the host, with hardware
// approximations modelled as correctly rounded results moved by up to 2 ulp.
//
//===----------------------------------------------------------------------===//
#include "passes/gpu/MathConstants.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

using namespace replayssm::mathk;

namespace {
constexpr float inf = std::numeric_limits<float>::infinity();
const float nan_ = std::numeric_limits<float>::quiet_NaN();

/// The approximations: flushed denormals, `ulps` away from the nearest float.
struct Hardware {
  int ulps = 0;
  float finish(double value) const {
    float result = static_cast<float>(value);
    for (int i = 0; i < std::abs(ulps) && std::isfinite(result) && result != 0; ++i)
      result = std::nextafterf(result, ulps > 0 ? inf : -inf);
    return flush(result);
  }
  static float flush(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }
  float rsqrt(float x) const { return finish(1 / std::sqrt(static_cast<double>(flush(x)))); }
  float rcp(float x) const { return finish(1 / static_cast<double>(flush(x))); }
};

float bitsToFloat(int32_t bits) { return std::bit_cast<float>(bits); }
int32_t floatBits(float x) { return std::bit_cast<int32_t>(x); }

float maximum(float x, float y) { return std::isnan(x) ? x : std::fmax(x, y); }
float minimum(float x, float y) { return std::isnan(x) ? x : std::fmin(x, y); }

float polynomial(const float *terms, int n, float x) {
  float sum = terms[n - 1];
  for (int term = n - 2; term >= 0; --term)
    sum = std::fma(sum, x, terms[term]);
  return sum;
}

float expSequence(float x) {
  x = minimum(maximum(x, expMin), expMax);
  float shifted = std::fma(x, log2eHi, expMagic);
  float rest = std::fma(x, log2eLo, std::fma(x, log2eHi, expMagic - shifted));
  float scale = bitsToFloat(static_cast<int32_t>(static_cast<uint32_t>(floatBits(shifted)) << exponentShift));
  return polynomial(exp2Q, exp2Terms, rest) * scale;
}

float log1pSequence(float u) {
  float sum = u + 1.0f;
  int32_t k = (floatBits(sum) - threeQuartersBits) & exponentMask;
  float scale = bitsToFloat(fourBits - k);
  float rest = std::fma(u * 0.25f, scale, std::fma(scale, 0.25f, -1.0f));
  float mantissaLog = std::fma(rest * rest, polynomial(log1pQ, log1pTerms, rest), rest);
  float result = std::fma(static_cast<float>(k), ln2PerBit, mantissaLog);
  return u < inf ? result : u;
}

float rsqrtSequence(Hardware hw, float x) {
  float y = hw.rsqrt(x);
  float error = std::fma(-(x * y), y, 1.0f);
  return std::fabs(error) < newtonLimit ? std::fma(error * 0.5f, y, y) : y;
}

float reciprocalSequence(Hardware hw, float x) {
  float y = hw.rcp(x);
  float error = std::fma(-x, y, 1.0f);
  return std::fabs(error) < newtonLimit ? std::fma(y, error, y) : y;
}

float divideSequence(Hardware hw, float x, float y) {
  float inverse = reciprocalSequence(hw, y), quotient = x * inverse;
  float rest = std::fma(-y, quotient, x);
  return std::fabs(rest) < inf ? std::fma(rest, inverse, quotient) : quotient;
}

double ulpsBetween(float value, double exact) {
  int exponent = std::max(std::ilogb(exact), -126);
  return std::fabs(value - exact) / std::ldexp(1.0, exponent - 23);
}

/// The largest error of `f` against `exact` over `n` points of [low, high].
template <typename F, typename E>
double worst(float low, float high, int n, F f, E exact) {
  double result = 0;
  for (int i = 0; i <= n; ++i) {
    float x = low + (high - low) * (static_cast<float>(i) / static_cast<float>(n));
    result = std::max(result, ulpsBetween(f(x), exact(static_cast<double>(x))));
  }
  return result;
}

constexpr int points = 2'000'000;

TEST(Math, Exp) {
  auto exact = [](double x) { return std::exp(x); };
  EXPECT_LE(worst(-87.3f, 88.37f, points, expSequence, exact), 1.2);
  EXPECT_LE(worst(-2.0f, 2.0f, points, expSequence, exact), 1.2);
  EXPECT_LE(worst(-1e-3f, 1e-3f, points, expSequence, exact), 0.6);
  for (int i = 0; i <= 100'000; ++i)
    EXPECT_LE(expSequence(-1e-9f * static_cast<float>(i)), 1.0f);
  EXPECT_EQ(expSequence(0.0f), 1.0f);
  EXPECT_EQ(expSequence(-0.0f), 1.0f);
  for (float x : {-inf, -FLT_MAX, -200.0f, -89.0f, -88.0f})
    EXPECT_EQ(expSequence(x), 0.0f) << x;
  for (float x : {inf, FLT_MAX, 200.0f, 89.0f, 88.8f})
    EXPECT_EQ(expSequence(x), inf) << x;
  EXPECT_TRUE(std::isnan(expSequence(nan_)));
  EXPECT_TRUE(std::isnan(expSequence(-nan_)));
}

TEST(Math, Log1p) {
  auto exact = [](double x) { return std::log1p(x); };
  EXPECT_LE(worst(0.0f, 1.0f, points, log1pSequence, exact), 1.0);
  EXPECT_LE(worst(1.0f, 5e8f, points, log1pSequence, exact), 1.0);
  for (int exponent = -124; exponent <= 126; ++exponent)
    EXPECT_LE(worst(std::ldexp(1.0f, exponent), std::ldexp(1.0f, exponent + 1), 2000, log1pSequence, exact), 1.0)
        << exponent;
  EXPECT_EQ(log1pSequence(0.0f), 0.0f);
  EXPECT_EQ(log1pSequence(inf), inf);
  EXPECT_LE(ulpsBetween(log1pSequence(FLT_MAX), std::log1p(static_cast<double>(FLT_MAX))), 1.0);
  EXPECT_TRUE(std::isnan(log1pSequence(nan_)));
}

TEST(Math, Rsqrt) {
  auto exact = [](double x) { return 1 / std::sqrt(x); };
  for (int ulps : {-2, 0, 2}) {
    auto f = [&](float x) { return rsqrtSequence({ulps}, x); };
    EXPECT_LE(worst(1.0f, 4.0f, points, f, exact), 1.0) << ulps;
    EXPECT_LE(worst(1e-30f, 1e-29f, points, f, exact), 1.0) << ulps;
  }
  EXPECT_EQ(rsqrtSequence({}, 0.0f), inf);
  EXPECT_EQ(rsqrtSequence({}, inf), 0.0f);
  EXPECT_TRUE(std::isnan(rsqrtSequence({}, nan_)));
}

TEST(Math, Divide) {
  for (int ulps : {-2, 0, 2}) {
    Hardware hw{ulps};
    EXPECT_LE(worst(1.0f, 2.0f, points, [&](float x) { return reciprocalSequence(hw, x); },
                    [](double x) { return 1 / x; }), 1.0) << ulps;
    EXPECT_LE(worst(1.0f, 300.0f, points, [&](float x) { return divideSequence(hw, 0.7f, x); },
                    [](double x) { return static_cast<double>(0.7f) / x; }), 1.0) << ulps;
  }
  Hardware hw;
  EXPECT_EQ(reciprocalSequence(hw, inf), 0.0f);
  EXPECT_EQ(reciprocalSequence(hw, 0.0f), inf);
  EXPECT_EQ(reciprocalSequence(hw, 1.0f), 1.0f);
  EXPECT_EQ(divideSequence(hw, 1.5f, inf), 0.0f);
  EXPECT_EQ(divideSequence(hw, 1.5f, 0.0f), inf);
  EXPECT_TRUE(std::isnan(divideSequence(hw, nan_, 2.0f)));
}

struct FloatPair { float hi, lo; };

FloatPair expPairSequence(float x) {
  float shifted = std::fma(x, log2eHi, expMagic), n = expMagic - shifted;
  float rest = std::fma(n, ln2Hi, x), small = n * ln2Lo;
  float r = rest + small, rLo = small - (r - rest);
  float square = r * r, half = square * 0.5f, squareLo = std::fma(r, r, -square);
  float tail = square * r * polynomial(expTailQ, expTailTerms, r);
  float first = 1.0f + r, firstLo = r - (first - 1.0f);
  float second = first + half, secondLo = half - (second - first);
  float lo = firstLo + secondLo + std::fma(rLo, second, std::fma(squareLo, 0.5f, tail));
  float hi = second + lo;
  float scale = bitsToFloat(static_cast<int32_t>(static_cast<uint32_t>(floatBits(shifted)) << exponentShift));
  return {hi * scale, (lo - (hi - second)) * scale};
}

TEST(Math, ExpPair) {
  double worstRelative = 0;
  for (int i = 0; i <= points; ++i) {
    float x = -80.0f + 140.0f * (static_cast<float>(i) / static_cast<float>(points));
    FloatPair pair = expPairSequence(x);
    double exact = std::exp(static_cast<double>(x));
    double error = std::fabs(static_cast<double>(pair.hi) + static_cast<double>(pair.lo) - exact) / exact;
    worstRelative = std::fmax(worstRelative, error);
  }
  EXPECT_LE(worstRelative, 0x1p-29);
  EXPECT_EQ(expPairSequence(0.0f).hi, 1.0f);
  EXPECT_EQ(expPairSequence(0.0f).lo, 0.0f);
}

// g = lower_bound sigmoid(exp(A) (a + bias)), down to where sigmoid vanishes.
TEST(Math, SafeGate) {
  for (int ulps : {-2, 0, 2}) {
    Hardware hw{ulps};
    for (float aLog : {-20.0f, -3.3f, -0.7f, 0.0f, 0.9f, 2.2f, 5.1f}) {
      FloatPair rate = expPairSequence(aLog);
      double exactRate = std::exp(static_cast<double>(aLog)), worstUlps = 0;
      float bias = 0.37f, span = static_cast<float>(86 / exactRate);
      for (int i = -40'000; i <= 40'000; ++i) {
        float a = span * (static_cast<float>(i) / 40'000.0f);
        float x = a + bias, part = x - a, xLo = (a - (x - part)) + (bias - part);
        float z = x * rate.hi;
        float zLo = std::fma(xLo, rate.hi, std::fma(x, rate.lo, std::fma(x, rate.hi, -z)));
        float small = expSequence(-std::fabs(z));
        small = std::fma(small, z < 0 ? zLo : -zLo, small);
        float g = divideSequence(hw, z < 0 ? small * -5.0f : -5.0f, small + 1.0f);
        double exact = -5 / (1 + std::exp(-exactRate * (static_cast<double>(a) + static_cast<double>(bias))));
        if (std::fabs(exact) > 0x1p-123)
          worstUlps = std::fmax(worstUlps, ulpsBetween(g, exact));
      }
      EXPECT_LE(worstUlps, 4.0) << "A_log " << aLog << " ulps " << ulps;
    }
  }
}

// beta = 1 / (1 + exp(-b))
TEST(Math, Sigmoid) {
  for (int ulps : {-2, 0, 2}) {
    Hardware hw{ulps};
    auto f = [&](float b) { return reciprocalSequence(hw, 1.0f + expSequence(-b)); };
    EXPECT_LE(worst(-80.0f, 30.0f, points, f, [](double b) { return 1 / (1 + std::exp(-b)); }), 3.0);
    EXPECT_EQ(f(-200.0f), 0.0f);
    EXPECT_EQ(f(200.0f), 1.0f);
  }
}

// g = -exp(A) softplus(x), softplus(x) = max(x, 0) + log1p(exp(-|x|)): the contract is 4 ulp.
TEST(Math, Gate) {
  for (float a = -6; a < 5; a += 0.37f) {
    auto f = [&](float x) {
      float softplus = maximum(x, 0.0f) + log1pSequence(expSequence(-std::fabs(x)));
      return -expSequence(a) * softplus;
    };
    auto exact = [&](double x) {
      return -std::exp(static_cast<double>(a)) * (std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))));
    };
    EXPECT_LE(worst(-80.0f, 100.0f, points / 4, f, exact), 4.0) << "A_log " << a;
  }
}
} // namespace
