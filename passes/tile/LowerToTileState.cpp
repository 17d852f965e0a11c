//===- LowerToTileState.cpp - The checkpoint tile and its update ----------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

/// Of the state of a slot, or with `at` of its snapshot behind that token.
static Value stateOffset(Emitter &b, Value slot, Value at) {
  Value inner = b.grid.vOffset ? Value(arith::MulIOp::create(b, b.grid.vOffset, b.i64(b.dims.K))) : Value();
  if (at) {
    Value token = arith::MulIOp::create(b, b.toI64(at), b.i64(b.dims.HV * b.dims.V * b.dims.K));
    inner = inner ? Value(arith::AddIOp::create(b, token, inner)) : token;
  }
  return b.offset(at ? "snapshots" : "state", b.toI64(slot), b.grid.head, b.dims.V * b.dims.K, inner);
}

/// In registers as in memory; or on its way to shared memory, with the token of its copy.
static FailureOr<Results> lowerLoadState(replay::LoadStateOp op, Operands<replay::LoadStateOp> in, Emitter &b) {
  Type element = op.getState().getType().getDtype();
  Value at = stateOffset(b, only(in.getSlot()), op.getAt() ? only(in.getAt()) : Value());
  Value memory = b.arg(op.getAt() ? "snapshots" : "state");
  if (placeOf(op.getState()) != replay::Place::Shared)
    return one(b.load(memory, at, {b.dims.bv, b.dims.K}, element, b.dims.K, b.layouts.state()));
  auto type = tile::SmemType::get(b.getContext(), b.dims.bv, b.dims.K, element,
                                  b.dims.stateSkew() * 8 / element.getIntOrFloatBitWidth());
  Value smem = tile::AllocOp::create(b, type, IntegerAttr());
  Value token = tile::CopyOp::create(b, tile::TokenType::get(b.getContext()), memory, at, smem, Value(), IntegerAttr());
  return Results{{smem, token}};
}

static FailureOr<Results> lowerWait(replay::WaitOp op, Operands<replay::WaitOp> in, Emitter &b) {
  ValueRange copy = in.getX();
  if (copy.size() != 2)
    return op.emitOpError("expected what is copied into shared memory");
  tile::WaitOp::create(b, copy[1]);
  return one(copy[0]);
}

/// The tile of a state in f32. From shared memory it is read again where it is needed
/// again: registers are dearer.
static Value baseTile(Emitter &b, Value state) {
  if (auto smem = dyn_cast<tile::SmemType>(state.getType()))
    state = b.load(state, b.i64(0), {b.dims.bv, b.dims.K}, smem.getElementType(), b.dims.K, b.layouts.state());
  return b.f32(state);
}

Value lower::stateOperand(Emitter &b, ValueRange state, Value first, int64_t width) {
  if (state.size() > 1)
    return stateTile(b, state);
  auto smem = dyn_cast<tile::SmemType>(state.front().getType());
  return smem ? b.load(state.front(), first, {b.dims.bv, width}, smem.getElementType(), b.dims.K, b.layouts.stateChunk(width))
              : state.front();
}

Value lower::stateTile(Emitter &b, ValueRange state) {
  Value base = baseTile(b, state.front());
  return state.size() == 1 ? base : b.mul(base, b.stateRow(state.back()));
}

/// A base and its factor, until an update or a read needs the product.
static FailureOr<Results> lowerScale(replay::ScaleOp op, Operands<replay::ScaleOp> in, Emitter &b) {
  ValueRange state = in.getState();
  Value base = state.size() == 1 ? state.front() : stateTile(b, state);
  return Results{{base, only(in.getFactor())}};
}

static FailureOr<Results> lowerRank1(replay::Rank1Op op, Operands<replay::Rank1Op> in, Emitter &b) {
  ValueRange state = in.getState();
  Value base = baseTile(b, state.front());
  Value d = b.broadcast(only(in.getD()), {1, b.dims.bv}), k = b.broadcast(only(in.getK()), {1, b.dims.K});
  Value update = b.dot(d, k, 0, {}, b.anchorOf(op, b.layouts.state()));
  return one(state.size() == 1 ? b.add(base, update) : b.fma(b.stateRow(state.back()), base, update));
}

static FailureOr<Results> lowerStoreState(replay::StoreStateOp op, Operands<replay::StoreStateOp> in, Emitter &b) {
  Value state = stateTile(b, in.getState());
  Type element = op.getState().getType().getDtype();
  if (!element.isF32())
    state = arith::TruncFOp::create(b, b.tileType({b.dims.bv, b.dims.K}, element), state);
  Value at = op.getAt() ? only(in.getAt()) : Value();
  b.store(state, b.arg(at ? "snapshots" : "state"), stateOffset(b, only(in.getSlot()), at), b.dims.K);
  return Results{};
}

void lower::addStatePatterns(Patterns &patterns) {
  patterns.add(lowerLoadState);
  patterns.add(lowerWait);
  patterns.add(lowerScale);
  patterns.add(lowerRank1);
  patterns.add(lowerStoreState);
}
