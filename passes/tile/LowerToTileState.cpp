//===- LowerToTileState.cpp - The checkpoint tile and its update ----------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

Value Lowering::stateOffset(Value slot) {
  Value inner = vOffset ? Value(arith::MulIOp::create(b, vOffset, i64(dims.K))) : Value();
  return offset("state", toI64(slot), head, dims.V * dims.K, inner);
}

void lower::collectConsumers(Value state, SmallVectorImpl<Operation *> &consumers) {
  for (Operation *user : state.getUsers()) {
    if (isa<replay::ReadOp, replay::StoreStateOp>(user))
      consumers.push_back(user);
    for (Value result : user->getResults())
      if (isa<replay::StateType>(result.getType()))
        collectConsumers(result, consumers);
  }
}

LogicalResult Lowering::lowerLoadState(replay::LoadStateOp op) {
  // Virtual; the transfer starts here only when this block surely needs it.
  SmallVector<Operation *> consumers;
  collectConsumers(op.getState(), consumers);
  if (llvm::none_of(consumers, [&](Operation *c) { return c->getBlock() == op->getBlock(); }))
    return success();
  StateTile &tile = cache.checkpoints[op.getState()];
  Type element = op.getState().getType().getDtype();
  Value at = stateOffset(values.lookup(op.getSlot()));
  if (dims.bulk) {
    tile.smem = alloc(dims.bv, dims.K, element);
    tile.token = tile::CopyOp::create(b, tile::TokenType::get(b.getContext()), arg("state"), at,
                                      tile.smem, Value(), IntegerAttr());
  } else {
    tile.regs = load(arg("state"), at, {dims.bv, dims.K}, element, dims.K, layouts.state());
  }
  return success();
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
  if (!tile.regs)
    tile.regs = load(arg("state"), stateOffset(values.lookup(op.getSlot())), {dims.bv, dims.K},
                     element, dims.K, layouts.state());
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
    Value update = dot(tileOf(rank1.getD(), {1, dims.bv}), tileOf(rank1.getK(), {1, dims.K}), 0);
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
  store(state, arg("state"), stateOffset(values.lookup(op.getSlot())), dims.K);
  return success();
}
