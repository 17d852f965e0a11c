//===- DeriveKernels.cpp - Kernel requests are filled from their layer ----===//
#include "passes/derive/Values.h"

#include "mlir/IR/IRMapping.h"

namespace replayssm {
#define GEN_PASS_DEF_DERIVEKERNELS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::derive;
using namespace replayssm::replay;

namespace {

class KernelDeriver {
public:
  KernelDeriver(OpBuilder &b, KernelOp kernel, LayerOp layer)
      : b(b), kernel(kernel), layer(layer), loc(kernel.getLoc()),
        tokens(static_cast<int64_t>(kernel.getWindow().value_or(1))) {}

  void run() {
    kernel.setShapeAttr(layer.getShapeAttr());
    kernel.setNullAttr(layer.getNullAttr());
    Region &body = kernel.getBody();
    b.setInsertionPointToStart(body.empty() ? &body.emplaceBlock() : &body.front());
    Type index = b.getIndexType();
    row = RowOp::create(b, loc, index, index, b.getI1Type());
    Kind kind = *kernel.getKind();
    if (kernel.getWindow())
      llvm::append_range(window, WindowOp::create(b, loc, index, index)->getResults());
    // A ring of one record is always folded at once: nothing is ever read back.
    bool ringLess = kind == Kind::Packed ||
                    (kind == Kind::Replay && kernel.getRingAttr().getLength() == 1);
    if (kind == Kind::Cursors)
      return window.empty() ? advanceCursor() : commitWindow();
    if (kind == Kind::Fold)
      return fold();
    if (ringLess)
      return step();
    replay();
  }

private:
  CursorOp loadCursor() {
    return CursorOp::create(b, loc, b.getIndexType(), b.getI1Type(), row.getRing(),
                            b.getI64IntegerAttr(kernel.getRingAttr().getLength()));
  }

  Value loadState() {
    Type type = layer.getBody().front().getArgument(0).getType();
    return LoadStateOp::create(b, loc, type, row.getSlot());
  }

  /// wp <- flush ? 0 : wp + 1
  void advanceCursor() {
    CursorOp cursor = loadCursor();
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value next = arith::AddIOp::create(b, loc, cursor.getWp(), one);
    Value value = arith::SelectOp::create(b, loc, cursor.getFlush(), zero, next);
    SetCursorOp::create(b, loc, row.getRing(), value);
  }

  /// wp <- wp + n, unless the next window might not fit behind that: then the
  /// ring is to be folded and starts again.
  void commitWindow() {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    auto loadRow = [&](StringRef name) -> Value { return LoadRowOp::create(b, loc, name); };
    Value zero = constant(0), accepted = loadRow("accept_len");
    accepted = arith::MaxSIOp::create(b, loc, accepted, zero);
    accepted = arith::MinSIOp::create(b, loc, accepted, window[1]);
    Value total = arith::AddIOp::create(b, loc, loadCursor().getWp(), accepted);
    // total + window > L
    Value room = constant(kernel.getRingAttr().getLength() - tokens);
    Value full = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, total, room);
    Value forced = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, loadRow("force_flush"), zero);
    Value folds = arith::OrIOp::create(b, loc, full, forced);
    Value next = arith::SelectOp::create(b, loc, folds, zero, total);
    Value length = arith::SelectOp::create(b, loc, folds, total, zero);
    SetCursorOp::create(b, loc, row.getRing(), next);
    StoreRowOp::create(b, loc, "fold_len", length);
  }

  /// The committed records go into the checkpoint.
  void fold() {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value most = arith::ConstantIndexOp::create(b, loc, kernel.getRingAttr().getLength());
    Value length = LoadRowOp::create(b, loc, "fold_len");
    length = arith::MinSIOp::create(b, loc, length, most);
    Value state = replayed(length);
    Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, length, zero);
    auto branch = scf::IfOp::create(b, loc, any, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    StoreStateOp::create(b, loc, state, row.getSlot());
  }

  /// Checkpoint + the first `valid` records.
  Value replayed(Value valid) {
    Value checkpoint = loadState();
    Value records = LoadRingOp::create(b, loc, RecordsType::get(b.getContext(), kernel.getRingAttr()),
                                       row.getRing(), valid);
    return ReplayOp::create(b, loc, checkpoint.getType(), checkpoint, records);
  }

  /// Load, one step, store.
  void step() {
    cloneBody(loadState());
    storeOut();
    StoreStateOp::create(b, loc, mapping.lookup(yield().getState()), row.getSlot());
  }

  /// The state is checkpoint + ring; the store becomes an append, with a flush
  /// branch where the row is not a window (those are folded by a kernel of their own).
  void replay() {
    CursorOp cursor = loadCursor();
    cloneBody(replayed(cursor.getWp()));
    storeOut();
    if (window.empty()) {
      auto branch = scf::IfOp::create(b, loc, cursor.getFlush(), /*withElseRegion=*/true);
      b.setInsertionPointToStart(branch.thenBlock());
      StoreStateOp::create(b, loc, mapping.lookup(yield().getState()), row.getSlot());
      b.setInsertionPointToStart(branch.elseBlock());
    }
    auto delta = *layer.getBody().front().getOps<DeltaOp>().begin();
    SmallVector<Attribute> fields;
    SmallVector<Value> values;
    for (FieldAttr field : kernel.getRingAttr().getFields()) {
      fields.push_back(b.getStringAttr(field.getName()));
      Value value = field.getName() == "d" ? delta.getD()
                    : field.getName() == "k" ? delta.getK() : delta.getG();
      values.push_back(mapping.lookup(value));
    }
    AppendOp::create(b, loc, row.getRing(), cursor.getWp(), b.getArrayAttr(fields), values,
                     window.empty() ? Value() : window[1]);
  }

  YieldOp yield() { return cast<YieldOp>(layer.getBody().front().getTerminator()); }

  void storeOut() {
    Block &block = layer.getBody().front();
    Type io = cast<RankedTensorType>(block.getArgument(1).getType()).getElementType();
    StoreOutOp::create(b, loc, mapping.lookup(yield().getOutput()), TypeAttr::get(io), window);
  }

  /// `type` with a row for every token.
  RankedTensorType widen(Type type) {
    auto matrix = cast<RankedTensorType>(type);
    return RankedTensorType::get({tokens, matrix.getDimSize(1)}, matrix.getElementType());
  }

  void cloneBody(Value state) {
    Block &block = layer.getBody().front();
    mapping.map(block.getArgument(0), state);
    for (auto [index, name] : llvm::enumerate(ArrayRef<StringRef>{"q", "k", "v", "a", "b"})) {
      Value arg = block.getArgument(index + 1);
      mapping.map(arg, LoadTokenOp::create(b, loc, widen(arg.getType()), b.getStringAttr(name), window));
    }
    for (auto [index, name] : llvm::enumerate(ArrayRef<StringRef>{"A_log", "dt_bias"})) {
      Value arg = block.getArgument(index + 6);
      mapping.map(arg, LoadParamOp::create(b, loc, arg.getType(), b.getStringAttr(name)));
    }
    for (Operation &op : block.without_terminator())
      cloneOp(op);
  }

  /// Every op of a layer works row by row: results get the rows of its tokens.
  void cloneOp(Operation &op) {
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

  OpBuilder &b;
  KernelOp kernel;
  LayerOp layer;
  Location loc;
  int64_t tokens;
  RowOp row;
  SmallVector<Value, 2> window; ///< First token and length, where rows are ragged.
  IRMapping mapping;
};

struct DeriveKernels : replayssm::impl::DeriveKernelsBase<DeriveKernels> {
  using DeriveKernelsBase::DeriveKernelsBase;

  void runOnOperation() override {
    OpBuilder b(&getContext());
    SymbolTableCollection symbols;
    SmallVector<std::pair<KernelOp, LayerOp>> requests;
    WalkResult result = getOperation().walk([&](KernelOp kernel) {
      if (!kernel.getOfAttr())
        return WalkResult::advance();
      auto layer = symbols.lookupNearestSymbolFrom<LayerOp>(kernel, kernel.getOfAttr());
      bool filled = !kernel.getBody().empty() && !kernel.getBody().front().empty();
      if (!layer && filled)
        return WalkResult::advance();
      if (!layer) {
        kernel.emitOpError() << "expected 'of' to name a replay.layer but got "
                             << kernel.getOfAttr();
        return WalkResult::interrupt();
      }
      requests.emplace_back(kernel, layer);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (auto [kernel, layer] : requests)
      KernelDeriver(b, kernel, layer).run();
    getOperation().walk([](LayerOp layer) { layer.erase(); });
  }
};

} // namespace
