//===- LowerConverts.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_LOWERCONVERTS
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct LowerConverts : replayssm::impl::LowerConvertsBase<LowerConverts> {
  using LowerConvertsBase::LowerConvertsBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
