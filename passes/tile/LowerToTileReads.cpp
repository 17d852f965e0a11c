//===- LowerToTileReads.cpp - Operands of a window, and what they read ----===//
//
// Tokens along K lie in shared memory, and so does what the reads of a loop over
// tokens leave behind.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

tile::Layout Lowering::formedRow() const { return formsOnce ? layouts.spread(1) : layouts.keyRow(1); }

/// One row along K, for every thread.
Value Lowering::stagedRow(Value source) {
  if (Value smem = shared.lookup(source))
    return load(smem, i64(0), {1, dims.K}, b.getF32Type(), dims.K, layouts.keyRow(1));
  return values.lookup(source);
}

LogicalResult Lowering::lowerFetch(replay::FetchOp op) {
  values[op.getY()] = stagedRow(op.getX());
  return success();
}

/// In shared memory; what is rematerialised is formed with each element in one thread.
LogicalResult Lowering::lowerStage(replay::StageOp op) {
  Value x = op.getX();
  Type element = getElementTypeOrSelf(op.getY());
  int64_t count = op.getX().getType().getDimSize(0), width = isColumn(x) ? 1 : dims.K;
  Value smem = alloc(count, width, element);
  shared[op.getY()] = smem;
  if (Value tile = values.lookup(x)) { // all rows
    store(isColumn(x) ? tile : f32(tile), smem, i64(0), width);
    return success();
  }
  formsOnce = placeOf(x) == replay::Place::Remat;
  for (int64_t t = 0; t < count; ++t) {
    Value row = rowOf(x, t);
    if (!isColumn(x))
      row = f32(formsOnce ? row : broadcast(row, {1, dims.K}));
    store(row, smem, i64(t * width), width);
  }
  formsOnce = false;
  return success();
}

/// A loop, since loads of all tokens together would fill the registers; few tokens
/// one behind another.
void Lowering::forTokens(int64_t count, function_ref<void(Value)> body) {
  if (!dims.isLoop(count)) {
    for (int64_t t = 0; t < count; ++t)
      body(i64(t));
    return;
  }
  auto loop = scf::ForOp::create(b, index(0), index(count), index(1));
  loop->setAttr("tile.unroll", b.getI64IntegerAttr(dims.unroll));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(arith::IndexCastOp::create(b, b.getI64Type(), loop.getInductionVar()));
}

/// Token `t` of an operand.
Value Lowering::rowAt(Value smem, Value t) {
  return load(smem, arith::MulIOp::create(b, t, i64(dims.K)), {1, dims.K}, b.getF32Type(), dims.K, layouts.keyRow(1));
}

/// Each of `ys` for all its tokens: results of a loop in shared memory, where each
/// thread finds its own again.
void Lowering::readTokens(ValueRange ys, function_ref<Value(size_t, Value)> of) {
  int64_t count = cast<ShapedType>(ys.front().getType()).getDimSize(0), next = 0;
  bool isShared = placeOf(ys.front()) == replay::Place::Shared;
  if (isShared)
    for (Value y : ys)
      shared[y] = alloc(count, dims.bv, b.getF32Type());
  forTokens(count, [&](Value t) {
    for (auto [i, y] : llvm::enumerate(ys))
      if (isShared)
        store(of(i, t), shared[y], arith::MulIOp::create(b, t, i64(dims.bv)), dims.bv);
      else
        define(y, next, of(i, t));
    ++next;
  });
}

LogicalResult Lowering::lowerReadOfTokens(replay::ReadOp op) {
  SmallVector<Value> xs = llvm::to_vector(llvm::map_range(op.getXs(), [&](Value x) { return shared.lookup(x); }));
  Value state = stateTile(op.getState());
  readTokens(op.getYs(), [&](size_t i, Value t) { return dot(rowAt(xs[i], t), state, 1, {}, layouts.spreadValues()); });
  return success();
}
