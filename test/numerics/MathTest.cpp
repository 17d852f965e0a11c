//===- MathTest.cpp - Errors of the sequences of replay-expand-math -------===//
//
// The same roundings in the same order, on the host, with hardware
// approximations modelled as correctly rounded results moved by up to 2 ulp.
//
//===----------------------------------------------------------------------===//
#include "passes/gpu/MathConstants.h"
#include "test/numerics/GateContract.h"

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
  float scale = bitsToFloat(fourBits - k) * 0.25f;
  float rest = std::fma(u, scale, scale + -1.0f);
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
  for (int exponent = -126; exponent <= 126; ++exponent)
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

FloatPair expPairSequence(float x, int32_t power = 0) {
  float shifted = std::fma(x, log2eHi, expMagic), n = expMagic - shifted;
  float rest = std::fma(n, ln2Hi, x), small = n * ln2Lo;
  float r = rest + small, rLo = small - (r - rest);
  float square = r * r, half = square * 0.5f, squareLo = std::fma(r, r, -square);
  float tail = square * r * polynomial(expTailQ, expTailTerms, r);
  float first = 1.0f + r, firstLo = r - (first - 1.0f);
  float second = first + half, secondLo = half - (second - first);
  float lo = firstLo + secondLo + std::fma(rLo, second, std::fma(squareLo, 0.5f, tail));
  float hi = second + lo;
  float scale = bitsToFloat(static_cast<int32_t>(static_cast<uint32_t>(floatBits(shifted) + power) << exponentShift));
  return {hi * scale, (lo - (hi - second)) * scale};
}

TEST(Math, ExpPair) {
  double worstRelative = 0;
  for (int i = 0; i <= points; ++i) {
    float x = rateFloor + (rateCeiling - rateFloor) * (static_cast<float>(i) / static_cast<float>(points));
    int32_t power = x < -rateBound ? rateScaleBits : x > rateBound ? -rateScaleBits : 0;
    FloatPair pair = expPairSequence(x, power);
    double exact = std::ldexp(std::exp(static_cast<double>(x)), power);
    double error = std::fabs(static_cast<double>(pair.hi) + static_cast<double>(pair.lo) - exact) / exact;
    worstRelative = std::fmax(worstRelative, error);
  }
  EXPECT_LE(worstRelative, 0x1p-28);
  EXPECT_EQ(expPairSequence(0.0f).hi, 1.0f);
  EXPECT_EQ(expPairSequence(0.0f).lo, 0.0f);
}

FloatPair sumPair(float x, float y) {
  float sum = x + y, part = sum - x;
  return {sum, (x - (sum - part)) + (y - part)};
}
float finiteOrZero(float lost) { return std::fabs(lost) < inf ? lost : 0; }

float softplusGate(float aLog, float a, float bias) {
  bool isLow = aLog < -rateBound, isHigh = aLog > rateBound;
  float scale = isLow ? 1 / rateScale : 1;
  FloatPair x = sumPair(a * scale, bias * scale);
  x.lo = finiteOrZero(x.lo);
  float small = expSequence(-std::fabs(x.hi));
  float softplus = std::fma(x.lo, small, maximum(x.hi, 0) + log1pSequence(small));
  float exponent = isLow ? maximum(aLog, rateFloor) + rateScaleLog : aLog;
  exponent = isHigh ? (aLog + x.hi) + x.lo : exponent;
  return (isHigh ? 1 : softplus) * -expSequence(exponent);
}

float safeGate(Hardware hw, float bound, float aLog, float a, float bias) {
  bool isLow = aLog < -rateBound, isHigh = aLog > rateBound;
  float down = isLow ? 1 / rateScale : 1, up = isHigh ? rateScale : 1;
  FloatPair x = sumPair(a * down, bias * down);
  x = {x.hi * up, x.lo * up};
  FloatPair rate = expPairSequence(minimum(maximum(aLog, rateFloor), rateCeiling),
                                   isLow ? rateScaleBits : isHigh ? -rateScaleBits : 0);
  float z = x.hi * rate.hi;
  float zLo = finiteOrZero(std::fma(x.lo, rate.hi, std::fma(x.hi, rate.lo, std::fma(x.hi, rate.hi, -z))));
  float toward = z < 0 ? zLo : -zLo, size = std::fabs(z), small = expSequence(-size);
  small = std::fma(small, toward, small);
  float least = small * bound;
  if (bound < -vastBound && size > vastFrom) {
    float root = expSequence(size * -0.5f), vast = root * bound * root;
    least = std::fma(vast, toward, vast);
  }
  return divideSequence(hw, z < 0 ? least : bound, small + 1.0f);
}

/// Reports the first of the faults.
struct Faults {
  int64_t count = 0, checked = 0;
  void check(const gates::Inputs &in, float g) {
    ++checked;
    std::string fault = gates::fault(in, g);
    if (!fault.empty() && ++count <= 5)
      ADD_FAILURE() << fault;
  }
};

