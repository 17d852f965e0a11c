//===- VerifyLayer.h - Layers, requests and ring formats agree -----*- C++ -*-===//
#pragma once

#include "passes/Passes.h"

namespace replayssm::derive {

/// Checks every layer of `module` and every request of one. What derives kernels from
/// them asks again: it may be run without replay-verify-layer.
mlir::LogicalResult verifyLayers(mlir::ModuleOp module);

} // namespace replayssm::derive
