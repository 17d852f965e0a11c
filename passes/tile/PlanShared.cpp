//===- PlanShared.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_PLANSHARED
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct PlanShared : replayssm::impl::PlanSharedBase<PlanShared> {
  using PlanSharedBase::PlanSharedBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
