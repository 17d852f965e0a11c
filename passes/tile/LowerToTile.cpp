//===- LowerToTile.cpp - Scheduled kernels -> gpu.funcs of tile ops -------===//
//
// Op by op, in their order.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"
#include "passes/Preconditions.h"

#include "common/Targets.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace replayssm {
#define GEN_PASS_DEF_LOWERTOTILE
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

LogicalResult Lowering::run() {
  Block *entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  openGrid();
  for (Operation &op : kernel.getBody().front())
    if (failed(lowerOp(op)))
      return failure();
  b.setInsertionPointToEnd(entry);
  b.setLoc(kernel.getLoc());
  gpu::ReturnOp::create(b);
  return success();
}

LogicalResult Lowering::lowerOp(Operation &op) {
  b.setLoc(op.getLoc());
  if (isWindowed(op))
    return lowerWindowed(op);
  return lowerPlain(op);
}

LogicalResult Lowering::lowerPlain(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](replay::RowOp op) { return lowerRow(op); })
      .Case([](replay::PhaseOp) { return success(); })
      .Case([&](replay::LoadSlotOp op) { return lowerLoadSlot(op); })
      .Case([&](replay::SetCursorOp op) { return lowerSetCursor(op); })
      .Case([&](replay::WindowOp op) { return lowerWindow(op); })
      .Case([&](replay::ExpectOp op) { return lowerExpect(op); })
      .Case([&](replay::LoadRowOp op) { return lowerLoadRow(op); })
      .Case([&](replay::StoreRowOp op) { return lowerStoreRow(op); })
      .Case([&](replay::LoadTokenOp op) { return lowerToken(op); })
      .Case([&](replay::LoadParamOp op) { return lowerParam(op); })
      .Case([&](replay::LoadStateOp op) { return lowerLoadState(op); })
      .Case([&](replay::LoadRingOp op) { return lowerLoadRing(op); })
      .Case([&](replay::LoadFieldOp op) { return lowerLoadField(op); })
      .Case([&](replay::WaitOp op) { return lowerWait(op); })
      .Case([&](replay::StageRecordsOp op) { return lowerStageRecords(op); })
      .Case([&](replay::ReplayOp op) { return lowerFold(op); })
      .Case([&](replay::Rank1Op op) { return lowerRank1(op); })
      .Case([&](replay::GateOp op) { return lowerGate(op); })
      .Case([&](replay::BetaOp op) { return lowerBeta(op); })
      .Case([&](replay::RnormOp op) { return lowerRnorm(op); })
      .Case([&](replay::ScoresOp op) { return lowerScores(op); })
      .Case([&](replay::FetchOp op) { return lowerFetch(op); })
      .Case([&](replay::RingWeightsOp op) { return lowerWeights(op); })
      .Case([&](replay::RingReadOp op) { return lowerRingRead(op); })
      .Case([&](replay::ReadOp op) { return lowerRead(op); })
      .Case([&](replay::StoreStateOp op) { return lowerStoreState(op); })
      .Case([&](replay::StoreOutOp op) { return lowerStoreOut(op); })
      .Case([&](replay::AppendOp op) { return lowerAppend(op); })
      .Case([&](replay::PathMaskOp op) { return lowerPathMask(op); })
      .Case([&](replay::MoveRecordOp op) { return lowerMoveRecord(op); })
      .Case([&](replay::LoadRecordOp op) { return lowerLoadRecord(op); })
      .Case([&](scf::IfOp op) { return lowerIf(op); })
      .Case([&](scf::ForOp op) { return lowerFor(op); })
      // A factor of what is formed of it.
      .Case([](replay::ScaleOp) { return success(); })
      .Default([&](Operation *op) -> LogicalResult {
        if (isElementwise(*op) || op->hasTrait<OpTrait::ConstantLike>())
          return lowerElementwise(*op);
        return op->emitOpError() << "has no tile form; expected reads, ring reads, loads, stores "
                                    "and elementwise operations";
      });
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

static LogicalResult verifyOrigins(replay::KernelOp kernel) {
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

namespace {
struct LowerToTile : replayssm::impl::LowerToTileBase<LowerToTile> {
  using LowerToTileBase::LowerToTileBase;

  LogicalResult lowerKernel(replay::KernelOp kernel, OpBuilder &b) {
    if (failed(expectPrepared(kernel, Prepared::Placed)) || failed(verifyOrigins(kernel)))
      return failure();
    FailureOr<Signature> signature = Signature::of(kernel);
    if (failed(signature))
      return failure();
    Dims dims = Dims::of(kernel);
    auto func = gpu::GPUFuncOp::create(b, kernel.getLoc(), kernel.getSymName(),
                                       signature->functionType(b.getContext()));
    func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    func.setKnownBlockSizeAttr(
        b.getDenseI32ArrayAttr({static_cast<int32_t>(dims.warps * 32), 1, 1}));
    if (int64_t blocks = kernel.getTilingAttr().getBlocks(); blocks > 1)
      func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(blocks));
    func->setAttr("replay.manifest", signature->manifest(kernel, dims));
    return Lowering(kernel, *signature, func).run();
  }

  void runOnOperation() override {
    if (!findTarget(chip)) {
      getOperation().emitError() << "unknown target '" << chip << "'; expected one of "
                                 << knownTargets();
      return signalPassFailure();
    }
    auto kernels = llvm::to_vector(getOperation().getOps<replay::KernelOp>());
    if (kernels.empty())
      return;
    OpBuilder b(&getContext());
    b.setInsertionPointToEnd(getOperation().getBody());
    auto target = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                            "nvptx64-nvidia-cuda", chip);
    auto module = gpu::GPUModuleOp::create(b, getOperation().getLoc(), "kernels",
                                           ArrayRef<Attribute>{target});
    b.setInsertionPointToStart(module.getBody());
    for (replay::KernelOp kernel : kernels) {
      if (failed(lowerKernel(kernel, b)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
