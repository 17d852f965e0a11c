//===- DeriveKernels.cpp - Kernel requests are filled from their layer ----===//
#include "passes/derive/Deriver.h"
#include "passes/derive/VerifyLayer.h"

namespace replayssm {
#define GEN_PASS_DEF_DERIVEKERNELS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::derive;
using namespace replayssm::replay;

void Deriver::run() {
  kernel.setShapeAttr(layer.getShapeAttr());
  kernel.setNullAttr(layer.getNullAttr());
  Region &body = kernel.getBody();
  b.setInsertionPointToStart(body.empty() ? &body.emplaceBlock() : &body.front());
  Type index = b.getIndexType();
  row = RowOp::create(b, loc, index, index, b.getI1Type());
  Kind kind = *kernel.getKind();
  bool hasTokens = kernel.getWindow() && kind != Kind::Fold && kind != Kind::Reset;
  if (hasTokens)
    llvm::append_range(window, WindowOp::create(b, loc, index, index)->getResults());
  switch (kind) {
  case Kind::Packed:
    return step();
  case Kind::Replay:
    // A ring of one record is always folded at once: nothing is ever read back.
    return kernel.getRingAttr().getLength() == 1 ? step() : decode();
  case Kind::Cursors:
    return window.empty() ? advanceCursor() : commitWindow();
  case Kind::Reset:
    return reset();
  case Kind::Verify:
    return verify();
  case Kind::Fold:
    return fold();
  case Kind::Compact:
    return compact();
  case Kind::InputReplay:
    return inputReplay();
  case Kind::Snapshots:
    return snapshots();
  }
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value Deriver::constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
Value Deriver::add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
Value Deriver::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}
Value Deriver::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}
Value Deriver::clamp(Value x, Value low, Value high) {
  return arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, x, low), high);
}
Value Deriver::loadRow(StringRef name, Value column) { return LoadRowOp::create(b, loc, name, column); }
Value Deriver::loadSlot(StringRef name) { return LoadSlotOp::create(b, loc, name, row.getRing(), IntegerAttr()); }
void Deriver::expect(StringRef name, Value value, Value low, Value high) {
  ExpectOp::create(b, loc, name, value, low, high);
}
void Deriver::setCursor(StringRef name, Value value) {
  SetCursorOp::create(b, loc, name, row.getRing(), value);
}
Value Deriver::isPositive(Value x) { return compare(arith::CmpIPredicate::sgt, x, constant(0)); }
Value Deriver::isSet(Value flag) { return compare(arith::CmpIPredicate::ne, flag, constant(0)); }

void Deriver::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// This row's accepted tokens: 0 .. its length.
Value Deriver::acceptedTokens() {
  Value given = loadRow("accept_len"), zero = constant(0);
  expect("accept_len", given, zero, window[1]);
  return clamp(given, zero, window[1]);
}

/// Entry `i` of the row's path: position i at least, since paths ascend, and `last` at most.
Value Deriver::acceptedPosition(Value i, Value last) {
  Value given = loadRow("accept_idx", i);
  expect("accept_idx", given, i, last);
  return clamp(given, i, last);
}

/// Where states are stored.
Value Deriver::targetSlot() { return kernel.getDst() ? loadRow("dst_idx") : Value(row.getSlot()); }

Value Deriver::loadState() {
  return LoadStateOp::create(b, loc, stateType(), row.getSlot(), Value());
}

/// Checkpoint + the first `valid` records.
Value Deriver::replayed(Value valid, Value base, Value mask) {
  Value checkpoint = loadState();
  Value records = LoadRingOp::create(b, loc, RecordsType::get(b.getContext(), kernel.getRingAttr()),
                                     row.getRing(), valid, base, mask);
  return ReplayOp::create(b, loc, checkpoint.getType(), checkpoint, records, Value());
}

void Deriver::storeState(Value state, Value slot, Value at) {
  StoreStateOp::create(b, loc, state, slot, at);
}

/// `type` with a row for every token.
RankedTensorType Deriver::widen(Type type) {
  auto matrix = cast<RankedTensorType>(type);
  return RankedTensorType::get({tokens, matrix.getDimSize(1)}, matrix.getElementType());
}

/// The layer's inputs that `names` lists, of the tokens of `where`.
void Deriver::loadTokens(ValueRange where, ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    Value arg = input(name);
    mapping.map(arg, LoadTokenOp::create(b, loc, widen(arg.getType()), b.getStringAttr(name), where));
  }
}

