//===- PushReads.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_PUSHREADS
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct PushReads : replayssm::impl::PushReadsBase<PushReads> {
  using PushReadsBase::PushReadsBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
