//===- PlaceGates.cpp - Where gates along K are ---------------------------===//
//
// Each element of a gate is computed by one thread, up to the exponentials of it and
// of its sums. All threads need those, and find them in shared memory. Staging all of
// them before the first is fetched costs one barrier.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/PlaceGates.h"

#include "dialects/Tile/TileDialect.h"
#include "passes/Preconditions.h"
#include "passes/tile/Place.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

static bool isAlongK(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 && type.getDimSize(1) > 1;
}

static bool isSpread(Value value) { return isAlongK(value) && placeOf(value) == Place::Spread; }

/// What gates along K are computed from, or kept in.
static bool isInputOfGates(Operation &op) {
  if (auto token = dyn_cast<LoadTokenOp>(op))
    return token.getInput() == TokenInput::A;
  auto record = dyn_cast<LoadRecordOp>(op);
  return isa<LoadParamOp>(op) || (record && symbolizeRecordField(record.getName()) == RecordField::G);
}

bool replayssm::isOfGates(Operation &op) {
  if (op.getNumResults() == 0 || !isAlongK(op.getResult(0)))
    return false;
  if (isInputOfGates(op) || isa<GateOp, RingWeightsOp>(op))
    return true;
  return isa<CumulateOp, TokenDecaysOp, math::ExpOp>(op) && isSpread(op.getOperand(0));
}

/// What of the results all threads need; null where each has its own part.
static Value gathered(Operation &op) {
  if (auto weights = dyn_cast<RingWeightsOp>(op))
    return weights.getTot();
  return isa<math::ExpOp, TokenDecaysOp>(op) ? op.getResult(0) : Value();
}

/// Whether `use` finds the rows of its token in shared memory each time: those of a
/// window are too many to keep, and so is what each of them takes.
static bool isOfEachToken(OpOperand &use) {
  Operation *user = use.getOwner();
  if (hasRows(use.get()))
    return true;
  return isa<tile::BroadcastOp>(user) && hasRows(user->getResult(0)) && !isInLoop(user);
}

static StageOp stageBehind(OpBuilder &b, Value x) {
  b.setInsertionPointAfterValue(x);
  return createStage(b, x, x.getType());
}

/// One fetch for the uses of a block: in a branch a load is cheaper than registers up
/// to there. A state that is not formed yet finds its factor where it is.
static void fetchFor(OpBuilder &b, ArrayRef<OpOperand *> uses, StageOp staged) {
  Operation *first = nullptr;
  for (OpOperand *use : uses)
    if (Operation *user = use->getOwner(); !isa<ScaleOp>(user) && (!first || user->isBeforeInBlock(first)))
      first = user;
  Value fetched;
  if (first) {
    b.setInsertionPoint(first);
    fetched = FetchOp::create(b, staged.getLoc(), staged.getY());
  }
  for (OpOperand *use : uses)
    use->set(fetched && !use->getOwner()->isBeforeInBlock(fetched.getDefiningOp()) ? fetched : staged.getY());
}

static void gather(OpBuilder &b, Value value) {
  SmallVector<OpOperand *> all;
  llvm::MapVector<Block *, SmallVector<OpOperand *>> perBlock;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    bool isOwnPart = user->getNumResults() && isOfGates(*user);
    if (isa<StageOp>(user) || isOwnPart)
      continue;
    all.push_back(&use);
    if (!isOfEachToken(use))
      perBlock[user->getBlock()].push_back(&use);
  }
  if (all.empty())
    return;
  StageOp staged = stageBehind(b, value);
  for (OpOperand *use : all)
    use->set(staged.getY());
  for (auto &[block, uses] : perBlock)
    fetchFor(b, uses, staged);
}

void replayssm::stageGatesOfScores(KernelOp kernel) {
  OpBuilder b(kernel.getContext());
  llvm::MapVector<Value, StageOp> stages;
  kernel.getBody().walk([&](ScoresOp op) {
    Value gates = stagedGates(op);
    if (!gates || gates.getDefiningOp<StageOp>())
      return;
    StageOp &staged = stages[gates];
    if (!staged)
      staged = stageBehind(b, gates);
    MutableOperandRange operand = op.getG() ? op.getGMutable() : op.getDecaysMutable();
    operand.assign(staged.getY());
  });
}

void replayssm::placeGates(KernelOp kernel, bool spreads) {
  OpBuilder b(kernel.getContext());
  SmallVector<Value> values;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isOfGates(*op))
      return;
    if (!op->hasAttr(placeAttr) && (spreads || isa<RingWeightsOp>(op)))
      op->setAttr(placeAttr, PlaceAttr::get(b.getContext(), Place::Spread));
    if (Value value = gathered(*op); value && isSpread(value))
      values.push_back(value);
  });
  for (Value value : values)
    gather(b, value);
}
