//===- UnrollLoops.cpp - Loops over tokens and records are unrolled -------===//
#include "passes/Passes.h"

#include "mlir/Dialect/SCF/Utils/Utils.h"

namespace replayssm {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;

static LogicalResult unroll(scf::ForOp loop) {
  auto factor = loop->getAttrOfType<IntegerAttr>("tile.unroll");
  // As many as #replay.tiling allows: each is a copy of the body.
  if (!factor || factor.getValue().slt(1) || factor.getValue().sgt(16))
    return loop.emitOpError("expected tile.unroll to be an integer in 1..16");
  loop->removeAttr("tile.unroll");
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips)
    return loop.emitOpError("expected constant bounds where tile.unroll is set");
  uint64_t n = std::min<uint64_t>(factor.getInt(), trips->getZExtValue());
  // Constant bounds are all that unrolling asks for.
  if (n > 1 && n == trips->getZExtValue())
    (void)loopUnrollFull(loop);
  else if (n > 1)
    (void)loopUnrollByFactor(loop, n);
  return success();
}

namespace {
struct UnrollLoops : replayssm::impl::UnrollLoopsBase<UnrollLoops> {
  using UnrollLoopsBase::UnrollLoopsBase;
  void runOnOperation() override {
    // Innermost first.
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr("tile.unroll"))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      if (failed(unroll(loop)))
        return signalPassFailure();
  }
};
} // namespace