/// Every number of the contract's list with every other.
template <typename F> void sweep(float bound, F gate) {
  Faults faults;
  for (float aLog : gates::rates)
    for (float a : gates::sums)
      for (float bias : gates::sums) {
        faults.check({aLog, a, bias, bound}, gate(aLog, a, bias));
        // Where the sum meets A_log, or the rate's inverse.
        for (float toward : {-6.0f, -1.0f, 0.0f, 2.0f}) {
          float near = bound != 0 ? toward * std::exp(-aLog) - bias : toward - aLog - bias;
          if (std::isfinite(near))
            faults.check({aLog, near, bias, bound}, gate(aLog, near, bias));
        }
      }
  EXPECT_EQ(faults.count, 0) << "of " << faults.checked;
  EXPECT_TRUE(std::isnan(gate(nan_, 1.0f, 1.0f)));
  EXPECT_TRUE(std::isnan(gate(1.0f, nan_, 1.0f)));
  EXPECT_TRUE(std::isnan(gate(1.0f, 1.0f, nan_)));
  EXPECT_TRUE(std::isnan(gate(90.0f, nan_, 1.0f)));
  EXPECT_TRUE(std::isnan(gate(-90.0f, 1.0f, nan_)));
}

TEST(Math, SoftplusGateOfAnyNumbers) { sweep(0, softplusGate); }

TEST(Math, SafeGateOfAnyNumbers) {
  for (int ulps : {-2, 0, 2})
    for (float bound : {-5.0f, -1e-30f, -1e-42f, -1e30f, -3e38f})
      sweep(bound, [&](float aLog, float a, float bias) { return safeGate({ulps}, bound, aLog, a, bias); });
}

// The same where both factors leave f32, densely.
TEST(Math, GatesBeyondTheRange) {
  Faults faults;
  for (float aLog = 60; aLog < 130; aLog += 0.173f)
    for (float shift = -20; shift < 6; shift += 0.0371f) {
      faults.check({aLog, shift, -aLog}, softplusGate(aLog, shift, -aLog));
      float far = std::ldexp(1.0f, 30) * aLog;
      faults.check({far, shift, -far}, softplusGate(far, shift, -far));
      float x = std::exp(-aLog) * shift;
      for (float bound : {-5.0f, -3e38f})
        faults.check({aLog, x, 0, bound}, safeGate({2}, bound, aLog, x, 0));
      for (float size : {2e38f, 3e38f}) {
        faults.check({-aLog, size, size * shift / 20}, softplusGate(-aLog, size, size * shift / 20));
        faults.check({-aLog, -size, size * shift / 20, -5}, safeGate({-2}, -5, -aLog, -size, size * shift / 20));
      }
    }
  EXPECT_EQ(faults.count, 0) << "of " << faults.checked;
}

// g = lower_bound sigmoid(exp(A) (a + bias)), down to where sigmoid vanishes.
TEST(Math, SafeGate) {
  for (int ulps : {-2, 0, 2}) {
    Faults faults;
    for (float aLog : {-79.0f, -20.0f, -3.3f, -0.7f, 0.0f, 0.9f, 2.2f, 5.1f, 60.5f, 79.0f}) {
      float bias = 0.37f, span = static_cast<float>(90 / std::exp(static_cast<double>(aLog)));
      for (int i = -40'000; i <= 40'000; ++i) {
        float a = span * (static_cast<float>(i) / 40'000.0f);
        faults.check({aLog, a, bias, -5}, safeGate({ulps}, -5, aLog, a, bias));
      }
    }
    EXPECT_EQ(faults.count, 0) << "ulps " << ulps;
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

/// `value` rounded to `bits` mantissa bits, ties to even; below 2^least there are fewer.
double rounded(double value, int bits, int least) {
  double ulp = std::ldexp(1.0, std::max(std::ilogb(value), least) - bits);
  return std::nearbyint(value / ulp) * ulp;
}

// sigmoid_io: f32 cannot tell on which side of a tie 7 of all f16 values lie. docs/spec.md says so.
TEST(Math, SigmoidIo) {
  for (int ulps : {-2, -1, 0, 1, 2}) {
    Hardware hw{ulps};
    auto countWrong = [&](int mantissa, int exponents, int least) {
      int wrong = 0, checked = 0;
      for (int i = 0; i < 65536; ++i) {
        int exponent = i >> mantissa & (exponents - 1), fraction = i & ((1 << mantissa) - 1);
        if (exponent == exponents - 1)
          continue;
        ++checked;
        double size = std::ldexp(fraction + (exponent ? 1 << mantissa : 0), std::max(exponent, 1) - 1 + least - mantissa);
        double b = i >> 15 ? -size : size, exact = 1 / (1 + std::exp(-b));
        float sigmoid = reciprocalSequence(hw, 1.0f + expSequence(-static_cast<float>(b)));
        wrong += exact >= 0x1p-125 && rounded(sigmoid, mantissa, least) != rounded(exact, mantissa, least);
      }
      EXPECT_EQ(checked, exponents == 32 ? 63488 : 65280);
      return wrong;
    };
    EXPECT_EQ(countWrong(10, 32, -14), 7) << ulps;
    EXPECT_EQ(countWrong(7, 256, -126), 0) << ulps;
  }
}

// g = -exp(A) softplus(a + bias): the contract is 4 ulp.
TEST(Math, SoftplusGate) {
  Faults faults;
  for (float aLog : {-80.0f, -55.0f, -5.6f, -3.1f, -0.7f, 0.0f, 1.3f, 2.9f, 4.8f, 40.0f, 80.0f})
    for (float bias : {0.0f, 0.37f, -4.1f})
      for (int i = 0; i <= points / 20; ++i) {
        float a = -100.0f + 200.0f * (static_cast<float>(i) / static_cast<float>(points / 20));
        faults.check({aLog, a, bias}, softplusGate(aLog, a, bias));
      }
  EXPECT_EQ(faults.count, 0);
}
} // namespace
