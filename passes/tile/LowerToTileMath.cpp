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
  return tile::DotOp::create(*this, tileType(shape, getF32Type()), a, c, acc, tile::MmaAttr(),
                             getDenseI64ArrayAttr({dim, dim}), mlir::UnitAttr(), layout ? layout->toAttr(getContext()) : tile::LayoutAttr());
}

Value Emitter::mma(Value a, Value c, int64_t dim, int64_t chunk, bool apart) {
  int64_t rows = shapeOf(a)[1 - dim];
  if (apart)
    rows = llvm::alignTo(rows, 16) * llvm::divideCeilSigned(shapeOf(a)[dim], chunk);
  return tile::DotOp::create(*this, tileType({rows, shapeOf(c)[1 - dim]}, getF32Type()), a, c, Value(),
                             tile::MmaAttr::get(getContext(), chunk, apart), getDenseI64ArrayAttr({dim, dim}), mlir::UnitAttr(),
                             tile::LayoutAttr());
}

SmallVector<Value> Emitter::mmaAlongK(bool inMemory, function_ref<SmallVector<Value>(Value, int64_t)> operands) {
  // One behind another: a first operand, and what each result is of.
  auto sums = [&](Value first, int64_t width, int64_t chunk) {
    SmallVector<Value> tiles = operands(first, width), results;
    for (Value x : ArrayRef(tiles).drop_front())
      results.push_back(mma(tiles.front(), x, 1, chunk));
    return results;
  };
  int64_t trips = dims.K / dims.chunk;
  if (!inMemory || trips < 2 || dims.K % dims.chunk != 0)
    return sums(i64(0), dims.K, dims.chunk);
  // The first sum is added to a zero that leaves it as it is, -0 too.
  OpBuilder::InsertionGuard guard(*this);
  auto loop = scf::ForOp::create(*this, index(0), index(trips), index(1));
  setInsertionPointToStart(loop.getBody());
  Value first = arith::MulIOp::create(*this, arith::IndexCastOp::create(*this, getI64Type(), loop.getInductionVar()), i64(dims.chunk));
  SmallVector<Value> parts = sums(first, dims.chunk, 0), zeros;
  {
    OpBuilder::InsertionGuard outside(*this);
    setInsertionPoint(loop);
    for (Value part : parts)
      zeros.push_back(splat(shapeOf(part), -0.0));
  }
  IRRewriter rewriter(getContext());
  auto carried = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, zeros, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inner, Location loc, ArrayRef<BlockArgument> totals) {
        SmallVector<Value> next;
        for (auto [total, part] : llvm::zip_equal(totals, parts))
          next.push_back(arith::AddFOp::create(inner, loc, total, part));
        return next;
      }));
  carried->setAttr("tile.unroll", getI64IntegerAttr(std::min<int64_t>(trips, 2)));
  return SmallVector<Value>(carried.getResults());
}

/// Each row of `a` with the same row of `c`.
Value Emitter::dotRows(Value a, Value c) {
  return tile::DotOp::create(*this, tileType({shapeOf(a)[0], 1}, getF32Type()), a, c, Value(), tile::MmaAttr(), getDenseI64ArrayAttr({1, 1}),
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
