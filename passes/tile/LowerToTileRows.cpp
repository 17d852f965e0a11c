//===- LowerToTileRows.cpp - Rows of tokens, and what works on each -------===//
//
// What works row by row is lowered as for one token, once for each; what replay-place
// has formed at each use, where a row of it is asked for.
//
// A broadcast of the source is not lowered where it stands: its value keeps its
// small shape, and each use repeats it to the shape that it needs. So every
// vector along V shrinks to the block's tile without being told apart from one
// along K.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value Emitter::rowOf(Value source, int64_t row, int64_t col, bool once) {
  ValueRange known = tiles(source);
  if (known.size() > 1) // Parents are no tiles.
    return isa<RankedTensorType>(known[row].getType()) ? known[row] : Value();
  if (known.empty() && placeOf(source) == replay::Place::Remat) {
    Operation *op = source.getDefiningOp();
    // Together a transposition: of a column of tokens into a row.
    if (isa<tensor::ExpandShapeOp>(op))
      return rowOf(op->getOperand(0), col);
    if (isa<tensor::CollapseShapeOp>(op))
      return rowOf(op->getOperand(0), row);
    FailureOr<Results> formed = applyToRow(*op, row, col, once);
    return failed(formed) ? Value() : formed->front().front();
  }
  Value tile = only(known);
  // Records and columns that are spread have their rows over the threads.
  if (auto type = tile ? dyn_cast<RankedTensorType>(tile.getType()) : RankedTensorType())
    return type.getDimSize(0) == 1 ? tile : Value();
  if (!tile || !isa<tile::SmemType>(tile.getType()))
    return tile;
  if (source.getDefiningOp<replay::ScoresOp>())
    return scoreAt(*this, source, row, col);
  auto stage = source.getDefiningOp<replay::StageOp>();
  if (stage && placeOf(stage.getX()) == replay::Place::Pairs)
    return load(tile, i64(row * dims.tokens + col), {1, 1}, getF32Type(), 1, layouts.scalar());
  int64_t pitch = cast<tile::SmemType>(tile.getType()).getCols();
  if (!stage || placeOf(stage.getX()) == replay::Place::Sums)
    return load(tile, i64(row * pitch), {1, dims.bv}, getF32Type(), pitch, layouts.spreadValues());
  if (isColumn(source))
    return load(tile, i64(row), {1, 1}, getElementTypeOrSelf(source), 1, layouts.scalar());
  return load(tile, i64(row * pitch), {1, dims.K}, getElementTypeOrSelf(source), pitch, once ? layouts.spread(1) : layouts.keyRow(1));
}

/// What `op` gives for one row of its operands.
FailureOr<Results> Emitter::applyToRow(Operation &op, int64_t row, int64_t col, bool once) {
  SmallVector<Tiles> rows;
  for (Value operand : op.getOperands()) {
    if (!isa<RankedTensorType>(operand.getType())) {
      rows.push_back(Tiles(tiles(operand)));
      continue;
    }
    // A repeated row or column is that of the broadcast's operand.
    bool oneRow = isa<tile::BroadcastOp>(op) && dimOf(operand, 0) == 1;
    bool oneCol = isa<tile::BroadcastOp>(op) && dimOf(operand, 1) == 1;
    rows.push_back({rowOf(operand, oneRow ? 0 : row, oneCol ? 0 : col, once)});
  }
  return apply(op, SmallVector<ValueRange>(rows.begin(), rows.end()));
}

/// Numbers of tokens as they lie beside those of pairs: along the rows, or turned along the columns.
FailureOr<Value> Emitter::pairsOf(Value source) {
  if (placeOf(source) == replay::Place::Pairs)
    return only(tiles(source));
  auto repeat = source.getDefiningOp<tile::BroadcastOp>();
  if (!repeat) {
    FailureOr<Results> formed = applyToPairs(*source.getDefiningOp());
    return failed(formed) ? FailureOr<Value>(failure()) : formed->front().front();
  }
  int64_t count = dims.tokens;
  if (auto turned = repeat.getX().getDefiningOp<tensor::ExpandShapeOp>()) {
    Value column = only(tiles(turned.getSrc().getDefiningOp()->getOperand(0)));
    return load(column, i64(0), {1, count}, getF32Type(), count, layouts.pairColumns(count));
  }
  if (isColumn(repeat.getX()))
    return load(only(tiles(repeat.getX())), i64(0), {count, 1}, getF32Type(), 1, layouts.pairRows(count));
  return rowOf(repeat.getX(), 0);
}

FailureOr<Results> Emitter::applyToPairs(Operation &op) {
  SmallVector<Tiles> all;
  for (Value operand : op.getOperands()) {
    FailureOr<Value> tile = pairsOf(operand);
    if (failed(tile))
      return failure();
    all.push_back({*tile});
  }
  return apply(op, SmallVector<ValueRange>(all.begin(), all.end()));
}

