//===- VerifyTile.cpp ---------------------------------------------===//
#include "passes/Passes.h"

namespace replayssm {
#define GEN_PASS_DEF_VERIFYTILE
#include "passes/Passes.h.inc"
} // namespace replayssm

namespace {
struct VerifyTile : replayssm::impl::VerifyTileBase<VerifyTile> {
  using VerifyTileBase::VerifyTileBase;
  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << getArgument() << "' is not built yet";
    signalPassFailure();
  }
};
} // namespace