void Deriver::loadParams() {
  for (StringRef name : {"A_log", "dt_bias"}) {
    Value arg = input(name);
    mapping.map(arg, LoadParamOp::create(b, loc, arg.getType(), b.getStringAttr(name)));
  }
}

Value Deriver::input(StringRef name) {
  constexpr StringRef names[] = {"state", "q", "k", "v", "a", "b", "A_log", "dt_bias"};
  return layer.getBody().front().getArgument(llvm::find(names, name) - std::begin(names));
}

DeltaOp Deriver::delta() { return *layer.getBody().front().getOps<DeltaOp>().begin(); }
Value Deriver::nextState() { return mapping.lookup(delta().getNext()); }

/// What the layer computes of its inputs, on `state`; what is mapped already is
/// taken as it is.
void Deriver::cloneLayer(Value state, Value parents) {
  mapping.map(input("state"), state);
  for (Operation &op : layer.getBody().front().without_terminator()) {
    bool isKnown = llvm::all_of(op.getResults(), [&](Value x) { return mapping.contains(x); });
    bool isReady = llvm::all_of(op.getOperands(), [&](Value x) { return mapping.contains(x); });
    if (!isKnown && isReady)
      cloneOp(op);
  }
  if (parents) {
    auto copy = cast<DeltaOp>(mapping.lookup(delta().getO()).getDefiningOp());
    copy.setMask(Mask::Tree);
    copy.getParentsMutable().assign(parents);
  }
}

/// Every op of a layer works row by row: results get the rows of its tokens.
void Deriver::cloneOp(Operation &op) {
  Operation *copy = b.clone(op, mapping);
  if (tokens == 1 || op.hasTrait<OpTrait::ConstantLike>())
    return;
  auto matrices = llvm::make_filter_range(
      copy->getOperands(), [](Value x) { return isa<RankedTensorType>(x.getType()); });
  if (llvm::none_of(matrices, [&](Value x) { return rowsOf(x) == tokens; }))
    return;
  if (OpTrait::hasElementwiseMappableTraits(copy)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(copy);
    for (OpOperand &operand : copy->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        operand.set(broadcast(b, op.getLoc(), operand.get(), tokens, colsOf(operand.get())));
  }
  for (Value result : copy->getResults())
    if (isa<RankedTensorType>(result.getType()))
      result.setType(widen(result.getType()));
}

void Deriver::storeOut(ValueRange where) {
  auto yield = cast<YieldOp>(layer.getBody().front().getTerminator());
  Type io = cast<RankedTensorType>(input("q").getType()).getElementType();
  StoreOutOp::create(b, loc, mapping.lookup(yield.getOutput()), TypeAttr::get(io), where);
}

/// What of the layer a field of a record keeps.
Value Deriver::recorded(RecordField field) {
  switch (field) {
  case RecordField::D:
    return delta().getD();
  case RecordField::K:
    return delta().getK();
  case RecordField::G:
    return delta().getG();
  case RecordField::RawV:
    return input("v");
  case RecordField::RawK:
    return input("k");
  case RecordField::Beta:
    return delta().getBeta();
  }
  llvm_unreachable("unknown record field");
}

/// The records of the tokens just computed, at `position`.
void Deriver::append(Value position, Value base) {
  SmallVector<Attribute> fields;
  SmallVector<Value> values;
  for (FieldAttr field : kernel.getRingAttr().getFields()) {
    fields.push_back(b.getStringAttr(field.getName()));
    values.push_back(mapping.lookup(recorded(*field.getKnown())));
  }
  AppendOp::create(b, loc, row.getRing(), position, b.getArrayAttr(fields), values,
                   window.empty() ? Value() : window[1], base);
}

namespace {
struct DeriveKernels : replayssm::impl::DeriveKernelsBase<DeriveKernels> {
  using DeriveKernelsBase::DeriveKernelsBase;

  void runOnOperation() override {
    if (failed(verifyLayers(getOperation())))
      return signalPassFailure();
    OpBuilder b(&getContext());
    SymbolTableCollection symbols;
    // What has no layer any more has been derived before.
    getOperation().walk([&](KernelOp kernel) {
      if (!kernel.getOfAttr())
        return;
      if (auto layer = symbols.lookupNearestSymbolFrom<LayerOp>(kernel, kernel.getOfAttr()))
        Deriver(b, kernel, layer).run();
    });
    getOperation().walk([](LayerOp layer) { layer.erase(); });
  }
};

} // namespace
