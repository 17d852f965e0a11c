//===- PlaceStates.cpp - Where states and records are formed --------------===//
//
// An update of a state is formed in front of the first op that needs it, in each
// branch that does. A checkpoint is on its way from where it is loaded, if what needs
// it surely runs; it is loaded again in a loop, whose registers another state has. The
// records of a fold are staged by a read that has them at hand.
//
//===----------------------------------------------------------------------===//
#include "passes/Preconditions.h"
#include "passes/tile/Place.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

/// Whether `user` can run behind `store`: below it, or in the next iteration of a loop
/// around both, which is not around `load`.
static bool canFollow(Operation *user, Operation *store, Operation *load) {
  bool isBehind = false;
  for (Operation *at = store; at->getBlock(); at = at->getParentOp())
    if (Operation *other = at->getBlock()->findAncestorOpInBlock(*user)) {
      isBehind = at != other && at->isBeforeInBlock(other);
      break;
    }
  for (Operation *loop = store->getParentOp(); loop && !isBehind; loop = loop->getParentOp())
    isBehind = isa<scf::ForOp>(loop) && loop->isProperAncestor(user) && !loop->isProperAncestor(load);
  return isBehind;
}

/// A store to the buffer that `load` reads for which `holds`.
static bool anyStore(LoadStateOp load, function_ref<bool(StoreStateOp)> holds) {
  return load->getParentOfType<KernelOp>()
      .walk([&](StoreStateOp store) {
        bool isSame = !store.getAt() == !load.getAt() && holds(store);
        return isSame ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the slot is written over before the last user has what it held.
static bool isOverwritten(LoadStateOp load) {
  return anyStore(load, [&](StoreStateOp store) {
    return store.getSlot() == load.getSlot() &&
           llvm::any_of(load->getUsers(), [&](Operation *user) { return canFollow(user, store, load); });
  });
}

/// Formed of operands at each place alike: what has no use in its own block goes to those that have.
static bool isMovable(Operation *op) {
  return isa<LoadStateOp, LoadFieldOp, RingWeightsOp, StageRecordsOp, ReplayOp, ScaleOp, Rank1Op>(op);
}

/// Takes registers from where it is formed.
static bool isUpdate(Operation *op) { return isa<StageRecordsOp, ReplayOp, ScaleOp, Rank1Op>(op); }

/// Where the users of `op` stand: in front of the first one, or a copy in each region below.
static void bring(Operation *op, bool isCopy) {
  if (op->use_empty())
    return;
  Block *block = op->getBlock();
  bool isUsedHere = llvm::any_of(op->getUsers(), [&](Operation *user) { return user->getBlock() == block; });
  if (auto load = dyn_cast<LoadStateOp>(op); load && !isUsedHere && isOverwritten(load))
    isUsedHere = true;
  if (isUsedHere) {
    // Loads are on their way before anything waits for one.
    if (isUpdate(op) || (isCopy && !isa<LoadStateOp, LoadFieldOp>(op)))
      op->moveBefore(firstUser(op));
    return;
  }
  while (!op->use_empty()) {
    // The outermost region below this block with the use.
    Region *region = op->use_begin()->getOwner()->getParentRegion();
    while (region->getParentOp()->getBlock() != block)
      region = region->getParentOp()->getParentRegion();
    OpBuilder b = OpBuilder::atBlockBegin(&region->front());
    Operation *copy = b.clone(*op);
    if (isa<LoadStateOp>(op)) // A copy in bulk would be waited for at once.
      copy->setAttr(placeAttr, PlaceAttr::get(op->getContext(), Place::Regs));
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) { return region->isAncestor(use.getOwner()->getParentRegion()); });
    bring(copy, /*isCopy=*/true);
  }
  op->erase();
}

/// Nor does it stay in registers through a loop, if memory holds it as long as the kernel runs.
static void reloadInLoops(LoadStateOp load) {
  if (load->use_empty() || placeOf(load.getState()) == Place::Shared || anyStore(load, [](StoreStateOp) { return true; }))
    return;
  auto loop = load->getParentOfType<scf::ForOp>();
  for (OpOperand &use : llvm::make_early_inc_range(load.getState().getUses())) {
    if (use.getOwner()->getParentOfType<scf::ForOp>() == loop)
      continue;
    OpBuilder b(use.getOwner());
    auto again = cast<LoadStateOp>(b.clone(*load));
    use.set(again.getState());
  }
  if (load->use_empty())
    load.erase();
}

/// By the read of the same records that stands in front of the fold, where it is known by then
/// whether they will be folded.
static void stageInRead(StageRecordsOp op) {
  Block *block = op->getBlock();
  auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
  for (Operation *user : op.getRecords().getUsers()) {
    auto read = dyn_cast<RingReadOp>(user);
    if (!read || read.getStaged() || read.getK() != op.getK() || read.getD() != op.getD() || read.getW() != op.getW())
      continue;
    Value when;
    if (read->getBlock() != block || !read->isBeforeInBlock(op)) {
      bool isBranch = branch && branch->getBlock() == read->getBlock() && read->isBeforeInBlock(branch) &&
                      block == branch.thenBlock() && isDefinedBefore(branch.getCondition(), read);
      if (!isBranch)
        continue;
      when = branch.getCondition();
    }
    OpBuilder b(read);
    SmallVector<Type> types(read.getYs().getTypes());
    types.push_back(op.getStaged().getType());
    auto staging = RingReadOp::create(b, read.getLoc(), types, read.getRecords(), read.getW(), read.getXs(), read.getK(),
                                      read.getD(), when);
    staging->setDiscardableAttrs(read->getDiscardableAttrDictionary());
    read->replaceAllUsesWith(staging.getYs());
    read.erase();
    op.getStaged().replaceAllUsesWith(staging.getStaged());
    op.erase();
    return;
  }
}

void replayssm::placeStates(KernelOp kernel) {
  SmallVector<Operation *> movable;
  kernel.getBody().walk([&](Operation *op) {
    if (isMovable(op))
      movable.push_back(op);
  });
  for (Operation *op : llvm::reverse(movable)) // users first
    bring(op, /*isCopy=*/false);
  forEachOp<StageRecordsOp>(kernel, stageInRead);
}

/// Behind the copies of states and of keys.
static void waitFor(Operation *copy) {
  Value value = copy->getResult(0);
  if (value.use_empty() || llvm::any_of(copy->getUsers(), llvm::IsaPred<WaitOp>))
    return;
  OpBuilder b(firstUser(copy));
  auto wait = WaitOp::create(b, copy->getLoc(), value);
  value.replaceAllUsesExcept(wait.getY(), wait);
}

void replayssm::placeCopies(KernelOp kernel) {
  forEachOp<LoadStateOp>(kernel, reloadInLoops);
  SmallVector<Operation *> copies;
  kernel.getBody().walk([&](Operation *op) {
    if (isa<LoadStateOp, LoadFieldOp>(op) && placeOf(op->getResult(0)) == Place::Shared)
      copies.push_back(op);
  });
  llvm::for_each(copies, waitFor);
}

Place replayssm::placeOfLoad(Operation &op, bool bulk) {
  // A copy has an mbarrier of its own and is waited for once: not in a loop.
  if (!bulk || isInLoop(&op))
    return Place::Regs;
  if (auto load = dyn_cast<LoadStateOp>(op))
    return load.getAt() ? Place::Regs : Place::Shared;
  auto load = cast<LoadFieldOp>(op);
  auto ring = load.getRecords().getDefiningOp<LoadRingOp>();
  // By one copy: records that lie from the first position on. For tensor cores each warp has its
  // channels of all of them.
  bool isOneCopy = ring && !op.getParentOfType<KernelOp>().getMmaAttr() && !ring.getBase() && !ring.getMask() && load.getName() == stringifyRecordField(RecordField::K);
  return isOneCopy ? Place::Shared : Place::Regs;
}
