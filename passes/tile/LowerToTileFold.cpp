//===- LowerToTileFold.cpp - Records folded into a checkpoint -------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

/// Runs `body` where `condition` holds; everywhere when it is null.
static void when(ImplicitLocOpBuilder &b, Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// Weighted along K; where a gate is one number and a copy has brought them, they are there.
void Lowering::stageKeys(Staged &staged, const KeyPasses &keys, int64_t pass, Value tile, Value condition) {
  if (keys.smem && gateDim(keys.ring.format, dims) == 1) {
    staged.k = keys.smem;
    staged.rows = keys.ring.valid; // what lies past them is unwritten
    return;
  }
  if (!staged.k)
    staged.k = alloc(keys.ring.format.getLength(), dims.K, b.getF32Type());
  when(b, condition, [&] { store(tile, staged.k, i64(pass * dims.bc * dims.K), dims.K); });
}

void Lowering::stageValues(Staged &staged, const Records &ring, Value w, Value d, Value condition) {
  staged.d = alloc(ring.format.getLength(), dims.bv, b.getF32Type());
  when(b, condition, [&] { store(gateDim(ring.format, dims) == 1 ? mul(d, w) : d, staged.d, i64(0), dims.bv); });
}

LogicalResult Lowering::lowerStageRecords(replay::StageRecordsOp op) {
  if (failed(expectSharedSums(op, op.getRecords(), op.getW())))
    return failure();
  KeyPasses keys = keyPasses(op.getRecords(), op.getW(), op.getK());
  Staged staged;
  for (int64_t pass = 0; pass * dims.bc < keys.ring.format.getLength(); ++pass)
    stageKeys(staged, keys, pass, weightedKeys(keys, pass), Value());
  stageValues(staged, keys.ring, values.lookup(op.getW()), values.lookup(op.getD()), Value());
  parts[op.getStaged()] = {staged.d, staged.k, staged.rows};
  return success();
}

/// acc = tot * S; then acc = fma(d_j, w_j k_j, acc) over the records in order.
LogicalResult Lowering::lowerFold(replay::ReplayOp op) {
  ArrayRef<Value> staged = parts[op.getRecords()];
  if (!op.getRecords().getDefiningOp<replay::StageRecordsOp>() && !op.getRecords().getDefiningOp<replay::RingReadOp>())
    return op.emitOpError("expected staged records: run replay-split first");
  Value foldD = staged[0], foldK = staged[1], valid = staged[2];
  Value acc = mul(stateTile(op.getState()), stagedRow(op.getTot()));
  int64_t length = op.getRecords().getType().getRing().getLength();
  auto loop = scf::ForOp::create(b, index(0), index(length), index(1), ValueRange{acc});
  loop->setAttr("tile.unroll", b.getI64IntegerAttr(dims.unroll));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value j = arith::IndexCastOp::create(b, b.getI64Type(), loop.getInductionVar());
  Value rows;
  if (valid) {
    Value rest = arith::SubIOp::create(b, valid, loop.getInductionVar());
    rows = arith::MaxSIOp::create(b, rest, index(0));
  }
  Value d = load(foldD, arith::MulIOp::create(b, j, i64(dims.bv)), {1, dims.bv}, b.getF32Type(), dims.bv, layouts.valueRow(1));
  Value k = load(foldK, arith::MulIOp::create(b, j, i64(dims.K)), {1, dims.K}, b.getF32Type(), dims.K, layouts.keyRow(1), rows);
  scf::YieldOp::create(b, ValueRange{dot(d, k, 0, loop.getRegionIterArg(0))});
  values[op.getResult()] = loop.getResult(0);
  return success();
}
