//===- ExpandMath.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct ExpandMath : replayssm::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
