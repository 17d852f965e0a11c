//===- Approx.h - Approximate functions on the host -------------*- C++ -*-===//
//
// ex2, lg2, rsqrt and rcp as the device defines them: denormals flushed,
// special values as in the PTX manual, the rest rounded from double.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace replayssm::rt {

/// `fn` is one of rssm_host_approx_fn. A seed != 0 moves inexact results by up
/// to 2 ulp, the same for the same seed, function and argument.
float approximate(uint32_t fn, float x, uint64_t perturbSeed);

} // namespace replayssm::rt
