//===- Split.cpp - Composite ops become what is issued --------------------===//
//
// Reads and folds of records become loads of their fields and what is formed of them.
// What a kernel does for a row stands under its condition: rows without a slot, or
// without tokens where all that is written belongs to one, write zeros. In front of
// the branch stand the loads that need no slot. Exponentials of gates are ops, each
// formed once for all that decays by it.
//
//===----------------------------------------------------------------------===//
#include "passes/Preconditions.h"
#include "passes/tile/Place.h"

#include "replayssm/KernelABI.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace replayssm {
#define GEN_PASS_DEF_SPLIT
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

/// wp and whether the ring is full, or is to be folded whatever it holds.
static void splitCursor(CursorOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
  int64_t most = op.getLength() - 1;
  Value wp = LoadSlotOp::create(b, "wp", op.getRing(), b.getI64IntegerAttr(most));
  op.getWp().replaceAllUsesWith(wp);
  if (!op.getFlush().use_empty()) {
    Value forced = LoadRowOp::create(b, "force_flush", Value());
    Value isForced = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, forced, constant(0));
    Value isFull = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, wp, constant(most));
    op.getFlush().replaceAllUsesWith(arith::OrIOp::create(b, isFull, isForced));
  }
  op.erase();
}

/// Among the users of `value` one that is wanted and there where `point` stands.
template <typename Op>
static Op userBefore(Value value, Operation *point, function_ref<bool(Op)> isWanted = [](Op) { return true; }) {
  DominanceInfo dominance;
  for (Operation *user : value.getUsers())
    if (auto op = dyn_cast<Op>(user); op && isWanted(op) && dominance.properlyDominates(user, point))
      return op;
  return nullptr;
}

/// A state decays where it is first needed, by an exponential of its own.
static void splitDecay(DecayOp op) {
  if (Operation *user = firstUser(op)) {
    OpBuilder b(user);
    auto factor = userBefore<math::ExpOp>(op.getG(), user);
    if (!factor)
      factor = math::ExpOp::create(b, op.getLoc(), op.getG());
    op.getResult().replaceAllUsesWith(ScaleOp::create(b, op.getLoc(), op.getState(), factor));
  }
  op.erase();
}

/// Decays between tokens stand beside the sums of their gates, in front of all scores.
static Value decaysFor(ScoresOp op) {
  Value gates = op.getG();
  if (auto known = userBefore<TokenDecaysOp>(gates, op))
    return known;
  OpBuilder b(op);
  Location loc = op.getLoc();
  if (auto sums = userBefore<CumulateOp>(gates, op); sums && !sums.getParents()) {
    b.setInsertionPointAfter(sums);
    loc = sums.getLoc();
  }
  auto type = cast<RankedTensorType>(gates.getType());
  int64_t tokens = type.getDimSize(0);
  type = type.clone(ArrayRef<int64_t>{TokenDecaysOp::levels(tokens) * tokens, type.getDimSize(1)});
  return TokenDecaysOp::create(b, loc, type, gates);
}

