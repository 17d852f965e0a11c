//===- LowerToLLVM.h - gpu.module to the LLVM dialect -----------*- C++ -*-===//
#pragma once

#include "replayssm/Manifest.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace replayssm::codegen {

/// Reads and removes the `replay.manifest` of every kernel, checks it against
/// the function's signature and pins the block size on the function.
Result<std::vector<KernelManifest>> takeManifests(mlir::gpu::GPUModuleOp gpuModule);

/// Runs the upstream conversions; afterwards only the LLVM dialect is left.
Status lowerToLLVM(mlir::gpu::GPUModuleOp gpuModule, bool verifyEach);

} // namespace replayssm::codegen
