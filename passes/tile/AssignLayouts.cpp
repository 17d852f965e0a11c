//===- AssignLayouts.cpp - Layouts from the loads onward ------------------===//
//
// First the states of all tiles are found (loops until nothing changes), then
// types are set in place and each use gets its operand in the layout it needs.
//
//===----------------------------------------------------------------------===//
#include "passes/Preconditions.h"
#include "passes/tile/LayoutRules.h"

#include "mlir/IR/Iterators.h"

namespace replayssm {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm::tile;

static bool touchesTiles(Operation *op) {
  return llvm::any_of(op->getOperands(), isTile) || llvm::any_of(op->getResults(), isTile);
}

namespace {
class Assigner {
public:
  explicit Assigner(gpu::GPUFuncOp func) : func(func) {
    if (auto size = func.getKnownBlockSize())
      numWarps = std::max<int64_t>(1, size->front() / 32);
  }
  LogicalResult run() {
    Block &body = func.getBody().front();
    if (failed(infer(body)) || failed(rewrite(body)))
      return failure();
    cleanUp();
    return success();
  }

private:
  LogicalResult infer(Block &block);
  LogicalResult inferIf(scf::IfOp op);
  LogicalResult inferFor(scf::ForOp op);
  LogicalResult rewrite(Block &block);
  void rewriteYield(Operation *yield, ValueRange targets);
  void setState(Value value);
  Value adapt(Value value, const TileState &want, Operation *user);
  Value cached(Value value, Type type, Operation *point);
  void cleanUp();

  gpu::GPUFuncOp func;
  int64_t numWarps = 1;
  TileStates states;
  /// Copies of a tile in other layouts.
  DenseMap<Value, SmallVector<Value, 2>> copies;
};
} // namespace

//===----------------------------------------------------------------------===//
// Infer
//===----------------------------------------------------------------------===//

LogicalResult Assigner::infer(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (failed(inferIf(branch)))
        return failure();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(inferFor(loop)))
        return failure();
    } else if (touchesTiles(&op)) {
      FailureOr<OpLayouts> layouts = layoutsOf(&op, states, numWarps);
      if (failed(layouts))
        return failure();
      for (auto [result, state] : llvm::zip_equal(op.getResults(), layouts->results))
        if (isTile(result))
          states[result] = *state;
    }
  }
  return success();
}

LogicalResult Assigner::inferIf(scf::IfOp op) {
  for (Region *region : op.getRegions())
    if (!region->empty() && failed(infer(region->front())))
      return failure();
  for (OpResult result : op.getResults()) {
    if (!isTile(result))
      continue;
    const TileState &first = states[op.thenYield().getOperand(result.getResultNumber())];
    const TileState &second = states[op.elseYield().getOperand(result.getResultNumber())];
    FailureOr<TileState> state = combine(op, {&first, &second});
    if (failed(state))
      return failure();
    states[result] = *state;
  }
  return success();
}

LogicalResult Assigner::inferFor(scf::ForOp op) {
  auto *yield = op.getBody()->getTerminator();
  for (auto [arg, init] : llvm::zip_equal(op.getRegionIterArgs(), op.getInits()))
    if (isTile(init))
      states[arg] = TileState(states[init]);
  // A free dimension of an initial value is settled by what the body yields.
  for (bool changed = true; changed;) {
    if (failed(infer(*op.getBody())))
      return failure();
    changed = false;
    for (auto [arg, next] : llvm::zip_equal(op.getRegionIterArgs(), yield->getOperands())) {
      if (!isTile(arg))
        continue;
      FailureOr<TileState> state = combine(op, {&states[arg], &states[next]});
      if (failed(state))
        return failure();
      changed |= *state != states[arg];
      states[arg] = *state;
    }
  }
  for (auto [result, arg] : llvm::zip_equal(op.getResults(), op.getRegionIterArgs()))
    if (isTile(arg))
      states[result] = TileState(states[arg]);
  return success();
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

void Assigner::setState(Value value) {
  value.setType(states.find(value)->second.heldType(getElementTypeOrSelf(value)));
}

LogicalResult Assigner::rewrite(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region *region : branch.getRegions())
        if (!region->empty()) {
          if (failed(rewrite(region->front())))
            return failure();
          rewriteYield(region->front().getTerminator(), branch.getResults());
        }
      llvm::for_each(llvm::make_filter_range(branch.getResults(), isTile), [&](Value v) { setState(v); });
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, arg] : llvm::zip_equal(loop.getInitsMutable(), loop.getRegionIterArgs()))
        if (isTile(arg)) {
          init.set(adapt(init.get(), states[arg], loop));
          setState(arg);
        }
      if (failed(rewrite(*loop.getBody())))
        return failure();
      rewriteYield(loop.getBody()->getTerminator(), loop.getRegionIterArgs());
      llvm::for_each(llvm::make_filter_range(loop.getResults(), isTile), [&](Value v) { setState(v); });
    } else if (touchesTiles(&op)) {
      FailureOr<OpLayouts> layouts = layoutsOf(&op, states, numWarps);
      if (failed(layouts))
        return failure();
      for (auto [operand, want] : llvm::zip(op.getOpOperands(), layouts->operands))
        if (want)
          operand.set(adapt(operand.get(), *want, &op));
      llvm::for_each(llvm::make_filter_range(op.getResults(), isTile), [&](Value v) { setState(v); });
      if (auto load = dyn_cast<LoadOp>(op))
        load.removeLayoutAttr();
      if (auto iota = dyn_cast<IotaOp>(op))
        iota.removeLayoutAttr();
      if (auto dot = dyn_cast<DotOp>(op))
        dot.removeLayoutAttr();
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue())
                                  .resizeSplat(cast<ShapedType>(constant.getType())));
    }
  }
  return success();
}

