//===- Preconditions.cpp - What earlier passes leave for later ones -------===//
#include "passes/Preconditions.h"

using namespace mlir;
using namespace replayssm;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static LogicalResult expectDerived(replay::KernelOp kernel) {
  Region &body = kernel.getBody();
  // Only a request may be without them: the verifier asks every other kernel.
  if (body.empty() || body.front().empty() || !kernel.getShapeAttr() || !kernel.getNullAttr())
    return kernel.emitOpError("expected a body with a shape and null: run replay-derive-kernels first");
  return success();
}

static LogicalResult expectExpanded(replay::KernelOp kernel) {
  WalkResult walk = kernel.getBody().walk([](Operation *op) {
    if (!isa<replay::DeltaOp, replay::L2NormOp>(op))
      return WalkResult::advance();
    op->emitOpError("expected no layer ops in a kernel: run replay-expand-delta first");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult expectScheduled(replay::KernelOp kernel) {
  replay::TilingAttr tiling = kernel.getTilingAttr();
  if (!tiling)
    return kernel.emitOpError("expected a 'tiling': run replay-schedule first");
  if (int64_t V = kernel.getShapeAttr().getV(); V % tiling.getBv() != 0)
    return kernel.emitOpError() << "expected bv to divide V = " << V << " but got " << tiling.getBv()
                                << ": run replay-schedule first";
  return success();
}

static scf::IfOp rowBranch(replay::KernelOp kernel) {
  for (auto branch : kernel.getBody().getOps<scf::IfOp>())
    if (branch->hasAttr(rowAttr))
      return branch;
  return nullptr;
}

Block &replayssm::rowBlock(replay::KernelOp kernel) {
  scf::IfOp branch = rowBranch(kernel);
  return branch ? *branch.thenBlock() : kernel.getBody().front();
}

bool replayssm::decaysByPair(replay::ScoresOp op) {
  auto kernel = op->getParentOfType<replay::KernelOp>();
  return kernel && kernel.getMmaAttr() && op.getG() && !op.getParents() && op.getG().getType().getDimSize(1) == 1;
}

bool replayssm::isWhole(Operation *op) {
  if (auto pairs = dyn_cast<replay::ScoresOp>(op)) {
    bool isOne = pairs.getY().getType().getDimSize(0) == 1;
    return pairs.getG() && (isOne || !(pairs.getParents() || decaysByPair(pairs)));
  }
  if (auto weights = dyn_cast<replay::RingWeightsOp>(op))
    return !weights.getG();
  if (auto read = dyn_cast<replay::RingReadOp>(op))
    return !read.getK() || !read.getD();
  if (auto fold = dyn_cast<replay::ReplayOp>(op))
    return !fold.getTot();
  return isa<replay::CursorOp, replay::DecayOp>(op);
}

static LogicalResult expectSplit(replay::KernelOp kernel) {
  bool isGuarded = rowBranch(kernel) != nullptr;
  WalkResult walk = kernel.getBody().walk([&](Operation *op) {
    bool isGuard = !isGuarded && isa<replay::RowOp, replay::StoreOutOp, replay::StoreRowOp>(op);
    if (!isGuard && !isWhole(op))
      return WalkResult::advance();
    op->emitOpError("expected a kernel whose composite ops are split: run replay-split first");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult expectOrdered(replay::KernelOp kernel) {
  auto markers = rowBlock(kernel).getOps<replay::PhaseOp>();
  if (markers.begin() == markers.end())
    return kernel.emitOpError("expected the phases of its ops: run replay-order first");
  return success();
}

bool replayssm::isInLoop(Operation *op) { return op->getParentOfType<scf::ForOp>() != nullptr; }

MutableOperandRange replayssm::stagedOperands(Operation *op) {
  if (auto read = dyn_cast<replay::ReadOp>(op))
    return read.getXsMutable();
  if (auto read = dyn_cast<replay::RingReadOp>(op))
    return read.getXsMutable();
  auto pairs = dyn_cast<replay::ScoresOp>(op);
  return MutableOperandRange(op, 0, pairs && pairs.isOfWindow() ? pairs.getXs().size() + 1 : 0); // xs and y
}

Value replayssm::stagedGates(replay::ScoresOp op) {
  if (op.getParents() || decaysByPair(op))
    return op.getG();
  Value decays = op.getDecays();
  return decays && cast<ShapedType>(decays.getType()).getDimSize(1) > 1 ? decays : Value();
}

/// Whether the lowering knows what this value stands for: states, records and parents
/// have no form of their own in a tile program.
static bool isKnown(Value value, Operation *def) {
  Type type = value.getType();
  if (isa<replay::StateType>(type))
    return isa<replay::LoadStateOp, replay::WaitOp, replay::ReplayOp, replay::ScaleOp, replay::Rank1Op, scf::IfOp, scf::ForOp>(def);
  if (isa<replay::RecordsType>(type))
    return isa<replay::LoadRingOp, replay::StageRecordsOp, replay::RingReadOp>(def);
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !tensor || !tensor.getElementType().isInteger(32) || isa<replay::LoadParentsOp>(def);
}

static LogicalResult expectOrigins(replay::KernelOp kernel) {
  WalkResult walk = kernel.getBody().walk([](Operation *op) {
    for (Value result : op->getResults())
      if (!isKnown(result, op)) {
        op->emitOpError() << "expected states, records and parents of replay ops but got " << result.getType();
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult expectPlaced(replay::KernelOp kernel) {
  if (failed(expectOrigins(kernel)))
    return failure();
  WalkResult walk = kernel.getBody().walk([](Operation *op) {
    SmallVector<Value> staged;
    for (OpOperand &use : stagedOperands(op))
      if (cast<ShapedType>(use.get().getType()).getDimSize(0) > 1)
        staged.push_back(use.get());
    if (auto pairs = dyn_cast<replay::ScoresOp>(op))
      if (Value gates = stagedGates(pairs))
        staged.push_back(gates);
    for (Value value : staged)
      if (!value.getDefiningOp<replay::StageOp>()) {
        op->emitOpError("expected staged tokens as operands: run replay-place first");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// What one step adds to those before it.
static LogicalResult expectStep(replay::KernelOp kernel, Prepared step) {
  switch (step) {
  case Prepared::Derived:
    return expectDerived(kernel);
  case Prepared::Expanded:
    return expectExpanded(kernel);
  case Prepared::Scheduled:
    return expectScheduled(kernel);
  case Prepared::Split:
    return expectSplit(kernel);
  case Prepared::Ordered:
    return expectOrdered(kernel);
  case Prepared::Placed:
    return expectPlaced(kernel);
  }
  llvm_unreachable("every step is one of the enum's");
}

LogicalResult replayssm::expectPrepared(replay::KernelOp kernel, Prepared wanted) {
  for (int step = 0; step <= static_cast<int>(wanted); ++step)
    if (failed(expectStep(kernel, static_cast<Prepared>(step))))
      return failure();
  return success();
}

LogicalResult replayssm::forEachKernel(ModuleOp module, Prepared wanted,
                                       function_ref<LogicalResult(replay::KernelOp)> body) {
  WalkResult walk = module.walk([&](replay::KernelOp kernel) {
    return WalkResult(failed(expectPrepared(kernel, wanted)) ? failure() : body(kernel));
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Functions of tiles
//===----------------------------------------------------------------------===//

static LogicalResult expectTile(Operation *op, Type type) {
  if (!isa<TensorType>(type))
    return success();
  auto tile = dyn_cast<RankedTensorType>(type);
  if (tile && tile.getRank() == 2 && tile.hasStaticShape())
    return success();
  return op->emitOpError() << "expected tiles to be static tensors of rank 2 but got " << type;
}

static LogicalResult expectStructured(gpu::GPUFuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitOpError() << "expected a body of one block, with scf.if and scf.for for control flow, but got "
                              << llvm::range_size(func.getBody());
  WalkResult walk = func.walk([&](Operation *op) {
    if (op != func && op->getNumRegions() && !isa<scf::IfOp, scf::ForOp>(op)) {
      op->emitOpError("expected regions of scf.if and scf.for only");
      return WalkResult::interrupt();
    }
    for (Type type : op->getResultTypes())
      if (failed(expectTile(op, type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

bool replayssm::isOfThreads(gpu::GPUFuncOp func) {
  return func
      .walk([](LLVM::CallOp call) {
        auto callee = call.getCallee();
        return callee && callee->starts_with("rssm.") ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<SmallVector<gpu::GPUFuncOp>> replayssm::tilePrograms(gpu::GPUModuleOp module) {
  SmallVector<gpu::GPUFuncOp> functions;
  for (auto func : module.getOps<gpu::GPUFuncOp>()) {
    if (func.getBody().empty() || isOfThreads(func))
      continue;
    if (failed(expectStructured(func)))
      return failure();
    functions.push_back(func);
  }
  return functions;
}

LogicalResult replayssm::expectOwnTiles(gpu::GPUFuncOp func) {
  for (BlockArgument argument : func.getBody().getArguments())
    if (isa<TensorType>(argument.getType()))
      return func.emitOpError() << "expected no tile among the arguments but got " << argument.getType()
                                << ": tile.load makes tiles";
  return success();
}
