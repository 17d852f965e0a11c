//===- LowerToTileMath.cpp - Arithmetic on tiles --------------------------===//
//
// A broadcast of the source is not lowered where it stands: its value keeps its
// small shape, and each use repeats it to the shape that it needs. So every
// vector along V shrinks to the block's tile without being told apart from one
// along K.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

RankedTensorType Lowering::tileType(ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element);
}

static ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }
static Type elementOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getElementType(); }

Value Lowering::splat(ArrayRef<int64_t> shape, double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(tileType(shape, b.getF32Type()),
                                b.getF32FloatAttr(value).getValue()));
}

Value Lowering::broadcast(Value tile, ArrayRef<int64_t> shape) {
  if (shapeOf(tile) == shape)
    return tile;
  DenseElementsAttr constant;
  if (matchPattern(tile, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, constant.resizeSplat(tileType(shape, elementOf(tile))));
  return tile::BroadcastOp::create(b, tileType(shape, elementOf(tile)), tile);
}

Value Lowering::tileOf(Value source, ArrayRef<int64_t> shape) {
  return broadcast(values.lookup(source), shape);
}

Value Lowering::f32(Value tile) {
  if (elementOf(tile).isF32())
    return tile;
  return arith::ExtFOp::create(b, tileType(shapeOf(tile), b.getF32Type()), tile);
}

/// The shape that both fit.
static SmallVector<int64_t> commonShape(Value a, Value c) {
  SmallVector<int64_t> shape(shapeOf(a));
  for (auto [n, m] : llvm::zip_equal(shape, shapeOf(c)))
    n = std::max(n, m);
  return shape;
}
Value Lowering::add(Value a, Value c) {
  SmallVector<int64_t> shape = commonShape(a, c);
  return arith::AddFOp::create(b, broadcast(a, shape), broadcast(c, shape));
}
Value Lowering::mul(Value a, Value c) {
  SmallVector<int64_t> shape = commonShape(a, c);
  return arith::MulFOp::create(b, broadcast(a, shape), broadcast(c, shape));
}
Value Lowering::fma(Value a, Value c, Value d) {
  SmallVector<int64_t> shape(shapeOf(d));
  return math::FmaOp::create(b, broadcast(a, shape), broadcast(c, shape), d);
}

Value Lowering::dot(Value a, Value c, int64_t dim, Value acc, std::optional<tile::Layout> layout) {
  SmallVector<int64_t> shape{shapeOf(a)[1 - dim], shapeOf(c)[1 - dim]};
  return tile::DotOp::create(b, tileType(shape, b.getF32Type()), a, c, acc, b.getDenseI64ArrayAttr({dim, dim}),
                             mlir::UnitAttr(), layout ? layout->toAttr(b.getContext()) : tile::LayoutAttr());
}

/// Each row of `a` with the same row of `c`.
Value Lowering::dotRows(Value a, Value c) {
  return tile::DotOp::create(b, tileType({shapeOf(a)[0], 1}, b.getF32Type()), a, c, Value(), b.getDenseI64ArrayAttr({1, 1}),
                             b.getUnitAttr(), tile::LayoutAttr());
}

bool Lowering::spreadsValues() const { return dims.tokens > 1 && loopDepth == 0; }

tile::Layout Lowering::valueLayout() const { return spreadsValues() ? layouts.spreadValues() : layouts.valueRow(1); }

tile::Layout Lowering::alongKeys(Value row) const {
  if (cast<RankedTensorType>(row.getType()).getDimSize(1) == 1)
    return layouts.scalar();
  return placeOf(row) == replay::Place::Spread ? layouts.spread(1) : layouts.keyRow(1);
}

LogicalResult Lowering::lowerElementwise(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!isa<ShapedType>(constant.getType())) {
      values[constant] = b.clone(op)->getResult(0);
      return success();
    }
    if (!dense || !dense.isSplat())
      return op.emitOpError() << "expected a splat constant";
    values[constant] =
        arith::ConstantOp::create(b, dense.resizeSplat(tileType({1, 1}, dense.getElementType())));
    return success();
  }
  if (auto repeat = dyn_cast<tile::BroadcastOp>(op)) {
    values[repeat.getResult()] = values.lookup(repeat.getX());
    return success();
  }

  SmallVector<Value> operands;
  SmallVector<int64_t> shape{1, 1};
  for (Value operand : op.getOperands()) {
    Value lowered = values.lookup(operand);
    if (!lowered)
      return op.emitOpError() << "expected operands that are tiles or numbers";
    operands.push_back(operand.getType().isIndex() ? lowered = asIndex(lowered) : lowered);
    if (isa<RankedTensorType>(lowered.getType()))
      for (auto [n, m] : llvm::zip_equal(shape, shapeOf(lowered)))
        n = std::max(n, m);
  }
  for (Value &operand : operands)
    if (isa<RankedTensorType>(operand.getType()))
      operand = broadcast(operand, shape);
  Operation *lowered = op.clone();
  lowered->setOperands(operands);
  lowered->removeAttr(placeAttr);
  for (OpResult result : lowered->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      result.setType(tileType(shape, type.getElementType()));
  b.insert(lowered);
  for (auto [from, to] : llvm::zip_equal(op.getResults(), lowered->getResults()))
    values[from] = to;
  return success();
}

//===----------------------------------------------------------------------===//
// Norms, scores
//===----------------------------------------------------------------------===//

Value Lowering::rnorm(replay::RnormOp op, Value x) {
  int64_t rows = shapeOf(x)[0];
  Value squares = rows == 1 ? dot(x, x, 1) : dotRows(x, x);
  Value r = math::RsqrtOp::create(b, add(squares, splat({rows, 1}, op.getEps().convertToDouble())));
  double scale = op.getScale().convertToDouble();
  return scale == 1.0 ? r : mul(r, splat({rows, 1}, scale));
}

LogicalResult Lowering::lowerRnorm(replay::RnormOp op) {
  values[op.getR()] = rnorm(op, f32(tileOf(op.getX(), {1, dims.K})));
  return success();
}

LogicalResult Lowering::lowerScores(replay::ScoresOp op) {
  for (auto [x, scores] : llvm::zip_equal(op.getXs(), op.getScores()))
    values[scores] = dot(f32(tileOf(x, {1, dims.K})), f32(tileOf(op.getY(), {1, dims.K})), 1);
  return success();
}
