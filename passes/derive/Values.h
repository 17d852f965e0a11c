//===- Values.h - Matrix arithmetic that the derive passes build ---*- C++ -*-===//
#pragma once

#include "passes/Passes.h"

namespace replayssm::derive {

int64_t rowsOf(mlir::Value matrix);
int64_t colsOf(mlir::Value matrix);

/// `x` in f32: itself, or arith.extf.
mlir::Value toF32(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
/// `x` repeated along its dimensions of size 1; itself when it has the shape.
mlir::Value broadcast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, int64_t rows,
                      int64_t cols);
/// `x` with each row multiplied by its element of `scalar` [T, 1] (or [1, 1]).
mlir::Value scaleRows(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scalar,
                      mlir::Value x);
/// x .* gate. The K-vector stands first: layouts follow the first operand.
mlir::Value gateColumns(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                        mlir::Value gate);
/// Row `row` of `x` as [1, n]; itself when there is only one.
mlir::Value sliceRow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, int64_t row);

/// The [T, 1] or [1, 1] value that `x` repeats along its columns, or null.
mlir::Value repeatedScalar(mlir::Value x);
/// The product of two row scalars, either of which may be absent.
mlir::Value multiplyScalars(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                            mlir::Value y);

/// x = scalar .* raw with one scalar per row; `scalar` is null when x is raw.
struct Scaled {
  mlir::Value raw, scalar;
};
/// Takes row scalars out of products, also through slices of rows.
Scaled splitScalar(mlir::OpBuilder &b, mlir::Value x);

/// The scores of x and y with the scalars of both in front.
mlir::Value createScores(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                         mlir::Value y, mlir::Value g = {}, mlir::Value parents = {});

/// Removes what is unused and what is computed twice in `kernel`. Fails where nothing
/// is left: a kernel has to store something.
mlir::LogicalResult simplify(mlir::RewriterBase &rewriter, replay::KernelOp kernel);

} // namespace replayssm::derive
