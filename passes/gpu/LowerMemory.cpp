//===- LowerMemory.cpp - Loads and stores of tiles and scalars ------------===//
//
// One base pointer per op holds the dynamic offset and the thread's part; each
// register adds a constant number of bytes, so that accesses are [reg + imm].
//
//===----------------------------------------------------------------------===//
#include "passes/gpu/TileToGpu.h"

#include "replayssm/KernelABI.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;
using tile::Factor;
using tile::Owner;

/// The largest power of two up to 16 that surely divides `value`.
static int64_t knownFactor(Value value, int depth = 0) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isZero() ? 16 : std::min<int64_t>(16, int64_t(1) << constant.countTrailingZeros());
  Operation *op = value.getDefiningOp();
  if (!op || depth > 6)
    return 1;
  auto of = [&](unsigned i) { return knownFactor(op->getOperand(i), depth + 1); };
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::min(of(0), of(1));
  if (isa<arith::MulIOp>(op))
    return std::min<int64_t>(16, of(0) * of(1));
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return of(0);
  return 1;
}

/// Bytes to which the contract aligns a kernel argument and every row that the
/// kernels address in it: wide buffers are moved in 16-byte pieces, all else element
/// by element.
static int64_t contractAlignment(Value pointer) {
  // The buffer of one of many layers is as aligned as they all are: it is a layer
  // stride further, or its address has been loaded from a table.
  for (Operation *def; (def = pointer.getDefiningOp()) &&
                       isa<LLVM::GEPOp, LLVM::IntToPtrOp, LLVM::LoadOp, LLVM::CallOp>(def);)
    pointer = def->getOperand(0);
  auto arg = dyn_cast<BlockArgument>(pointer);
  auto func = arg ? dyn_cast<gpu::GPUFuncOp>(arg.getOwner()->getParentOp()) : nullptr;
  if (!func)
    return 1;
  auto manifest = func->getAttrOfType<DictionaryAttr>("replay.manifest");
  auto args = manifest ? manifest.getAs<ArrayAttr>("args") : nullptr;
  if (!args || arg.getArgNumber() >= args.size())
    return 1;
  // An argument is [name, kind, dtype].
  auto entry = dyn_cast<ArrayAttr>(args[arg.getArgNumber()]);
  auto name = entry && !entry.empty() ? dyn_cast<StringAttr>(entry[0]) : nullptr;
  if (!name)
    return 1;
  const KernelBuffer *buffer = findKernelBuffer(name.getValue());
  return buffer && buffer->isWide ? 16 : 1;
}

namespace {
/// How a tile meets memory: the address of each register and its predicate.
class Access {
public:
  Access(Lowering &l, const TileInfo &tile, Value memory, Value offset, ArrayRef<int64_t> strides,
         Value rows, Value also, Value rowStride = {}, Value mask = {})
      : l(l), tile(tile), memory(memory), strides(strides), rows(rows), also(also), rowStride(rowStride),
        mask(mask) {
    bool smem = isa<tile::SmemType>(memory.getType());
    pointer = smem ? l.sharedOf(memory) : memory;
    if (!pointer)
      return;
    eltBytes = tile.element().getIntOrFloatBitWidth() / 8;
    skew = smem ? cast<tile::SmemType>(memory.getType()).getSkew() : 0;
    pickWidth(smem, offset);
    for (unsigned dim : {0u, 1u})
      thread[dim] = l.threadCoord(tile, dim);
    makeBase(offset);
  }

