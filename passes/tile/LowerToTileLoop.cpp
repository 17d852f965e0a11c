//===- LowerToTileLoop.cpp - Branches and loops, what they carry, records -===//
//
// A state that leaves a region or goes around a loop is a tile from then on.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

static bool isState(Value value) { return isa<replay::StateType>(value.getType()); }

/// What a region yields or a loop starts from: states, and numbers as they stand.
FailureOr<SmallVector<Value>> Lowering::lowerCarried(Operation *op, ValueRange sources) {
  SmallVector<Value> result;
  for (Value source : sources) {
    if (!isState(source) && !source.getType().isIntOrIndex())
      return op->emitOpError() << "expected states, integers and indices to be carried but got "
                               << source.getType();
    Value lowered = isState(source) ? stateTile(source) : values.lookup(source);
    result.push_back(source.getType().isIndex() ? asIndex(lowered) : lowered);
  }
  return result;
}

void Lowering::defineCarried(ValueRange sources, ValueRange lowered) {
  for (auto [source, value] : llvm::zip_equal(sources, lowered))
    values[source] = value;
}

/// Lowers `from` into `to`, with what it yields.
LogicalResult Lowering::lowerRegion(Block &from, Block &to) {
  OpBuilder::InsertionGuard guard(b);
  if (to.empty() || !to.back().hasTrait<OpTrait::IsTerminator>())
    b.setInsertionPointToEnd(&to);
  else
    b.setInsertionPoint(to.getTerminator());
  for (Operation &inner : from.without_terminator())
    if (failed(lowerOp(inner)))
      return failure();
  Operation *yield = from.getTerminator();
  b.setLoc(yield->getLoc());
  FailureOr<SmallVector<Value>> yielded = lowerCarried(yield, yield->getOperands());
  if (failed(yielded))
    return failure();
  if (!yielded->empty())
    scf::YieldOp::create(b, *yielded);
  return success();
}

LogicalResult Lowering::lowerIf(scf::IfOp op) {
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(isState(result) ? Type(tileType({dims.bv, dims.K}, b.getF32Type())) : result.getType());
  auto branch = scf::IfOp::create(b, types, values.lookup(op.getCondition()), op.elseBlock() != nullptr);
  if (failed(lowerRegion(*op.thenBlock(), *branch.thenBlock())) ||
      (op.elseBlock() && failed(lowerRegion(*op.elseBlock(), *branch.elseBlock()))))
    return failure();
  defineCarried(op.getResults(), branch.getResults());
  return success();
}

LogicalResult Lowering::lowerFor(scf::ForOp op) {
  FailureOr<SmallVector<Value>> inits = lowerCarried(op, op.getInits());
  if (failed(inits))
    return failure();
  auto bound = [&](Value source) { return asIndex(values.lookup(source)); };
  auto loop = scf::ForOp::create(b, bound(op.getLowerBound()), bound(op.getUpperBound()),
                                 bound(op.getStep()), *inits);
  ++loopDepth;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Type type = op.getInductionVar().getType(); // bounds may be narrower than an index
    values[op.getInductionVar()] = type.isIndex() ? number : Value(arith::IndexCastOp::create(b, type, number));
  }
  defineCarried(op.getRegionIterArgs(), loop.getRegionIterArgs());
  if (failed(lowerRegion(*op.getBody(), *loop.getBody())))
    return failure();
  --loopDepth;
  defineCarried(op.getResults(), loop.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

LogicalResult Lowering::lowerLoadRecord(replay::LoadRecordOp op) {
  replay::RingAttr format = kernel.getRingAttr();
  replay::FieldAttr field = format.getField(op.getName());
  int64_t width = cast<ShapedType>(op.getValue().getType()).getDimSize(1);
  auto [position, isThere] = positionOf(op.getPosition(), op.getBase());
  Value at = arith::AddIOp::create(b, fieldOffset(values.lookup(op.getRing()), format, field),
                                   arith::MulIOp::create(b, position, i64(width)));
  bool alongV = field.getDim() == replay::FieldDim::V;
  tile::Layout layout = alongV ? layouts.valueRow(1) : alongKeys(op.getValue());
  values[op.getValue()] = load(arg(field.getBuffer()), at, {1, alongV ? dims.bv : width},
                               field.getDtype(), width, layout, isThere);
  return success();
}
