//===- PlaceQueries.cpp - What is asked of places -------------------------===//
#include "dialects/Tile/TileDialect.h"
#include "passes/tile/Place.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

Place replayssm::placeOf(Value value) {
  Operation *def = value.getDefiningOp();
  auto place = def ? def->getAttrOfType<PlaceAttr>(placeAttr) : PlaceAttr();
  return place ? place.getValue() : Place::Regs;
}

bool replayssm::hasRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 && type.getDimSize(0) > 1;
}

bool replayssm::isColumn(Value value) {
  return hasRows(value) && cast<RankedTensorType>(value.getType()).getDimSize(1) == 1;
}

bool replayssm::isElementwise(Operation &op) {
  return isa<tile::BroadcastOp>(op) || OpTrait::hasElementwiseMappableTraits(&op);
}

bool replayssm::isDefinedBefore(Value value, Operation *op) {
  Operation *def = value.getDefiningOp(), *at = def ? op->getBlock()->findAncestorOpInBlock(*def) : nullptr;
  return !at || (at == def && at->isBeforeInBlock(op));
}

Operation *replayssm::firstUser(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (Operation *at = op->getBlock()->findAncestorOpInBlock(*user); !first || at->isBeforeInBlock(first))
      first = at;
  return first;
}

StageOp replayssm::createStage(OpBuilder &b, Value x, Type type) {
  StageOp staged = StageOp::create(b, x.getLoc(), type, x);
  staged->setAttr(placeAttr, PlaceAttr::get(b.getContext(), Place::Shared));
  return staged;
}

bool replayssm::isElsewhere(Value value) {
  switch (placeOf(value)) {
  case Place::Regs:
  case Place::Spread:
  case Place::Sums:
  case Place::Pairs:
    return false;
  case Place::Shared:
  case Place::Remat:
    return true;
  }
  llvm_unreachable("every place is one of the enum's");
}

bool replayssm::isWindowed(Operation &op) {
  // These belong to windows, also of one token.
  if (auto pairs = dyn_cast<ScoresOp>(op); pairs && pairs.isOfWindow())
    return true;
  if (isa<CumulateOp, TokenDecaysOp, LoadParentsOp, UtSolveOp, ApplyScoresOp>(op))
    return true;
  // These look after their rows themselves.
  if (isa<LoadRingOp, LoadFieldOp, WaitOp, RingWeightsOp, RingReadOp, StageRecordsOp, ReplayOp, FetchOp, ScaleOp, StoreOutOp, AppendOp,
          scf::IfOp, scf::ForOp>(op))
    return false;
  auto several = [](Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    return type && (type.getRank() != 2 || type.getDimSize(0) > 1 || isElsewhere(v));
  };
  return llvm::any_of(op.getOperands(), several) || llvm::any_of(op.getResults(), several);
}
