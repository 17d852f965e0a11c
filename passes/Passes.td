//===- Passes.td - The steps from recurrence to device code ---------------===//
#ifndef REPLAYSSM_PASSES_TD
#define REPLAYSSM_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// derive: recurrence -> kernels
//===----------------------------------------------------------------------===//

def VerifyLayer : Pass<"replay-verify-layer", "::mlir::ModuleOp"> {
  let summary = "Checks what no single op knows: layers, requests and their formats agree";
}
def DeriveKernels : Pass<"replay-derive-kernels", "::mlir::ModuleOp"> {
  let summary = "Fills every kernel request from its layer; the layer is erased";
  let description = [{
    packed: load, step, store. replay: the state is checkpoint + ring, the store
    becomes an append with a flush branch. With ring length 1 a replay request
    derives the packed form, so the two are identical. verify: a ragged window of
    tokens on checkpoint + ring, appended; fold: the records of fold_len go into
    the checkpoint. cursors: the advance of wp by one token, or with a `window` by
    accept_len, with the choice of who folds.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect", "::replayssm::tile::TileDialect"];
}
def ExpandDelta : Pass<"replay-expand-delta", "::mlir::ModuleOp"> {
  let summary = "delta -> decay, reads and rank-1 updates (one token), or a window";
  let options = [Option<"form", "form", "std::string", "\"window\"",
      "for more than one token: window (scores, ut_solve) or unroll (T steps)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect", "::replayssm::tile::TileDialect"];
}
def FactorScalars : Pass<"replay-factor-scalars", "::mlir::ModuleOp"> {
  let summary = "read(S, s x) -> s read(S, x) for a scalar s per token: operands stay raw";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::replayssm::tile::TileDialect"];
}
def PushReads : Pass<"replay-push-reads", "::mlir::ModuleOp"> {
  let summary = "Moves reads through rank1, decay and replay to the checkpoint and the ring";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::replayssm::tile::TileDialect"];
}

//===----------------------------------------------------------------------===//
// fuse: one kernel op per row and head
//===----------------------------------------------------------------------===//

def MergeReads : Pass<"replay-merge-reads", "::mlir::ModuleOp"> {
  let summary = "All reads of one state (and of one ring) become one op, and scores of one window";
}
def HoistLoads : Pass<"replay-hoist-loads", "::mlir::ModuleOp"> {
  let summary = "Loads first, in chain order; verifies that no address depends on more than one loaded value";
}
def EraseKind : Pass<"replay-erase-kind", "::mlir::ModuleOp"> {
  let summary = "Removes `of` and `kind`: later stages see ops, shapes and attributes";
}

//===----------------------------------------------------------------------===//
// schedule: attributes only
//===----------------------------------------------------------------------===//

def Schedule : Pass<"replay-schedule", "::mlir::ModuleOp"> {
  let summary = "Sets #replay.tiling on every kernel from the chip table and a cost model";
  let options = [
    Option<"chip", "chip", "std::string", "::replayssm::defaultTarget", "as --target takes it">,
    Option<"tiling", "tiling", "std::string", "\"\"",
           "fields to force, for example bv=64,warps=8">,
    Option<"printCandidates", "print-candidates", "bool", "false",
           "list every legal tiling with its predicted costs as remarks">];
}

//===----------------------------------------------------------------------===//
// tile: a block-level program
//===----------------------------------------------------------------------===//

def Split : Pass<"replay-split", "::mlir::ModuleOp"> {
  let summary = "Composite ops -> what is issued; what a row does stands under its condition";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}
def Order : Pass<"replay-order", "::mlir::ModuleOp"> {
  let summary = "Loads, gates, tokens, pairs, reads, writes: sorts ops by what they wait for";
}
def Place : Pass<"replay-place", "::mlir::ModuleOp"> {
  let summary = "Says where the rows of a window are, and stages what all threads read";
  let options = [Option<"places", "places", "std::string", "\"\"", "places to force: columns or gates, as spread or regs">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}
def LowerToTile : Pass<"replay-lower-to-tile", "::mlir::ModuleOp"> {
  let summary = "Each scheduled kernel -> a gpu.func of tile ops, with its manifest";
  let options = [Option<"chip", "chip", "std::string", "::replayssm::defaultTarget", "target of the gpu.module">];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
      "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
      "::mlir::NVVM::NVVMDialect", "::replayssm::tile::TileDialect"];
}
def AssignLayouts : Pass<"replay-assign-layouts", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Anchors of loads, forward propagation, a convert at each mismatch";
  let dependentDialects = ["::replayssm::tile::TileDialect"];
}
def LowerConverts : Pass<"replay-lower-converts", "::mlir::gpu::GPUModuleOp"> {
  let summary = "convert -> store to shared memory and load, unless registers are only renamed";
  let dependentDialects = ["::replayssm::tile::TileDialect", "::mlir::arith::ArithDialect"];
}
def PlanShared : Pass<"replay-plan-shared", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Byte offsets of shared buffers and mbarriers, by lifetime";
}
def InsertBarriers : Pass<"replay-insert-barriers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "A block barrier before each access to shared bytes that other threads touched since the last one";
  let dependentDialects = ["::replayssm::tile::TileDialect"];
}
def UnrollLoops : Pass<"replay-unroll-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Loops with `tile.unroll` are unrolled so many times";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
def SinkStores : Pass<"replay-sink-stores", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Stores to shared memory move down to the barrier, or the access of their buffer, that they must precede";
  let description = [{
    Before: `load, dot, store, load, dot, store, barrier`; after:
    `load, dot, load, dot, store, store, barrier`. Every result keeps its bits.
  }];
  let options = [Option<"registers", "registers", "int64_t", "8",
      "as many 32-bit registers of a thread may wait for their store where a function does not say it (replay.sink)">];
}
def VerifyTile : Pass<"replay-verify-tile", "::mlir::gpu::GPUModuleOp"> {
  let summary = "What must hold before lowering: layouts everywhere, uniform control, planned memory";
}

//===----------------------------------------------------------------------===//
// gpu: threads
//===----------------------------------------------------------------------===//

def TileToGpu : Pass<"replay-tile-to-gpu", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Each tile -> one vector per thread; memory and collectives -> device markers";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
      "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect",
      "::mlir::gpu::GPUDialect"];
}
def ExpandMath : Pass<"replay-expand-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "exp, log1p, rsqrt and reciprocals -> hardware approximations with explicit fma, errors stated";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif
