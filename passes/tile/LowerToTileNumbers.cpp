//===- LowerToTileNumbers.cpp - What a row was given, and its cursors ------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

/// The order is that of the ops.
static FailureOr<Results> lowerPhase(replay::PhaseOp op, Operands<replay::PhaseOp> in, Emitter &b) { return Results{}; }

static FailureOr<Results> lowerExpect(replay::ExpectOp op, Operands<replay::ExpectOp> in, Emitter &b) {
  auto number = [&](ValueRange source) {
    return Value(arith::IndexCastOp::create(b, b.getI32Type(), b.asIndex(only(source))));
  };
  tile::ExpectOp::create(b, op.getName(), number(in.getValue()), number(in.getLow()), number(in.getHigh()));
  return Results{};
}

static FailureOr<Results> lowerRow(replay::RowOp op, Operands<replay::RowOp> in, Emitter &b) {
  auto wide = [&](Value slot) { return Value(arith::ExtSIOp::create(b, b.getI64Type(), slot)); };
  auto isLive = [&] {
    switch (*b.kernel.getNull()) {
    case replay::Null::LT0:
      return arith::CmpIPredicate::sge;
    case replay::Null::LE0:
      return arith::CmpIPredicate::sgt;
    }
    llvm_unreachable("unknown null rows");
  };
  Value slot = b.scalarLoad("state_idx", b.getI32Type(), b.grid.row);
  Value live = arith::CmpIOp::create(b, isLive(), slot, b.i32(0));
  // Slots stay i64; the source's index values are addresses only.
  Tiles ring;
  if (!op.getRing().use_empty())
    ring.push_back(wide(b.scalarLoad("ring_idx", b.getI32Type(), b.grid.row)));
  return Results{{wide(slot)}, ring, {live}};
}

static FailureOr<Results> lowerLoadSlot(replay::LoadSlotOp op, Operands<replay::LoadSlotOp> in, Emitter &b) {
  Type type = integerType(b.getContext(), op.getName());
  Value number = b.scalarLoad(op.getName(), type, only(in.getRing()));
  if (!type.isInteger(32))
    number = arith::ExtSIOp::create(b, b.getI32Type(), number);
  return one(b.toIndex(b.inRange(op.getName(), number, 0, op.greatest())));
}

static FailureOr<Results> lowerSetCursor(replay::SetCursorOp op, Operands<replay::SetCursorOp> in, Emitter &b) {
  b.scalarStore(op.getName(), integerType(b.getContext(), op.getName()), only(in.getRing()), only(in.getValue()));
  return Results{};
}

static FailureOr<Results> lowerLoadRow(replay::LoadRowOp op, Operands<replay::LoadRowOp> in, Emitter &b) {
  Value element = b.grid.row;
  if (op.getColumn()) {
    element = arith::MulIOp::create(b, b.grid.row, b.i64(b.dims.maxTokens));
    element = arith::AddIOp::create(b, element, b.toI64(only(in.getColumn())));
  }
  return one(b.toIndex(b.scalarLoad(op.getName(), integerType(b.getContext(), op.getName()), element)));
}

static FailureOr<Results> lowerStoreRow(replay::StoreRowOp op, Operands<replay::StoreRowOp> in, Emitter &b) {
  b.scalarStore(op.getName(), b.getI32Type(), b.grid.row, only(in.getValue()));
  return Results{};
}

static FailureOr<Results> lowerWindow(replay::WindowOp op, Operands<replay::WindowOp> in, Emitter &b) {
  Value begin = b.scalarLoad("query_start_loc", b.getI32Type(), b.grid.row);
  Value end = b.scalarLoad("query_start_loc", b.getI32Type(), arith::AddIOp::create(b, b.grid.row, b.i64(1)));
  Value length =
      b.inRange("query_start_loc[row + 1] - query_start_loc[row]", arith::SubIOp::create(b, end, begin), 0, b.dims.tokens);
  Value first = arith::ExtSIOp::create(b, b.getI64Type(), begin);
  return Results{{first}, {b.toIndex(length)}};
}

void lower::addNumberPatterns(Patterns &patterns) {
  patterns.add(lowerPhase);
  patterns.add(lowerExpect);
  patterns.add(lowerRow);
  patterns.add(lowerLoadSlot);
  patterns.add(lowerSetCursor);
  patterns.add(lowerLoadRow);
  patterns.add(lowerStoreRow);
  patterns.add(lowerWindow);
}
