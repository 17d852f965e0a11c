//===- Place.cpp - Where the rows of a window are -------------------------===//
//
// A thread has too few registers for all that the tokens of a window bring. Tokens
// along K lie in shared memory; so do scores of pairs, and what a loop over tokens
// reads. What is computed of them elementwise is rematerialised at each use. One
// number for each token is computed by one thread each, and staged for all others;
// so are gates along K (PlaceGates.cpp).
//
//===----------------------------------------------------------------------===//
#include "passes/tile/Place.h"

#include "dialects/Tile/TileDialect.h"
#include "passes/Pipelines.h"
#include "passes/Preconditions.h"
#include "passes/tile/LowerToTileLayouts.h"
#include "passes/tile/PlaceGates.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace replayssm {
#define GEN_PASS_DEF_PLACE
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

/// A token along K: its rows are spread over the block, and go to shared memory at once.
static bool isTokenAlongK(Operation &op) {
  auto token = dyn_cast<LoadTokenOp>(op);
  if (!token || !hasRows(token.getValue()))
    return false;
  switch (token.getInput()) {
  case TokenInput::Q:
  case TokenInput::K:
    return true;
  case TokenInput::V:
  case TokenInput::A:
  case TokenInput::B:
    return false;
  }
  llvm_unreachable("every input is one of the enum's");
}

namespace {
class Placer {
public:
  Placer(KernelOp kernel, bool spreadsColumns, bool spreadsGates)
      : kernel(kernel), dims(lower::Dims::of(kernel)), spreadsColumns(spreadsColumns), spreadsGates(spreadsGates),
        b(kernel.getContext()) {}

  LogicalResult run() {
    placeStates(kernel);
    stageTokens();
    placeGates(kernel, spreadsGates);
    WalkResult walk = kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { return WalkResult(place(*op)); });
    if (walk.wasInterrupted())
      return failure();
    placeCopies(kernel);
    stageAll(Place::Sums);
    stageAll(Place::Pairs);
    stageColumns();
    stageGatesOfScores(kernel);
    stageOperands();
    return success();
  }

private:
  /// Each number by one thread: what only depends on such numbers, and norms of tokens.
  bool isOfColumns(Operation &op) {
    // Shared memory has no bits.
    if (isInLoop(&op) || op.getNumResults() != 1 || !isColumn(op.getResult(0)) ||
        !isa<FloatType>(getElementTypeOrSelf(op.getResult(0))))
      return false;
    if (isa<LoadTokenOp>(op))
      return true;
    if (auto norm = dyn_cast<RnormOp>(op)) {
      auto staged = norm.getX().getDefiningOp<StageOp>();
      auto token = staged ? staged.getX().getDefiningOp<LoadTokenOp>() : LoadTokenOp();
      return token && isTokenAlongK(*token);
    }
    auto isSpread = [](Value v) { return placeOf(v) == Place::Spread; };
    if (auto sums = dyn_cast<CumulateOp>(op))
      return !sums.getParents() && isSpread(sums.getG());
    return (isa<GateOp, BetaOp>(op) || OpTrait::hasElementwiseMappableTraits(&op)) &&
           llvm::all_of(op.getOperands(), [&](Value v) { return isSpread(v) || !isColumn(v); });
  }

  /// One number for each token, where each thread finds it, or one for all of them.
  bool isTokenNumber(Value x) {
    return isColumn(x) ? placeOf(x) == Place::Spread || placeOf(x) == Place::Shared
                       : !hasRows(x) && cast<ShapedType>(x.getType()).getDimSize(1) == 1;
  }
  /// Such numbers repeated, along rows or turned along columns, and what is formed of them.
  bool isOfTokenNumbers(Value value) {
    if (auto repeat = value.getDefiningOp<tile::BroadcastOp>()) {
      Value x = repeat.getX();
      if (auto turned = x.getDefiningOp<tensor::ExpandShapeOp>()) {
        auto flat = turned.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
        x = flat ? flat.getSrc() : Value();
      }
      return x && isTokenNumber(x);
    }
    Operation *def = value.getDefiningOp();
    return def && isElementwise(*def) && placeOf(value) == Place::Remat &&
           llvm::all_of(def->getOperands(), [&](Value v) { return isOfTokenNumbers(v); });
  }
  /// Numbers that are spread as tensor cores leave them, or pairs over threads, each beside others
  /// there and beside numbers of tokens.
  bool isOf(Place place, Operation &op, function_ref<bool(Value)> isBeside) {
    auto isThere = [&](Value v) { return placeOf(v) == place; };
    return isElementwise(op) && !isa<tile::BroadcastOp>(op) && llvm::any_of(op.getOperands(), isThere) &&
           llvm::all_of(op.getOperands(), [&](Value v) { return isThere(v) || isBeside(v); });
  }
  bool isOfSums(Operation &op) {
    return isOf(Place::Sums, op, [&](Value v) {
      auto repeat = v.getDefiningOp<tile::BroadcastOp>();
      return repeat && isTokenNumber(repeat.getX());
    });
  }
  bool isOfPairs(Operation &op) {
    return isOf(Place::Pairs, op, [&](Value v) { return isOfTokenNumbers(v); });
  }

