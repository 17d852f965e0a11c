//===- DeriveWindow.cpp - Windows of tokens: verify, cursors, compaction --===//
#include "passes/derive/Deriver.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::derive;
using namespace replayssm::replay;

/// Outputs and records of a window on checkpoint + ring; with flush verify the
/// rows that say so fold their records from the same read.
void Deriver::verify() {
  FlushAt flush = *kernel.getFlush();
  bool isCircular = kernel.getRingAttr().isCircular();
  Value position = flush == FlushAt::EveryCommit ? constant(0) : loadSlot("wp");
  Value base = isCircular ? loadSlot("base") : Value();
  Value state = flush == FlushAt::EveryCommit ? loadState() : replayed(position, base);
  loadTokens(window, {"q", "k", "v", "a", "b"});
  loadParams();
  Value parents;
  if (kernel.getMask() == Mask::Tree)
    parents = LoadParentsOp::create(
        b, loc, RankedTensorType::get({tokens, 1}, b.getI32Type()), window[1], row.getLive());
  cloneLayer(state, parents);
  storeOut(window);
  append(position, base);
  if (flush != FlushAt::Verify)
    return;
  when(isSet(loadSlot("is_flush")), [&] {
    Value folded = kernel.getFold() == FoldBy::Records ? state : refold(position, base);
    storeState(folded, targetSlot());
  });
}

/// Counts the accepted tokens, and says whose ring is to be folded.
void Deriver::commitWindow() {
  int64_t ringLength = kernel.getRingAttr().getLength();
  auto sgt = arith::CmpIPredicate::sgt;
  Value zero = constant(0), accepted = acceptedTokens();
  if (*kernel.getFlush() == FlushAt::EveryCommit) {
    StoreRowOp::create(b, loc, "fold_len", accepted);
    if (kernel.getTrack())
      trackPosition(zero, accepted);
    return;
  }
  Value wp = loadSlot("wp"), total = add(wp, accepted);
  Value forced = isSet(loadRow("force_flush"));
  if (*kernel.getFlush() == FlushAt::Verify) {
    // What the verify before has folded is gone; the window lies behind it.
    Value base = loadSlot("base"), flushed = isSet(loadSlot("is_flush"));
    Value next = select(flushed, accepted, total), behind = add(base, wp);
    Value wraps = compare(arith::CmpIPredicate::sge, behind, constant(ringLength));
    behind = select(wraps, arith::SubIOp::create(b, loc, behind, constant(ringLength)), behind);
    Value moves = arith::AndIOp::create(b, loc, flushed, isPositive(accepted));
    // The window behind the next one might not fit: next + 2 * window > L.
    Value full = compare(sgt, next, constant(ringLength - 2 * tokensOfSet));
    Value flushes = arith::OrIOp::create(b, loc, full, forced);
    setCursor("wp", next);
    setCursor("base", select(moves, behind, base));
    setCursor("is_flush", select(flushes, constant(1), zero));
    return;
  }
  // wp <- wp + n, unless the next window might not fit behind that: then the ring
  // is to be folded and starts again.
  Value full = compare(sgt, total, constant(ringLength - tokensOfSet));
  Value folds = arith::OrIOp::create(b, loc, full, forced);
  if (kernel.getTrack())
    folds = arith::OrIOp::create(b, loc, folds, trackPosition(wp, accepted));
  Value next = select(folds, zero, total), length = select(folds, total, zero);
  setCursor("wp", next);
  StoreRowOp::create(b, loc, "fold_len", length);
}

/// Where in the ring the tracked token of this window lies, if it is accepted;
/// returns whether it is.
Value Deriver::trackPosition(Value wp, Value accepted) {
  Value step = loadRow("track_step");
  Value isTracked = arith::AndIOp::create(
      b, loc, compare(arith::CmpIPredicate::sge, step, constant(0)),
      compare(arith::CmpIPredicate::slt, step, accepted));
  StoreRowOp::create(b, loc, "track_pos", select(isTracked, add(wp, step), constant(-1)));
  return isTracked;
}

/// The rings of the rows of reset_mask are empty.
void Deriver::reset() {
  when(isSet(loadRow("reset_mask")), [&] {
    setCursor("wp", constant(0));
    if (!kernel.getRingAttr().isCircular())
      return;
    setCursor("base", constant(0));
    setCursor("is_flush", constant(0));
  });
}

/// The accepted records of a tree move together: wp + accept_idx[i] -> wp + i.
void Deriver::compact() {
  Value accepted = acceptedTokens(), wp = loadSlot("wp");
  Value base = kernel.getRingAttr().isCircular() ? loadSlot("base") : Value();
  auto loop = scf::ForOp::create(b, loc, constant(0), accepted, constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  Value from = acceptedPosition(i, constant(tokensOfSet - 1));
  MoveRecordOp::create(b, loc, row.getRing(), add(wp, from), add(wp, i), base);
}
