//===- GateContract.h - What a gate may err -------------------------------===//
//
// The exact g of docs/spec.md, "Gates and beta", in extended precision, and the
// bounds that stand there. Independent of lib/Reference.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cfloat>
#include <cmath>
#include <limits>
#include <string>

namespace gates {

/// One gate; `bound` is the lower bound of a safe one, 0 of softplus.
struct Inputs {
  float aLog, a, bias;
  float bound = 0;
};

/// The largest two cancel first: exact where the sum is small.
inline long double sum(long double x, long double y, long double z) {
  if (std::fabs(x) < std::fabs(y))
    std::swap(x, y);
  if (std::fabs(y) < std::fabs(z))
    std::swap(y, z);
  if (std::fabs(x) < std::fabs(y))
    std::swap(x, y);
  return std::isinf(x) ? x + y + z : (x + y) + z;
}

inline long double exact(const Inputs &in) {
  long double aLog = in.aLog, x = static_cast<long double>(in.a) + in.bias;
  // Factors within 10^+-4000 are multiplied, others added as logarithms.
  bool isPlain = std::fabs(aLog) < 9000;
  if (in.bound != 0) {
    long double z = isPlain ? std::exp(aLog) * x : std::copysign(std::exp(aLog + std::log(std::fabs(x))), x);
    return in.bound / (1 + std::exp(-z));
  }
  if (isPlain && x > -9000)
    return -std::exp(aLog) * (std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x))));
  return x > 0 ? -std::exp(aLog + std::log(x)) : -std::exp(sum(in.aLog, in.a, in.bias));
}

/// Empty where `g` keeps the contract.
inline std::string fault(const Inputs &in, float g) {
  long double want = exact(in), x = static_cast<long double>(in.a) + in.bias;
  auto text = [&](const char *what) {
    char line[256];
    std::snprintf(line, sizeof line, "%s: A_log %.9g, a %.9g, dt_bias %.9g, lower_bound %g: expected %.9Lg but got %.9g",
                  what, in.aLog, in.a, in.bias, in.bound, want, g);
    return std::string(line);
  };
  if (std::isnan(want))
    return "";
  if (!(g <= 0))
    return text("not <= 0");
  if (!(std::fabs(in.aLog) <= 80 && std::fabs(x) <= FLT_MAX)) {
    long double error = std::fabs(std::exp(static_cast<long double>(g)) - std::exp(want));
    return error <= 1e-6L ? "" : text("exp(g)");
  }
  if (want < -FLT_MAX && std::isinf(g))
    return "";
  long double scale = in.bound != 0 ? -in.bound : std::exp(static_cast<long double>(in.aLog)), slack = 0;
  if (-want < scale * 0x1p-126L) { // It may be short of bits, down to none.
    if (g == 0)
      return "";
    slack = 4 * scale * 0x1p-149L;
  }
  int exponent = want == 0 ? -126 : std::max(std::ilogb(want), -126);
  return std::fabs(g - want) <= 4 * std::ldexp(1.0L, exponent - 23) + slack ? "" : text("more than 4 ulp");
}

/// Numbers where factors of g leave f32, or g is of ordinary size in spite of it.
inline constexpr float infinite = std::numeric_limits<float>::infinity();
inline constexpr float rates[] = {
    0,      -0.7f, 2.3f,  -20,    20,     -79.9f, 79.9f, -80,    80,     -80.01f, 80.01f, -85,    85,    -87.4f,
    88.73f, -95,   95,    -100,   100,    -103.9f, 103.9f, -110, 110,    150,     -150,   1000,   -1000, 1e30f,
    -1e30f, 2e38f, -2e38f, FLT_MAX, -FLT_MAX, 1e-40f};
inline constexpr float sums[] = {
    0,     -0.5f,  3,      -12,    17.5f,  21,     -30,    -80,   -87.3f, -88,    -95,     -100,   -104,    -120, -200,
    90,    200,    1e-38f, -1e-38f, 1e-45f, -1e-45f, -1e-40f, -1e-30f, 1e-30f, -7e-36f, 1e6f, -1e6f, 1e12f, -1e12f,
    1e30f, -1e30f, 1e36f,  -1e36f, 2e38f,  -2e38f, FLT_MAX, -FLT_MAX, infinite, -infinite};

} // namespace gates
