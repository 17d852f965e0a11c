//===- LowerToTile.cpp - Scheduled kernels -> gpu.funcs of tile ops -------===//
//
// Op by op, in their order.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"
#include "passes/Preconditions.h"

#include "common/Targets.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace replayssm {
#define GEN_PASS_DEF_LOWERTOTILE
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

ValueRange Emitter::tiles(Value source) const { return lowered.lookup(source); }

void Emitter::define(Value source, ArrayRef<Value> tiles) { lowered[source] = tiles.copy(storage); }

LogicalResult Emitter::lower(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(lower(op)))
      return failure();
  return success();
}

/// Whether a result with a row for each token has become what rowOf finds rows in.
static bool hasRowsOf(Value source, ArrayRef<Value> tiles) {
  if (placeOf(source) == replay::Place::Sums || placeOf(source) == replay::Place::Pairs)
    return true;
  int64_t rows = hasRows(source) ? cast<RankedTensorType>(source.getType()).getDimSize(0) : 1;
  if (rows == 1 || isa<replay::LoadParentsOp>(source.getDefiningOp()) || tiles.empty() || static_cast<int64_t>(tiles.size()) == rows)
    return true;
  auto tile = dyn_cast<RankedTensorType>(tiles.front().getType()); // or a buffer
  return tiles.size() == 1 && (!tile || tile.getDimSize(0) == rows);
}

LogicalResult Emitter::lower(Operation &op) {
  using Rows = Patterns::Rows;
  setLoc(op.getLoc());
  replay::Place place = op.getNumResults() ? placeOf(op.getResult(0)) : replay::Place::Regs;
  bool isOfTokens = isWindowed(op);
  if (isOfTokens && place == replay::Place::Remat)
    return success();
  const Patterns::Pattern *pattern = patterns.find(op);
  Rows rows = pattern ? pattern->rows : isElementwise(op) ? Rows::Each : Rows::One;
  // A column that is spread is one tile, with its rows over the threads.
  bool isOneTile = place == replay::Place::Spread && isColumn(op.getResult(0));
  bool isOfSums = place == replay::Place::Sums && isElementwise(op), isOfPairs = place == replay::Place::Pairs && isElementwise(op);
  if (isOfTokens && !isOneTile && !isOfSums && !isOfPairs) {
    if (rows == Rows::One)
      return op.emitOpError() << "has no tile form for several tokens; expected a pattern that is asked for each row or takes all";
    if (rows == Rows::Each)
      return lowerRows(op);
  }
  SmallVector<ValueRange> operands;
  for (Value operand : op.getOperands())
    operands.push_back(tiles(operand));
  FailureOr<Results> results = isOfSums ? applyToSums(op) : isOfPairs ? applyToPairs(op) : apply(op, operands);
  if (failed(results))
    return failure();
  for (auto [source, tiles] : llvm::zip_equal(op.getResults(), *results)) {
    if (isOfTokens && !hasRowsOf(source, tiles))
      return op.emitOpError() << "expected a tile for each row of " << source.getType() << " but got " << tiles.size();
    define(source, tiles);
  }
  return success();
}

/// For each token what it gives for one.
LogicalResult Emitter::lowerRows(Operation &op) {
  Results rows(op.getNumResults());
  for (int64_t t = 0; t < dims.tokens; ++t) {
    FailureOr<Results> row = applyToRow(op, t, 0, /*once=*/false);
    if (failed(row))
      return failure();
    for (auto [tiles, tile] : llvm::zip_equal(rows, *row))
      tiles.push_back(tile.front());
  }
  for (auto [source, tiles] : llvm::zip_equal(op.getResults(), rows))
    define(source, tiles);
  return success();
}

/// What a copy brings is there behind its wait.
static LogicalResult expectLanded(Operation &op, ArrayRef<ValueRange> operands) {
  for (ValueRange tiles : operands)
    if (tiles.size() == 2 && isa<tile::TokenType>(tiles.back().getType()) && !isa<replay::WaitOp>(op))
      return op.emitOpError("expected replay.wait behind the copy that it uses");
  return success();
}

FailureOr<Results> Emitter::apply(Operation &op, ArrayRef<ValueRange> operands) {
  if (failed(expectLanded(op, operands)))
    return failure();
  if (const Patterns::Pattern *pattern = patterns.find(op))
    return pattern->lower(&op, operands, *this);
  if (isElementwise(op))
    return lowerElementwise(op, operands, *this);
  return op.emitOpError() << "has no tile form; expected reads, ring reads, loads, stores "
                             "and elementwise operations";
}

static Patterns allPatterns() {
  Patterns patterns;
  addElementwisePatterns(patterns);
  addNumberPatterns(patterns);
  addTokenPatterns(patterns);
  addGatePatterns(patterns);
  addColumnPatterns(patterns);
  addStatePatterns(patterns);
  addRingPatterns(patterns);
  addFoldPatterns(patterns);
  addReadPatterns(patterns);
  addWindowPatterns(patterns);
  addTreePatterns(patterns);
  addLoopPatterns(patterns);
  return patterns;
}

namespace {
struct LowerToTile : replayssm::impl::LowerToTileBase<LowerToTile> {
  using LowerToTileBase::LowerToTileBase;

  LogicalResult lowerKernel(replay::KernelOp kernel, const Patterns &patterns, OpBuilder &b) {
    if (failed(expectPrepared(kernel, Prepared::Placed)))
      return failure();
    FailureOr<Signature> signature = Signature::of(kernel);
    if (failed(signature))
      return failure();
    Dims dims = Dims::of(kernel);
    auto func = gpu::GPUFuncOp::create(b, kernel.getLoc(), kernel.getSymName(), signature->functionType(b.getContext()));
    func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    func.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({static_cast<int32_t>(dims.warps * 32), 1, 1}));
    if (int64_t blocks = kernel.getTilingAttr().getBlocks(); blocks > 1)
      func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(blocks));
    func->setAttr(sinkAttr, b.getI64IntegerAttr(kernel.getTilingAttr().getSink()));
    func->setAttr("replay.manifest", signature->manifest(kernel, dims));
    Emitter emitter(kernel, *signature, func, patterns);
    if (failed(emitter.lower(kernel.getBody().front())))
      return failure();
    emitter.setLoc(kernel.getLoc());
    gpu::ReturnOp::create(emitter);
    return success();
  }

  void runOnOperation() override {
    if (!findTarget(chip)) {
      getOperation().emitError() << "unknown target '" << chip << "'; expected one of " << knownTargets();
      return signalPassFailure();
    }
    auto kernels = llvm::to_vector(getOperation().getOps<replay::KernelOp>());
    if (kernels.empty())
      return;
    OpBuilder b(&getContext());
    b.setInsertionPointToEnd(getOperation().getBody());
    auto target = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", chip);
    auto module = gpu::GPUModuleOp::create(b, getOperation().getLoc(), "kernels", ArrayRef<Attribute>{target});
    b.setInsertionPointToStart(module.getBody());
    Patterns patterns = allPatterns();
    for (replay::KernelOp kernel : kernels) {
      if (failed(lowerKernel(kernel, patterns, b)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
