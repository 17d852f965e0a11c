//===- LowerConverts.cpp - Tiles change threads through shared memory -----===//
#include "dialects/Tile/Layout.h"
#include "passes/Preconditions.h"

namespace replayssm {
#define GEN_PASS_DEF_LOWERCONVERTS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm::tile;

/// Rows of a whole number of bank cycles would put a column into one bank: 16
/// bytes more spread it and keep rows aligned.
static int64_t paddedCols(RankedTensorType tile) {
  int64_t bytes = tile.getElementTypeBitWidth() / 8, cols = tile.getDimSize(1);
  return tile.getDimSize(0) > 1 && cols * bytes % 128 == 0 ? cols + 16 / bytes : cols;
}

static LogicalResult lower(ConvertOp op) {
  RankedTensorType from = op.getX().getType(), to = op.getResult().getType();
  std::optional<Layout> source = Layout::of(from), target = Layout::of(to);
  if (!source || !target)
    return op.emitOpError() << "expected layouts on both sides but got " << from << " and " << to;
  if (from == to) {
    op.getResult().replaceAllUsesWith(op.getX());
    op.erase();
    return success();
  }
  if (registerMap(*source, *target, to.getShape()))
    return success(); // each thread renames what it holds
  if (to.getElementTypeBitWidth() % 8 != 0)
    return op.emitOpError() << "expected elements of whole bytes to pass through shared memory but got "
                            << from << " and " << to;

  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t cols = paddedCols(to);
  Value smem = AllocOp::create(
      b, loc, SmemType::get(op.getContext(), to.getDimSize(0), cols, to.getElementType(), /*skew=*/0), nullptr);
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  DenseI64ArrayAttr strides = b.getDenseI64ArrayAttr({cols, 1});
  StoreOp::create(b, loc, op.getX(), smem, zero, strides, Value(), Value());
  Value loaded = LoadOp::create(b, loc, to, smem, zero, strides, Value(), Value(), Value(), LayoutAttr());
  op.getResult().replaceAllUsesWith(loaded);
  op.erase();
  return success();
}

namespace {
struct LowerConverts : replayssm::impl::LowerConvertsBase<LowerConverts> {
  using LowerConvertsBase::LowerConvertsBase;
  void runOnOperation() override {
    FailureOr<SmallVector<gpu::GPUFuncOp>> functions = replayssm::tilePrograms(getOperation());
    if (failed(functions))
      return signalPassFailure();
    SmallVector<ConvertOp> converts;
    for (gpu::GPUFuncOp func : *functions)
      func.walk([&](ConvertOp op) { converts.push_back(op); });
    for (ConvertOp op : converts)
      if (failed(lower(op)))
        return signalPassFailure();
  }
};
} // namespace
