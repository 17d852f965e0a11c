//===- Threads.h - Is a function already a program of threads? --*- C++ -*-===//
#pragma once

#include "passes/Passes.h"

namespace replayssm {

/// Whether `func` calls device markers: the stages tile and gpu are behind it, so
/// that they have nothing to check, plan or lower when its text is read again.
inline bool isOfThreads(mlir::gpu::GPUFuncOp func) {
  return func
      .walk([](mlir::LLVM::CallOp call) {
        auto callee = call.getCallee();
        return callee && callee->starts_with("rssm.") ? mlir::WalkResult::interrupt()
                                                      : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace replayssm