static Value loadRow(Emitter &b, ValueRange row, const tile::Layout &layout) {
  Value tile = only(row);
  if (tile && isa<tile::SmemType>(tile.getType()))
    tile = b.load(tile, b.i64(0), {1, b.dims.K}, b.getF32Type(), b.dims.K, layout);
  return tile;
}
/// What `op` gives for sums: of its other operands one number for each token at most.
FailureOr<Results> Emitter::applyToSums(Operation &op) {
  SmallVector<Tiles> all;
  for (Value operand : op.getOperands()) {
    auto repeat = operand.getDefiningOp<tile::BroadcastOp>();
    if (!repeat || placeOf(operand) == replay::Place::Sums)
      all.push_back(Tiles(tiles(operand)));
    else if (isColumn(repeat.getX()))
      all.push_back({load(only(tiles(repeat.getX())), i64(0), {1, dims.tokens}, getF32Type(), dims.tokens, layouts.sumColumns(dims.tokens))});
    else
      all.push_back({rowOf(repeat.getX(), 0)});
  }
  return apply(op, SmallVector<ValueRange>(all.begin(), all.end()));
}

Value Emitter::stagedRow(ValueRange row) { return loadRow(*this, row, layouts.keyRow(1)); }
Value Emitter::stateRow(ValueRange row) { return loadRow(*this, row, layouts.updateKey()); }

Value Emitter::loadStaged(Value smem, Value offset, int64_t count, int64_t width, const tile::Layout &layout) {
  auto type = cast<tile::SmemType>(smem.getType());
  return load(smem, offset, {count, width}, type.getElementType(), type.getCols(), layout);
}

Value Emitter::rowsAt(Value smem, int64_t first, int64_t count, const tile::Layout &layout) {
  return f32(loadStaged(smem, i64(first * cast<tile::SmemType>(smem.getType()).getCols()), count, dims.K, layout));
}

Value Emitter::rowAt(Value smem, Value t) {
  Value at = arith::MulIOp::create(*this, t, i64(cast<tile::SmemType>(smem.getType()).getCols()));
  return f32(loadStaged(smem, at, 1, dims.K, layouts.keyRow(1)));
}

void Emitter::forTokens(int64_t count, function_ref<void(Value)> body) {
  if (!dims.isLoop(count)) {
    for (int64_t t = 0; t < count; ++t)
      body(i64(t));
    return;
  }
  auto loop = scf::ForOp::create(*this, index(0), index(count), index(1));
  loop->setAttr("tile.unroll", getI64IntegerAttr(dims.unroll));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(arith::IndexCastOp::create(*this, getI64Type(), loop.getInductionVar()));
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

static FailureOr<Results> lowerConstant(arith::ConstantOp op, Operands<arith::ConstantOp> in, Emitter &b) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!isa<ShapedType>(op.getType()))
    return one(b.clone(*op)->getResult(0));
  if (!dense || !dense.isSplat())
    return op.emitOpError() << "expected a splat constant";
  return one(arith::ConstantOp::create(b, dense.resizeSplat(b.tileType({1, 1}, dense.getElementType()))));
}

static FailureOr<Results> lowerBroadcast(tile::BroadcastOp op, Operands<tile::BroadcastOp> in, Emitter &b) {
  return one(only(in.getX()));
}

FailureOr<Results> lower::lowerElementwise(Operation &op, ArrayRef<ValueRange> in, Emitter &b) {
  SmallVector<Value> operands;
  SmallVector<int64_t> shape{1, 1};
  for (auto [source, tiles] : llvm::zip_equal(op.getOperands(), in)) {
    Value operand = only(tiles);
    if (!operand || isa<RankedTensorType>(source.getType()) != isa<RankedTensorType>(operand.getType()))
      return op.emitOpError() << "expected operands that are tiles or numbers";
    operands.push_back(source.getType().isIndex() ? operand = b.asIndex(operand) : operand);
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      for (auto [n, m] : llvm::zip_equal(shape, type.getShape()))
        n = std::max(n, m);
  }
  for (Value &operand : operands)
    if (isa<RankedTensorType>(operand.getType()))
      operand = b.broadcast(operand, shape);
  Operation *lowered = op.clone();
  lowered->setOperands(operands);
  lowered->removeAttr(placeAttr);
  Results results;
  for (OpResult result : lowered->getResults()) {
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      result.setType(b.tileType(shape, type.getElementType()));
    results.push_back({result});
  }
  b.insert(lowered);
  return results;
}

void lower::addElementwisePatterns(Patterns &patterns) {
  patterns.add(lowerConstant, Patterns::Rows::Each);
  patterns.add(lowerBroadcast, Patterns::Rows::Each);
}