  bool valid() const { return static_cast<bool>(pointer); }
  /// Whether one digit of the rows says in which half of a skewed buffer they are.
  bool tellsHalves() const {
    return !skew || (tile.layout.dims[0].front().size == 2 && tile.layout.extent(0) == tile.shape(0));
  }
  /// Calls `visit` with the registers of one access, ascending in memory.
  void forEach(function_ref<void(ArrayRef<int64_t> regs)> visit) {
    for (int64_t reg = 0, e = tile.numRegs(); reg < e; ++reg) {
      auto [row, col] = tile.coords(reg);
      int64_t along = vectorDim == 0 ? row : col;
      if (along % width)
        continue;
      SmallVector<int64_t> regs;
      for (int64_t i = 0; i < width; ++i)
        regs.push_back(*tile.find(row + (vectorDim == 0 ? i : 0), col + (vectorDim == 1 ? i : 0)));
      visit(regs);
    }
  }
  /// Whether no thread has an element of the tile in this register.
  bool outside(int64_t reg) const {
    auto [row, col] = tile.coords(reg);
    APInt limit;
    bool none = rows && matchPattern(rows, m_ConstantInt(&limit)) && limit.sle(row);
    return none || row >= tile.shape(0) || col >= tile.shape(1);
  }
  Value address(int64_t reg) {
    auto [row, col] = tile.coords(reg);
    Value from = base;
    if (rowStride && row) {
      Value &known = rowBase[row];
      if (!known)
        known = gep(base, arith::MulIOp::create(l.b, rowStride, i64(row)));
      from = known;
    }
    bool isBehind = skew && row >= tile.shape(0) / 2;
    return l.byteOffset(from, (row * strides[0] + col * strides[1] + (isBehind ? skew : 0)) * eltBytes);
  }
  Value predicate(int64_t reg) {
    auto [row, col] = tile.coords(reg);
    Value result = also;
    for (auto [dim, coord] : {std::pair<unsigned, int64_t>(0, row), {1, col}})
      if (Value inside = insideDim(dim, coord))
        result = result ? Value(arith::AndIOp::create(l.b, inside, result)) : inside;
    return result ? result : l.trueValue();
  }
  Type accessType() const {
    return width == 1 ? tile.element() : Type(VectorType::get({width}, tile.element()));
  }
  std::string marker(StringRef verb) const {
    bool shared = cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() == 3;
    return (verb + (shared ? ".shared." : ".global.")).str() + Lowering::typeName(accessType());
  }
  int64_t width = 1;

private:
  Value i64(int64_t value) { return arith::ConstantOp::create(l.b, l.b.getI64IntegerAttr(value)); }
  Value gep(Value from, Value element) {
    return LLVM::GEPOp::create(l.b, from.getType(), tile.element(), from, ArrayRef<LLVM::GEPArg>{element});
  }
  void pickWidth(bool smem, Value offset) {
    for (unsigned dim : {1u, 0u}) {
      unsigned other = 1 - dim;
      int64_t run = 1; // registers that follow each other along dim
      for (Factor f : llvm::reverse(tile.layout.dims[dim])) {
        if (f.size > 1 && f.owner != Owner::Reg)
          break;
        run *= f.size;
      }
      if (strides[dim] != 1 || run == 1 || (dim == 0 && (rows || mask)))
        continue;
      int64_t align = smem ? sharedAlignment(offset) : contractAlignment(memory);
      int64_t best = std::min<int64_t>(16, align) / eltBytes;
      best = std::min<int64_t>(best, 8);
      auto divides = [&](int64_t n) { return run % n == 0 && tile.shape(dim) % n == 0 &&
                                             (tile.layout.extent(other) == 1 || strides[other] % n == 0); };
      while (best > 1 && !divides(best))
        best /= 2;
      if (best > 1) {
        width = best;
        vectorDim = dim;
        return;
      }
    }
  }
  int64_t sharedAlignment(Value offset) const {
    auto alloc = memory.getDefiningOp<tile::AllocOp>();
    int64_t at = *alloc.getOffset();
    int64_t start = at == 0 ? 16 : int64_t(1) << llvm::countr_zero(static_cast<uint64_t>(at));
    return std::min(start, knownFactor(offset) * eltBytes);
  }
  void makeBase(Value offset) {
    ImplicitLocOpBuilder &b = l.b;
    base = pointer;
    bool shared = cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() == 3;
    if (!matchPattern(offset, m_Zero())) {
      Value index = shared ? Value(arith::TruncIOp::create(b, b.getI32Type(), offset)) : offset;
      base = gep(base, index);
    }
    // A stride of the caller is as aligned as the memory.
    if (rowStride && thread[0])
      base = gep(base, arith::MulIOp::create(b, rowStride, arith::ExtUIOp::create(b, b.getI64Type(), thread[0])));
    Value part;
    for (unsigned dim : {0u, 1u}) {
      if (!thread[dim] || strides[dim] == 0)
        continue;
      Value term = strides[dim] == 1 ? thread[dim]
                                     : Value(arith::MulIOp::create(b, thread[dim], l.i32(strides[dim])));
      part = part ? Value(arith::AddIOp::create(b, part, term)) : term;
    }
    // The outermost digit of the rows tells their halves apart (see tellsHalves): a thread's, or a register's.
    if (skew && thread[0] && tile.maxThreadCoord(0) >= tile.shape(0) / 2) {
      Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, thread[0], l.i32(tile.shape(0) / 2));
      part = arith::AddIOp::create(b, part, arith::SelectOp::create(b, isBehind, l.i32(skew), l.i32(0)));
    }
    if (!part)
      return;
    if (!shared)
      part = arith::ExtUIOp::create(b, b.getI64Type(), part);
    base = gep(base, part);
  }
  /// Whether register coordinate `coord` of this thread is an element; null when it always is.
  Value insideDim(unsigned dim, int64_t coord) {
    bool limited = dim == 0 && rows;
    bool padded = coord + tile.maxThreadCoord(dim) >= tile.shape(dim);
    if (dim == 0 && mask)
      return hasBit(coord);
    if (!limited && !padded)
      return nullptr;
    Value &known = inside[dim][coord];
    if (known)
      return known;
    if (!room[dim]) {
      // One subtraction per dimension: coordinates left after the thread's part.
      Value limit = l.i32(tile.shape(dim));
      if (limited) {
        Value count = arith::IndexCastOp::create(l.b, l.b.getI32Type(), rows);
        bool mayPad = tile.layout.extent(dim) > tile.shape(dim);
        limit = mayPad ? Value(arith::MinSIOp::create(l.b, count, limit)) : count;
      }
      room[dim] = thread[dim] ? Value(arith::SubIOp::create(l.b, limit, thread[dim])) : limit;
    }
    return known = arith::CmpIOp::create(l.b, arith::CmpIPredicate::sgt, room[dim], l.i32(coord));
  }

