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

/// Whether `value` is there where `op` stands, in the same block or around it.
bool lower::isDefinedBefore(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op);
}

Value Lowering::stageTile(Value source, Value tile) {
  Value smem = alloc(dims.tokens, dims.K, b.getF32Type());
  store(f32(tile), smem, i64(0), dims.K);
  return cache.staged[source] = smem;
}

/// All tokens go to shared memory at once, after every load is on its way.
void Lowering::stageTokens() {
  for (auto &[source, tile] : tokenTiles)
    stageTile(source, tile);
}

tile::Layout Lowering::formedRow() const { return formsOnce ? layouts.spread(1) : layouts.keyRow(1); }

/// The operand of a read, in shared memory. Where it is more than a token each element
/// is formed in one thread.
Value Lowering::operandRows(Value x) {
  if (!lazy.contains(x) || isa<replay::LoadTokenOp, arith::ExtFOp>(x.getDefiningOp()))
    return staged(x);
  if (Value known = cache.staged.lookup(x))
    return known;
  Value smem = alloc(dims.tokens, dims.K, b.getF32Type());
  formsOnce = true;
  for (int64_t t = 0; t < dims.tokens; ++t)
    store(f32(rowOf(x, t)), smem, i64(t * dims.K), dims.K);
  formsOnce = false;
  return cache.staged[x] = smem;
}

/// Those of all reads of `block` that can be formed by now, in front of one barrier;
/// large ones where they are read, so that one takes the bytes of another.
void Lowering::formOperands(replay::PhaseOp marker) {
  if (dims.tokens == 1 || dims.tokens * dims.K > 2048)
    return;
  for (Operation &op : *marker->getBlock()) {
    auto read = dyn_cast<replay::ReadOp>(op);
    auto ringRead = dyn_cast<replay::RingReadOp>(op);
    for (Value x : read ? read.getXs() : ringRead ? ringRead.getXs() : ValueRange())
      if (isDefinedBefore(x, marker))
        operandRows(x);
  }
}

/// A loop, since loads of all tokens together would fill the registers; few tokens
/// one behind another.
void Lowering::forTokens(int64_t count, function_ref<void(Value)> body) {
  if (!isLoop(count)) {
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

/// The rows of `source` in shared memory.
Value Lowering::staged(Value source) {
  if (auto wider = source.getDefiningOp<arith::ExtFOp>())
    source = wider.getIn();
  if (Value known = cache.staged.lookup(source))
    return known;
  if (Value tile = tokenTiles.lookup(source)) // loaded inside a region
    return stageTile(source, tile);
  Value smem = alloc(dims.tokens, dims.K, b.getF32Type());
  for (int64_t t = 0; t < dims.tokens; ++t)
    store(f32(broadcast(fetch(rowOf(source, t)), {1, dims.K})), smem, i64(t * dims.K), dims.K);
  return cache.staged[source] = smem;
}

/// Each of `ys` for all its tokens: results of a loop in shared memory, where each
/// thread finds its own again.
void Lowering::readTokens(ValueRange ys, function_ref<Value(size_t, Value)> of) {
  int64_t count = cast<ShapedType>(ys.front().getType()).getDimSize(0), next = 0;
  if (isLoop(count))
    for (Value y : ys)
      read[y] = alloc(count, dims.bv, b.getF32Type());
  forTokens(count, [&](Value t) {
    for (auto [i, y] : llvm::enumerate(ys))
      if (isLoop(count))
        store(of(i, t), read[y], arith::MulIOp::create(b, t, i64(dims.bv)), dims.bv);
      else
        define(y, next, of(i, t));
    ++next;
  });
}

LogicalResult Lowering::lowerReadOfTokens(replay::ReadOp op) {
  SmallVector<Value> xs = llvm::to_vector(llvm::map_range(op.getXs(), [&](Value x) { return operandRows(x); }));
  Value state = materialise(op.getState());
  readTokens(op.getYs(), [&](size_t i, Value t) { return dot(rowAt(xs[i], t), state, 1, {}, layouts.spreadValues()); });
  return success();
}
