//===- VerifyLayer.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_VERIFYLAYER
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct VerifyLayer : replayssm::impl::VerifyLayerBase<VerifyLayer> {
  using VerifyLayerBase::VerifyLayerBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
