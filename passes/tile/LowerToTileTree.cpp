//===- LowerToTileTree.cpp - Windows whose tokens form a tree --------------===//
//
// Parents are data, the same in every thread. What belongs to a path is taken
// over from the parent by selects among the earlier tokens, and sums of gates run
// along it: a token that is not on a path touches nothing of it, not even a sign.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

static int64_t widthOf(Value matrix) { return cast<RankedTensorType>(matrix.getType()).getDimSize(1); }

//===----------------------------------------------------------------------===//
// Parents and paths
//===----------------------------------------------------------------------===//

/// -1 where a parent is no earlier token, and past the row's length. With it the
/// tokens of each path, a bit each.
LogicalResult Lowering::lowerParents(replay::LoadParentsOp op) {
  Value length = arith::IndexCastOp::create(b, b.getI32Type(), values.lookup(op.getLength()));
  Value begin = arith::MulIOp::create(b, row, i64(dims.maxTokens)), none = i32(-1);
  SmallVector<Value> &bits = paths[op.getParents()];
  for (int64_t t = 0; t < dims.tokens; ++t) {
    Value parent = none;
    if (t > 0) {
      Value given = scalarLoad("parent", b.getI32Type(), arith::AddIOp::create(b, begin, i64(t)));
      // As unsigned numbers all that are below 0 are large.
      Value isEarlier = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, given, i32(t));
      Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, i32(t), length);
      // Null rows may hold anything.
      Value isUsed = op.getLive() ? Value(arith::AndIOp::create(b, isThere, values.lookup(op.getLive()))) : isThere;
      tile::ExpectOp::create(b, "parent", arith::SelectOp::create(b, isUsed, given, none), none, i32(t - 1));
      parent = arith::SelectOp::create(b, arith::AndIOp::create(b, isEarlier, isThere), given, none);
    }
    rows[{op.getParents(), t}] = parent;
    bits.push_back(arith::OrIOp::create(b, ofParent(op.getParents(), t, bits, i32(0)), i32(int64_t(1) << t)));
  }
  return success();
}

/// What the parent of token `i` has in `all`; `root` where it has none.
Value Lowering::ofParent(Value parents, int64_t i, ArrayRef<Value> all, Value root) {
  Value parent = rows.lookup({parents, i}), result = root;
  for (int64_t j = 0; j < i; ++j) {
    Value id = arith::ConstantOp::create(b, b.getI32IntegerAttr(j));
    Value isParent = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, parent, id);
    result = arith::SelectOp::create(b, isParent, all[j], result);
  }
  return result;
}

/// `then` where token j is on the path of i; without parents every pair is.
Value Lowering::ifOnPath(Value parents, int64_t i, int64_t j, Value then, Value otherwise) {
  if (!parents || i == j)
    return then;
  Value bit = arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(1) << j));
  Value shared = arith::AndIOp::create(b, paths[parents][i], bit);
  Value isOn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, shared, bit);
  return arith::SelectOp::create(b, isOn, then, otherwise);
}

//===----------------------------------------------------------------------===//
// Decays along paths
//===----------------------------------------------------------------------===//

/// Gates that are one number: for token i the decays to it from all tokens, one in
/// each row. Rows that are not on its path hold other decays.
SmallVector<Value> Lowering::pathDecays(Value gates, Value parents) {
  SmallVector<Value> sums, decays;
  Value none = splat({dims.tokens, 1}, 0);
  for (int64_t i = 0; i < dims.tokens; ++i) {
    Value sum = none;
    if (i > 0) { // g_i, in the rows of the tokens before it
      Value own = load(shared.lookup(gates), i64(i), {dims.tokens, 1}, b.getF32Type(), 0,
                       layouts.keyScalars(dims.tokens), index(i));
      sum = add(ofParent(parents, i, sums, none), own);
    }
    sums.push_back(sum);
    decays.push_back(math::ExpOp::create(b, sum));
  }
  return decays;
}

