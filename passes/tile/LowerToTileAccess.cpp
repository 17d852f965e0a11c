//===- LowerToTileAccess.cpp - Rows, heads, buffers and addresses ---------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

Emitter::Emitter(replay::KernelOp kernel, const Signature &signature, gpu::GPUFuncOp func, const Patterns &patterns)
    : ImplicitLocOpBuilder(kernel.getLoc(), kernel.getContext()), kernel(kernel), dims(Dims::of(kernel)), signature(signature),
      func(func), patterns(patterns) {
  setInsertionPointToStart(&func.getBody().front());
  openGrid();
}

Value Emitter::arg(StringRef name) {
  if (Value buffer = buffers.lookup(name))
    return buffer;
  for (auto [i, arg] : llvm::enumerate(signature.args))
    if (arg.name == name)
      return func.getArgument(i);
  llvm_unreachable("the signature holds every buffer that the body touches");
}
Value Emitter::i64(int64_t value) { return arith::ConstantOp::create(*this, getI64IntegerAttr(value)); }
Value Emitter::i32(int64_t value) { return arith::ConstantOp::create(*this, getI32IntegerAttr(static_cast<int32_t>(value))); }
Value Emitter::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
Value Emitter::toIndex(Value value) { return arith::IndexCastOp::create(*this, getIndexType(), value); }

Value Emitter::toI64(Value value) {
  return value.getType().isIndex() ? Value(arith::IndexCastOp::create(*this, getI64Type(), value)) : value;
}

Value Emitter::asIndex(Value value) { return value.getType().isIndex() ? value : toIndex(value); }

void Emitter::openGrid() {
  // The grid is small: 32-bit divisions.
  auto block = [&](gpu::Dimension dim) {
    Value id = gpu::BlockIdOp::create(*this, dim);
    return Value(arith::IndexCastOp::create(*this, getI32Type(), id));
  };
  auto wide = [&](Value v) { return Value(arith::ExtUIOp::create(*this, getI64Type(), v)); };
  grid.row = wide(block(gpu::Dimension::y));
  if (kernel.getLayers())
    openLayer();
  if (!signature.perHead)
    return;
  Value x = block(gpu::Dimension::x), hv = x;
  if (dims.tiles() > 1) {
    hv = arith::DivUIOp::create(*this, x, i32(dims.tiles()));
    Value vt = arith::RemUIOp::create(*this, x, i32(dims.tiles()));
    grid.vOffset = arith::MulIOp::create(*this, wide(vt), i64(dims.bv));
    grid.ownsTile = arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, vt, i32(0));
  }
  grid.head = grid.keyHead = wide(hv);
  if (int64_t group = dims.HV / dims.H; group > 1) {
    Value first = arith::RemUIOp::create(*this, hv, i32(group));
    grid.keyHead = wide(arith::DivUIOp::create(*this, hv, i32(group)));
    grid.ownsKeyHead = arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, first, i32(0));
  }
}

/// Buffers of this block's layer: a stride apart, or by a table of addresses.
void Emitter::openLayer() {
  Value id = gpu::BlockIdOp::create(*this, gpu::Dimension::z);
  Value layer = arith::IndexCastOp::create(*this, getI64Type(), id);
  for (const Arg &buffer : signature.args) {
    if (!buffer.element || !Signature::isLayered(buffer.name))
      continue;
    auto pointer = LLVM::LLVMPointerType::get(getContext(), 1);
    Value own;
    if (buffer.isTable) {
      Value address = scalarLoad(buffer.name, getI64Type(), layer);
      own = LLVM::IntToPtrOp::create(*this, pointer, address);
    } else {
      Value distance = arith::MulIOp::create(*this, layer, arg(buffer.name + "_layer_stride"));
      own = LLVM::GEPOp::create(*this, pointer, buffer.element, arg(buffer.name), ValueRange{distance});
    }
    buffers[buffer.name] = own;
  }
}

Value Emitter::scalarLoad(StringRef name, Type type, Value element) {
  Value pointer = LLVM::GEPOp::create(*this, LLVM::LLVMPointerType::get(getContext(), 1), type, arg(name), ValueRange{element});
  return LLVM::LoadOp::create(*this, type, pointer);
}

void Emitter::scalarStore(StringRef name, Type type, Value element, Value index) {
  Value number = arith::IndexCastOp::create(*this, type, index);
  Value pointer = LLVM::GEPOp::create(*this, LLVM::LLVMPointerType::get(getContext(), 1), type, arg(name), ValueRange{element});
  LLVM::StoreOp::create(*this, number, pointer);
}

Value Emitter::offset(StringRef name, Value outer, Value head, int64_t headSize, Value inner) {
  Value at;
  auto plus = [&](Value v) { at = at ? Value(arith::AddIOp::create(*this, at, v)) : v; };
  if (outer)
    plus(arith::MulIOp::create(*this, outer, arg((name + "_stride").str())));
  if (head)
    plus(headSize == 1 ? head : Value(arith::MulIOp::create(*this, head, i64(headSize))));
  if (inner)
    plus(inner);
  return at;
}

Value Emitter::load(Value memory, Value offset, ArrayRef<int64_t> shape, Type element, int64_t rowStride,
                    const tile::Layout &layout, Value rows, Value tokenStride) {
  Value mask = rows && rows.getType().isInteger(64) ? std::exchange(rows, Value()) : Value();
  return tile::LoadOp::create(*this, tileType(shape, element), memory, offset, getDenseI64ArrayAttr({rowStride, 1}), rows,
                              tokenStride, mask, layout.toAttr(getContext()));
}

void Emitter::store(Value value, Value memory, Value offset, int64_t rowStride, Value rows, Value owner, int64_t colStride) {
  tile::StoreOp::create(*this, value, memory, offset, getDenseI64ArrayAttr({rowStride, colStride}), rows, owner);
}

Value Emitter::alloc(int64_t rows, int64_t cols, Type element) {
  return tile::AllocOp::create(*this, tile::SmemType::get(getContext(), rows, cols, element, /*skew=*/0), IntegerAttr());
}

void Emitter::when(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

Value Emitter::inRange(StringRef name, Value number, int64_t low, int64_t high) {
  Value least = i32(low), most = i32(high);
  tile::ExpectOp::create(*this, name, number, least, most);
  return arith::MinSIOp::create(*this, arith::MaxSIOp::create(*this, number, least), most);
}

Value Emitter::tokenAt(ArrayRef<ValueRange> window, int64_t t) {
  Value first = window.empty() ? grid.row : toI64(window[0].front());
  return t ? Value(arith::AddIOp::create(*this, first, i64(t))) : first;
}

Value Emitter::tokensFrom(ArrayRef<ValueRange> window, int64_t t) {
  return window.empty() ? Value() : rowsFrom(*this, window[1].front(), t);
}
