//===- FactorScalars.cpp - read(S, s x) -> s read(S, x) -------------------===//
#include "passes/Preconditions.h"
#include "passes/derive/Values.h"

namespace replayssm {
#define GEN_PASS_DEF_FACTORSCALARS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::derive;

namespace {

/// Replaces each scaled operand of a read by the raw one and scales the result.
template <typename ReadLike>
void factorRead(RewriterBase &rewriter, ReadLike op) {
  rewriter.setInsertionPoint(op);
  SmallVector<Scaled> operands;
  for (Value x : op.getXs())
    operands.push_back(splitScalar(rewriter, x));
  if (llvm::none_of(operands, [](const Scaled &x) { return x.scalar != nullptr; }))
    return;
  rewriter.modifyOpInPlace(op, [&] {
    for (auto [index, x] : llvm::enumerate(operands))
      op.getXsMutable().slice(index, 1).assign(x.raw);
  });
  rewriter.setInsertionPointAfter(op);
  for (auto [y, x] : llvm::zip_equal(op.getYs(), operands)) {
    if (!x.scalar)
      continue;
    Value scaled = scaleRows(rewriter, op.getLoc(), x.scalar, y);
    rewriter.replaceAllUsesExcept(y, scaled, scaled.getDefiningOp());
  }
}

struct FactorScalars : replayssm::impl::FactorScalarsBase<FactorScalars> {
  using FactorScalarsBase::FactorScalarsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    LogicalResult result = forEachKernel(getOperation(), Prepared::Derived, [&](replay::KernelOp kernel) {
      kernel.walk([&](replay::ReadOp op) { factorRead(rewriter, op); });
      kernel.walk([&](replay::RingReadOp op) { factorRead(rewriter, op); });
      SmallVector<replay::ScoresOp> scores;
      kernel.walk([&](replay::ScoresOp op) {
        if (!op.getDecays())
          scores.push_back(op);
      });
      for (replay::ScoresOp op : scores) {
        rewriter.setInsertionPoint(op);
        SmallVector<Value> results;
        for (Value x : op.getXs())
          results.push_back(createScores(rewriter, op.getLoc(), x, op.getY(), op.getG(), op.getParents()));
        rewriter.replaceOp(op, results);
      }
      return simplify(rewriter, kernel);
    });
    if (failed(result))
      signalPassFailure();
  }
};

} // namespace
