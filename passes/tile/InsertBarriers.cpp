//===- InsertBarriers.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct InsertBarriers : replayssm::impl::InsertBarriersBase<InsertBarriers> {
  using InsertBarriersBase::InsertBarriersBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
