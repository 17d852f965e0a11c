//===- Numbers.cpp - f32, bf16 and f16 in memory --------------------------===//
#include "tools/replayssm-run/Case.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

namespace {
struct Format {
  int mantissaBits, minExponent, width;
};
Format formatOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return {23, -126, 4};
  case DType::BF16:
    return {7, -126, 2};
  case DType::F16:
    return {10, -14, 2};
  }
  __builtin_unreachable();
}
} // namespace

int64_t run::byteWidth(DType dtype) { return formatOf(dtype).width; }

double run::ulp(DType dtype, double value) {
  Format format = formatOf(dtype);
  int exponent = value == 0 ? format.minExponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.minExponent) - format.mantissaBits);
}

double run::toDouble(const uint8_t *data, DType dtype) {
  if (dtype == DType::F32) {
    float value;
    std::memcpy(&value, data, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data, 2);
  if (dtype == DType::BF16) {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
  }
  int exponent = (bits >> 10) & 31;
  double mantissa = bits & 1023, sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == 31)
    return mantissa != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24)
                               : std::ldexp(1024 + mantissa, exponent - 25));
}

void run::fromDouble(uint8_t *data, DType dtype, double value) {
  if (dtype == DType::F32) {
    float narrow = static_cast<float>(value);
    std::memcpy(data, &narrow, 4);
    return;
  }
  uint16_t bits;
  if (std::isinf(value)) {
    bits = (value < 0 ? 0x8000 : 0) | (dtype == DType::BF16 ? 0x7f80 : 0x7c00);
    std::memcpy(data, &bits, 2);
    return;
  }
  // What is finite is in range; round to nearest even through the format's ulp.
  double step = ulp(dtype, value);
  double rounded = std::nearbyint(value / step) * step;
  if (dtype == DType::BF16) {
    float narrow = static_cast<float>(rounded);
    uint32_t wide;
    std::memcpy(&wide, &narrow, 4);
    bits = wide >> 16;
  } else {
    double magnitude = std::fabs(rounded);
    int exponent = magnitude == 0 ? -15 : std::max(std::ilogb(magnitude), -15);
    uint16_t sign = std::signbit(rounded) ? 0x8000 : 0;
    if (exponent < -14)
      bits = sign | uint16_t(std::ldexp(magnitude, 24));
    else
      bits = sign | uint16_t((exponent + 15) << 10 | (int(std::ldexp(magnitude, 10 - exponent)) & 1023));
  }
  std::memcpy(data, &bits, 2);
}
