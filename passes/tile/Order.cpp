//===- Order.cpp - The order of issue -------------------------------------===//
//
// The ops of a block are sorted by what they wait for: loads are on their way before
// anything waits for one, what depends on tokens alone is done before the state is
// there, and its barriers are those of the reads. The order within a phase is kept.
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/TileDialect.h"
#include "passes/Preconditions.h"
#include "passes/tile/Place.h"

#include "llvm/ADT/MapVector.h"

namespace replayssm {
#define GEN_PASS_DEF_ORDER
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

/// The first phase in which an op can stand, whatever its operands are.
static Phase earliest(Operation &op) {
  if (isa<ScaleOp>(op)) // Virtual: it stays behind what else its factor is for.
    return Phase::Reads;
  bool isNumber = isPure(&op) && op.getNumRegions() == 0 &&
                  llvm::none_of(op.getResultTypes(), llvm::IsaPred<ShapedType>);
  if (isNumber || op.hasTrait<OpTrait::ConstantLike>() || isa<LoadTokenOp, LoadParamOp, LoadParentsOp, LoadFieldOp, ExpectOp>(op))
    return Phase::Loads;
  // All of them before any is gathered by threads that need the others' part.
  if (isa<GateOp, CumulateOp, TokenDecaysOp, RingWeightsOp, math::ExpOp>(op) &&
      cast<ShapedType>(op.getResult(0).getType()).getDimSize(1) > 1)
    return Phase::Gates;
  if (isa<ScoresOp>(op))
    return Phase::Pairs;
  if (isa<RingReadOp, ReadOp>(op))
    return Phase::Reads;
  return isPure(&op) ? Phase::Tokens : Phase::Writes;
}

/// The phase of each op of a block but its terminator.
static llvm::MapVector<Operation *, Phase> phasesOf(Block &block) {
  llvm::MapVector<Operation *, Phase> phaseOf;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    Phase phase = earliest(op);
    // Nested ops too: a branch stands behind what it uses.
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (auto known = phaseOf.find(operand.getDefiningOp()); known != phaseOf.end())
          phase = std::max(phase, known->second);
    });
    phaseOf[&op] = phase;
  }
  return phaseOf;
}

/// Sorts `block` up to its terminator, with a marker where each phase begins.
static void order(Block &block) {
  std::array<SmallVector<Operation *>, getMaxEnumValForPhase() + 1> phases;
  for (auto [op, phase] : phasesOf(block))
    phases[static_cast<unsigned>(phase)].push_back(op);
  Block::iterator end = block.mightHaveTerminator() ? block.getTerminator()->getIterator() : block.end();
  OpBuilder b(&block, end);
  for (auto [number, ops] : llvm::enumerate(phases)) {
    PhaseOp::create(b, block.getParentOp()->getLoc(), static_cast<Phase>(number));
    for (Operation *op : ops)
      op->moveBefore(&block, end);
  }
  // A repetition stands where it is used: the number that it repeats need not be held.
  for (tile::BroadcastOp repeat : llvm::to_vector(block.getOps<tile::BroadcastOp>()))
    if (Operation *user = firstUser(repeat))
      repeat->moveBefore(user);
}

namespace {
struct Order : replayssm::impl::OrderBase<Order> {
  using OrderBase::OrderBase;
  void runOnOperation() override {
    LogicalResult result = forEachKernel(getOperation(), Prepared::Split, [](KernelOp kernel) {
      forEachOp<PhaseOp>(kernel, [](PhaseOp marker) { marker.erase(); });
      order(rowBlock(kernel));
      return success();
    });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
