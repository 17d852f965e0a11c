//===- LowerToTileMath.cpp - Arithmetic on tiles --------------------------===//
#include "passes/Preconditions.h"
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

RankedTensorType Emitter::tileType(ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }

static ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }
static Type elementOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getElementType(); }

Value Emitter::splat(ArrayRef<int64_t> shape, double value) {
  return arith::ConstantOp::create(*this,
                                   DenseElementsAttr::get(tileType(shape, getF32Type()), getF32FloatAttr(value).getValue()));
}

Value Emitter::broadcast(Value tile, ArrayRef<int64_t> shape) {
  if (shapeOf(tile) == shape)
    return tile;
  DenseElementsAttr constant;
  if (matchPattern(tile, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(*this, constant.resizeSplat(tileType(shape, elementOf(tile))));
  return tile::BroadcastOp::create(*this, tileType(shape, elementOf(tile)), tile);
}

Value Emitter::f32(Value tile) {
  if (elementOf(tile).isF32())
    return tile;
  return arith::ExtFOp::create(*this, tileType(shapeOf(tile), getF32Type()), tile);
}

/// The shape that both fit.
static SmallVector<int64_t> commonShape(Value a, Value c) {
  SmallVector<int64_t> shape(shapeOf(a));
  for (auto [n, m] : llvm::zip_equal(shape, shapeOf(c)))
    n = std::max(n, m);
  return shape;
}
Value Emitter::add(Value a, Value c) {
  SmallVector<int64_t> shape = commonShape(a, c);
  return arith::AddFOp::create(*this, broadcast(a, shape), broadcast(c, shape));
}
Value Emitter::mul(Value a, Value c) {
  SmallVector<int64_t> shape = commonShape(a, c);
  return arith::MulFOp::create(*this, broadcast(a, shape), broadcast(c, shape));
}
Value Emitter::fma(Value a, Value c, Value d) {
  SmallVector<int64_t> shape(shapeOf(d));
  return math::FmaOp::create(*this, broadcast(a, shape), broadcast(c, shape), d);
}

Value Emitter::dot(Value a, Value c, int64_t dim, Value acc, std::optional<tile::Layout> layout) {
  SmallVector<int64_t> shape{shapeOf(a)[1 - dim], shapeOf(c)[1 - dim]};
  return tile::DotOp::create(*this, tileType(shape, getF32Type()), a, c, acc, getDenseI64ArrayAttr({dim, dim}),
                             mlir::UnitAttr(), layout ? layout->toAttr(getContext()) : tile::LayoutAttr());
}

/// Each row of `a` with the same row of `c`.
Value Emitter::dotRows(Value a, Value c) {
  return tile::DotOp::create(*this, tileType({shapeOf(a)[0], 1}, getF32Type()), a, c, Value(), getDenseI64ArrayAttr({1, 1}),
                             getUnitAttr(), tile::LayoutAttr());
}

bool Emitter::spreadsValues(Operation *op) const { return dims.tokens > 1 && !isInLoop(op); }

tile::Layout Emitter::valueLayout(Operation *op) const {
  return spreadsValues(op) ? layouts.spreadValues() : layouts.valueRow(1);
}

std::optional<tile::Layout> Emitter::anchorOf(Operation *op, const tile::Layout &layout) const {
  return spreadsValues(op) ? std::optional(layout) : std::nullopt;
}

tile::Layout Emitter::alongKeys(Value row) const {
  if (cast<RankedTensorType>(row.getType()).getDimSize(1) == 1)
    return layouts.scalar();
  return placeOf(row) == replay::Place::Spread ? layouts.spread(1) : layouts.keyRow(1);
}
