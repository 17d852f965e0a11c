//===- LowerToTileTokens.cpp - Tokens, parameters, outputs, new records ---===//
#include "passes/tile/LowerToTile.h"

#include "replayssm/KernelABI.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

/// Several tokens of a row stand where its window says.
static LogicalResult expectWindow(Operation *op, bool hasWindow, int64_t count) {
  if (count == 1 || hasWindow)
    return success();
  return op->emitOpError() << "expected the window of " << count << " tokens";
}

static FailureOr<Results> lowerToken(replay::LoadTokenOp op, Operands<replay::LoadTokenOp> in, Emitter &b) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  int64_t count = type.getDimSize(0), width = type.getDimSize(1);
  if (failed(expectWindow(op, !op.getWindow().empty(), count)))
    return failure();
  Type element = type.getElementType();
  bool ofKeyHead = false, isValue = false; // a and b are neither
  Value inner;
  switch (op.getInput()) {
  case replay::TokenInput::Q:
    ofKeyHead = true;
    break;
  case replay::TokenInput::K:
    ofKeyHead = true;
    inner = b.i64(b.dims.H * b.dims.K);
    break;
  case replay::TokenInput::V:
    isValue = true;
    break;
  case replay::TokenInput::A:
  case replay::TokenInput::B:
    break;
  }
  StringRef name = op.getBuffer();
  if (ofKeyHead) {
    Value at = b.offset(name, b.tokenAt(in.getWindow(), 0), b.grid.keyHead, b.dims.K, inner);
    bool several = count > 1; // rows over the threads: these pass through shared memory
    return one(b.load(b.arg(name), at, {count, b.dims.K}, element, several ? 0 : b.dims.K,
                      several ? b.layouts.keys(count) : b.layouts.keyRow(1), b.tokensFrom(in.getWindow(), 0),
                      several ? b.arg((name + "_stride").str()) : Value()));
  }
  if (isColumn(op.getValue()) && placeOf(op.getValue()) == replay::Place::Spread) {
    Value at = b.offset(name, b.tokenAt(in.getWindow(), 0), b.grid.head, 1);
    return one(b.load(b.arg(name), at, {count, 1}, element, 0, b.layouts.keyScalars(count), b.tokensFrom(in.getWindow(), 0),
                      b.arg((name + "_stride").str())));
  }
  Tiles rows;
  for (int64_t t = 0; t < count; ++t) {
    Value token = b.tokenAt(in.getWindow(), t), there = b.tokensFrom(in.getWindow(), t), tile;
    if (isValue) {
      inner = b.i64(2 * b.dims.H * b.dims.K);
      if (b.grid.vOffset)
        inner = arith::AddIOp::create(b, inner, b.grid.vOffset);
      tile = b.load(b.arg(name), b.offset(name, token, b.grid.head, b.dims.V, inner), {1, b.dims.bv}, element, b.dims.V,
                    b.valueLayout(op), there);
    } else {
      tile = b.load(b.arg(name), b.offset(name, token, b.grid.head, width), {1, width}, element, width,
                    b.alongKeys(op.getValue()), there);
    }
    rows.push_back(tile);
  }
  return Results{rows};
}

static FailureOr<Results> lowerParam(replay::LoadParamOp op, Operands<replay::LoadParamOp> in, Emitter &b) {
  StringRef name = op.getName();
  int64_t width = cast<ShapedType>(op.getValue().getType()).getDimSize(1);
  return one(b.load(b.arg(name), b.offset(name, {}, b.grid.head, width), {1, width}, b.getF32Type(), width,
                    b.alongKeys(op.getValue())));
}