static void splitScores(ScoresOp op) {
  if (!isWhole(op))
    return;
  if (op.getY().getType().getDimSize(0) > 1) // One token has none that decays to it.
    op.getDecaysMutable().assign(decaysFor(op));
  op.getGMutable().clear();
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// Tensor cores take operands of 16 bits as they are.
static void useRawOperands(KernelOp kernel) {
  kernel.walk([](Operation *op) {
    if (isa<ReadOp, RingReadOp, ScoresOp>(op) && !isInLoop(op))
      for (OpOperand &use : op->getOpOperands())
        if (auto wider = use.get().getDefiningOp<arith::ExtFOp>())
          use.set(wider.getIn());
  });
}

namespace {
/// Loads of fields, and what is formed of them, of the records of one ring.
class RecordSplitter {
public:
  explicit RecordSplitter(LoadRingOp ring) : ring(ring), b(ring.getLoc(), ring) {}

  void run() {
    // Reads first: a fold takes what they have.
    for (RingWeightsOp weights : users<RingWeightsOp>())
      if (!weights.getG())
        weights.getGMutable().assign(field(RecordField::G, weights));
    for (RingReadOp read : users<RingReadOp>()) {
      if (read.getK())
        continue;
      b.setLoc(read.getLoc());
      read.getDMutable().assign(field(RecordField::D, read));
      read.getKMutable().assign(field(RecordField::K, read));
    }
    for (ReplayOp fold : users<ReplayOp>())
      if (!fold.getTot())
        splitFold(fold);
  }

private:
  template <typename Op> SmallVector<Op> users() {
    SmallVector<Op> ops;
    for (Operation *user : ring->getUsers())
      if (auto op = dyn_cast<Op>(user))
        ops.push_back(op);
    return ops;
  }

  /// Beside the ring, or where another block needs it.
  Value field(RecordField which, Operation *user) {
    StringRef name = stringifyRecordField(which);
    if (auto load = userBefore<LoadFieldOp>(ring.getRecords(), user, [&](LoadFieldOp op) { return op.getName() == name; }))
      return load.getValue();
    if (user->getBlock() == ring->getBlock())
      b.setInsertionPointAfter(last);
    else
      b.setInsertionPoint(user);
    RecordsType records = ring.getRecords().getType();
    ShapeAttr shape = ring->getParentOfType<KernelOp>().getShapeAttr();
    int64_t width = records.getFieldWidth(name, shape.getK(), shape.getV());
    auto type = RankedTensorType::get({records.getRing().getLength(), width}, b.getF32Type());
    auto load = LoadFieldOp::create(b, type, b.getStringAttr(name), ring.getRecords());
    if (load->getBlock() == ring->getBlock())
      last = load;
    return load.getValue();
  }

  RingWeightsOp weights(Operation *user) {
    if (auto op = userBefore<RingWeightsOp>(ring.getRecords(), user, [](RingWeightsOp op) { return op.getG() != nullptr; }))
      return op;
    for (RingWeightsOp op : users<RingWeightsOp>())
      if (op->getBlock() == user->getBlock() && DominanceInfo().properlyDominates(op.getG(), user)) { // it waits for nothing else
        op->moveBefore(user);
        return op;
      }
    Value g = field(RecordField::G, user);
    b.setInsertionPoint(user);
    auto type = cast<RankedTensorType>(g.getType());
    RankedTensorType tot = type.clone(ArrayRef<int64_t>{1, type.getDimSize(1)});
    return RingWeightsOp::create(b, type, tot, ring.getRecords(), g);
  }

  void splitFold(ReplayOp fold) {
    b.setLoc(fold.getLoc());
    RingWeightsOp formed = weights(fold);
    Value d = field(RecordField::D, fold), k = field(RecordField::K, fold);
    b.setInsertionPoint(fold);
    Value staged = StageRecordsOp::create(b, ring.getRecords().getType(), ring.getRecords(), formed.getW(), k, d);
    fold.getRecordsMutable().assign(staged);
    fold.getTotMutable().assign(formed.getTot());
  }

  LoadRingOp ring;
  Operation *last = ring; ///< Of the loads beside the ring.
  ImplicitLocOpBuilder b;
};

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

class RowGuard {
public:
  explicit RowGuard(KernelOp kernel) : kernel(kernel), body(kernel.getBody().front()), b(kernel.getLoc(), kernel) {}

  void run() {
    if (&rowBlock(kernel) != &body) // it has been split before
      return;
    RowOp row = rowOf();
    if (!row)
      return;
    llvm::SetVector<Operation *> inFront = loadsInFront();
    SmallVector<Operation *> rest;
    for (Operation &op : body)
      if (!inFront.contains(&op))
        rest.push_back(&op);
    for (Operation *op : inFront)
      op->moveBefore(&body, body.end());
    b.setInsertionPointToEnd(&body);
    auto branch = scf::IfOp::create(b, condition(row), /*withElseRegion=*/true);
    branch->setAttr(rowAttr, b.getUnitAttr());
    SmallVector<Operation *> stores = storesOfNull();
    for (Operation *op : rest)
      op->moveBefore(branch.thenBlock()->getTerminator());
    b.setInsertionPointToStart(branch.elseBlock());
    for (Operation *op : stores)
      storeNull(op);
  }

private:
  /// What is written for a row asks whether it is null, also where nothing else does.
  RowOp rowOf() {
    for (auto row : body.getOps<RowOp>())
      return row;
    b.setInsertionPointToStart(&body);
    return !storesOfNull().empty() ? RowOp::create(b, b.getIndexType(), b.getIndexType(), b.getI1Type()) : RowOp();
  }

  /// Of these each one needs others of them at most.
  llvm::SetVector<Operation *> loadsInFront() {
    llvm::SetVector<Operation *> ops;
    for (Operation &op : body)
      if (isa<RowOp, WindowOp>(op))
        ops.insert(&op);
    for (Operation &op : body) {
      bool isReady = llvm::all_of(op.getOperands(), [&](Value operand) {
        return ops.contains(operand.getDefiningOp());
      });
      if (isReady && isa<LoadTokenOp, LoadParamOp, LoadRowOp, LoadParentsOp>(op))
        ops.insert(&op);
    }
    return ops;
  }

  Value condition(RowOp row) {
    bool storesState = kernel.getBody().walk([](StoreStateOp) { return WalkResult::interrupt(); }).wasInterrupted();
    Value live = row.getLive();
    for (auto out : body.getOps<StoreOutOp>())
      if (!out.getWindow().empty() && !storesState) {
        Value isSome = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, out.getWindow()[1],
                                             arith::ConstantIndexOp::create(b, 0));
        live = arith::AndIOp::create(b, live, isSome);
      }
    return live;
  }

  SmallVector<Operation *> storesOfNull() {
    SmallVector<Operation *> stores;
    kernel.getBody().walk([&](StoreOutOp op) { stores.push_back(op); });
    kernel.getBody().walk([&](StoreRowOp op) { stores.push_back(op); });
    return stores;
  }

  void storeNull(Operation *op) {
    b.setLoc(op->getLoc());
    if (auto row = dyn_cast<StoreRowOp>(op)) {
      int32_t none = findKernelBuffer(row.getName())->ofNull;
      StoreRowOp::create(b, row.getName(), arith::ConstantIndexOp::create(b, none));
      return;
    }
    // Of all tokens of the row, however many the op writes at a time.
    auto out = cast<StoreOutOp>(op);
    SmallVector<Value, 2> window;
    for (auto ofRow : body.getOps<WindowOp>())
      window.assign({ofRow.getFirst(), ofRow.getLength()});
    auto type = cast<RankedTensorType>(out.getValue().getType());
    if (!window.empty())
      type = type.clone(ArrayRef<int64_t>{kernel.tokens(), type.getDimSize(1)});
    Value zeros = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
    StoreOutOp::create(b, zeros, out.getIo(), window);
  }

  KernelOp kernel;
  Block &body;
  ImplicitLocOpBuilder b;
};

struct Split : replayssm::impl::SplitBase<Split> {
  using SplitBase::SplitBase;
  void runOnOperation() override {
    LogicalResult result = forEachKernel(getOperation(), Prepared::Scheduled, [](KernelOp kernel) {
      forEachOp<CursorOp>(kernel, splitCursor);
      forEachOp<DecayOp>(kernel, splitDecay);
      forEachOp<ScoresOp>(kernel, splitScores);
      kernel.walk([](LoadRingOp op) { RecordSplitter(op).run(); });
      if (kernel.getMmaAttr())
        useRawOperands(kernel);
      RowGuard(kernel).run();
      return success();
    });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
