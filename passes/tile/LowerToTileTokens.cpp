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

LogicalResult Lowering::lowerToken(replay::LoadTokenOp op) {
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
    inner = i64(dims.H * dims.K);
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
    Value at = offset(name, tokenAt(op.getWindow(), 0), keyHead, dims.K, inner);
    bool several = count > 1; // rows over the threads: these pass through shared memory
    Value tile = load(arg(name), at, {count, dims.K}, element, several ? 0 : dims.K,
                      several ? layouts.keys(count) : layouts.keyRow(1), tokensFrom(op.getWindow(), 0),
                      several ? arg((name + "_stride").str()) : Value());
    values[op.getValue()] = tile;
    return success();
  }
  if (isColumn(op.getValue()) && placeOf(op.getValue()) == replay::Place::Spread) {
    values[op.getValue()] = load(arg(name), offset(name, tokenAt(op.getWindow(), 0), head, 1), {count, 1}, element, 0,
                                  layouts.keyScalars(count), tokensFrom(op.getWindow(), 0), arg((name + "_stride").str()));
    return success();
  }
  for (int64_t t = 0; t < count; ++t) {
    Value token = tokenAt(op.getWindow(), t), there = tokensFrom(op.getWindow(), t), tile;
    if (isValue) {
      inner = i64(2 * dims.H * dims.K);
      if (vOffset)
        inner = arith::AddIOp::create(b, inner, vOffset);
      tile = load(arg(name), offset(name, token, head, dims.V, inner), {1, dims.bv},
                  element, dims.V, valueLayout(), there);
    } else {
      tile = load(arg(name), offset(name, token, head, width), {1, width}, element, width,
                  alongKeys(op.getValue()), there);
    }
    define(op.getValue(), t, tile);
  }
  return success();
}

LogicalResult Lowering::lowerParam(replay::LoadParamOp op) {
  StringRef name = op.getName();
  int64_t width = cast<ShapedType>(op.getValue().getType()).getDimSize(1);
  values[op.getValue()] =
      load(arg(name), offset(name, {}, head, width), {1, width}, b.getF32Type(), width,
           alongKeys(op.getValue()));
  return success();
}

LogicalResult Lowering::lowerStoreOut(replay::StoreOutOp op) {
  int64_t count = cast<ShapedType>(op.getValue().getType()).getDimSize(0);
  if (failed(expectWindow(op, !op.getWindow().empty(), count)))
    return failure();
  for (int64_t t = 0; t < count; ++t) {
    Value out = broadcast(rowOf(op.getValue(), t), {1, dims.bv});
    if (!op.getIo().isF32())
      out = arith::TruncFOp::create(b, tileType({1, dims.bv}, op.getIo()), out);
    storeOut(op, t, out);
  }
  return success();
}

void Lowering::storeOut(replay::StoreOutOp op, int64_t t, Value out) {
  store(out, arg("out"), offset("out", tokenAt(op.getWindow(), t), head, dims.V, vOffset), dims.V,
        tokensFrom(op.getWindow(), t));
}

/// Blocks that an address does not tell apart: the first of them stores. Null = all.
Value Lowering::ownerOf(replay::FieldAttr field) {
  Value ofHead, ofTile;
  switch (field.getHead()) {
  case replay::Head::Key:
    ofHead = ownsKeyHead;
    break;
  case replay::Head::Value:
    break;
  }
  switch (field.getDim()) {
  case replay::FieldDim::One:
  case replay::FieldDim::K:
    ofTile = ownsTile;
    break;
  case replay::FieldDim::V:
    break;
  }
  if (!ofHead || !ofTile)
    return ofHead ? ofHead : ofTile;
  return arith::AndIOp::create(b, ofHead, ofTile);
}

/// Of `count` records from `wp` on, as i64.
SmallVector<Value> Lowering::positionsFrom(Value wp, Value base, int64_t count) {
  SmallVector<Value> positions;
  Value first = toI64(wp), length = i64(kernel.getRingAttr().getLength());
  if (base)
    first = arith::AddIOp::create(b, first, toI64(base));
  for (int64_t t = 0; t < count; ++t) {
    Value at = t ? Value(arith::AddIOp::create(b, first, i64(t))) : first;
    if (base) {
      Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, at, length);
      at = arith::SelectOp::create(b, wraps, arith::SubIOp::create(b, at, length), at);
    }
    positions.push_back(at);
  }
  return positions;
}

LogicalResult Lowering::lowerAppend(replay::AppendOp op) {
  replay::RingAttr format = kernel.getRingAttr();
  Value wp = values[op.getWp()];
  int64_t count = cast<ShapedType>(op.getValues().front().getType()).getDimSize(0);
  if (failed(expectWindow(op, op.getLength() != nullptr, count)))
    return failure();
  SmallVector<Value> positions =
      positionsFrom(wp, op.getBase() ? values[op.getBase()] : Value(), op.getBase() ? count : 1);
  // How many of them lie in the ring.
  Value fits = arith::SubIOp::create(b, index(format.getLength()), wp);
  if (op.getLength())
    fits = arith::MinSIOp::create(b, values[op.getLength()], fits);
  Value starts = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, wp, index(0));
  fits = arith::SelectOp::create(b, starts, fits, index(0));
  for (auto [name, value] : llvm::zip_equal(op.getFields().getAsRange<StringAttr>(), op.getValues())) {
    replay::FieldAttr field = format.getField(name);
    int64_t width = fieldShape(field).width, columns = fieldShape(field).columns;
    Value owner = ownerOf(field);
    Value first = fieldOffset(values[op.getRing()], format, field), at;
    for (int64_t t = 0; t < count; ++t) {
      if (t < int64_t(positions.size()))
        at = arith::AddIOp::create(b, first, arith::MulIOp::create(b, positions[t], i64(width)));
      bool follows = t >= int64_t(positions.size()); // the one before, in a linear ring
      Value here = follows ? Value(arith::AddIOp::create(b, at, i64(t * width))) : at;
      Value tile = broadcast(rowOf(value, t), {1, columns});
      store(tile, arg(field.getBuffer()), here, width, rowsFrom(fits, t), owner);
    }
  }
  return success();
}