  /// Whether the mask has the bit of this thread's row at `coord`.
  Value hasBit(int64_t coord) {
    Value &known = inside[0][coord];
    if (known)
      return known;
    ImplicitLocOpBuilder &b = l.b;
    bool isNarrow = tile.layout.extent(0) <= 32;
    if (!room[0]) {
      Value bits = mask;
      // Padding is no row.
      if (int64_t rows = tile.shape(0); tile.layout.extent(0) > rows && rows < 64)
        bits = arith::AndIOp::create(b, bits, i64((int64_t(1) << rows) - 1));
      if (isNarrow)
        bits = arith::TruncIOp::create(b, b.getI32Type(), bits);
      if (Value shift = thread[0])
        bits = arith::ShRUIOp::create(
            b, bits, isNarrow ? shift : Value(arith::ExtUIOp::create(b, b.getI64Type(), shift)));
      room[0] = bits;
    }
    auto constant = [&](uint64_t value) { return isNarrow ? l.i32(int64_t(value)) : i64(int64_t(value)); };
    Value bit = arith::AndIOp::create(b, room[0], constant(uint64_t(1) << coord));
    return known = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, constant(0));
  }

  Lowering &l;
  const TileInfo &tile;
  Value memory;
  ArrayRef<int64_t> strides;
  Value rows, also, rowStride, mask, pointer, base;
  llvm::DenseMap<int64_t, Value> rowBase;
  Value thread[2], room[2];
  llvm::DenseMap<int64_t, Value> inside[2];
  unsigned vectorDim = 1;
  int64_t eltBytes = 4, skew = 0;
};
} // namespace