  Place choose(Operation &op) {
    if (isa<StageOp>(op))
      return Place::Shared;
    if (isa<LoadStateOp, LoadFieldOp>(op))
      return placeOfLoad(op, dims.bulk);
    if (isOfColumns(op) || isOfGates(op))
      return Place::Spread;
    if (auto pairs = dyn_cast<ScoresOp>(op); (pairs && decaysByPair(pairs)) || isOfPairs(op))
      return Place::Pairs;
    if (auto pairs = dyn_cast<ScoresOp>(op))
      return pairs.isOfWindow() && dims.tokens > 1 ? Place::Shared : Place::Regs;
    // The results of a loop: of tokens one behind another they stay.
    if (isa<ReadOp, RingReadOp>(op)) {
      int64_t count = cast<ShapedType>(op.getResult(0).getType()).getDimSize(0);
      if (dims.mma() && !isInLoop(&op))
        return count > 1 ? Place::Sums : Place::Regs;
      return dims.isLoop(count) ? Place::Shared : Place::Regs;
    }
    if (isOfSums(op))
      return Place::Sums;
    if (!isWindowed(op))
      return Place::Regs;
    if (dims.mma() && isa<tile::BroadcastOp>(op)) // Sums take what it repeats.
      return Place::Remat;
    bool isFormed = isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) || op.hasTrait<OpTrait::ConstantLike>() ||
                    (isElementwise(op) && llvm::any_of(op.getOperands(), [](Value v) {
                       return isElsewhere(v) && !v.getDefiningOp<ReadOp>() && !v.getDefiningOp<RingReadOp>();
                     }));
    return isFormed ? Place::Remat : Place::Regs;
  }

  LogicalResult place(Operation &op) {
    Place chosen = choose(op);
    if (auto given = op.getAttrOfType<PlaceAttr>(placeAttr)) {
      bool isFree = (chosen == Place::Spread && !isa<RingWeightsOp>(op)) || isa<LoadStateOp, LoadFieldOp>(op);
      if (given.getValue() != chosen && !(isFree && given.getValue() == Place::Regs))
        return op.emitOpError() << "expected the place " << stringifyPlace(chosen)
                                << (isFree && chosen != Place::Regs ? " or regs" : "") << " but got "
                                << stringifyPlace(given.getValue());
      return success();
    }
    if (op.hasAttr(placeAttr))
      return op.emitOpError() << "expected '" << placeAttr << "' to be a #replay.place";
    if (chosen == Place::Spread && !(isOfGates(op) ? spreadsGates : spreadsColumns))
      chosen = Place::Regs;
    if (chosen != Place::Regs)
      op.setAttr(placeAttr, PlaceAttr::get(kernel.getContext(), chosen));
    return success();
  }

  /// Behind every load, before anything is computed.
  void stageTokens() {
    SmallVector<LoadTokenOp> tokens;
    kernel.getBody().walk([&](LoadTokenOp op) {
      if (isTokenAlongK(*op) && llvm::none_of(op->getUsers(), llvm::IsaPred<StageOp>))
        tokens.push_back(op);
    });
    for (LoadTokenOp op : tokens) {
      auto type = cast<RankedTensorType>(op.getValue().getType());
      // Tensor cores take it as it is: the fewer bits of an operand, the fewer products.
      useStaged(op.getValue(), stageBehindLoads(op.getValue(), dims.mma() ? type : type.clone(b.getF32Type())));
    }
  }

  PhaseOp phase(Phase wanted) {
    for (auto op : rowBlock(kernel).getOps<PhaseOp>())
      if (op.getPhase() == wanted)
        return op;
    return nullptr;
  }

  /// At once, but a store waits for what it stores: what is loaded comes behind all loads.
  StageOp stageBehindLoads(Value x, Type type) {
    PhaseOp gates = phase(Phase::Gates);
    bool isLoaded = gates && isDefinedBefore(x, gates);
    if (isLoaded)
      b.setInsertionPointAfter(lastLoaded ? lastLoaded : gates);
    else
      b.setInsertionPointAfterValue(x);
    StageOp staged = createStage(b, x, type);
    if (isLoaded)
      lastLoaded = staged;
    return staged;
  }

  /// Uses the f32 rows in place of the token, whose own dtype is a part of it.
  void useStaged(Value token, StageOp staged) {
    for (OpOperand &use : llvm::make_early_inc_range(token.getUses())) {
      Operation *user = use.getOwner();
      if (user == staged)
        continue;
      if (auto wider = dyn_cast<arith::ExtFOp>(user); wider && wider.getType() == staged.getType()) {
        wider.getResult().replaceAllUsesWith(staged.getY());
        wider.erase();
      } else if (token.getType() == staged.getY().getType() || isa<RnormOp, ScoresOp, ReadOp, RingReadOp>(user)) {
        use.set(staged.getY());
      } else {
        b.setInsertionPoint(user);
        use.set(arith::TruncFOp::create(b, user->getLoc(), token.getType(), staged.getY()));
      }
    }
  }

  /// What is spread over threads otherwise than others want it goes through shared memory.
  void stageAll(Place place) {
    SmallVector<Value> values;
    kernel.getBody().walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (placeOf(result) == place && isa<RankedTensorType>(result.getType()))
          values.push_back(result);
    });
    for (Value value : values) {
      auto isElsewhere = [&](OpOperand &use) {
        Operation *user = use.getOwner();
        return !isa<StageOp>(user) && (user->getNumResults() == 0 || placeOf(user->getResult(0)) != place);
      };
      if (llvm::none_of(value.getUses(), isElsewhere))
        continue;
      b.setInsertionPointAfterValue(value);
      StageOp staged = createStage(b, value, value.getType());
      value.replaceUsesWithIf(staged.getY(), isElsewhere);
    }
  }

  /// With the others of its kind, in front of one barrier.
  void stageColumns() {
    SmallVector<Value> columns;
    kernel.getBody().walk([&](Operation *op) {
      if (op->getNumResults() == 1 && isColumn(op->getResult(0)) && placeOf(op->getResult(0)) == Place::Spread)
        columns.push_back(op->getResult(0));
    });
    for (Value column : columns) {
      StageOp staged;
      for (OpOperand &use : llvm::make_early_inc_range(column.getUses())) {
        Operation *user = use.getOwner();
        bool isSpread = user->getNumResults() == 1 && placeOf(user->getResult(0)) == Place::Spread;
        if (isa<StageOp>(user) || (isSpread && !isa<CumulateOp>(user)))
          continue;
        if (!staged)
          staged = stageBehindLoads(column, column.getType());
        use.set(staged.getY());
      }
    }
  }

  /// Operands of all reads that can be formed before the pairs, in front of one barrier;
  /// large ones where they are read, so that one takes the bytes of another.
  void stageOperands() {
    bool isSmall = dims.tokens * dims.K <= 2048;
    PhaseOp marker = phase(Phase::Pairs);
    if (isSmall && marker)
      for (Operation &op : *marker->getBlock())
        if (isa<ReadOp, RingReadOp>(op))
          for (OpOperand &use : stagedOperands(&op))
            if (isDefinedBefore(use.get(), marker))
              stageOperand(use, marker);
    kernel.getBody().walk([&](Operation *op) {
      for (OpOperand &use : stagedOperands(op))
        stageOperand(use, op);
    });
  }

  void stageOperand(OpOperand &use, Operation *point) {
    Value x = use.get();
    if (!hasRows(x) || x.getDefiningOp<StageOp>())
      return;
    // One that is there already, in this block or around it.
    for (Operation *user : x.getUsers())
      if (auto known = dyn_cast<StageOp>(user)) {
        Operation *at = known->getBlock()->findAncestorOpInBlock(*use.getOwner());
        if (at && known->isBeforeInBlock(at))
          return use.set(known.getY());
      }
    b.setInsertionPoint(point);
    use.set(createStage(b, x, cast<RankedTensorType>(x.getType()).clone(b.getF32Type())).getY());
  }

  KernelOp kernel;
  lower::Dims dims;
  bool spreadsColumns, spreadsGates;
  OpBuilder b;
  StageOp lastLoaded; ///< The last of what is staged behind all loads.
};

} // namespace

