//===- Values.cpp - Matrix arithmetic that the derive passes build --------===//
#include "passes/derive/Values.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace replayssm::derive {

static RankedTensorType typeOf(Value x) { return cast<RankedTensorType>(x.getType()); }

int64_t rowsOf(Value matrix) { return typeOf(matrix).getDimSize(0); }
int64_t colsOf(Value matrix) { return typeOf(matrix).getDimSize(1); }

Value toF32(OpBuilder &b, Location loc, Value x) {
  if (typeOf(x).getElementType().isF32())
    return x;
  return arith::ExtFOp::create(b, loc, typeOf(x).clone(b.getF32Type()), x);
}

Value broadcast(OpBuilder &b, Location loc, Value x, int64_t rows, int64_t cols) {
  auto type = RankedTensorType::get({rows, cols}, typeOf(x).getElementType());
  return type == x.getType() ? x : tile::BroadcastOp::create(b, loc, type, x).getResult();
}

Value scaleRows(OpBuilder &b, Location loc, Value scalar, Value x) {
  return arith::MulFOp::create(b, loc, broadcast(b, loc, scalar, rowsOf(x), colsOf(x)), x);
}

Value gateColumns(OpBuilder &b, Location loc, Value x, Value gate) {
  x = toF32(b, loc, x);
  return arith::MulFOp::create(b, loc, x, broadcast(b, loc, gate, rowsOf(x), colsOf(x)));
}

Value sliceRow(OpBuilder &b, Location loc, Value x, int64_t row) {
  if (rowsOf(x) == 1)
    return x;
  auto type = RankedTensorType::get({1, colsOf(x)}, typeOf(x).getElementType());
  SmallVector<OpFoldResult> offsets{b.getIndexAttr(row), b.getIndexAttr(0)};
  SmallVector<OpFoldResult> sizes{b.getIndexAttr(1), b.getIndexAttr(colsOf(x))};
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, type, x, offsets, sizes, strides);
}

Value multiplyScalars(OpBuilder &b, Location loc, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  int64_t rows = std::max(rowsOf(x), rowsOf(y));
  return arith::MulFOp::create(b, loc, broadcast(b, loc, x, rows, 1),
                               broadcast(b, loc, y, rows, 1));
}

Value repeatedScalar(Value x) {
  auto op = x.getDefiningOp<tile::BroadcastOp>();
  return op && colsOf(op.getX()) == 1 && colsOf(x) > 1 ? op.getX() : Value();
}

Scaled splitScalar(OpBuilder &b, Value x) {
  Location loc = x.getLoc();
  if (auto slice = x.getDefiningOp<tensor::ExtractSliceOp>()) {
    Scaled source = splitScalar(b, slice.getSource());
    if (!source.scalar || !slice.hasUnitStride() || colsOf(source.raw) != colsOf(x) ||
        rowsOf(x) != 1 || ShapedType::isDynamic(slice.getStaticOffset(0)))
      return {x, {}};
    int64_t row = slice.getStaticOffset(0);
    return {sliceRow(b, loc, source.raw, row), sliceRow(b, loc, source.scalar, row)};
  }
  auto product = x.getDefiningOp<arith::MulFOp>();
  if (!product)
    return {x, {}};
  if (Value scalar = repeatedScalar(product.getRhs())) {
    Scaled lhs = splitScalar(b, product.getLhs());
    return {lhs.raw, multiplyScalars(b, loc, lhs.scalar, scalar)};
  }
  if (Value scalar = repeatedScalar(product.getLhs())) {
    Scaled rhs = splitScalar(b, product.getRhs());
    return {rhs.raw, multiplyScalars(b, loc, scalar, rhs.scalar)};
  }
  Scaled lhs = splitScalar(b, product.getLhs()), rhs = splitScalar(b, product.getRhs());
  if (!lhs.scalar && !rhs.scalar)
    return {x, {}};
  return {arith::MulFOp::create(b, loc, lhs.raw, rhs.raw),
          multiplyScalars(b, loc, lhs.scalar, rhs.scalar)};
}

/// [T, 1] as [1, T].
static Value transposeColumn(OpBuilder &b, Location loc, Value x) {
  if (rowsOf(x) == 1)
    return x;
  Value flat = tensor::CollapseShapeOp::create(b, loc, x, ArrayRef<ReassociationIndices>{{0, 1}});
  auto type = RankedTensorType::get({1, rowsOf(x)}, typeOf(x).getElementType());
  return tensor::ExpandShapeOp::create(b, loc, type, flat, ArrayRef<ReassociationIndices>{{0, 1}});
}

Value createScores(OpBuilder &b, Location loc, Value x, Value y, Value g, Value parents) {
  Scaled xs = splitScalar(b, x), ys = splitScalar(b, y);
  int64_t rows = rowsOf(x), cols = rowsOf(y);
  auto type = RankedTensorType::get({rows, cols}, b.getF32Type());
  Value scores =
      replay::ScoresOp::create(b, loc, type, xs.raw, ys.raw, g, /*decays=*/Value(), parents).getScores().front();
  Value scale = xs.scalar;
  if (ys.scalar) {
    // The scalars of y belong to columns; one row of y has one for all rows.
    Value column = transposeColumn(b, loc, ys.scalar);
    scale = scale && cols > 1
                ? arith::MulFOp::create(b, loc, broadcast(b, loc, scale, rows, cols),
                                        broadcast(b, loc, column, rows, cols))
                : multiplyScalars(b, loc, scale, column);
  }
  return scale ? scaleRows(b, loc, scale, scores) : scores;
}

LogicalResult simplify(RewriterBase &rewriter, replay::KernelOp kernel) {
  // A body that is all dead stays: without one there is no kernel.
  bool isLive = llvm::any_of(kernel.getBody().getOps(), [](Operation &op) { return !wouldOpBeTriviallyDead(&op); });
  if (!isLive)
    return kernel.emitOpError("expected a body that stores something");
  // Dead ops first: a live op inside a branch must not be folded into one.
  kernel.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  });
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  return success();
}

} // namespace replayssm::derive
