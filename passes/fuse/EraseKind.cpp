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
    LogicalResult result = forEachKernel(getOperation(), Prepared::Derived, [](replay::KernelOp kernel) {
      kernel.removeOfAttr();
      kernel.removeKindAttr();
      kernel.removeFlushAttr();
      kernel.removeFoldAttr();
      kernel.removeMaskAttr();
      kernel.setTrack(false);
      kernel.setDst(false);
      return success();
    });
    if (failed(result))
      signalPassFailure();
  }
};

} // namespace
