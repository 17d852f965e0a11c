//===- Lowering.cpp - Thread ids, tiles as registers, sites ---------------===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;
using tile::Factor;
using tile::Owner;

TileInfo::TileInfo(Value tile)
    : type(cast<RankedTensorType>(tile.getType())), layout(*tile::Layout::of(type)) {
  for (int64_t reg = 0, e = layout.numRegs(); reg < e; ++reg)
    regOf[coords(reg)] = reg;
}

std::optional<int64_t> TileInfo::find(int64_t row, int64_t col) const {
  auto it = regOf.find({row, col});
  return it == regOf.end() ? std::nullopt : std::optional(it->second);
}

ThreadFactors TileInfo::threads(unsigned dim) const {
  ThreadFactors result;
  int64_t weight = 1;
  for (Factor f : llvm::reverse(layout.dims[dim])) {
    if (f.owner != Owner::Reg && f.size > 1)
      result.push_back({f.owner, f.size, f.stride, weight});
    weight *= f.size;
  }
  return result;
}

int64_t TileInfo::maxThreadCoord(unsigned dim) const {
  int64_t coord = 0;
  for (ThreadFactor f : threads(dim))
    coord += (f.size - 1) * f.weight;
  return coord;
}

SmallVector<int64_t> TileInfo::regCoords(unsigned dim) const {
  SmallVector<int64_t> coords;
  for (int64_t reg = 0, e = numRegs(); reg < e; ++reg)
    coords.push_back(layout.regCoord(dim, reg));
  llvm::sort(coords);
  coords.erase(llvm::unique(coords), coords.end());
  return coords;
}

Lowering::Lowering(gpu::GPUFuncOp func, SymbolTable &symbols)
    : b(func.getLoc(), func.getContext()), func(func), symbols_(symbols) {
  if (auto size = func.getKnownBlockSize())
    numWarps_ = (size->front() + 31) / 32;
  b.setInsertionPointToStart(&func.getBody().front());
  anchor_ = i32(0).getDefiningOp();
  EntryScope entry(*this);
  Value id = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  tid_ = arith::IndexCastOp::create(b, b.getI32Type(), id);
}

EntryScope::EntryScope(Lowering &lowering) : guard_(lowering.b) {
  lowering.b.setInsertionPoint(lowering.anchor_);
}

void Lowering::begin(Operation *op) {
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  auto file = op->getLoc()->findInstanceOf<FileLineColLoc>();
  std::string text = (op->getName().getStringRef() + " at ").str();
  llvm::raw_string_ostream os(text);
  if (file)
    os << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn();
  else
    os << "an unknown place";
  site_ = sites_.insert({b.getStringAttr(text), sites_.size()}).first->second;
}

Value Lowering::textId(StringRef text) {
  return i32(sites_.insert({b.getStringAttr(text), sites_.size()}).first->second);
}

Value Lowering::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value Lowering::trueValue() { return arith::ConstantOp::create(b, b.getBoolAttr(true)); }

Value Lowering::lane() {
  if (!lane_) {
    EntryScope entry(*this);
    lane_ = arith::AndIOp::create(b, tid_, i32(31));
  }
  return lane_;
}

Value Lowering::warp() {
  if (!warp_) {
    EntryScope entry(*this);
    warp_ = arith::ShRUIOp::create(b, tid_, i32(5));
  }
  return warp_;
}

Value Lowering::digit(Owner owner, int64_t size, int64_t stride) {
  Value id = owner == Owner::Lane ? lane() : warp();
  int64_t ids = owner == Owner::Lane ? 32 : numWarps_;
  if (stride > 1)
    id = llvm::isPowerOf2_64(stride)
             ? Value(arith::ShRUIOp::create(b, id, i32(llvm::Log2_64(stride))))
             : Value(arith::DivUIOp::create(b, id, i32(stride)));
  if (stride * size >= ids) // no higher digit to remove
    return id;
  return llvm::isPowerOf2_64(size) ? Value(arith::AndIOp::create(b, id, i32(size - 1)))
                                   : Value(arith::RemUIOp::create(b, id, i32(size)));
}

Value Lowering::threadCoord(const TileInfo &tile, unsigned dim) {
  Value sum;
  for (ThreadFactor f : tile.threads(dim)) {
    Value part = digit(f.owner, f.size, f.stride);
    if (f.weight > 1)
      part = arith::MulIOp::create(b, part, i32(f.weight));
    sum = sum ? Value(arith::AddIOp::create(b, sum, part)) : part;
  }
  return sum;
}

Value Lowering::firstCopy(const TileInfo &tile) {
  Value result;
  if (int64_t mask = tile.layout.freeLaneMask()) {
    Value bits = arith::AndIOp::create(b, lane(), i32(mask));
    result = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, i32(0));
  }
  for (auto [stride, size] : tile.layout.replicaDigits(Owner::Warp, numWarps_)) {
    Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, digit(Owner::Warp, size, stride), i32(0));
    result = result ? Value(arith::AndIOp::create(b, result, first)) : first;
  }
  return result;
}

Value Lowering::vectorOf(Value tile) {
  if (auto cast = tile.getDefiningOp<UnrealizedConversionCastOp>())
    return cast.getOperand(0);
  return UnrealizedConversionCastOp::create(b, TypeRange(TileInfo(tile).vectorType()), ValueRange(tile))
      .getResult(0);
}

SmallVector<Value> Lowering::regsOf(Value tile) {
  auto elements = vector::ToElementsOp::create(b, vectorOf(tile));
  return SmallVector<Value>(elements.getResults());
}

void Lowering::replaceTile(Value tile, Value vector) {
  tile.replaceAllUsesWith(
      UnrealizedConversionCastOp::create(b, TypeRange(tile.getType()), ValueRange(vector)).getResult(0));
}

void Lowering::replaceTile(Value tile, ArrayRef<Value> regs) {
  replaceTile(tile, vector::FromElementsOp::create(b, TileInfo(tile).vectorType(), regs).getResult());
}

Value Lowering::byteOffset(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value Lowering::shared(int64_t offset) {
  Value &address = shared_[offset];
  if (!address) {
    EntryScope entry(*this);
    address = call("shared", LLVM::LLVMPointerType::get(b.getContext(), 3), i32(offset), false);
  }
  return address;
}

Value Lowering::sharedOf(Value smem) {
  auto alloc = smem.getDefiningOp<tile::AllocOp>();
  if (alloc && alloc.getOffset())
    return shared(*alloc.getOffset());
  emitError(b.getLoc()) << "expected shared memory of a tile.alloc with a byte offset "
                           "(run replay-plan-shared first)";
  return nullptr;
}

void Lowering::finish() {
  anchor_->erase();
  SmallVector<Attribute> texts;
  for (auto &[text, id] : sites_)
    texts.push_back(text);
  NamedAttrList manifest(func->getAttrOfType<DictionaryAttr>("replay.manifest"));
  manifest.set("sites", b.getArrayAttr(texts));
  func->setAttr("replay.manifest", manifest.getDictionary(b.getContext()));
}
