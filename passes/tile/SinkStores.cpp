//===- SinkStores.cpp - Stores to shared memory go to their barrier -------===//
//
// ptxas keeps the order of a store and a later load of shared memory: their
// addresses might be the same. A dot, its store and the next dot then run one
// behind another, each for the whole latency of its loads and shuffles. With the
// stores at the barrier that orders them, the dots in front of it overlap.
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Layout.h"
#include "passes/Preconditions.h"

namespace replayssm {
#define GEN_PASS_DEF_SINKSTORES
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::tile;

/// The shared memory that `op` is about; null if it is about none.
static Value sharedOf(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<SmemType>(operand.getType()))
      return operand;
  return nullptr;
}

/// Whether stores to `memory` must stand in front of `op`.
static bool isOrdered(Operation &op, ArrayRef<StoreOp> stores) {
  if (op.hasTrait<OpTrait::IsTerminator>() || op.getNumRegions() > 0 || isa<BarrierOp, WaitOp, CopyOp>(op))
    return true;
  Value memory = sharedOf(&op);
  return memory && llvm::any_of(stores, [&](StoreOp store) { return store.getDst() == memory; });
}

/// 32-bit registers of a thread that hold `value` until it is stored.
static int64_t registersOf(Value value) {
  auto tile = cast<RankedTensorType>(value.getType());
  std::optional<Layout> layout = Layout::of(tile);
  return layout ? llvm::divideCeil(layout->numRegs() * tile.getElementTypeBitWidth(), 32) : 0;
}

/// Buffers of one place in shared memory do not meet between two barriers, so that
/// stores wait for accesses of their own buffer alone.
static void sinkIn(Block &block, int64_t limit) {
  SmallVector<StoreOp> sinking; // in their order
  int64_t registers = 0;
  auto storeBefore = [&](Operation &op) {
    for (StoreOp store : sinking)
      store->moveBefore(&op);
    sinking.clear();
    registers = 0;
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto store = dyn_cast<StoreOp>(op); store && sharedOf(store)) {
      registers += registersOf(store.getValue());
      sinking.push_back(store);
      if (registers > limit) // Here they are in their place.
        storeBefore(*std::next(op.getIterator()));
    } else if (!sinking.empty() && isOrdered(op, sinking)) {
      storeBefore(op);
    }
  }
}

namespace {
struct SinkStores : replayssm::impl::SinkStoresBase<SinkStores> {
  using SinkStoresBase::SinkStoresBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<gpu::GPUFuncOp>()) {
      auto chosen = func->getAttrOfType<IntegerAttr>(sinkAttr);
      int64_t limit = chosen ? chosen.getInt() : int64_t(registers);
      func->removeAttr(sinkAttr);
      func.walk([&](Operation *op) {
        if (!isa<scf::SCFDialect, gpu::GPUDialect>(op->getDialect()))
          return;
        for (Region &region : op->getRegions())
          for (Block &block : region)
            sinkIn(block, limit);
      });
    }
  }
};
} // namespace