/// The same of gates along K, of token i and up to its own row: too many to be
/// taken over from the parent, so each path is walked.
Value Lowering::pathDecay(Value gates, Value parents, int64_t i) {
  Value sum = splat({i + 1, dims.K}, 0);
  auto loop = scf::ForOp::create(b, index(1), index(i + 1), index(1), ValueRange{sum});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value l = loop.getInductionVar(), number = arith::IndexCastOp::create(b, b.getI32Type(), l);
    Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
    Value bit = arith::AndIOp::create(b, arith::ShRUIOp::create(b, paths[parents][i], number), one);
    Value isOn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bit, one);
    // Where l is not on the path no row is touched.
    Value before = arith::SelectOp::create(b, isOn, l, index(0));
    Value at = arith::MulIOp::create(b, toI64(l), i64(dims.K));
    Value g = load(shared.lookup(gates), at, {i + 1, dims.K}, b.getF32Type(), 0, layouts.keys(i + 1), before);
    scf::YieldOp::create(b, ValueRange{add(loop.getRegionIterArg(0), g)});
  }
  return math::ExpOp::create(b, loop.getResult(0));
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// With the decays in them; what is off the path is never read.
LogicalResult Lowering::lowerTreeScores(replay::ScoresOp op) {
  int64_t count = dims.tokens;
  bool alongK = widthOf(op.getG()) > 1;
  Value ys = shared.lookup(op.getY());
  auto keysUpTo = [&](int64_t n) {
    return load(ys, i64(0), {n, dims.K}, b.getF32Type(), dims.K, layouts.keys(n));
  };
  for (Value scores : op.getScores())
    shared[scores] = alloc(count, count, b.getF32Type());
  SmallVector<Value> decay = alongK ? SmallVector<Value>() : pathDecays(op.getG(), op.getParents());
  Value keys = alongK ? Value() : keysUpTo(count);
  for (int64_t i = 0; i < count; ++i) {
    if (alongK) {
      keys = keysUpTo(i + 1);
      if (i > 0)
        keys = mul(keys, pathDecay(op.getG(), op.getParents(), i));
    }
    for (auto [x, scores] : llvm::zip_equal(op.getXs(), op.getScores())) {
      Value score = dot(keys, rowOf(x, i), 1);
      if (!alongK)
        score = mul(score, decay[i]);
      store(score, shared[scores], i64(i * count), 1);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What an accepted path leaves behind
//===----------------------------------------------------------------------===//

/// Entry i of a path names position i at least, and a token of the window at most.
LogicalResult Lowering::lowerPathMask(replay::PathMaskOp op) {
  Value count = toI64(values.lookup(op.getCount())), begin = arith::MulIOp::create(b, row, i64(dims.maxTokens));
  Value mask = i64(0);
  for (int64_t i = 0; i < dims.tokens; ++i) {
    Value given = scalarLoad("accept_idx", b.getI32Type(), arith::AddIOp::create(b, begin, i64(i)));
    Value isCounted = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, count, i64(i));
    tile::ExpectOp::create(b, "accept_idx", arith::SelectOp::create(b, isCounted, given, i32(i)), i32(i),
                           i32(dims.tokens - 1));
    Value at = arith::ExtSIOp::create(b, b.getI64Type(), given);
    at = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, at, i64(i)), i64(dims.tokens - 1));
    Value bit = arith::ShLIOp::create(b, i64(1), at);
    mask = arith::OrIOp::create(b, mask, arith::SelectOp::create(b, isCounted, bit, i64(0)));
  }
  values[op.getMask()] = mask;
  return success();
}

/// Where in a ring a record lies, and (0 or 1) whether it is there at all: one past
/// the last that a ring holds was never kept, and none lies below 0.
std::pair<Value, Value> Lowering::positionOf(Value position, Value base) {
  Value length = i64(kernel.getRingAttr().getLength());
  Value at = toI64(values.lookup(position)), isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at, length);
  Value place = base ? positionsFrom(at, values.lookup(base), 1).front() : at;
  return {place, arith::SelectOp::create(b, isThere, index(1), index(0))};
}

/// Each thread moves columns of its own: in program order a record is read before
/// a later one comes to its place.
LogicalResult Lowering::lowerMoveRecord(replay::MoveRecordOp op) {
  replay::RingAttr format = kernel.getRingAttr();
  auto [from, isThere] = positionOf(op.getFrom(), op.getBase());
  Value to = positionOf(op.getTo(), op.getBase()).first;
  for (replay::FieldAttr field : format.getFields()) {
    int64_t width = fieldShape(field).width, columns = fieldShape(field).columns;
    Value memory = arg(field.getBuffer());
    OpBuilder::InsertionGuard guard(b);
    if (Value owner = ownerOf(field)) {
      auto branch = scf::IfOp::create(b, owner, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value record = fieldOffset(values.lookup(op.getRing()), format, field);
    auto at = [&](Value position) {
      return Value(arith::AddIOp::create(b, record, arith::MulIOp::create(b, position, i64(width))));
    };
    Value moved = load(memory, at(from), {1, columns}, field.getDtype(), width, layouts.record(columns), isThere);
    store(moved, memory, at(to), width, isThere);
  }
  return success();
}
