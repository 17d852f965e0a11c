//===- LowerToTileFold.cpp - Records folded into a checkpoint -------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

/// Whether a block that reads the records in `block` will also fold them, and on
/// which condition (null: always). None when that is not known here.
std::optional<Value> Lowering::foldCondition(Value records, Block *block) {
  SmallVector<Operation *> consumers;
  for (Operation *user : records.getUsers())
    if (auto replayed = dyn_cast<replay::ReplayOp>(user))
      collectConsumers(replayed.getResult(), consumers);
  std::optional<Value> condition;
  for (Operation *consumer : consumers) {
    if (consumer->getBlock() == block)
      return Value();
    auto branch = dyn_cast<scf::IfOp>(consumer->getParentOp());
    if (!branch || branch->getBlock() != block || consumer->getBlock() != branch.thenBlock() ||
        (condition && *condition != values.lookup(branch.getCondition())))
      return std::nullopt;
    condition = values.lookup(branch.getCondition());
    if (!*condition)
      return std::nullopt;
  }
  return condition;
}

/// Runs `body` where `condition` holds; everywhere when it is null.
static void when(ImplicitLocOpBuilder &b, Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

void Lowering::stageKeys(RingTiles &ring, int64_t pass, Value keys, Value condition) {
  if (ring.bulkKeys && gateDim(ring.format, dims) == 1) {
    ring.foldK = ring.keySmem; // the copy is what the fold needs
    return;
  }
  if (!ring.foldK)
    ring.foldK = alloc(ring.format.getLength(), dims.K, b.getF32Type());
  when(b, condition, [&] { store(keys, ring.foldK, i64(pass * dims.bc * dims.K), dims.K); });
}

void Lowering::stageValues(RingTiles &ring, Value condition) {
  ring.foldD = alloc(ring.format.getLength(), dims.bv, b.getF32Type());
  when(b, condition, [&] {
    Value d = gateDim(ring.format, dims) == 1 ? mul(ring.d, ring.w) : ring.d;
    store(d, ring.foldD, i64(0), dims.bv);
  });
}

/// acc = tot * S; then acc = fma(d_j, w_j k_j, acc) over the records in order. One
/// number per record (GK = 1) scales d, a vector along K scales k.
Value Lowering::fold(Value state, Value records) {
  RingTiles &ring = cache.rings[records];
  int64_t length = ring.format.getLength();
  if (!ring.foldD) {
    formWeights(ring);
    loadValues(ring);
    loadKeys(ring, 0);
    for (int64_t pass = 0; pass * dims.bc < length; ++pass)
      stageKeys(ring, pass, weightedKeys(ring, pass), Value());
    stageValues(ring, Value());
  }
  Value acc = mul(state, fetch(ring.tot));
  auto loop = scf::ForOp::create(b, index(0), index(length), index(1), ValueRange{acc});
  loop->setAttr("tile.unroll", b.getI64IntegerAttr(dims.unroll));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value j = arith::IndexCastOp::create(b, b.getI64Type(), loop.getInductionVar());
  // A bulk copy leaves what lies past the valid records unwritten.
  Value rows;
  if (ring.foldK == ring.keySmem) {
    Value rest = arith::SubIOp::create(b, ring.valid, loop.getInductionVar());
    rows = arith::MaxSIOp::create(b, rest, index(0));
  }
  Value d = load(ring.foldD, arith::MulIOp::create(b, j, i64(dims.bv)), {1, dims.bv},
                 b.getF32Type(), dims.bv, layouts.valueRow(1));
  Value k = load(ring.foldK, arith::MulIOp::create(b, j, i64(dims.K)), {1, dims.K},
                 b.getF32Type(), dims.K, layouts.keyRow(1), rows);
  scf::YieldOp::create(b, ValueRange{dot(d, k, 0, loop.getRegionIterArg(0))});
  return loop.getResult(0);
}
