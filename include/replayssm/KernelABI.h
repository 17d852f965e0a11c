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
#include <array>
#include <string_view>

namespace replayssm {

/// One buffer that kernels take, by its name in the manifest.
struct KernelBuffer {
  enum class Element {
    Index,  ///< int32
    Flag,   ///< int8
    Number, ///< f32, bf16 or f16, as the manifest says
  };
  /// What it has one entry for.
  enum class Entry {
    Row,       ///< A launched row.
    RowEnd,    ///< Rows, and the end of the last one.
    RowToken,  ///< Each of T_max tokens of a launched row.
    RingSlot,
    StateSlot,
    Record,    ///< L of them in a ring slot, for each head.
    Token,     ///< A token; without windows a row is one.
    Head,
  };
  /// What an integer of a ring slot may be; kernels clamp it.
  enum class Range {
    Any,
    Count,    ///< Records: 0 .. L.
    Position, ///< Of a record: 0 .. L - 1.
    Flag,     ///< 0 or 1.
  };
  std::string_view name;
  Element element;
  Entry entry;
  /// Moved in 16-byte pieces: base address and strides are multiples of 16 bytes. All
  /// others are aligned to their element.
  bool isWide;
  bool isStrided;  ///< Slots or tokens lie `<name>_stride` elements apart.
  bool isLayered;  ///< Each layer has its own; all else is shared.
  /// What a null row gets where a kernel writes an integer of a row; 0 is a position.
  int32_t ofNull = 0;
  Range range = Range::Any;
};

/// In the order of arguments; the fields of a ring stand in the order of the ring. The
/// last of them is any field of a kernel's own.
inline constexpr auto kernelBuffers = [] {
  using E = KernelBuffer::Element;
  using Of = KernelBuffer::Entry;
  using R = KernelBuffer::Range;
  return std::array{
      // name, element, entry; wide, strided, layered; of null rows, range
      KernelBuffer{"state_idx", E::Index, Of::Row, false, false, false},
      KernelBuffer{"ring_idx", E::Index, Of::Row, false, false, false},
      KernelBuffer{"query_start_loc", E::Index, Of::RowEnd, false, false, false},
      KernelBuffer{"accept_len", E::Index, Of::Row, false, false, false},
      KernelBuffer{"accept_idx", E::Index, Of::RowToken, false, false, false},
      KernelBuffer{"parent", E::Index, Of::RowToken, false, false, false},
      KernelBuffer{"wp", E::Index, Of::RingSlot, false, false, false, 0, R::Count},
      KernelBuffer{"base", E::Index, Of::RingSlot, false, false, false, 0, R::Position},
      KernelBuffer{"is_flush", E::Flag, Of::RingSlot, false, false, false, 0, R::Flag},
      KernelBuffer{"force_flush", E::Flag, Of::Row, false, false, false},
      KernelBuffer{"reset_mask", E::Flag, Of::Row, false, false, false},
      KernelBuffer{"track_step", E::Index, Of::Row, false, false, false},
      KernelBuffer{"fold_len", E::Index, Of::Row, false, false, false},
      KernelBuffer{"track_pos", E::Index, Of::Row, false, false, false, -1},
      KernelBuffer{"track_idx", E::Index, Of::Row, false, false, false},
      KernelBuffer{"dst_idx", E::Index, Of::Row, false, false, false},
      KernelBuffer{"state", E::Number, Of::StateSlot, true, true, true},
      KernelBuffer{"snapshots", E::Number, Of::RingSlot, true, true, false},
      KernelBuffer{"d_ring", E::Number, Of::Record, true, true, true},
      KernelBuffer{"k_ring", E::Number, Of::Record, true, true, true},
      KernelBuffer{"g_ring", E::Number, Of::Record, false, true, true},
      KernelBuffer{"raw_v_ring", E::Number, Of::Record, true, true, true},
      KernelBuffer{"raw_k_ring", E::Number, Of::Record, true, true, true},
      KernelBuffer{"beta_ring", E::Number, Of::Record, false, true, true},
      KernelBuffer{"_ring", E::Number, Of::Record, true, true, true},
      KernelBuffer{"mixed_qkv", E::Number, Of::Token, true, true, true},
      KernelBuffer{"a", E::Number, Of::Token, false, true, true},
      KernelBuffer{"b", E::Number, Of::Token, false, true, true},
      KernelBuffer{"A_log", E::Number, Of::Head, false, false, true},
      KernelBuffer{"dt_bias", E::Number, Of::Head, false, false, true},
      KernelBuffer{"out", E::Number, Of::Token, false, true, false},
  };
}();

/// The buffer called `name`; null where there is none.
constexpr const KernelBuffer *findKernelBuffer(std::string_view name) {
  const KernelBuffer *anyField = nullptr;
  for (const KernelBuffer &buffer : kernelBuffers) {
    if (buffer.name == name)
      return &buffer;
    if (buffer.name == "_ring" && name.ends_with(buffer.name))
      anyField = &buffer;
  }
  return anyField;
}

} // namespace replayssm
#endif

#endif
