//===- Jit.h - Compile and load in one step ---------------------*- C++ -*-===//
#pragma once

#include "replayssm/Compiler.h"
#include "replayssm/Runtime.h"

namespace replayssm {

/// Compiles for `device` (options.target and options.emit are ignored: the
/// device decides) and loads every kernel of the source, in source order.
RSSM_API Result<std::vector<Kernel>> jitSource(Device &device, std::string_view mlir,
                                               std::string_view fileName,
                                               const CompileOptions &options = {});
RSSM_API Result<Kernel> jitSpec(Device &device, const KernelSpec &spec,
                                const CompileOptions &options = {});

} // namespace replayssm
