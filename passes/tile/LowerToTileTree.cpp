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

//===----------------------------------------------------------------------===//
// Parents and paths
//===----------------------------------------------------------------------===//

/// -1 where a parent is no earlier token, and past the row's length. With it the
/// tokens of each path, a bit each.
static FailureOr<Results> lowerParents(replay::LoadParentsOp op, Operands<replay::LoadParentsOp> in, Emitter &b) {
  Value length = arith::IndexCastOp::create(b, b.getI32Type(), only(in.getLength()));
  Value begin = arith::MulIOp::create(b, b.grid.row, b.i64(b.dims.maxTokens)), none = b.i32(-1);
  Tiles parents; // and behind them the bits of each path
  SmallVector<Value> bits;
  for (int64_t t = 0; t < b.dims.tokens; ++t) {
    Value parent = none;
    if (t > 0) {
      Value given = b.scalarLoad("parent", b.getI32Type(), arith::AddIOp::create(b, begin, b.i64(t)));
      // As unsigned numbers all that are below 0 are large.
      Value isEarlier = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, given, b.i32(t));
      Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, b.i32(t), length);
      // Null rows may hold anything.
      Value isUsed = op.getLive() ? Value(arith::AndIOp::create(b, isThere, only(in.getLive()))) : isThere;
      tile::ExpectOp::create(b, "parent", arith::SelectOp::create(b, isUsed, given, none), none, b.i32(t - 1));
      parent = arith::SelectOp::create(b, arith::AndIOp::create(b, isEarlier, isThere), given, none);
    }
    parents.push_back(parent);
    bits.push_back(arith::OrIOp::create(b, ofParent(b, parents, t, bits, b.i32(0)), b.i32(int64_t(1) << t)));
  }
  parents.append(bits);
  return Results{parents};
}

/// The bits of the path of token `i`.
static Value pathOf(ValueRange parents, int64_t i) { return parents[parents.size() / 2 + i]; }

Value lower::ofParent(Emitter &b, ValueRange parents, int64_t i, ArrayRef<Value> all, Value root) {
  Value parent = parents[i], result = root;
  for (int64_t j = 0; j < i; ++j) {
    Value id = arith::ConstantOp::create(b, b.getI32IntegerAttr(j));
    Value isParent = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, parent, id);
    result = arith::SelectOp::create(b, isParent, all[j], result);
  }
  return result;
}

Value lower::ifOnPath(Emitter &b, ValueRange parents, int64_t i, int64_t j, Value then, Value otherwise) {
  if (parents.empty() || i == j)
    return then;
  Value bit = arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(1) << j));
  Value shared = arith::AndIOp::create(b, pathOf(parents, i), bit);
  Value isOn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, shared, bit);
  return arith::SelectOp::create(b, isOn, then, otherwise);
}

//===----------------------------------------------------------------------===//
// Decays along paths
//===----------------------------------------------------------------------===//

/// Gates that are one number: for token i the decays to it from all tokens, one in
/// each row. Rows that are not on its path hold other decays.
static SmallVector<Value> pathDecays(Emitter &b, Value gates, ValueRange parents) {
  SmallVector<Value> sums, decays;
  Value none = b.splat({b.dims.tokens, 1}, 0);
  for (int64_t i = 0; i < b.dims.tokens; ++i) {
    Value sum = none;
    if (i > 0) { // g_i, in the rows of the tokens before it
      Value own =
          b.load(gates, b.i64(i), {b.dims.tokens, 1}, b.getF32Type(), 0, b.layouts.keyScalars(b.dims.tokens), b.index(i));
      sum = b.add(ofParent(b, parents, i, sums, none), own);
    }
    sums.push_back(sum);
    decays.push_back(math::ExpOp::create(b, sum));
  }
  return decays;
}

