//===- VerifyTile.cpp - What must hold before threads are made ------------===//
#include "dialects/Tile/Layout.h"
#include "passes/Preconditions.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

namespace replayssm {
#define GEN_PASS_DEF_VERIFYTILE
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm::tile;

namespace {
/// Which values differ between threads of the block. Found by marking until
/// nothing changes: a loop may carry a difference back to its top.
class Uniformity {
public:
  explicit Uniformity(gpu::GPUFuncOp func) {
    for (changed = true; changed;) {
      changed = false;
      func.walk([&](Operation *op) { visit(op); });
    }
  }
  bool holds(Value value) const {
    return !isa<TensorType>(value.getType()) && !varying.contains(value);
  }

private:
  void visit(Operation *op);
  void mark(Value value, bool varies) {
    if (varies)
      changed |= varying.insert(value).second;
  }
  llvm::DenseSet<Value> varying;
  bool changed = false;
};
} // namespace

void Uniformity::visit(Operation *op) {
  auto varies = [&](Value value) { return !holds(value); };
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      mark(result, varies(branch.getCondition()) || varies(branch.thenYield().getOperand(i)) ||
                       varies(branch.elseYield().getOperand(i)));
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    mark(loop.getInductionVar(), varies(loop.getLowerBound()) || varies(loop.getStep()));
    for (auto [arg, init, next, result] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getInits(), loop.getYieldedValues(),
                         loop.getResults())) {
      mark(arg, varies(init) || varies(next));
      mark(result, varies(arg));
    }
  } else if (!isa<gpu::GPUFuncOp, gpu::BlockIdOp, gpu::GridDimOp, gpu::BlockDimOp>(op)) {
    bool computed = isa<LLVM::LoadOp>(op) || (isPure(op) && !isa<NVVM::NVVMDialect>(op->getDialect()));
    bool thread = isa<gpu::ThreadIdOp, gpu::LaneIdOp, gpu::SubgroupIdOp, gpu::GlobalIdOp>(op);
    bool result = !computed || thread || op->getNumRegions() != 0 ||
                  llvm::any_of(op->getOperands(), varies);
    for (Value value : op->getResults())
      mark(value, result);
  }
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult verifyTiles(Operation *op, ValueRange values) {
  auto size = op->getParentOfType<gpu::GPUFuncOp>().getKnownBlockSize();
  for (Value value : values) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (!tile)
      continue;
    std::optional<Layout> layout = Layout::of(tile);
    if (tile.getRank() != 2 || !layout)
      return op->emitOpError() << "expected tiles with a layout but got " << tile
                               << " (replay-assign-layouts gives them)";
    if (size && layout->warpsNeeded() > size->front() / 32)
      return op->emitOpError() << "expected a layout of at most " << size->front() / 32
                               << " warps but got " << tile;
  }
  return success();
}

/// Tiles flow through elementwise ops, tile ops and structured control alone.
static LogicalResult verifyKind(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  if (llvm::none_of(op->getOperandTypes(), isTensor) && llvm::none_of(op->getResultTypes(), isTensor))
    return success();
  if (OpTrait::hasElementwiseMappableTraits(op) || isa<TileDialect>(op->getDialect()) ||
      isa<arith::ConstantOp, tensor::SplatOp, scf::IfOp, scf::ForOp, scf::YieldOp>(op))
    return success();
  return op->emitOpError() << "expected an op on tiles: arith, math, tile, scf.if or scf.for";
}

static LogicalResult verifyUniform(Operation *op, StringRef what, Value value, const Uniformity &uniformity) {
  if (!value || uniformity.holds(value))
    return success();
  return op->emitOpError() << "expected " << what << " to be the same in all threads of the block";
}

/// Whether every path from `from` to the end of its block waits for `token`.
static bool waits(Value token, Operation *from) {
  for (Operation *op = from; op; op = op->getNextNode()) {
    if (auto wait = dyn_cast<WaitOp>(op); wait && wait.getToken() == token)
      return true;
    auto branch = dyn_cast<scf::IfOp>(op);
    if (branch && !branch.getElseRegion().empty() &&
        waits(token, &branch.thenBlock()->front()) && waits(token, &branch.elseBlock()->front()))
      return true;
  }
  return false;
}

