//===- MergeReads.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_MERGEREADS
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct MergeReads : replayssm::impl::MergeReadsBase<MergeReads> {
  using MergeReadsBase::MergeReadsBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
