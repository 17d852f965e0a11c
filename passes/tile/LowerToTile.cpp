//===- LowerToTile.cpp ---------------------------------------------===//
#include "passes/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace replayssm {
#define GEN_PASS_DEF_LOWERTOTILE
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct LowerToTile : replayssm::impl::LowerToTileBase<LowerToTile> {
  using LowerToTileBase::LowerToTileBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
