//===- Manifest.h - How a compiled kernel is launched -----------*- C++ -*-===//
//
// The compiler writes a manifest beside the code; the runtime launches by it.
// Kernels take flat parameters, eight bytes each in `args` order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace replayssm {

struct KernelArg {
  enum class Kind {
    Pointer, ///< Device address of `dtype` elements.
    Stride,  ///< int64, in elements of the buffer that it belongs to.
    Table,   ///< Device address of a device address per layer, of `dtype` elements each.
  };
  std::string name;  ///< "state", "k_ring", "state_stride", ...
  Kind kind = Kind::Pointer;
  std::string dtype; ///< "f32", "bf16", "f16", "i32", "i8"; "i64" for strides.
  /// Of a stride, at least 1: the elements of what it leads over (a slot, a token, a layer's
  /// parameters). A launch refuses a stride of fewer, in either direction.
  uint64_t minElements = 0;
  bool operator==(const KernelArg &) const = default;
};

struct KernelManifest {
  std::string name;          ///< Symbol in the module.
  std::string spec;          ///< Canonical KernelSpec, empty for a kernel without one.
  uint32_t threads = 0;      ///< Block size (x).
  uint32_t blocksPerRow = 0; ///< Grid x; grid y = launched rows, z = layers (else 1).
  uint32_t sharedBytes = 0;  ///< Dynamic shared memory per block.
  std::vector<KernelArg> args;
  /// Text of each access and call site ("tile.load at file:line:col"), by id.
  std::vector<std::string> sites;
  bool operator==(const KernelManifest &) const = default;

  /// One launch serves many layers: some buffers have a table of their addresses,
  /// or a stride per layer.
  RSSM_API bool isLayered() const;
};

/// One kernel; a file of `replayssm-opt --manifest` is an array of these, one for each
/// kernel of the module. One object with the keys abi (RSSM_ABI_VERSION), name, spec, threads,
/// blocks_per_row, shared_bytes, args (objects of name, kind = pointer | stride | table,
/// dtype and, of a stride only, min_elements) and sites. A manifest that would not read back
/// (a kind outside the enum) gives text that manifestFromJson refuses.
RSSM_API std::string toJson(const KernelManifest &manifest);
/// Strict: each key once, no other keys (InvalidArgument, with line and column);
/// another ABI version is Incompatible.
RSSM_API Result<KernelManifest> manifestFromJson(std::string_view json);

} // namespace replayssm
