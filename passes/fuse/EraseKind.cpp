//===- EraseKind.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_ERASEKIND
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct EraseKind : replayssm::impl::EraseKindBase<EraseKind> {
  using EraseKindBase::EraseKindBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
