//===- Mma.h - Tensor cores on the host -------------------------*- C++ -*-===//
#pragma once

#include "runtime/host/HostABI.h"

namespace replayssm::rt {

/// The four sums of `lane` of mma.sync m16n8k8 (tf32) or m16n8k16 (16 bits) over what the
/// 32 lanes of `warp` brought. Products are exact, and a step has one rounding: towards
/// zero, to the last bit of what is largest among products and accumulator; with a seed up to
/// one such bit more or less, by the operands' bits alone and never by where they are.
void multiplyTiles(float *sums, const rssm_host_mma_operands *warp, uint32_t lane, uint32_t type, uint64_t perturbSeed);

} // namespace replayssm::rt
