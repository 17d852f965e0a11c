//===- DeriveKernels.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_DERIVEKERNELS
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct DeriveKernels : replayssm::impl::DeriveKernelsBase<DeriveKernels> {
  using DeriveKernelsBase::DeriveKernelsBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
