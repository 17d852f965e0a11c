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
static FailureOr<SmallVector<Value>> lowerCarried(Emitter &b, Operation *op, ValueRange sources) {
  SmallVector<Value> result;
  for (Value source : sources) {
    if (!isState(source) && !source.getType().isIntOrIndex())
      return op->emitOpError() << "expected states, integers and indices to be carried but got " << source.getType();
    Value lowered = isState(source) ? stateTile(b, b.tiles(source)) : only(b.tiles(source));
    result.push_back(source.getType().isIndex() ? b.asIndex(lowered) : lowered);
  }
  return result;
}

static Results oneEach(ValueRange values) {
  Results results;
  for (Value value : values)
    results.push_back({value});
  return results;
}

/// Lowers `from` into `to`, with what it yields.
static LogicalResult lowerRegion(Emitter &b, Block &from, Block &to) {
  OpBuilder::InsertionGuard guard(b);
  if (to.empty() || !to.back().hasTrait<OpTrait::IsTerminator>())
    b.setInsertionPointToEnd(&to);
  else
    b.setInsertionPoint(to.getTerminator());
  if (failed(b.lower(from)))
    return failure();
  Operation *yield = from.getTerminator();
  b.setLoc(yield->getLoc());
  FailureOr<SmallVector<Value>> yielded = lowerCarried(b, yield, yield->getOperands());
  if (failed(yielded))
    return failure();
  if (!yielded->empty())
    scf::YieldOp::create(b, *yielded);
  return success();
}

static FailureOr<Results> lowerIf(scf::IfOp op, Operands<scf::IfOp> in, Emitter &b) {
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(isState(result) ? Type(b.tileType({b.dims.bv, b.dims.K}, b.getF32Type())) : result.getType());
  auto branch = scf::IfOp::create(b, types, only(in.getCondition()), op.elseBlock() != nullptr);
  if (failed(lowerRegion(b, *op.thenBlock(), *branch.thenBlock())) ||
      (op.elseBlock() && failed(lowerRegion(b, *op.elseBlock(), *branch.elseBlock()))))
    return failure();
  return oneEach(branch.getResults());
}

static FailureOr<Results> lowerFor(scf::ForOp op, Operands<scf::ForOp> in, Emitter &b) {
  FailureOr<SmallVector<Value>> inits = lowerCarried(b, op, op.getInits());
  if (failed(inits))
    return failure();
  auto bound = [&](ValueRange source) { return b.asIndex(only(source)); };
  auto loop = scf::ForOp::create(b, bound(in.getLowerBound()), bound(in.getUpperBound()), bound(in.getStep()), *inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Type type = op.getInductionVar().getType(); // bounds may be narrower than an index
    b.define(op.getInductionVar(), {type.isIndex() ? number : Value(arith::IndexCastOp::create(b, type, number))});
  }
  for (auto [source, carried] : llvm::zip_equal(op.getRegionIterArgs(), loop.getRegionIterArgs()))
    b.define(source, {carried});
  if (failed(lowerRegion(b, *op.getBody(), *loop.getBody())))
    return failure();
  return oneEach(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

static FailureOr<Results> lowerLoadRecord(replay::LoadRecordOp op, Operands<replay::LoadRecordOp> in, Emitter &b) {
  replay::RingAttr format = b.kernel.getRingAttr();
  replay::FieldAttr field = format.getField(op.getName());
  int64_t width = cast<ShapedType>(op.getValue().getType()).getDimSize(1);
  auto [position, isThere] = positionOf(b, only(in.getPosition()), only(in.getBase()));
  Value at = arith::AddIOp::create(b, fieldOffset(b, only(in.getRing()), format, field),
                                   arith::MulIOp::create(b, position, b.i64(width)));
  bool alongV = field.getDim() == replay::FieldDim::V;
  tile::Layout layout = alongV ? b.layouts.valueRow(1) : b.alongKeys(op.getValue());
  return one(b.load(b.arg(field.getBuffer()), at, {1, alongV ? b.dims.bv : width}, field.getDtype(), width, layout, isThere));
}

void lower::addLoopPatterns(Patterns &patterns) {
  patterns.add(lowerIf);
  patterns.add(lowerFor);
  patterns.add(lowerLoadRecord);
}
