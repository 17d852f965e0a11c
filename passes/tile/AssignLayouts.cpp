//===- AssignLayouts.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct AssignLayouts : replayssm::impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
