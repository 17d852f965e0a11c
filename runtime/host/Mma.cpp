//===- Mma.cpp - Tensor cores on the host ---------------------------------===//
#include "runtime/host/Mma.h"

#include "runtime/host/Random.h"

#include <bit>
#include <cmath>

using namespace replayssm::rt;

/// Tensor cores ignore the low 13 bits.
static double fromTf32(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }
static double fromBF16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
static double fromF16(uint32_t bits) {
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent     ? std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25)
                                : std::ldexp(fraction, -24);
  return bits >> 15 & 1 ? -value : value;
}

namespace {
/// How one type lies in the registers of PTX: lane 4 g + t has rows (columns) g, and of the
/// channels t (a register holds one or two) and those of the other half of a step.
struct Operands {
  const rssm_host_mma_operands *warp;
  uint32_t type;

  uint32_t channels() const { return type == RSSM_MMA_TF32 ? 8 : 16; }
  double number(uint32_t word, uint32_t half) const {
    switch (type) {
    case RSSM_MMA_BF16:
      return fromBF16(word >> 16 * half & 0xffff);
    case RSSM_MMA_F16:
      return fromF16(word >> 16 * half & 0xffff);
    default: // No other is emitted.
      return fromTf32(word);
    }
  }
  /// Of a row or column in 0 .. 7 the lane that has this channel.
  const rssm_host_mma_operands &holder(uint32_t group, uint32_t channel) const {
    uint32_t half = channels() / 2, perWord = half / 4;
    return warp[4 * group + channel % half / perWord];
  }
  double a(uint32_t row, uint32_t channel) const {
    uint32_t half = channels() / 2;
    return number(holder(row % 8, channel).a[row / 8 + 2 * (channel / half)], channel % (half / 4));
  }
  double b(uint32_t channel, uint32_t col) const {
    uint32_t half = channels() / 2;
    return number(holder(col, channel).b[channel / half], channel % (half / 4));
  }
};
} // namespace

static float sumOf(const Operands &operands, uint32_t row, uint32_t col, float accumulator, uint64_t perturbSeed) {
  double sum = accumulator, largest = std::fabs(accumulator);
  uint64_t key = std::bit_cast<uint32_t>(accumulator);
  for (uint32_t channel = 0; channel < operands.channels(); ++channel) {
    double x = operands.a(row, channel), y = operands.b(channel, col);
    sum += x * y;
    largest = std::fmax(largest, std::fabs(x * y));
    if (perturbSeed)
      key = mixBits(key ^ std::bit_cast<uint64_t>(x)) ^ std::bit_cast<uint64_t>(y);
  }
  if (std::isnan(sum))
    return std::bit_cast<float>(0x7fffffffu); // the device's only NaN
  if (std::isinf(sum) || largest == 0)
    return static_cast<float>(sum);
  double bit = std::ldexp(1.0, std::max(std::ilogb(largest), -126) - 23);
  double rounded = std::trunc(sum / bit);
  if (perturbSeed && rounded != sum / bit)
    rounded += static_cast<double>(Random(mixBits(perturbSeed) ^ key).below(3)) - 1;
  return static_cast<float>(rounded * bit);
}

void replayssm::rt::multiplyTiles(float *sums, const rssm_host_mma_operands *warp, uint32_t lane, uint32_t type,
                                  uint64_t perturbSeed) {
  Operands operands{warp, type};
  for (uint32_t i = 0; i < 4; ++i)
    sums[i] = sumOf(operands, lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2, warp[lane].c[i], perturbSeed);
}
