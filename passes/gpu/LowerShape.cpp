//===- LowerShape.cpp - Broadcasts, converts and everything elementwise ---===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;

LogicalResult gpulower::lowerBroadcast(Lowering &l, tile::BroadcastOp op) {
  TileInfo from(op.getX()), to(op.getResult());
  bool repeats[2];
  for (unsigned dim : {0u, 1u}) {
    repeats[dim] = from.shape(dim) == 1 && to.shape(dim) != 1;
    if (repeats[dim] ? !from.threads(dim).empty() : from.threads(dim) != to.threads(dim))
      return op.emitOpError("expected dimension ")
             << dim << " of the operand " << (repeats[dim] ? "in every thread" : "spread as the result's")
             << " but got " << from.type << " to " << to.type;
  }
  SmallVector<Value> source = l.regsOf(op.getX()), regs;
  for (int64_t r = 0, e = to.numRegs(); r < e; ++r) {
    auto [row, col] = to.coords(r);
    auto reg = from.find(repeats[0] ? 0 : row, repeats[1] ? 0 : col);
    if (!reg)
      return op.emitOpError("expected a register of the operand for each of the result but got ")
             << from.type << " to " << to.type;
    regs.push_back(source[*reg]);
  }
  l.replaceTile(op.getResult(), regs);
  op.erase();
  return success();
}

LogicalResult gpulower::lowerConvert(Lowering &l, tile::ConvertOp op) {
  TileInfo from(op.getX()), to(op.getResult());
  for (unsigned dim : {0u, 1u})
    if (from.threads(dim) != to.threads(dim))
      return op.emitOpError("expected a renaming of registers but got ")
             << from.type << " to " << to.type << " (run replay-lower-converts first)";
  SmallVector<Value> source = l.regsOf(op.getX()), regs;
  Value zero;
  for (int64_t r = 0, e = to.numRegs(); r < e; ++r) {
    auto [row, col] = to.coords(r);
    if (auto reg = from.find(row, col)) {
      regs.push_back(source[*reg]);
      continue;
    }
    if (row < to.shape(0) && col < to.shape(1))
      return op.emitOpError("expected a register of the operand for each of the result but got ")
             << from.type << " to " << to.type;
    if (!zero) // padding of the result that the operand does not have
      zero = arith::ConstantOp::create(l.b, cast<TypedAttr>(l.b.getZeroAttr(to.element())));
    regs.push_back(zero);
  }
  l.replaceTile(op.getResult(), regs);
  op.erase();
  return success();
}

static VectorType vectorTypeOf(Type type) {
  auto layout = tile::Layout::of(type);
  return layout ? VectorType::get({layout->numRegs()}, cast<RankedTensorType>(type).getElementType())
                : VectorType();
}

/// Constants and splats name their type twice; every other op just takes the vector type.
static LogicalResult retypeOp(Operation *op) {
  OpBuilder b(op);
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    Value value = vector::BroadcastOp::create(b, op->getLoc(), vectorTypeOf(splat.getType()), splat.getInput());
    Value old = splat.getResult();
    old.setType(value.getType());
    old.replaceAllUsesWith(value);
    splat.erase();
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && vectorTypeOf(constant.getType())) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return op->emitOpError("expected a splat where a tile is constant");
    constant.setValueAttr(DenseElementsAttr::get(vectorTypeOf(constant.getType()), splat.getSplatValue<Attribute>()));
  }
  for (Value result : op->getResults())
    if (VectorType type = vectorTypeOf(result.getType()))
      result.setType(type);
  return success();
}

LogicalResult gpulower::retypeTiles(gpu::GPUFuncOp func) {
  SmallVector<UnrealizedConversionCastOp> casts;
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op))
      casts.push_back(cast);
    else if (op != func)
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    bool tiles = llvm::any_of(op->getResultTypes(), vectorTypeOf) ||
                 llvm::any_of(op->getOperandTypes(), vectorTypeOf);
    bool known = OpTrait::hasElementwiseMappableTraits(op) ||
                 isa<arith::ConstantOp, tensor::SplatOp, scf::IfOp, scf::ForOp, scf::YieldOp>(op);
    if (tiles && !known)
      return op->emitOpError("expected an elementwise op, a splat or structured control flow where tiles are used");
  }
  for (Operation *op : ops) {
    for (Region &region : op->getRegions())
      for (BlockArgument arg : region.getArguments())
        if (VectorType type = vectorTypeOf(arg.getType()))
          arg.setType(type);
    if (failed(retypeOp(op)))
      return failure();
  }
  for (UnrealizedConversionCastOp cast : casts) {
    cast.getResult(0).replaceAllUsesWith(cast.getOperand(0));
    cast.erase();
  }
  return success();
}
