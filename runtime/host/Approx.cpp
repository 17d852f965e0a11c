//===- Approx.cpp - Approximate functions on the host ---------------------===//
//
// Flushed, correctly special, optionally perturbed.
//
//===----------------------------------------------------------------------===//

#include "runtime/host/Approx.h"

#include "runtime/host/HostABI.h"
#include "runtime/host/Random.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace replayssm::rt;

static float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

static double evaluate(uint32_t fn, double x) {
  switch (fn) {
  case RSSM_EX2:
    return std::exp2(x);
  case RSSM_LG2:
    return std::log2(x);
  case RSSM_RSQRT:
    return 1.0 / std::sqrt(x); // sqrt(-0) = -0: -inf as on the device
  case RSSM_RCP:
    return 1.0 / x;
  }
  return NAN; // No other is emitted.
}

float replayssm::rt::approximate(uint32_t fn, float x, uint64_t perturbSeed) {
  x = flushed(x);
  float y = flushed(static_cast<float>(evaluate(fn, x)));
  if (std::isnan(y))
    return std::bit_cast<float>(0x7fffffffu); // the device's only NaN
  bool exact = !std::isnormal(y) || (fn == RSSM_EX2 && x == 0.0f);
  if (!perturbSeed || exact)
    return y;
  uint64_t key = uint64_t(fn) << 32 | std::bit_cast<uint32_t>(x);
  Random random(mixBits(perturbSeed) ^ key);
  auto steps = static_cast<int32_t>(random.below(5)) - 2;
  // One ulp away from or towards zero is the next or previous bit pattern.
  float moved = std::bit_cast<float>(std::bit_cast<uint32_t>(y) + static_cast<uint32_t>(steps));
  return std::isnormal(moved) ? moved : y;
}
