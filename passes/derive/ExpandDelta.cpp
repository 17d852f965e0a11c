//===- ExpandDelta.cpp - delta -> decay, reads and rank-1 updates ---------===//
#include "passes/Preconditions.h"
#include "passes/derive/Values.h"

namespace replayssm {
#define GEN_PASS_DEF_EXPANDDELTA
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::derive;

namespace {

/// What one token contributes: rows [1, n] of delta's operands.
struct Step {
  Value q, k, v, g, beta;
};
struct StepResult {
  Value next, o, d;
};

Value read(OpBuilder &b, Location loc, Value state, Value x, int64_t valueDim) {
  auto type = RankedTensorType::get({rowsOf(x), valueDim}, b.getF32Type());
  return replay::ReadOp::create(b, loc, type, state, x).getYs().front();
}

Value scores(OpBuilder &b, Location loc, Value x, Value y, Value g = {}, Value parents = {}) {
  auto type = RankedTensorType::get({rowsOf(x), rowsOf(y)}, b.getF32Type());
  return replay::ScoresOp::create(b, loc, type, x, y, g, /*decays=*/Value(), parents).getScores().front();
}

/// d = beta (v - S' k); o = S' q + d (k.q); S <- S' + d k^T, S' = S .* exp(g).
StepResult expandStep(OpBuilder &b, Location loc, Value state, const Step &step) {
  int64_t valueDim = colsOf(step.v);
  Value decayed = replay::DecayOp::create(b, loc, state.getType(), state, step.g);
  Value yq = read(b, loc, decayed, step.q, valueDim);
  Value yk = read(b, loc, decayed, step.k, valueDim);
  Value error = arith::SubFOp::create(b, loc, toF32(b, loc, step.v), yk);
  Value d = scaleRows(b, loc, step.beta, error);
  // Ungated: the current token's own record has not decayed.
  Value kq = scores(b, loc, step.q, step.k);
  Value o = math::FmaOp::create(b, loc, d, broadcast(b, loc, kq, 1, valueDim), yq);
  Value next = replay::Rank1Op::create(b, loc, state.getType(), decayed, d, step.k);
  return {next, o, d};
}

Step stepAt(OpBuilder &b, replay::DeltaOp delta, int64_t t) {
  auto row = [&](Value x) { return sliceRow(b, delta.getLoc(), x, t); };
  return {row(delta.getQ()), row(delta.getK()), row(delta.getV()), row(delta.getG()),
          row(delta.getBeta())};
}

/// T steps in sequence: the definition that the window must agree with.
StepResult unroll(OpBuilder &b, replay::DeltaOp delta) {
  Location loc = delta.getLoc();
  int64_t tokens = rowsOf(delta.getQ());
  StepResult last{delta.getState(), {}, {}};
  SmallVector<Value> os, ds;
  for (int64_t t = 0; t < tokens; ++t) {
    last = expandStep(b, loc, last.next, stepAt(b, delta, t));
    os.push_back(last.o);
    ds.push_back(last.d);
  }
  if (tokens == 1)
    return last;
  return {last.next, tensor::ConcatOp::create(b, loc, 0, os),
          tensor::ConcatOp::create(b, loc, 0, ds)};
}

/// (I + tril(beta P, -1)) D = beta (v - R0 (exp(G) .* k)); o = R0 (exp(G) .* q) + P D.
StepResult window(OpBuilder &b, replay::DeltaOp delta) {
  Location loc = delta.getLoc();
  Value state = delta.getState(), q = delta.getQ(), k = delta.getK(), g = delta.getG();
  Value parents = delta.getParents();
  int64_t tokens = rowsOf(q), valueDim = colsOf(delta.getV());
  Value sums = replay::CumulateOp::create(b, loc, g.getType(), g, parents);
  Value decay = math::ExpOp::create(b, loc, sums);
  Value yq = read(b, loc, state, gateColumns(b, loc, q, decay), valueDim);
  Value yk = read(b, loc, state, gateColumns(b, loc, k, decay), valueDim);
  Value pk = scores(b, loc, k, k, g, parents);
  Value pq = scores(b, loc, q, k, g, parents);
  Value d = replay::UtSolveOp::create(b, loc, yk.getType(), pk, yk, delta.getV(), delta.getBeta(), parents);
  Value own = replay::ApplyScoresOp::create(b, loc, yq.getType(), pq, d, parents);
  Value o = arith::AddFOp::create(b, loc, yq, own);
  Value next = state;
  if (!delta.getNext().use_empty())
    for (int64_t t = 0; t < tokens; ++t) {
      Step step = stepAt(b, delta, t);
      next = replay::DecayOp::create(b, loc, state.getType(), next, step.g);
      next = replay::Rank1Op::create(b, loc, state.getType(), next, sliceRow(b, loc, d, t), step.k);
    }
  return {next, o, d};
}

struct ExpandDelta : replayssm::impl::ExpandDeltaBase<ExpandDelta> {
  using ExpandDeltaBase::ExpandDeltaBase;

  void runOnOperation() override {
    if (form != "window" && form != "unroll") {
      getOperation()->emitError() << "expected form window or unroll but got '" << form << "'";
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    LogicalResult result = forEachKernel(getOperation(), Prepared::Derived, [&](replay::KernelOp kernel) {
      kernel.walk([&](replay::L2NormOp norm) { expandNorm(rewriter, norm); });
      kernel.walk([&](replay::DeltaOp delta) {
        rewriter.setInsertionPoint(delta);
        // Parents are data: a tree is a window, unless it has no more than its root.
        bool isChain = delta.getMask() == replay::Mask::Chain;
        // One token of a longer window is summed as the window is; a token of a loop is a step.
        bool isStep = rowsOf(delta.getQ()) == 1 && (kernel.maxTokens() == 1 || delta->getParentOfType<scf::ForOp>());
        bool sequential = isStep || (isChain && form == "unroll");
        StepResult result = sequential ? unroll(rewriter, delta) : window(rewriter, delta);
        rewriter.replaceOp(delta, {result.next, result.o, result.d});
      });
      return simplify(rewriter, kernel);
    });
    if (failed(result))
      signalPassFailure();
  }

  /// A scalar per row and a product, so that the scalar can move.
  void expandNorm(RewriterBase &rewriter, replay::L2NormOp norm) {
    rewriter.setInsertionPoint(norm);
    Location loc = norm.getLoc();
    Value x = norm.getX();
    auto column = RankedTensorType::get({rowsOf(x), 1}, rewriter.getF32Type());
    Value r = replay::RnormOp::create(rewriter, loc, column, x, norm.getEpsAttr(),
                                      norm.getScaleAttr());
    rewriter.replaceOp(norm, gateColumns(rewriter, loc, x, r));
  }
};

} // namespace