/// The same of gates along K, of token i and up to its own row: too many to be
/// taken over from the parent, so each path is walked.
static Value pathDecay(Emitter &b, Value gates, ValueRange parents, int64_t i) {
  Value sum = b.splat({i + 1, b.dims.K}, 0);
  auto loop = scf::ForOp::create(b, b.index(1), b.index(i + 1), b.index(1), ValueRange{sum});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value l = loop.getInductionVar(), number = arith::IndexCastOp::create(b, b.getI32Type(), l);
    Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
    Value bit = arith::AndIOp::create(b, arith::ShRUIOp::create(b, pathOf(parents, i), number), one);
    Value isOn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bit, one);
    // Where l is not on the path no row is touched.
    Value before = arith::SelectOp::create(b, isOn, l, b.index(0));
    Value at = arith::MulIOp::create(b, b.toI64(l), b.i64(cast<tile::SmemType>(gates.getType()).getCols()));
    Value g = b.load(gates, at, {i + 1, b.dims.K}, b.getF32Type(), 0, b.layouts.keys(i + 1), before);
    scf::YieldOp::create(b, ValueRange{b.add(loop.getRegionIterArg(0), g)});
  }
  return math::ExpOp::create(b, loop.getResult(0));
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// With the decays in them; what is off the path is never read.
FailureOr<Results> lower::lowerTreeScores(replay::ScoresOp op, Operands<replay::ScoresOp> in, Emitter &b) {
  int64_t count = b.dims.tokens;
  bool alongK = dimOf(op.getG(), 1) > 1;
  Value ys = only(in.getY());
  auto keysUpTo = [&](int64_t n) { return b.rowsAt(ys, 0, n, b.layouts.keys(n)); };
  Results results;
  for (size_t read = 0; read < op.getXs().size(); ++read)
    results.push_back({b.alloc(count, count, b.getF32Type())});
  SmallVector<Value> decay = alongK ? SmallVector<Value>() : pathDecays(b, only(in.getG()), in.getParents());
  Value keys = alongK ? Value() : keysUpTo(count);
  for (int64_t i = 0; i < count; ++i) {
    if (alongK) {
      keys = keysUpTo(i + 1);
      if (i > 0)
        keys = b.mul(keys, pathDecay(b, only(in.getG()), in.getParents(), i));
    }
    for (auto [x, scores] : llvm::zip_equal(op.getXs(), results)) {
      Value score = b.dot(keys, b.f32(b.rowOf(x, i)), 1);
      if (!alongK)
        score = b.mul(score, decay[i]);
      b.store(score, scores.front(), b.i64(i * count), 1);
    }
  }
  return results;
}

//===----------------------------------------------------------------------===//
// What an accepted path leaves behind
//===----------------------------------------------------------------------===//

/// Entry i of a path names position i at least, and a token of the window at most.
static FailureOr<Results> lowerPathMask(replay::PathMaskOp op, Operands<replay::PathMaskOp> in, Emitter &b) {
  Value count = b.toI64(only(in.getCount())), begin = arith::MulIOp::create(b, b.grid.row, b.i64(b.dims.maxTokens));
  Value mask = b.i64(0);
  for (int64_t i = 0; i < b.dims.tokens; ++i) {
    Value given = b.scalarLoad("accept_idx", b.getI32Type(), arith::AddIOp::create(b, begin, b.i64(i)));
    Value isCounted = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, count, b.i64(i));
    tile::ExpectOp::create(b, "accept_idx", arith::SelectOp::create(b, isCounted, given, b.i32(i)), b.i32(i),
                           b.i32(b.dims.tokens - 1));
    Value at = arith::ExtSIOp::create(b, b.getI64Type(), given);
    at = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, at, b.i64(i)), b.i64(b.dims.tokens - 1));
    Value bit = arith::ShLIOp::create(b, b.i64(1), at);
    mask = arith::OrIOp::create(b, mask, arith::SelectOp::create(b, isCounted, bit, b.i64(0)));
  }
  return one(mask);
}

std::pair<Value, Value> lower::positionOf(Emitter &b, Value position, Value base) {
  Value length = b.i64(b.kernel.getRingAttr().getLength());
  Value at = b.toI64(position), isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at, length);
  Value place = base ? positionsFrom(b, at, base, 1).front() : at;
  return {place, arith::SelectOp::create(b, isThere, b.index(1), b.index(0))};
}

/// Each thread moves columns of its own: in program order a record is read before
/// a later one comes to its place.
static FailureOr<Results> lowerMoveRecord(replay::MoveRecordOp op, Operands<replay::MoveRecordOp> in, Emitter &b) {
  replay::RingAttr format = b.kernel.getRingAttr();
  auto [from, isThere] = positionOf(b, only(in.getFrom()), only(in.getBase()));
  Value to = positionOf(b, only(in.getTo()), only(in.getBase())).first;
  for (replay::FieldAttr field : format.getFields()) {
    int64_t width = fieldShape(b, field).width, columns = fieldShape(b, field).columns;
    Value memory = b.arg(field.getBuffer());
    b.when(ownerOf(b, field), [&] {
      Value record = fieldOffset(b, only(in.getRing()), format, field);
      auto at = [&](Value position) {
        return Value(arith::AddIOp::create(b, record, arith::MulIOp::create(b, position, b.i64(width))));
      };
      Value moved = b.load(memory, at(from), {1, columns}, field.getDtype(), width, b.layouts.record(columns), isThere);
      b.store(moved, memory, at(to), width, isThere);
    });
  }
  return Results{};
}

void lower::addTreePatterns(Patterns &patterns) {
  patterns.add(lowerParents, Patterns::Rows::All);
  patterns.add(lowerPathMask);
  patterns.add(lowerMoveRecord);
}
