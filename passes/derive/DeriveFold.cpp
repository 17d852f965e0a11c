//===- DeriveFold.cpp - Folds, and the recurrence run token by token ------===//
#include "passes/derive/Deriver.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::derive;
using namespace replayssm::replay;

/// The recurrence over 0 .. count-1: `body` gets the number of a token and the
/// state before it, and returns the state behind it.
Value Deriver::recur(Value state, Value count, llvm::function_ref<Value(Value, Value)> body) {
  auto loop = scf::ForOp::create(b, loc, constant(0), count, constant(1), ValueRange{state});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  IRMapping outer = mapping;
  int64_t all = std::exchange(tokens, 1);
  Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(b, loc, next);
  tokens = all;
  mapping = outer;
  return loop.getResult(0);
}

/// One step from the raw inputs that a record holds. Nothing reads its output.
Value Deriver::stepRecord(Value state, Value position, Value base) {
  mapping = IRMapping(); // nothing of a window around it
  for (RecordField field : {RecordField::RawK, RecordField::RawV, RecordField::G, RecordField::Beta}) {
    Value value = recorded(field);
    mapping.map(value, LoadRecordOp::create(b, loc, value.getType(), stringifyRecordField(field), row.getRing(),
                                            position, base));
  }
  auto q = cast<RankedTensorType>(input("q").getType());
  mapping.map(input("q"), arith::ConstantOp::create(b, loc, b.getZeroAttr(q)));
  cloneLayer(state);
  return nextState();
}

/// The recurrence run again over the raw inputs of `length` records; the state
/// behind the one at `tracked` is stored too.
Value Deriver::refold(Value length, Value base, Value tracked, bool isTree) {
  return recur(loadState(), length, [&](Value t, Value state) {
    Value position = isTree ? acceptedPosition(t, constant(tokensOfSet - 1)) : t;
    Value next = stepRecord(state, position, base);
    if (tracked)
      when(compare(arith::CmpIPredicate::eq, t, tracked),
           [&] { storeState(next, loadRow("track_idx")); });
    return next;
  });
}

/// The committed records go into the checkpoint; with `track` the state behind one
/// of them also elsewhere.
void Deriver::fold() {
  bool isTree = kernel.getMask() == Mask::Tree && *kernel.getFlush() == FlushAt::EveryCommit;
  int64_t most = *kernel.getFlush() == FlushAt::EveryCommit ? tokensOfSet : kernel.getRingAttr().getLength();
  Value given = loadRow("fold_len"), length = arith::MinSIOp::create(b, loc, given, constant(most));
  expect("fold_len", given, constant(0), constant(most));
  Value tracked = kernel.getTrack() ? loadRow("track_pos") : Value();
  if (tracked)
    expect("track_pos", tracked, constant(-1), constant(most - 1));
  Value target = targetSlot();
  if (*kernel.getFold() == FoldBy::Replay)
    return when(isPositive(length), [&] { storeState(refold(length, {}, tracked, isTree), target); });
  auto stateAfter = [&](Value count) {
    return replayed(count, {}, isTree ? Value(PathMaskOp::create(b, loc, count)) : Value());
  };
  // Records are weighted by what comes behind them: each state is a fold of its own.
  Value state = stateAfter(length), earlier, isTracked;
  if (tracked) {
    isTracked = arith::AndIOp::create(b, loc, compare(arith::CmpIPredicate::sge, tracked, constant(0)),
                                      compare(arith::CmpIPredicate::slt, tracked, length));
    earlier = stateAfter(add(tracked, constant(1)));
  }
  when(isPositive(length), [&] {
    if (tracked)
      when(isTracked, [&] { storeState(earlier, loadRow("track_idx")); });
    storeState(state, target);
  });
}

/// The accepted tokens of a window, from its inputs.
void Deriver::inputReplay() {
  Value accepted = acceptedTokens(), target = targetSlot();
  loadParams();
  Value state = loadState();
  when(isPositive(accepted), [&] {
    Value next = recur(state, accepted, [&](Value t, Value before) {
      if (kernel.getMask() == Mask::Tree)
        t = acceptedPosition(t, arith::SubIOp::create(b, loc, window[1], constant(1)));
      loadTokens({add(window[0], t), constant(1)}, {"q", "k", "v", "a", "b"});
      cloneLayer(before);
      return nextState();
    });
    storeState(next, target);
  });
}

/// The recurrence over a window, with the state behind every token.
void Deriver::snapshots() {
  bool isTree = kernel.getMask() == Mask::Tree;
  loadParams();
  Value checkpoint = loadState();
  recur(checkpoint, window[1], [&](Value t, Value before) {
    if (isTree)
      before = parentState(t, before);
    Value where[] = {add(window[0], t), constant(1)};
    loadTokens(where, {"q", "k", "v", "a", "b"});
    cloneLayer(before);
    storeOut(where);
    storeState(nextState(), row.getRing(), t);
    return nextState();
  });
}

/// The state behind the parent of token `t`; `before` is that behind t - 1.
Value Deriver::parentState(Value t, Value before) {
  auto eq = arith::CmpIPredicate::eq;
  Value minusOne = constant(-1);
  Value last = add(t, minusOne), parent = loadRow("parent", t);
  expect("parent", parent, minusOne, last);
  // What is no earlier token means the committed state.
  parent = select(compare(arith::CmpIPredicate::sgt, parent, last), minusOne, parent);
  auto choose = [&](Value condition, llvm::function_ref<Value()> yes, llvm::function_ref<Value()> no) {
    auto branch = scf::IfOp::create(b, loc, stateType(), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, yes());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, no());
    return branch.getResult(0);
  };
  return choose(
      compare(eq, parent, last), [&] { return before; },
      [&] {
        return choose(
            compare(arith::CmpIPredicate::slt, parent, constant(0)), [&] { return loadState(); },
            [&]() -> Value { return LoadStateOp::create(b, loc, stateType(), row.getRing(), parent); });
      });
}
