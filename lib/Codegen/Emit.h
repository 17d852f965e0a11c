//===- Emit.h - From a gpu.module to device or host code --------*- C++ -*-===//
//
// The ptx stage. `module` is what the gpu stage leaves: one gpu.module whose
// gpu.funcs carry `replay.manifest`. Every function here consumes the module.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/Module.h"

namespace replayssm::codegen {

/// Dialects and translations that code generation needs.
void registerDialects(mlir::DialectRegistry &registry);

/// Code for Emit::LLVM (text after -O3, markers still calls), Emit::PTX or
/// Emit::Cubin, with the manifests in source order.
Result<CompiledModule> emitDevice(mlir::ModuleOp module, Emit emit, std::string_view target,
                                  bool verifyEach = false);

/// An LLVM module and the context that owns its types.
struct DeviceModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::vector<KernelManifest> kernels;
};

/// gpu.module -> LLVM after the -O3 pipeline of `target`; markers are calls.
Result<DeviceModule> optimizeDevice(mlir::ModuleOp module, std::string_view target,
                                    bool verifyEach = false);
/// The last steps of optimizeDevice's result: markers to instructions, PTX text.
Result<std::string> emitPTX(DeviceModule device, std::string_view target);
/// Runs ptxas (PATH, $CUDA_HOME/bin, /usr/local/cuda/bin); Unavailable without it.
Result<std::string> assembleCubin(std::string_view ptx, std::string_view target);
/// What that ptxas says of itself.
Result<std::string> assemblerVersion();

/// Rewrites optimizeDevice's result for the host: markers become calls of
/// runtime/host/HostABI.h, and each kernel gets an rssm_host_entry named
/// hostEntryName(kernel).
Status retargetToHost(DeviceModule &device, const llvm::Triple &triple,
                      const llvm::DataLayout &layout);
std::string hostEntryName(std::string_view kernel);

} // namespace replayssm::codegen