void Assigner::rewriteYield(Operation *yield, ValueRange targets) {
  for (auto [operand, target] : llvm::zip_equal(yield->getOpOperands(), targets))
    if (isTile(target))
      operand.set(adapt(operand.get(), states[target], yield));
}

/// A copy of `value` of this type that dominates `point`.
Value Assigner::cached(Value value, Type type, Operation *point) {
  for (Value copy : copies[value]) {
    Operation *def = copy.getDefiningOp();
    Operation *ancestor = def->getBlock()->findAncestorOpInBlock(*point);
    if (copy.getType() == type && ancestor && (ancestor == def || def->isBeforeInBlock(ancestor)))
      return copy;
  }
  return nullptr;
}

Value Assigner::adapt(Value value, const TileState &want, Operation *user) {
  const TileState given = states.find(value)->second;
  if (given.layout == want.layout && given.heldShape() == want.heldShape())
    return value;
  // A repetition of what is held once is that itself: one copy serves both.
  while (auto repeat = value.getDefiningOp<BroadcastOp>()) {
    if (repeat.getX().getType() != repeat.getType())
      break;
    value = repeat.getX();
  }
  // What a loop does not change is adapted once, in front of it.
  Operation *point = user;
  for (Operation *parent = user->getParentOp(); parent != func; parent = parent->getParentOp())
    if (isa<scf::ForOp>(parent) && !parent->getRegion(0).isAncestor(value.getParentRegion()))
      point = parent;
  OpBuilder b(point);
  Location loc = value.getLoc();
  auto make = [&](Value from, Type type, auto create) {
    if (Value known = cached(from, type, point))
      return known;
    Value made = create();
    copies[from].push_back(made);
    return made;
  };

  RankedTensorType type = want.heldType(getElementTypeOrSelf(value));
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return make(value, type, [&]() -> Value {
      auto splat = cast<DenseElementsAttr>(constant.getValue());
      return arith::ConstantOp::create(b, loc, splat.resizeSplat(type));
    });
  TileState source = given;
  source.layout = want.layout;
  for (unsigned dim : {0, 1})
    if (given.free[dim] && !want.free[dim])
      source.layout = source.layout.without(dim);
  Value held = value;
  bool repeats = source.heldShape() != want.heldShape();
  bool rename = repeats && sameDigits(source.layout, 0, given.layout, 0) &&
                sameDigits(source.layout, 1, given.layout, 1);
  if (source.layout != given.layout && !rename)
    held = make(value, source.heldType(type.getElementType()), [&]() -> Value {
      return ConvertOp::create(b, loc, source.heldType(type.getElementType()), value);
    });
  if (!repeats && held.getType() == type)
    return held;
  return make(held, type, [&]() -> Value { return BroadcastOp::create(b, loc, type, held); });
}

/// Broadcasts and constants that every use has adapted are left over.
void Assigner::cleanUp() {
  func.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (auto repeat = dyn_cast<BroadcastOp>(op);
        repeat && repeat.getX().getType() == repeat.getType())
      repeat.getResult().replaceAllUsesWith(repeat.getX());
    if (isa<BroadcastOp, arith::ConstantOp, ConvertOp>(op) && op->use_empty())
      op->erase();
  });
}

namespace {
struct AssignLayouts : replayssm::impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;
  void runOnOperation() override {
    FailureOr<SmallVector<gpu::GPUFuncOp>> functions = replayssm::tilePrograms(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (gpu::GPUFuncOp func : *functions)
      if (failed(replayssm::expectOwnTiles(func)) || failed(Assigner(func).run()))
        return signalPassFailure();
  }
};
} // namespace