static FailureOr<Results> lowerStoreOut(replay::StoreOutOp op, Operands<replay::StoreOutOp> in, Emitter &b) {
  int64_t count = cast<ShapedType>(op.getValue().getType()).getDimSize(0);
  if (failed(expectWindow(op, !op.getWindow().empty(), count)))
    return failure();
  for (int64_t t = 0; t < count; ++t) {
    Value out = b.rowOf(op.getValue(), t);
    if (!out)
      return op.emitOpError() << "expected rows of tokens";
    out = b.broadcast(out, {1, b.dims.bv});
    if (!op.getIo().isF32())
      out = arith::TruncFOp::create(b, b.tileType({1, b.dims.bv}, op.getIo()), out);
    Value at = b.offset("out", b.tokenAt(in.getWindow(), t), b.grid.head, b.dims.V, b.grid.vOffset);
    b.store(out, b.arg("out"), at, b.dims.V, b.tokensFrom(in.getWindow(), t));
  }
  return Results{};
}

Value lower::ownerOf(Emitter &b, replay::FieldAttr field) {
  Value ofHead, ofTile;
  switch (field.getHead()) {
  case replay::Head::Key:
    ofHead = b.grid.ownsKeyHead;
    break;
  case replay::Head::Value:
    break;
  }
  switch (field.getDim()) {
  case replay::FieldDim::One:
  case replay::FieldDim::K:
    ofTile = b.grid.ownsTile;
    break;
  case replay::FieldDim::V:
    break;
  }
  if (!ofHead || !ofTile)
    return ofHead ? ofHead : ofTile;
  return arith::AndIOp::create(b, ofHead, ofTile);
}

SmallVector<Value> lower::positionsFrom(Emitter &b, Value wp, Value base, int64_t count) {
  SmallVector<Value> positions;
  Value first = b.toI64(wp), length = b.i64(b.kernel.getRingAttr().getLength());
  if (base)
    first = arith::AddIOp::create(b, first, b.toI64(base));
  for (int64_t t = 0; t < count; ++t) {
    Value at = t ? Value(arith::AddIOp::create(b, first, b.i64(t))) : first;
    if (base) {
      Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, at, length);
      at = arith::SelectOp::create(b, wraps, arith::SubIOp::create(b, at, length), at);
    }
    positions.push_back(at);
  }
  return positions;
}

static FailureOr<Results> lowerAppend(replay::AppendOp op, Operands<replay::AppendOp> in, Emitter &b) {
  replay::RingAttr format = b.kernel.getRingAttr();
  Value wp = only(in.getWp());
  int64_t count = cast<ShapedType>(op.getValues().front().getType()).getDimSize(0);
  if (failed(expectWindow(op, op.getLength() != nullptr, count)))
    return failure();
  SmallVector<Value> positions = positionsFrom(b, wp, op.getBase() ? only(in.getBase()) : Value(), op.getBase() ? count : 1);
  // How many of them lie in the ring.
  Value fits = arith::SubIOp::create(b, b.index(format.getLength()), wp);
  if (op.getLength())
    fits = arith::MinSIOp::create(b, only(in.getLength()), fits);
  Value starts = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, wp, b.index(0));
  fits = arith::SelectOp::create(b, starts, fits, b.index(0));
  for (auto [name, value] : llvm::zip_equal(op.getFields().getAsRange<StringAttr>(), op.getValues())) {
    replay::FieldAttr field = format.getField(name);
    int64_t width = fieldShape(b, field).width, columns = fieldShape(b, field).columns;
    Value owner = ownerOf(b, field);
    Value first = fieldOffset(b, only(in.getRing()), format, field), at;
    for (int64_t t = 0; t < count; ++t) {
      if (t < int64_t(positions.size()))
        at = arith::AddIOp::create(b, first, arith::MulIOp::create(b, positions[t], b.i64(width)));
      bool follows = t >= int64_t(positions.size()); // the one before, in a linear ring
      Value here = follows ? Value(arith::AddIOp::create(b, at, b.i64(t * width))) : at;
      Value tile = b.rowOf(value, t);
      if (!tile)
        return op.emitOpError() << "expected rows of tokens";
      tile = b.broadcast(tile, {1, columns});
      b.store(tile, b.arg(field.getBuffer()), here, width, rowsFrom(b, fits, t), owner);
    }
  }
  return Results{};
}

void lower::addTokenPatterns(Patterns &patterns) {
  patterns.add(lowerToken, Patterns::Rows::All);
  patterns.add(lowerParam);
  patterns.add(lowerStoreOut);
  patterns.add(lowerAppend);
}
