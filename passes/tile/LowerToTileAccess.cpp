//===- LowerToTileAccess.cpp - Rows, heads, buffers and addresses ---------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

Lowering::Lowering(replay::KernelOp kernel, const Signature &signature, gpu::GPUFuncOp func)
    : kernel(kernel), signature(signature), func(func), dims(Dims::of(kernel)),
      b(kernel.getLoc(), kernel.getContext()) {}

Value Lowering::arg(StringRef name) {
  if (Value buffer = buffers.lookup(name))
    return buffer;
  for (auto [i, arg] : llvm::enumerate(signature.args))
    if (arg.name == name)
      return func.getArgument(i);
  llvm_unreachable("the signature holds every buffer that the body touches");
}
Value Lowering::i64(int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}
Value Lowering::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}
Value Lowering::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value Lowering::toIndex(Value value) {
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}

Value Lowering::toI64(Value value) {
  return value.getType().isIndex() ? Value(arith::IndexCastOp::create(b, b.getI64Type(), value)) : value;
}

Value Lowering::asIndex(Value value) { return value.getType().isIndex() ? value : toIndex(value); }

void Lowering::openGrid() {
  // The grid is small: 32-bit divisions.
  auto block = [&](gpu::Dimension dim) {
    Value id = gpu::BlockIdOp::create(b, dim);
    return Value(arith::IndexCastOp::create(b, b.getI32Type(), id));
  };
  auto wide = [&](Value v) { return Value(arith::ExtUIOp::create(b, b.getI64Type(), v)); };
  row = wide(block(gpu::Dimension::y));
  if (kernel.getLayers())
    openLayer();
  if (!signature.perHead)
    return;
  Value x = block(gpu::Dimension::x), hv = x;
  if (dims.tiles() > 1) {
    hv = arith::DivUIOp::create(b, x, i32(dims.tiles()));
    Value vt = arith::RemUIOp::create(b, x, i32(dims.tiles()));
    vTile = wide(vt);
    vOffset = arith::MulIOp::create(b, vTile, i64(dims.bv));
    ownsTile = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, vt, i32(0));
  }
  head = keyHead = wide(hv);
  if (int64_t group = dims.HV / dims.H; group > 1) {
    Value first = arith::RemUIOp::create(b, hv, i32(group));
    keyHead = wide(arith::DivUIOp::create(b, hv, i32(group)));
    ownsKeyHead = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, first, i32(0));
  }
}

/// Buffers of this block's layer: a stride apart, or by a table of addresses.
void Lowering::openLayer() {
  Value id = gpu::BlockIdOp::create(b, gpu::Dimension::z);
  Value layer = arith::IndexCastOp::create(b, b.getI64Type(), id);
  for (const Arg &buffer : signature.args) {
    if (!buffer.element || !Signature::isLayered(buffer.name))
      continue;
    auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
    Value own;
    if (buffer.isTable) {
      Value address = scalarLoad(buffer.name, b.getI64Type(), layer);
      own = LLVM::IntToPtrOp::create(b, pointer, address);
    } else {
      Value distance = arith::MulIOp::create(b, layer, arg(buffer.name + "_layer_stride"));
      own = LLVM::GEPOp::create(b, pointer, buffer.element, arg(buffer.name), ValueRange{distance});
    }
    buffers[buffer.name] = own;
  }
}

Value Lowering::scalarLoad(StringRef name, Type type, Value element) {
  Value pointer = LLVM::GEPOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 1), type,
                                      arg(name), ValueRange{element});
  return LLVM::LoadOp::create(b, type, pointer);
}

Value Lowering::offset(StringRef name, Value outer, Value head, int64_t headSize, Value inner) {
  Value at;
  auto plus = [&](Value v) { at = at ? Value(arith::AddIOp::create(b, at, v)) : v; };
  if (outer)
    plus(arith::MulIOp::create(b, outer, arg((name + "_stride").str())));
  if (head)
    plus(headSize == 1 ? head : Value(arith::MulIOp::create(b, head, i64(headSize))));
  if (inner)
    plus(inner);
  return at;
}

Value Lowering::load(Value memory, Value offset, ArrayRef<int64_t> shape, Type element,
                     int64_t rowStride, const tile::Layout &layout, Value rows,
                     Value tokenStride) {
  Value mask = rows && rows.getType().isInteger(64) ? std::exchange(rows, Value()) : Value();
  return tile::LoadOp::create(b, tileType(shape, element), memory, offset,
                              b.getDenseI64ArrayAttr({rowStride, 1}), rows, tokenStride, mask,
                              layout.toAttr(b.getContext()));
}

void Lowering::store(Value value, Value memory, Value offset, int64_t rowStride, Value rows,
                     Value owner, int64_t colStride) {
  tile::StoreOp::create(b, value, memory, offset, b.getDenseI64ArrayAttr({rowStride, colStride}),
                        rows, owner);
}