FailureOr<Places> replayssm::parsePlaces(StringRef text, Location loc) {
  Places places;
  llvm::StringMap<bool *> known{{"columns", &places.spreadsColumns}, {"gates", &places.spreadsGates}};
  SmallVector<StringRef> items;
  text.split(items, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [name, value] = item.trim().split('=');
    if (!known.contains(name))
      return emitError(loc) << "unknown place '" << name << "'; expected columns or gates";
    bool *spreads = std::exchange(known[name], nullptr);
    if (!spreads)
      return emitError(loc) << "expected place '" << name << "' once but got it twice";
    if (value != "spread" && value != "regs")
      return emitError(loc) << "expected " << name << " to be spread or regs but got '" << value << "'";
    *spreads = value == "spread";
  }
  return places;
}

namespace {
struct PlacePass : replayssm::impl::PlaceBase<PlacePass> {
  using PlaceBase::PlaceBase;

  void runOnOperation() override {
    FailureOr<Places> forced = parsePlaces(places, getOperation().getLoc());
    if (failed(forced))
      return signalPassFailure();
    LogicalResult result = forEachKernel(getOperation(), Prepared::Ordered, [&](KernelOp kernel) {
      return Placer(kernel, forced->spreadsColumns, forced->spreadsGates).run();
    });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
