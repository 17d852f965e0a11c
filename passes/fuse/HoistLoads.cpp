//===- HoistLoads.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_HOISTLOADS
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct HoistLoads : replayssm::impl::HoistLoadsBase<HoistLoads> {
  using HoistLoadsBase::HoistLoadsBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
