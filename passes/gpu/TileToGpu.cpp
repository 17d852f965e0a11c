//===- TileToGpu.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_TILETOGPU
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct TileToGpu : replayssm::impl::TileToGpuBase<TileToGpu> {
  using TileToGpuBase::TileToGpuBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
