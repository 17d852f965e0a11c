//===- Random.h - Reproducible pseudo-random numbers ------------*- C++ -*-===//
//
// splitmix64: the same numbers for the same seed on every machine.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace replayssm::rt {

inline uint64_t mixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Random {
public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}
  uint64_t next() { return mixBits(state_ += 0x9e3779b97f4a7c15u); }
  /// Uniform enough below a small bound.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }

private:
  uint64_t state_;
};

} // namespace replayssm::rt
