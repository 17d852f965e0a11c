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

/// In registers as in memory; or on its way to shared memory, with the token of its copy.
LogicalResult Lowering::lowerLoadState(replay::LoadStateOp op) {
  Type element = op.getState().getType().getDtype();
  Value at = stateOffset(values.lookup(op.getSlot()), op.getAt() ? values.lookup(op.getAt()) : Value());
  Value memory = arg(op.getAt() ? "snapshots" : "state");
  if (placeOf(op.getState()) != replay::Place::Shared) {
    values[op.getState()] = load(memory, at, {dims.bv, dims.K}, element, dims.K, layouts.state());
    return success();
  }
  Value smem = alloc(dims.bv, dims.K, element);
  parts[op.getState()] = {smem, tile::CopyOp::create(b, tile::TokenType::get(b.getContext()), memory, at, smem, Value(),
                                                     IntegerAttr())};
  return success();
}

LogicalResult Lowering::lowerWait(replay::WaitOp op) {
  ArrayRef<Value> copy = parts[op.getX()];
  if (copy.size() != 2)
    return op.emitOpError("expected what is copied into shared memory");
  tile::WaitOp::create(b, copy[1]);
  values[op.getY()] = copy[0];
  return success();
}

/// The tile of a state in f32. From shared memory it is read again where it is needed
/// again: registers are dearer.
Value Lowering::stateTile(Value state) {
  if (auto scale = state.getDefiningOp<replay::ScaleOp>())
    return mul(stateTile(scale.getState()), stagedRow(scale.getFactor()));
  Value tile = values.lookup(state);
  if (auto smem = dyn_cast<tile::SmemType>(tile.getType()))
    tile = load(tile, i64(0), {dims.bv, dims.K}, smem.getElementType(), dims.K, layouts.state());
  return f32(tile);
}

LogicalResult Lowering::lowerRank1(replay::Rank1Op op) {
  auto scale = op.getState().getDefiningOp<replay::ScaleOp>();
  Value base = stateTile(scale ? scale.getState() : op.getState());
  Value update = dot(tileOf(op.getD(), {1, dims.bv}), tileOf(op.getK(), {1, dims.K}), 0, {}, anchorOf(layouts.state()));
  values[op.getResult()] = scale ? fma(stagedRow(scale.getFactor()), base, update) : add(base, update);
  return success();
}

LogicalResult Lowering::lowerRead(replay::ReadOp op) {
  Value state = stateTile(op.getState());
  for (auto [x, y] : llvm::zip_equal(op.getXs(), op.getYs()))
    values[y] = dot(f32(tileOf(x, {1, dims.K})), state, 1);
  return success();
}

LogicalResult Lowering::lowerStoreState(replay::StoreStateOp op) {
  Value state = stateTile(op.getState());
  Type element = op.getState().getType().getDtype();
  if (!element.isF32())
    state = arith::TruncFOp::create(b, tileType({dims.bv, dims.K}, element), state);
  Value at = op.getAt() ? values.lookup(op.getAt()) : Value();
  store(state, arg(at ? "snapshots" : "state"), stateOffset(values.lookup(op.getSlot()), at), dims.K);
  return success();
}
