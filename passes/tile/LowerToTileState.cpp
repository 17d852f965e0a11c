//===- LowerToTileState.cpp - The checkpoint tile and its update ----------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

/// Of the state of a slot, or with `at` of its snapshot behind that token.
Value Lowering::stateOffset(Value slot, Value at) {
  Value inner = vOffset ? Value(arith::MulIOp::create(b, vOffset, i64(dims.K))) : Value();
  if (at) {
    Value token = arith::MulIOp::create(b, toI64(at), i64(dims.HV * dims.V * dims.K));
    inner = inner ? Value(arith::AddIOp::create(b, token, inner)) : token;
  }
  return offset(at ? "snapshots" : "state", toI64(slot), head, dims.V * dims.K, inner);
}

void lower::collectConsumers(Value state, SmallVectorImpl<Operation *> &consumers) {
  for (Operation *user : state.getUsers()) {
    if (isa<replay::ReadOp, replay::StoreStateOp, scf::YieldOp, scf::ForOp>(user))
      consumers.push_back(user);
    for (Value result : user->getResults())
      if (!isa<scf::ForOp>(user) && isa<replay::StateType>(result.getType()))
        collectConsumers(result, consumers);
  }
}

/// Whether `consumer` can run behind `store`: below it, or in the next iteration of
/// a loop around both, which is not around `load`.
static bool canFollow(Operation *consumer, Operation *store, Operation *load) {
  bool isBehind = false;
  for (Operation *at = store; at->getBlock(); at = at->getParentOp())
    if (Operation *other = at->getBlock()->findAncestorOpInBlock(*consumer)) {
      isBehind = at != other && at->isBeforeInBlock(other);
      break;
    }
  for (Operation *loop = store->getParentOp(); loop && !isBehind; loop = loop->getParentOp())
    isBehind = isa<scf::ForOp>(loop) && loop->isProperAncestor(consumer) && !loop->isProperAncestor(load);
  return isBehind;
}

/// Whether the slot is written over before the last of `consumers` has what it held.
static bool isOverwritten(replay::LoadStateOp op, ArrayRef<Operation *> consumers) {
  WalkResult walk = op->getParentOfType<replay::KernelOp>().walk([&](replay::StoreStateOp store) {
    bool samePlace = store.getSlot() == op.getSlot() && !store.getAt() == !op.getAt();
    return samePlace && llvm::any_of(consumers, [&](Operation *c) { return canFollow(c, store, op); })
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

LogicalResult Lowering::lowerLoadState(replay::LoadStateOp op) {
  // Virtual; the transfer starts here only when this block surely needs it, or where
  // it would come too late.
  SmallVector<Operation *> consumers;
  collectConsumers(op.getState(), consumers);
  if (llvm::none_of(consumers, [&](Operation *c) { return c->getBlock() == op->getBlock(); }) &&
      !isOverwritten(op, consumers))
    return success();
  StateTile &tile = cache.checkpoints[op.getState()];
  Type element = op.getState().getType().getDtype();
  Value at = addressOf(op);
  // A copy has an mbarrier of its own and is waited for once: not in a loop.
  if (dims.bulk && !loopDepth && !op.getAt()) {
    tile.smem = alloc(dims.bv, dims.K, element);
    tile.token = tile::CopyOp::create(b, tile::TokenType::get(b.getContext()), arg("state"), at,
                                      tile.smem, Value(), IntegerAttr());
  } else {
    tile.regs = loadTile(op, at);
  }
  tile.loopDepth = loopDepth;
  return success();
}

Value Lowering::addressOf(replay::LoadStateOp op) {
  Value at = op.getAt() ? values.lookup(op.getAt()) : Value();
  return stateOffset(values.lookup(op.getSlot()), at);
}

Value Lowering::loadTile(replay::LoadStateOp op, Value at) {
  return load(arg(op.getAt() ? "snapshots" : "state"), at, {dims.bv, dims.K},
              op.getState().getType().getDtype(), dims.K, layouts.state());
}

/// Whether memory holds this state as long as the kernel runs.
static bool isLasting(replay::LoadStateOp op) {
  WalkResult walk = op->getParentOfType<replay::KernelOp>().walk([&](replay::StoreStateOp store) {
    bool sameBuffer = !store.getAt() == !op.getAt();
    return sameBuffer ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !walk.wasInterrupted();
}

Value Lowering::stateTile(replay::LoadStateOp op) {
  StateTile &tile = cache.checkpoints[op.getState()];
  Type element = op.getState().getType().getDtype();
  if (tile.smem) {
    if (!tile.landed)
      tile::WaitOp::create(b, tile.token);
    tile.landed = true;
    // Read again where it is needed again: registers are dearer.
    return f32(load(tile.smem, i64(0), {dims.bv, dims.K}, element, dims.K, layouts.state()));
  }
  // Nor does it stay in registers through a loop that carries another.
  if (tile.regs && loopDepth > tile.loopDepth && isLasting(op))
    return f32(loadTile(op, addressOf(op)));
  if (!tile.regs)
    tile.regs = loadTile(op, addressOf(op));
  return f32(tile.regs);
}

Value Lowering::materialise(Value state) {
  if (Value known = cache.states.lookup(state))
    return known;
  Operation *def = state.getDefiningOp();
  if (auto loadOp = dyn_cast<replay::LoadStateOp>(def))
    return stateTile(loadOp);
  Value result;
  if (auto rank1 = dyn_cast<replay::Rank1Op>(def)) {
    auto decay = rank1.getState().getDefiningOp<replay::DecayOp>();
    Value base = materialise(decay ? decay.getState() : rank1.getState());
    Value update = dot(tileOf(rank1.getD(), {1, dims.bv}), tileOf(rank1.getK(), {1, dims.K}), 0, {},
                       anchorOf(layouts.state()));
    result = decay ? fma(fetch(exp(values.lookup(decay.getG()))), base, update) : add(base, update);
  } else if (auto decay = dyn_cast<replay::DecayOp>(def)) {
    result = mul(materialise(decay.getState()), fetch(exp(values.lookup(decay.getG()))));
  } else {
    auto replayed = cast<replay::ReplayOp>(def);
    result = fold(materialise(replayed.getState()), replayed.getRecords());
  }
  cache.states[state] = result;
  return result;
}

LogicalResult Lowering::lowerRead(replay::ReadOp op) {
  Value state = materialise(op.getState());
  for (auto [x, y] : llvm::zip_equal(op.getXs(), op.getYs()))
    values[y] = dot(f32(tileOf(x, {1, dims.K})), state, 1);
  return success();
}

LogicalResult Lowering::lowerStoreState(replay::StoreStateOp op) {
  Value state = materialise(op.getState());
  Type element = op.getState().getType().getDtype();
  if (!element.isF32())
    state = arith::TruncFOp::create(b, tileType({dims.bv, dims.K}, element), state);
  Value at = op.getAt() ? values.lookup(op.getAt()) : Value();
  store(state, arg(at ? "snapshots" : "state"), stateOffset(values.lookup(op.getSlot()), at), dims.K);
  return success();
}
