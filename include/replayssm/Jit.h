//===- Jit.h - Compile and load in one step ---------------------*- C++ -*-===//
#pragma once

#include "replayssm/Compiler.h"
#include "replayssm/Runtime.h"

namespace replayssm {

/// Compiles for `device` (options.target, emit and stopAfter are ignored: the
/// device decides, a GPU gets PTX) and loads every kernel of the source, in source order. Errors
/// are those of compileSource and of Device::loadKernels, an open capture before anything is
/// compiled; `device` is used from one thread at a time. Milliseconds to seconds a kernel: not for the launch path. What is
/// found in options.cacheDir still has to be made machine code by the driver, once: it has a
/// cache of its own (CUDA_CACHE_PATH).
RSSM_API Result<std::vector<Kernel>> jitSource(Device &device, std::string_view mlir,
                                               std::string_view fileName,
                                               const CompileOptions &options = {});
/// The kernel of one spec.
RSSM_API Result<Kernel> jitSpec(Device &device, const KernelSpec &spec,
                                const CompileOptions &options = {});

} // namespace replayssm