Value Lowering::alloc(int64_t rows, int64_t cols, Type element) {
  return tile::AllocOp::create(b, tile::SmemType::get(b.getContext(), rows, cols, element),
                               IntegerAttr());
}

//===----------------------------------------------------------------------===//
// Rows and cursors
//===----------------------------------------------------------------------===//

Value Lowering::inRange(StringRef name, Value number, int64_t low, int64_t high) {
  Value least = i32(low), most = i32(high);
  tile::ExpectOp::create(b, name, number, least, most);
  return arith::MinSIOp::create(b, arith::MaxSIOp::create(b, number, least), most);
}

LogicalResult Lowering::lowerExpect(replay::ExpectOp op) {
  auto number = [&](Value source) {
    return Value(arith::IndexCastOp::create(b, b.getI32Type(), asIndex(values.lookup(source))));
  };
  tile::ExpectOp::create(b, op.getName(), number(op.getValue()), number(op.getLow()), number(op.getHigh()));
  return success();
}

LogicalResult Lowering::lowerRow(replay::RowOp op) {
  auto wide = [&](Value slot) { return Value(arith::ExtSIOp::create(b, b.getI64Type(), slot)); };
  auto isLive = [&] {
    switch (*kernel.getNull()) {
    case replay::Null::LT0:
      return arith::CmpIPredicate::sge;
    case replay::Null::LE0:
      return arith::CmpIPredicate::sgt;
    }
    llvm_unreachable("unknown null rows");
  };
  Value slot = scalarLoad("state_idx", b.getI32Type(), row);
  Value live = arith::CmpIOp::create(b, isLive(), slot, i32(0));
  // Slots stay i64; the source's index values are addresses only.
  values[op.getSlot()] = wide(slot);
  values[op.getLive()] = live;
  if (!op.getRing().use_empty())
    values[op.getRing()] = wide(scalarLoad("ring_idx", b.getI32Type(), row));
  return success();
}

LogicalResult Lowering::lowerLoadSlot(replay::LoadSlotOp op) {
  Type type = integerType(b.getContext(), op.getName());
  Value number = scalarLoad(op.getName(), type, values[op.getRing()]);
  if (!type.isInteger(32))
    number = arith::ExtSIOp::create(b, b.getI32Type(), number);
  values[op.getValue()] = toIndex(inRange(op.getName(), number, 0, op.greatest()));
  return success();
}

LogicalResult Lowering::lowerSetCursor(replay::SetCursorOp op) {
  Type type = integerType(b.getContext(), op.getName());
  Value value = arith::IndexCastOp::create(b, type, values[op.getValue()]);
  Value pointer = LLVM::GEPOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 1), type,
                                      arg(op.getName()), ValueRange{values[op.getRing()]});
  LLVM::StoreOp::create(b, value, pointer);
  return success();
}

void Lowering::storeRow(StringRef name, Value number) {
  Value pointer = LLVM::GEPOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 1),
                                      b.getI32Type(), arg(name), ValueRange{row});
  LLVM::StoreOp::create(b, number, pointer);
}

LogicalResult Lowering::lowerLoadRow(replay::LoadRowOp op) {
  Value element = row;
  if (op.getColumn()) {
    element = arith::MulIOp::create(b, row, i64(dims.maxTokens));
    element = arith::AddIOp::create(b, element, toI64(values[op.getColumn()]));
  }
  values[op.getValue()] = toIndex(scalarLoad(op.getName(), integerType(b.getContext(), op.getName()), element));
  return success();
}

LogicalResult Lowering::lowerStoreRow(replay::StoreRowOp op) {
  storeRow(op.getName(), arith::IndexCastOp::create(b, b.getI32Type(), values[op.getValue()]));
  return success();
}

LogicalResult Lowering::lowerWindow(replay::WindowOp op) {
  Value begin = scalarLoad("query_start_loc", b.getI32Type(), row);
  Value end = scalarLoad("query_start_loc", b.getI32Type(), arith::AddIOp::create(b, row, i64(1)));
  Value length = inRange("query_start_loc[row + 1] - query_start_loc[row]",
                         arith::SubIOp::create(b, end, begin), 0, dims.tokens);
  values[op.getFirst()] = arith::ExtSIOp::create(b, b.getI64Type(), begin);
  values[op.getLength()] = toIndex(length);
  return success();
}

Value Lowering::tokenAt(ValueRange window, int64_t t) {
  Value first = window.empty() ? row : toI64(values.lookup(window[0]));
  return t ? Value(arith::AddIOp::create(b, first, i64(t))) : first;
}

Value Lowering::tokensFrom(ValueRange window, int64_t t) {
  return window.empty() ? Value() : rowsFrom(values.lookup(window[1]), t);
}
