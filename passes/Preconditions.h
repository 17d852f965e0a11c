//===- Preconditions.h - What earlier passes leave for later ones -*- C++ -*-===//
//
// Every pass may be run by itself, and on any valid IR. Those that stand on the work
// of another ask for it here, so that what is missing is named by one sentence.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/Passes.h"

namespace replayssm {

/// How far a kernel has come; each step includes those before it.
enum class Prepared {
  Derived,   ///< It has a body: replay-derive-kernels.
  Expanded,  ///< The body has no layer ops any more: replay-expand-delta.
  Scheduled, ///< It has a tiling: replay-schedule.
  Split,     ///< What it does for a row stands under the row's condition: replay-split.
  Ordered,   ///< Its phases are marked: replay-order.
  Placed     ///< What its windows read is in shared memory: replay-place.
};

/// Fails with an error that names the first pass that is missing.
mlir::LogicalResult expectPrepared(replay::KernelOp kernel, Prepared wanted);

/// Runs `body` on every kernel. Fails at the first that is not prepared, or where `body` does.
mlir::LogicalResult forEachKernel(mlir::ModuleOp module, Prepared wanted,
                                  llvm::function_ref<mlir::LogicalResult(replay::KernelOp)> body);

/// Runs `body` on the ops of a kind that a kernel has now; it may erase them and make others.
template <typename Op>
void forEachOp(replay::KernelOp kernel, llvm::function_ref<void(Op)> body) {
  llvm::SmallVector<Op> ops;
  kernel.walk([&](Op op) { ops.push_back(op); });
  llvm::for_each(ops, body);
}

/// Whether a loop of the kernel is around `op`.
bool isInLoop(mlir::Operation *op);

/// The operands along K of a read, or of gated scores: those of several tokens are staged.
mlir::MutableOperandRange stagedOperands(mlir::Operation *op);

/// What scores find of their gates in shared memory: of a tree and of pairs the gates, along K the
/// decays. Null where each thread has all of it.
mlir::Value stagedGates(replay::ScoresOp op);
/// Whether on tensor cores one thread has a pair, and forms its own decay of one gate a token.
bool decaysByPair(replay::ScoresOp op);

/// Whether `op` stands for several that replay-split makes of it.
bool isWhole(mlir::Operation *op);

/// On the scf.if around what a kernel does for a row.
inline constexpr llvm::StringLiteral rowAttr = "replay.row";

/// On a function of tiles: registers of a thread that may wait for their store (#replay.tiling).
inline constexpr llvm::StringLiteral sinkAttr = "replay.sink";

/// The block of what a split kernel does for a row; the body of one that has no rows.
mlir::Block &rowBlock(replay::KernelOp kernel);

/// Whether `func` calls device markers: the stages tile and gpu are behind it, so
/// that they have nothing to check, plan or lower when its text is read again.
bool isOfThreads(mlir::gpu::GPUFuncOp func);

/// The functions of a module that are programs of tiles still. Fails where one is
/// not structured, that is, one block of ops, scf.if and scf.for, or has tiles that
/// are no static matrices.
mlir::FailureOr<llvm::SmallVector<mlir::gpu::GPUFuncOp>> tilePrograms(mlir::gpu::GPUModuleOp module);

/// Fails where a tile comes from outside of the function: nothing says which thread
/// has which element of it.
mlir::LogicalResult expectOwnTiles(mlir::gpu::GPUFuncOp func);

} // namespace replayssm
