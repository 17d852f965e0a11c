//===- ExpandDelta.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_EXPANDDELTA
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct ExpandDelta : replayssm::impl::ExpandDeltaBase<ExpandDelta> {
  using ExpandDeltaBase::ExpandDeltaBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