static LogicalResult expectHalves(Operation *op, const Access &access, const TileInfo &tile) {
  if (access.tellsHalves())
    return success();
  return op->emitOpError() << "expected rows whose outermost digit tells the halves of a skewed buffer apart but got " << tile.type;
}

LogicalResult gpulower::lowerLoad(Lowering &l, tile::LoadOp op) {
  TileInfo tile(op.getResult());
  Access access(l, tile, op.getSrc(), op.getOffset(), op.getStrides(), op.getRows(), {}, op.getStride(),
                op.getMask());
  if (!access.valid() || failed(expectHalves(op, access, tile)))
    return failure();
  SmallVector<Value> regs(tile.numRegs());
  Value zero;
  access.forEach([&](ArrayRef<int64_t> group) {
    if (access.outside(group.front())) {
      if (!zero)
        zero = arith::ConstantOp::create(l.b, cast<TypedAttr>(l.b.getZeroAttr(tile.element())));
      for (int64_t reg : group)
        regs[reg] = zero;
      return;
    }
    Value predicate = access.predicate(group.front());
    Value loaded = l.call(access.marker("ld"), access.accessType(),
                          {access.address(group.front()), predicate});
    if (access.width == 1) {
      regs[group.front()] = loaded;
      return;
    }
    auto elements = vector::ToElementsOp::create(l.b, loaded);
    for (auto [i, reg] : llvm::enumerate(group))
      regs[reg] = elements.getResult(i);
  });
  l.replaceTile(op.getResult(), regs);
  op.erase();
  return success();
}

LogicalResult gpulower::lowerStore(Lowering &l, tile::StoreOp op) {
  TileInfo tile(op.getValue());
  Value also = l.firstCopy(tile);
  if (Value owner = op.getOwner())
    also = also ? Value(arith::AndIOp::create(l.b, also, owner)) : owner;
  Access access(l, tile, op.getDst(), op.getOffset(), op.getStrides(), op.getRows(), also);
  if (!access.valid() || failed(expectHalves(op, access, tile)))
    return failure();
  SmallVector<Value> regs = l.regsOf(op.getValue());
  access.forEach([&](ArrayRef<int64_t> group) {
    if (access.outside(group.front()))
      return;
    Value value = regs[group.front()];
    if (access.width > 1) {
      SmallVector<Value> parts;
      for (int64_t reg : group)
        parts.push_back(regs[reg]);
      value = vector::FromElementsOp::create(l.b, cast<VectorType>(access.accessType()), parts);
    }
    Value predicate = access.predicate(group.front());
    l.call(access.marker("st"), {}, {access.address(group.front()), value, predicate});
  });
  op.erase();
  return success();
}

static bool isScalarWord(Type type) {
  return type.isInteger(64) || type.isInteger(32) || type.isInteger(8);
}

LogicalResult gpulower::lowerScalarLoad(Lowering &l, LLVM::LoadOp op) {
  Type type = op.getType();
  if (!isScalarWord(type) || op.getAddr().getType().getAddressSpace() != 1)
    return op.emitOpError("expected an i64, i32 or i8 in global memory but got ") << type;
  op.getResult().replaceAllUsesWith(
      l.call("ld.global." + Lowering::typeName(type), type, {op.getAddr(), l.trueValue()}));
  op.erase();
  return success();
}

LogicalResult gpulower::lowerScalarStore(Lowering &l, LLVM::StoreOp op) {
  Type type = op.getValue().getType();
  if (!isScalarWord(type) || op.getAddr().getType().getAddressSpace() != 1)
    return op.emitOpError("expected an i64, i32 or i8 in global memory but got ") << type;
  Value first = arith::CmpIOp::create(l.b, arith::CmpIPredicate::eq, l.tid(), l.i32(0));
  l.call("st.global." + Lowering::typeName(type), {}, {op.getAddr(), op.getValue(), first});
  op.erase();
  return success();
}

LogicalResult gpulower::lowerExpect(Lowering &l, tile::ExpectOp op) {
  l.call("expect", {}, {op.getValue(), op.getLow(), op.getHigh(), l.textId(op.getName())});
  op.erase();
  return success();
}
