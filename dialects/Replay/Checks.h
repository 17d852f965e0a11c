//===- Checks.h - What several verifiers of the dialect ask --------*- C++ -*-===//
#pragma once

#include "dialects/Replay/ReplayDialect.h"

namespace replayssm::replay {

using Mat = mlir::TypedValue<mlir::RankedTensorType>;

inline int64_t rowsOf(Mat value) { return value.getType().getDimSize(0); }
inline int64_t colsOf(Mat value) { return value.getType().getDimSize(1); }

inline mlir::LogicalResult expectShape(mlir::Operation *op, const llvm::Twine &name,
                                       Mat value, int64_t rows, int64_t cols) {
  if (rowsOf(value) == rows && colsOf(value) == cols)
    return mlir::success();
  return op->emitOpError() << "expected " << name << " to be " << rows << "x" << cols
                           << " but got " << rowsOf(value) << "x" << colsOf(value);
}

/// A gate has one column per head or one per key channel.
inline mlir::LogicalResult expectGate(mlir::Operation *op, llvm::StringRef name, Mat value,
                                      int64_t rows, int64_t keyDim) {
  if (rowsOf(value) == rows && (colsOf(value) == 1 || colsOf(value) == keyDim))
    return mlir::success();
  return op->emitOpError() << "expected " << name << " to be " << rows << "x1 or " << rows
                           << "x" << keyDim << " but got " << rowsOf(value) << "x"
                           << colsOf(value);
}

} // namespace replayssm::replay
