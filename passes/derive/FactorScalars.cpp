//===- FactorScalars.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_FACTORSCALARS
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct FactorScalars : replayssm::impl::FactorScalarsBase<FactorScalars> {
  using FactorScalarsBase::FactorScalarsBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
