//===- MergeReads.cpp - All reads of one state become one op --------------===//
//
// So do scores of a window with the same tokens: what decays between two of them is
// formed once.
//
//===----------------------------------------------------------------------===//
#include "passes/Preconditions.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace replayssm {
#define GEN_PASS_DEF_MERGEREADS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;

namespace {

/// The ops after `limit` in its block that `value` depends on, operands first.
void collectSlice(Value value, Operation *limit, llvm::SetVector<Operation *> &slice) {
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != limit->getBlock() || def->isBeforeInBlock(limit) ||
      slice.contains(def))
    return;
  // The limit itself stays; whoever depends on it cannot move above it.
  if (def != limit)
    for (Value operand : def->getOperands())
      collectSlice(operand, limit, slice);
  slice.insert(def);
}

/// One pass over a state (or a ring) that serves several reads.
template <typename ReadLike>
class Group {
public:
  explicit Group(ReadLike first) : members{first} {}

  /// Takes `read` in unless it needs the result of another read; moves what
  /// its operands need above the first member.
  bool take(ReadLike read) {
    ReadLike first = members.front();
    llvm::SetVector<Operation *> slice;
    for (Value x : read.getXs())
      collectSlice(x, first, slice);
    for (Operation *op : slice)
      if (isa<ReadLike>(op) || !isPure(op) || op->getNumRegions())
        return false;
    for (Operation *op : slice)
      op->moveBefore(first);
    members.push_back(read);
    return true;
  }

  void merge(RewriterBase &rewriter) {
    if (members.size() == 1 && members.front().getXs().size() == 1)
      return;
    llvm::SetVector<Value> xs;
    SmallVector<Location> locs;
    for (ReadLike read : members) {
      xs.insert_range(read.getXs());
      locs.push_back(read.getLoc());
    }
    ReadLike first = members.front();
    SmallVector<Type> types(xs.size());
    for (ReadLike read : members)
      for (auto [x, y] : llvm::zip_equal(read.getXs(), read->getResults()))
        types[llvm::find(xs, x) - xs.begin()] = y.getType();
    rewriter.setInsertionPoint(first);
    auto merged = create(rewriter, rewriter.getFusedLoc(locs), types, first, xs.getArrayRef());
    for (ReadLike read : members) {
      SmallVector<Value> results;
      for (Value x : read.getXs())
        results.push_back(merged->getResult(llvm::find(xs, x) - xs.begin()));
      rewriter.replaceOp(read, results);
    }
  }

private:
  static replay::ReadOp create(RewriterBase &rewriter, Location loc, TypeRange types,
                               replay::ReadOp like, ValueRange xs) {
    return replay::ReadOp::create(rewriter, loc, types, like.getState(), xs);
  }
  static replay::RingReadOp create(RewriterBase &rewriter, Location loc, TypeRange types,
                                   replay::RingReadOp like, ValueRange xs) {
    return replay::RingReadOp::create(rewriter, loc, types, like.getRecords(), like.getW(), xs);
  }
  static replay::ScoresOp create(RewriterBase &rewriter, Location loc, TypeRange types,
                                 replay::ScoresOp like, ValueRange xs) {
    return replay::ScoresOp::create(rewriter, loc, types, xs, like.getY(), like.getG(), like.getDecays(),
                                    like.getParents());
  }

  SmallVector<ReadLike> members;
};

/// What reads have to have in common: a state; records and their weights; the tokens
/// that scores are formed with, their gates and parents. None of scores that nothing decays in.
using Sources = std::tuple<Value, Value, Value, Value>;
std::optional<Sources> sourcesOf(replay::ReadOp read) { return Sources{read.getState(), {}, {}, {}}; }
std::optional<Sources> sourcesOf(replay::RingReadOp read) { return Sources{read.getRecords(), read.getW(), {}, {}}; }
std::optional<Sources> sourcesOf(replay::ScoresOp op) {
  if (!op.isOfWindow())
    return std::nullopt;
  return Sources{op.getY(), op.getG(), op.getDecays(), op.getParents()};
}

/// Reads share a pass when they have the same sources in the same block.
template <typename ReadLike>
void mergeReads(RewriterBase &rewriter, replay::KernelOp kernel) {
  llvm::MapVector<std::pair<Block *, Sources>, SmallVector<Group<ReadLike>>> groups;
  SmallVector<ReadLike> reads;
  kernel.walk([&](ReadLike read) { reads.push_back(read); });
  for (ReadLike read : reads) {
    std::optional<Sources> sources = sourcesOf(read);
    if (!sources)
      continue;
    auto &chain = groups[{read->getBlock(), *sources}];
    // A read that needs an earlier one's result starts a pass of its own.
    if (chain.empty() || !chain.back().take(read))
      chain.emplace_back(read);
  }
  for (auto &[key, chain] : groups)
    for (Group<ReadLike> &group : chain)
      group.merge(rewriter);
}

struct MergeReads : replayssm::impl::MergeReadsBase<MergeReads> {
  using MergeReadsBase::MergeReadsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    LogicalResult result = forEachKernel(getOperation(), Prepared::Derived, [&](replay::KernelOp kernel) {
      mergeReads<replay::ReadOp>(rewriter, kernel);
      mergeReads<replay::RingReadOp>(rewriter, kernel);
      mergeReads<replay::ScoresOp>(rewriter, kernel);
      return success();
    });
    if (failed(result))
      signalPassFailure();
  }
};

} // namespace
