/*===- KernelABI.h - Ring format and cursors, shared with device code -*- C -*-===
 *
 * Plain C. Changing anything here bumps RSSM_ABI_VERSION in the same commit.
 * docs/abi.md has every buffer, docs/speculative.md who writes which.
 *
 * Per batch row:
 *   state_idx   int32   state slot; null per the kernel's `null`
 *   ring_idx    int32   ring slot
 *   force_flush int8    != 0: the ring of this row is to be folded
 *   reset_mask  int8    != 0: the ring of this row is emptied
 * Per ring slot, all 0 before the first launch of a request:
 *   wp          int32   records held, 0..L
 *   base        int32   where record 0 lies in a circular ring (flush_at=verify), 0..L-1
 *   is_flush    int8    != 0: the next verify folds (flush_at=verify)
 * Rings, one slot after the other; GK = 1 (GDN) or K (KDA); record j lies in row j, in a
 * circular ring in row (base + j) mod L. A set has the first three, the last four, or all:
 *   d           f32 [HV, L, V]
 *   k           f32 [H,  L, K]   normalised
 *   g           f32 [HV, L, GK]
 *   raw_v       io  [HV, L, V]
 *   raw_k       io  [H,  L, K]   as it came
 *   beta        f32 [HV, L]
 *
 * Inner dimensions are packed; the slot stride of every ring is an argument, in elements.
 *===----------------------------------------------------------------------===*/
#ifndef REPLAYSSM_KERNELABI_H
#define REPLAYSSM_KERNELABI_H

#include <stdint.h>

#define RSSM_ABI_VERSION 1

typedef int32_t rssm_index;  /* state_idx, ring_idx, wp, base */
typedef int8_t rssm_flag;    /* force_flush, reset_mask, is_flush */

#ifdef __cplusplus
#include <string_view>

namespace replayssm {

/// Buffers that kernels move in 16-byte pieces: base address and strides are
/// multiples of 16 bytes. All others are aligned to their element.
constexpr bool isWideBuffer(std::string_view name) {
  return name == "state" || name == "snapshots" || name == "mixed_qkv" ||
         (name.ends_with("_ring") && name != "g_ring" && name != "beta_ring");
}

} // namespace replayssm
#endif

#endif