static LogicalResult verifyCopy(CopyOp op) {
  if (!op.getMbarrier())
    return op.emitOpError() << "expected a planned mbarrier (replay-plan-shared sets it)";
  if (auto loop = op->getParentOfType<LoopLikeOpInterface>()) {
    InFlightDiagnostic diag = op.emitOpError()
                              << "expected a copy outside loops: its mbarrier is used once";
    diag.attachNote(loop->getLoc()) << "the loop";
    return diag;
  }
  if (!waits(op.getToken(), op->getNextNode()))
    return op.emitOpError() << "expected a tile.wait on every path after the copy";
  for (Operation *user : op.getDst().getUsers())
    if (auto store = dyn_cast<StoreOp>(user)) {
      InFlightDiagnostic diag = op.emitOpError()
                                << "expected a buffer that only copies write: a store is not "
                                   "ordered with the copy engine";
      diag.attachNote(store.getLoc()) << "the store";
      return diag;
    }
  return success();
}

static LogicalResult verifyConvert(ConvertOp op) {
  RankedTensorType from = op.getX().getType(), to = op.getResult().getType();
  if (registerMap(*Layout::of(from), *Layout::of(to), to.getShape()))
    return success();
  return op.emitOpError() << "expected registers to be renamed but elements change threads from "
                          << from << " to " << to << " (replay-lower-converts)";
}

/// Threads that leave a loop before others would miss its barriers.
static LogicalResult verifyFor(scf::ForOp op, const Uniformity &uniformity) {
  for (Value bound : {op.getLowerBound(), op.getUpperBound(), op.getStep()})
    if (failed(verifyUniform(op, "bounds and step", bound, uniformity)))
      return failure();
  return success();
}

static LogicalResult verify(Operation *op, const Uniformity &uniformity) {
  if (failed(verifyKind(op)) || failed(verifyTiles(op, op->getResults())))
    return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(verifyTiles(op, block.getArguments())))
        return failure();
  auto memory = [&](Operation *op, Value offset, Value rows, Value owner, Value stride = {}) {
    return success(succeeded(verifyUniform(op, "'stride'", stride, uniformity)) &&
                   succeeded(verifyUniform(op, "the offset", offset, uniformity)) &&
                   succeeded(verifyUniform(op, "'rows'", rows, uniformity)) &&
                   succeeded(verifyUniform(op, "'owner'", owner, uniformity)));
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](AllocOp op) -> LogicalResult {
        if (op.getOffset())
          return success();
        return op.emitOpError() << "expected a planned offset (replay-plan-shared sets it)";
      })
      .Case([&](LoadOp op) {
        return success(succeeded(memory(op, op.getOffset(), op.getRows(), {}, op.getStride())) &&
                       succeeded(verifyUniform(op, "'mask'", op.getMask(), uniformity)));
      })
      .Case([&](ScanOp op) { return verifyUniform(op, "'from'", op.getFrom(), uniformity); })
      .Case([&](StoreOp op) { return memory(op, op.getOffset(), op.getRows(), op.getOwner()); })
      .Case([&](CopyOp op) {
        return success(succeeded(verifyCopy(op)) &&
                       succeeded(memory(op, op.getOffset(), op.getRows(), {})));
      })
      .Case([](ConvertOp op) { return verifyConvert(op); })
      .Case([&](scf::ForOp op) { return verifyFor(op, uniformity); })
      .Case([&](scf::IfOp op) {
        return verifyUniform(op, "the condition", op.getCondition(), uniformity);
      })
      .Default([](Operation *) { return success(); });
}

namespace {
struct VerifyTile : replayssm::impl::VerifyTileBase<VerifyTile> {
  using VerifyTileBase::VerifyTileBase;
  void runOnOperation() override {
    FailureOr<SmallVector<gpu::GPUFuncOp>> functions = replayssm::tilePrograms(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (gpu::GPUFuncOp func : *functions) {
      if (auto size = func.getKnownBlockSize(); size && size->front() % 32 != 0) {
        func.emitOpError() << "expected whole warps but got a block of " << size->front() << " threads";
        return signalPassFailure();
      }
      Uniformity uniformity(func);
      WalkResult walk = func.walk([&](Operation *op) {
        return op == func || succeeded(verify(op, uniformity)) ? WalkResult::advance()
                                                               : WalkResult::interrupt();
      });
      if (walk.wasInterrupted())
        return signalPassFailure();
    }
  }
};
} // namespace
