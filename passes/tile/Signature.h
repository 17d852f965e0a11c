//===- Signature.h - The arguments of a kernel, and its manifest -*- C++ -*-===//
#pragma once

#include "passes/tile/LowerToTileLayouts.h"

namespace replayssm::lower {

struct Arg {
  std::string name;
  mlir::Type element; ///< Of the buffer; null for a stride.
  bool isTable = false; ///< A pointer to the buffer of each layer.
};

/// Of the integers of a row or a ring slot: flags are bytes, all else 32 bits.
mlir::Type integerType(mlir::MLIRContext *context, llvm::StringRef name);

/// The arguments that a kernel's body touches, in the order of docs/abi.md.
struct Signature {
  llvm::SmallVector<Arg> args;
  llvm::StringMap<int64_t> widths; ///< Of one head: what is loaded of a token or as a parameter.
  bool perHead = false; ///< Something depends on the head: one block per head and V tile.

  static mlir::FailureOr<Signature> of(replay::KernelOp kernel);
  mlir::FunctionType functionType(mlir::MLIRContext *context) const;
  /// Buffers that each layer has its own of: all but indices, cursors and flags.
  static bool isLayered(mlir::StringRef buffer);
  /// Elements of one slot, token or parameter of a buffer: the next one lies at least as far.
  int64_t extent(mlir::StringRef buffer, replay::RingAttr ring, const Dims &dims) const;
  mlir::DictionaryAttr manifest(replay::KernelOp kernel, const Dims &dims) const;
};

/// Gates of a record: one, or one for each key channel.
int64_t gateDim(replay::RingAttr format, const Dims &dims);
/// Elements of a field of one record and head.
int64_t fieldWidth(replay::FieldAttr field, const Dims &dims);

} // namespace replayssm::lower
