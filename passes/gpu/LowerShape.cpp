//===- LowerShape.cpp - Broadcasts, converts and everything elementwise ---===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;

LogicalResult gpulower::lowerBroadcast(Lowering &l, tile::BroadcastOp op) {
  TileInfo from(op.getX()), to(op.getResult());
  bool repeats[2];
  for (unsigned dim : {0u, 1u})
    repeats[dim] = from.shape(dim) == 1 && to.shape(dim) != 1;
  SmallVector<Value> source = l.regsOf(op.getX()), regs;
  for (int64_t r = 0, e = to.numRegs(); r < e; ++r) {
    auto [row, col] = to.coords(r);
    regs.push_back(source[*from.find(repeats[0] ? 0 : row, repeats[1] ? 0 : col)]);
  }
  l.replaceTile(op.getResult(), regs);
  op.erase();
  return success();
}

LogicalResult gpulower::lowerIota(Lowering &l, tile::IotaOp op) {
  TileInfo tile(op.getResult());
  auto dim = static_cast<unsigned>(op.getDim());
  Value mine = l.threadCoord(tile, dim);
  SmallVector<Value> regs;
  for (int64_t r = 0, e = tile.numRegs(); r < e; ++r) {
    Value at = l.i32(tile.layout.regCoord(dim, r));
    regs.push_back(arith::SIToFPOp::create(l.b, tile.element(), mine ? Value(arith::AddIOp::create(l.b, mine, at)) : at));
  }
  l.replaceTile(op.getResult(), regs);
  op.erase();
  return success();
}

LogicalResult gpulower::lowerConvert(Lowering &l, tile::ConvertOp op) {
  TileInfo from(op.getX()), to(op.getResult());
  auto map = tile::registerMap(from.layout, to.layout, to.type.getShape());
  if (!map)
    return op.emitOpError("expected a renaming of registers but got ")
           << from.type << " to " << to.type << " (run replay-lower-converts first)";
  SmallVector<Value> source = l.regsOf(op.getX()), regs;
  Value zero;
  for (int64_t reg : *map) {
    if (reg < 0 && !zero)
      zero = arith::ConstantOp::create(l.b, cast<TypedAttr>(l.b.getZeroAttr(to.element())));
    regs.push_back(reg < 0 ? zero : source[reg]);
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
