//===- HoistLoads.cpp - Loads first, one loaded value per address ---------===//
#include "passes/Preconditions.h"

#include "llvm/ADT/MapVector.h"

namespace replayssm {
#define GEN_PASS_DEF_HOISTLOADS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

namespace {

/// Position in the chain of loads; what is needed for addresses comes first.
std::optional<unsigned> loadRank(Operation *op) {
  if (isa<RowOp, WindowOp>(op))
    return 0;
  if (isa<CursorOp, LoadSlotOp, LoadRowOp, LoadParentsOp>(op))
    return 1;
  if (isa<LoadTokenOp>(op))
    return 2;
  if (isa<LoadParamOp>(op))
    return 3;
  if (isa<LoadStateOp, LoadRingOp>(op))
    return 4;
  return std::nullopt;
}

class LoadHoister {
public:
  explicit LoadHoister(KernelOp kernel) : body(&kernel.getBody().front()) {
    std::array<SmallVector<Operation *>, 5> byRank;
    kernel.walk([&](Operation *op) {
      if (std::optional<unsigned> rank = loadRank(op); rank && !isOfIteration(op))
        byRank[*rank].push_back(op);
    });
    for (ArrayRef<Operation *> ops : byRank)
      loads.append(ops.begin(), ops.end());
  }

  LogicalResult run() {
    for (Operation *load : loads)
      if (failed(verifyAddress(load)))
        return failure();
    for (Operation *load : loads)
      if (failed(hoist(load, load)))
        return failure();
    return success();
  }

private:
  /// What a loop loads for one of its tokens stays in it.
  bool isOfIteration(Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || (def->getBlock() != body && (!isPure(def) || def->getNumRegions() || isOfIteration(def)));
    });
  }

  /// Loaded values that `value` depends on, through the addresses of loads too.
  const llvm::SetVector<Value> &loadedValues(Value value) {
    auto [it, isNew] = dependencies.try_emplace(value);
    if (!isNew)
      return it->second;
    llvm::SetVector<Value> result;
    if (Operation *def = value.getDefiningOp()) {
      def->walk([&](Operation *nested) {
        for (Value operand : nested->getOperands()) {
          Operation *source = operand.getDefiningOp();
          if (source && source != def && def->isProperAncestor(source))
            continue;
          result.insert_range(loadedValues(operand));
        }
      });
      if (loadRank(def))
        result.insert(value);
    }
    return dependencies[value] = std::move(result);
  }

  /// The address of a ring load is its slot: `valid` predicates rows, it does
  /// not place them.
  LogicalResult verifyAddress(Operation *load) {
    if (load->getNumOperands() == 0)
      return success();
    llvm::SetVector<Value> values = loadedValues(load->getOperand(0));
    if (values.size() <= 1)
      return success();
    InFlightDiagnostic diag = load->emitOpError()
                              << "expected an address that depends on at most one loaded "
                                 "value but got "
                              << values.size();
    llvm::SmallPtrSet<Operation *, 4> noted;
    for (Value value : values)
      if (noted.insert(value.getDefiningOp()).second)
        diag.attachNote(value.getLoc()) << "loaded here";
    return diag;
  }

  /// Moves `op`, after what it needs, to the end of the loads.
  LogicalResult hoist(Operation *op, Operation *load) {
    if (!moved.insert(op).second)
      return success();
    if (!isPure(op) || op->getNumRegions()) {
      InFlightDiagnostic diag = load->emitOpError("expected operands that can be computed "
                                                  "before the first load");
      diag.attachNote(op->getLoc()) << "'" << op->getName() << "' stays where it is";
      return diag;
    }
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (failed(hoist(def, load)))
          return failure();
    if (last)
      op->moveAfter(last);
    else
      op->moveBefore(body, body->begin());
    last = op;
    return success();
  }

  Block *body;
  SmallVector<Operation *> loads;
  llvm::DenseMap<Value, llvm::SetVector<Value>> dependencies;
  llvm::DenseSet<Operation *> moved;
  Operation *last = nullptr;
};

struct HoistLoads : replayssm::impl::HoistLoadsBase<HoistLoads> {
  using HoistLoadsBase::HoistLoadsBase;

  void runOnOperation() override {
    LogicalResult result = forEachKernel(getOperation(), Prepared::Derived, [](KernelOp kernel) {
      return LoadHoister(kernel).run();
    });
    if (failed(result))
      signalPassFailure();
  }
};

} // namespace
