//===- PushReads.cpp - Reads move to the checkpoint and the ring ----------===//
#include "passes/Preconditions.h"
#include "passes/derive/Values.h"

namespace replayssm {
#define GEN_PASS_DEF_PUSHREADS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::derive;

namespace {

Value push(OpBuilder &b, Location loc, Value state, Value x);

/// read(S + d k^T, x) = read(S, x) + d (k.x)
Value pushRank1(OpBuilder &b, Location loc, replay::Rank1Op op, Value x) {
  int64_t rows = rowsOf(x), valueDim = colsOf(op.getD());
  Value base = push(b, loc, op.getState(), x);
  Value kx = createScores(b, loc, x, op.getK());
  return math::FmaOp::create(b, loc, broadcast(b, loc, op.getD(), rows, valueDim),
                             broadcast(b, loc, kx, rows, valueDim), base);
}

/// read(S .* exp(g), x): a scalar gate stays behind the read, a gate along K
/// goes in front of it.
Value pushDecay(OpBuilder &b, Location loc, replay::DecayOp op, Value x) {
  Value decay = math::ExpOp::create(b, loc, op.getG());
  if (colsOf(decay) == 1)
    return scaleRows(b, loc, decay, push(b, loc, op.getState(), x));
  return push(b, loc, op.getState(), gateColumns(b, loc, x, decay));
}

/// read(replay(S, R), x): the checkpoint decayed by tot, and the weighted records.
Value pushReplay(OpBuilder &b, Location loc, replay::ReplayOp op, Value x) {
  replay::StateType state = op.getState().getType();
  replay::RecordsType records = op.getRecords().getType();
  int64_t gateDim = records.getFieldWidth(replay::RecordField::G, state.getK(), state.getV());
  auto weights = replay::RingWeightsOp::create(
      b, loc, RankedTensorType::get({records.getRing().getLength(), gateDim}, b.getF32Type()),
      RankedTensorType::get({1, gateDim}, b.getF32Type()), op.getRecords(), Value());
  auto type = RankedTensorType::get({rowsOf(x), state.getV()}, b.getF32Type());
  Value ring = replay::RingReadOp::create(b, loc, type, op.getRecords(), weights.getW(), x)
                   .getYs().front();
  if (gateDim == 1) {
    Value base = push(b, loc, op.getState(), x);
    Value tot = broadcast(b, loc, weights.getTot(), rowsOf(x), state.getV());
    return math::FmaOp::create(b, loc, tot, base, ring);
  }
  Value base = push(b, loc, op.getState(), gateColumns(b, loc, x, weights.getTot()));
  return arith::AddFOp::create(b, loc, base, ring);
}

Value push(OpBuilder &b, Location loc, Value state, Value x) {
  if (auto op = state.getDefiningOp<replay::Rank1Op>())
    return pushRank1(b, loc, op, x);
  if (auto op = state.getDefiningOp<replay::DecayOp>())
    return pushDecay(b, loc, op, x);
  if (auto op = state.getDefiningOp<replay::ReplayOp>())
    return pushReplay(b, loc, op, x);
  int64_t valueDim = cast<replay::StateType>(state.getType()).getV();
  auto type = RankedTensorType::get({rowsOf(x), valueDim}, b.getF32Type());
  return replay::ReadOp::create(b, loc, type, state, x).getYs().front();
}

bool isVirtualUpdate(Operation *op) {
  return isa_and_nonnull<replay::Rank1Op, replay::DecayOp, replay::ReplayOp>(op);
}

/// s (t x) -> (s t) x: one scalar per row, multiplied once.
void combineScalars(RewriterBase &rewriter, arith::MulFOp outer) {
  Value s = repeatedScalar(outer.getLhs());
  auto inner = outer.getRhs().getDefiningOp<arith::MulFOp>();
  Value t = s && inner ? repeatedScalar(inner.getLhs()) : Value();
  if (!t)
    return;
  rewriter.setInsertionPoint(outer);
  Location loc = outer.getLoc();
  Value product = multiplyScalars(rewriter, loc, s, t);
  rewriter.replaceOp(outer, scaleRows(rewriter, loc, product, inner.getRhs()));
}

/// A copy of the updates that make `state`, right before the store that needs it.
Value sinkState(OpBuilder &b, Value state) {
  Operation *def = state.getDefiningOp();
  if (!isVirtualUpdate(def))
    return state;
  Value base = sinkState(b, def->getOperand(0));
  Operation *copy = b.clone(*def);
  copy->setOperand(0, base);
  return copy->getResult(0);
}

struct PushReads : replayssm::impl::PushReadsBase<PushReads> {
  using PushReadsBase::PushReadsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    LogicalResult result = forEachKernel(getOperation(), Prepared::Derived, [&](replay::KernelOp kernel) {
      kernel.walk([&](replay::ReadOp op) {
        if (!isVirtualUpdate(op.getState().getDefiningOp()))
          return;
        rewriter.setInsertionPoint(op);
        SmallVector<Value> results;
        for (Value x : op.getXs())
          results.push_back(push(rewriter, op.getLoc(), op.getState(), x));
        rewriter.replaceOp(op, results);
      });
      // Program order: the inner product of a chain is combined before the outer.
      kernel.walk([&](arith::MulFOp op) { combineScalars(rewriter, op); });
      kernel.walk([&](replay::StoreStateOp op) {
        rewriter.setInsertionPoint(op);
        Value state = sinkState(rewriter, op.getState());
        rewriter.modifyOpInPlace(op, [&] { op.getStateMutable().assign(state); });
      });
      return simplify(rewriter, kernel);
    });
    if (failed(result))
      signalPassFailure();
  }
};

} // namespace
