//===- LayoutRules.h - What ops ask of the layouts of their tiles -*- C++ -*-===//
//
// A dimension is free where all its elements are equal (a splat, a repetition).
// A tile with free dimensions is held once, with size 1 along them, and each use
// repeats it in the layout that it needs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Tile/Layout.h"
#include "passes/Passes.h"

namespace replayssm::tile {

struct TileState {
  llvm::SmallVector<int64_t, 2> shape;
  Layout layout; ///< [r1:1] along free dimensions.
  bool free[2] = {false, false};

  bool operator==(const TileState &) const = default;
  bool anyFree() const { return free[0] || free[1]; }
  /// The shape in which it is held.
  llvm::SmallVector<int64_t, 2> heldShape() const;
  mlir::RankedTensorType heldType(mlir::Type element) const;
  /// Spreads `dim` as `factors` unless it is so already.
  void spread(unsigned dim, llvm::ArrayRef<Factor> factors);
};

using TileStates = llvm::DenseMap<mlir::Value, TileState>;

/// What an op asks of its operands (none for what is no tile), and its results.
struct OpLayouts {
  llvm::SmallVector<std::optional<TileState>, 0> operands;
  llvm::SmallVector<std::optional<TileState>, 0> results;
};

/// Each dimension is that of the first state where it is not free.
mlir::FailureOr<TileState> combine(mlir::Operation *op, llvm::ArrayRef<const TileState *> states);

/// The rule of an op without regions; `states` holds its operands.
mlir::FailureOr<OpLayouts> layoutsOf(mlir::Operation *op, const TileStates &states, int64_t numWarps);

inline bool isTile(mlir::Value value) { return llvm::isa<mlir::RankedTensorType>(value.getType()); }

} // namespace replayssm::tile
