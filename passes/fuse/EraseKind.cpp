//===- EraseKind.cpp - Kernels forget what they were derived from ---------===//
#include "passes/Preconditions.h"

namespace replayssm {
#define GEN_PASS_DEF_ERASEKIND
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;

namespace {

struct EraseKind : replayssm::impl::EraseKindBase<EraseKind> {
  using EraseKindBase::EraseKindBase;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([](replay::KernelOp kernel) {
      if (failed(expectPrepared(kernel, Prepared::Derived)))
        return WalkResult::interrupt();
      kernel.removeOfAttr();
      kernel.removeKindAttr();
      kernel.removeFlushAttr();
      kernel.removeFoldAttr();
      kernel.removeMaskAttr();
      kernel.setTrack(false);
      kernel.setDst(false);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
