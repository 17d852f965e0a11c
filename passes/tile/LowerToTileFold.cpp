//===- LowerToTileFold.cpp - Records folded into a checkpoint -------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

/// Weighted along K; where a gate is one number and a copy has brought them, they are there.
void lower::stageKeys(Emitter &b, Staged &staged, const KeyPasses &keys, int64_t pass, Value tile, Value condition) {
  if (keys.smem && gateDim(keys.ring.format, b.dims) == 1) {
    staged.k = keys.smem;
    staged.rows = keys.ring.valid; // what lies past them is unwritten
    return;
  }
  if (!staged.k)
    staged.k = b.alloc(keys.ring.format.getLength(), b.dims.K, b.getF32Type());
  b.when(condition, [&] { b.store(tile, staged.k, b.i64(pass * b.dims.bc * b.dims.K), b.dims.K); });
}

void lower::stageValues(Emitter &b, Staged &staged, const Records &ring, Value w, Value d, Value condition) {
  staged.d = b.alloc(ring.format.getLength(), b.dims.bv, b.getF32Type());
  b.when(condition, [&] { b.store(gateDim(ring.format, b.dims) == 1 ? b.mul(d, w) : d, staged.d, b.i64(0), b.dims.bv); });
}

static FailureOr<Results> lowerStageRecords(replay::StageRecordsOp op, Operands<replay::StageRecordsOp> in, Emitter &b) {
  if (failed(expectSharedSums(b, op, op.getRecords(), op.getW(), op.getK())))
    return failure();
  KeyPasses keys(Records(in.getRecords(), op.getRecords()), only(in.getW()), only(in.getK()));
  Staged staged;
  for (int64_t pass = 0; pass * b.dims.bc < keys.ring.format.getLength(); ++pass)
    stageKeys(b, staged, keys, pass, weightedKeys(b, keys, pass), Value());
  stageValues(b, staged, keys.ring, only(in.getW()), only(in.getD()), Value());
  return Results{staged.parts()};
}

/// acc = tot * S; then acc = fma(d_j, w_j k_j, acc) over the records in order.
static FailureOr<Results> lowerFold(replay::ReplayOp op, Operands<replay::ReplayOp> in, Emitter &b) {
  ValueRange staged = in.getRecords();
  if (!op.getRecords().getDefiningOp<replay::StageRecordsOp>() && !op.getRecords().getDefiningOp<replay::RingReadOp>())
    return op.emitOpError("expected staged records: run replay-split first");
  Value foldD = staged[0], foldK = staged[1], valid = staged.size() > 2 ? staged[2] : Value();
  Value acc = b.mul(stateTile(b, in.getState()), b.stateRow(in.getTot()));
  int64_t length = op.getRecords().getType().getRing().getLength();
  auto loop = scf::ForOp::create(b, b.index(0), b.index(length), b.index(1), ValueRange{acc});
  loop->setAttr("tile.unroll", b.getI64IntegerAttr(b.dims.unroll));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value j = arith::IndexCastOp::create(b, b.getI64Type(), loop.getInductionVar());
  Value rows;
  if (valid) {
    Value rest = arith::SubIOp::create(b, valid, loop.getInductionVar());
    rows = arith::MaxSIOp::create(b, rest, b.index(0));
  }
  Value d = b.load(foldD, arith::MulIOp::create(b, j, b.i64(b.dims.bv)), {1, b.dims.bv}, b.getF32Type(), b.dims.bv,
                   b.layouts.updateValue());
  Value k = b.load(foldK, arith::MulIOp::create(b, j, b.i64(b.dims.K)), {1, b.dims.K}, b.getF32Type(), b.dims.K,
                   b.layouts.updateKey(), rows);
  scf::YieldOp::create(b, ValueRange{b.dot(d, k, 0, loop.getRegionIterArg(0))});
  return one(loop.getResult(0));
}

void lower::addFoldPatterns(Patterns &patterns) {
  patterns.add(lowerStageRecords);
  patterns.add(lowerFold);
}
