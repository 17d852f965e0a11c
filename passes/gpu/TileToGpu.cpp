//===- TileToGpu.cpp - Tiles become vectors, one per thread ---------------===//
#include "passes/gpu/TileToGpu.h"
#include "passes/Preconditions.h"

#include "llvm/ADT/TypeSwitch.h"

namespace replayssm {
#define GEN_PASS_DEF_TILETOGPU
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;

/// Every tile must be laid out, and shared memory and tokens reach their users directly.
static LogicalResult checkTiles(gpu::GPUFuncOp func) {
  auto check = [](Value value, Operation *at) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (tensor && (tensor.getRank() != 2 || !tile::Layout::of(tensor)))
      return at->emitOpError("expected tiles with a #tile.layout but got ") << tensor;
    return success();
  };
  WalkResult walk = func.walk([&](Operation *op) {
    if (op->hasAttr("tile.unroll")) {
      op->emitOpError("expected no tile.unroll (run replay-unroll-loops first)");
      return WalkResult::interrupt();
    }
    for (Value result : op->getResults())
      if (failed(check(result, op)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (BlockArgument arg : region.getArguments())
        if (failed(check(arg, op)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult lowerOp(Lowering &l, Operation *op) {
  l.b.setLoc(op->getLoc());
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::LoadOp op) { return l.begin(op), lowerLoad(l, op); })
      .Case([&](tile::StoreOp op) { return l.begin(op), lowerStore(l, op); })
      .Case([&](tile::DotOp op) { return l.begin(op), lowerDot(l, op); })
      .Case([&](tile::ScanOp op) { return l.begin(op), lowerScan(l, op); })
      .Case([&](tile::BroadcastOp op) { return l.begin(op), lowerBroadcast(l, op); })
      .Case([&](tile::IotaOp op) { return l.begin(op), lowerIota(l, op); })
      .Case([&](tile::ConvertOp op) { return l.begin(op), lowerConvert(l, op); })
      .Case([&](tile::CopyOp op) { return l.begin(op), lowerCopy(l, op); })
      .Case([&](tile::WaitOp op) { return l.begin(op), lowerWait(l, op); })
      .Case([&](tile::ExpectOp op) { return l.begin(op), lowerExpect(l, op); })
      .Case([&](tile::BarrierOp op) { return l.begin(op), lowerBarrier(l, op); })
      .Case([&](LLVM::LoadOp op) { return l.begin(op), lowerScalarLoad(l, op); })
      .Case([&](LLVM::StoreOp op) { return l.begin(op), lowerScalarStore(l, op); })
      .Default([](Operation *) { return success(); });
}

static LogicalResult lowerFunction(gpu::GPUFuncOp func, SymbolTable &symbols) {
  if (failed(checkTiles(func)))
    return failure();
  Lowering l(func, symbols);
  if (failed(initMbarriers(l)))
    return failure();
  SmallVector<Operation *> ops, later;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    // Waits ask their copy, and every access asks its alloc.
    if (isa<tile::CopyOp, tile::AllocOp>(op))
      later.push_back(op);
    if (failed(lowerOp(l, op)))
      return failure();
  }
  for (Operation *op : llvm::reverse(later)) {
    if (!op->use_empty())
      return op->emitOpError("expected no use but by tile ops");
    op->erase();
  }
  l.finish();
  return retypeTiles(func);
}

namespace {
struct TileToGpu : replayssm::impl::TileToGpuBase<TileToGpu> {
  using TileToGpuBase::TileToGpuBase;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    FailureOr<SmallVector<gpu::GPUFuncOp>> functions = tilePrograms(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (gpu::GPUFuncOp func : *functions)
      if (failed(expectOwnTiles(func)) || failed(lowerFunction(func, symbols)))
        return signalPassFailure();
  }
};
} // namespace
