//===- LowerToTileWindow.cpp - Pairs of tokens of one row -----------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

//===----------------------------------------------------------------------===//
// Decays between tokens
//===----------------------------------------------------------------------===//

/// Both parts are sums over a part of the interval: no difference, and none above one.
static FailureOr<Results> lowerTokenDecays(replay::TokenDecaysOp op, Operands<replay::TokenDecaysOp> in, Emitter &b) {
  Value gates = op.getG();
  int64_t count = dimOf(gates, 0);
  Tiles decays;
  if (count != b.dims.tokens)
    return op.emitOpError() << "expected gates of " << b.dims.tokens << " tokens but got " << count;
  for (int64_t h = 1; h < count; h *= 2) {
    SmallVector<Value> sums(count);
    for (int64_t middle = h; middle < count; middle += 2 * h) {
      for (int64_t i = middle; i < std::min(middle + h, count); ++i)
        sums[i] = i > middle ? b.add(sums[i - 1], b.rowOf(gates, i)) : b.rowOf(gates, i);
      for (int64_t j = middle - 2; j >= middle - h; --j)
        sums[j] = sums[j + 1] ? b.add(sums[j + 1], b.rowOf(gates, j + 1)) : b.rowOf(gates, j + 1);
    }
    for (Value sum : sums)
      decays.push_back(sum ? Value(math::ExpOp::create(b, sum)) : b.splat({1, dimOf(gates, 1)}, 1));
  }
  return Results{decays};
}

//===----------------------------------------------------------------------===//
// Scores of pairs
//===----------------------------------------------------------------------===//

/// Where in shared memory the scores of token `i` with the tokens that `level`
/// tells from it begin; GK = 1 has one row for all levels.
static int64_t scoreRow(int64_t tokens, bool alongK, int64_t level, int64_t i) { return alongK ? level * tokens + i : i; }

/// All pairs of each x on tensor cores, in shared memory, also those that nobody asks for: no
/// pair depends on other tokens. Gates along K decay both sides of each level, and in one more row
/// stands each token with itself.
static SmallVector<Value> scoreByMma(replay::ScoresOp op, Operands<replay::ScoresOp> in, Emitter &b) {
  Value ys = only(in.getY()), decays = op.getDecays() ? only(in.getDecays()) : Value();
  int64_t count = b.dims.tokens, levels = decays ? replay::TokenDecaysOp::levels(count) : 1;
  SmallVector<Value> scores;
  for (size_t read = 0; read < in.getXs().size(); ++read)
    scores.push_back(b.alloc(decays ? levels * count + 1 : count, count, b.getF32Type()));
  for (int64_t level = 0; level < levels; ++level) {
    auto operands = [&](Value first, int64_t width) {
      auto decayed = [&](Value tokens, const tile::Layout &layout) {
        Value tile = b.loadStaged(tokens, first, count, width, layout);
        if (!decays)
          return tile;
        Value at = arith::AddIOp::create(b, first, b.i64(level * count * cast<tile::SmemType>(decays.getType()).getCols()));
        return b.mul(b.f32(tile), b.loadStaged(decays, at, count, width, layout));
      };
      SmallVector<Value> tiles{decayed(ys, b.layouts.tokenRows(count, width))};
      for (ValueRange x : in.getXs())
        tiles.push_back(decayed(only(x), b.layouts.tokenColumns(count, width)));
      return tiles;
    };
    for (auto [smem, sums] : llvm::zip_equal(scores, b.mmaAlongK(/*inMemory=*/true, operands)))
      b.store(sums, smem, b.i64(level * count * count), 1, Value(), Value(), count);
  }
  if (decays)
    for (auto [x, smem] : llvm::zip_equal(in.getXs(), scores)) {
      tile::Layout layout = b.layouts.keys(count);
      Value own = b.dotRows(b.rowsAt(only(x), 0, count, layout), b.rowsAt(ys, 0, count, layout));
      b.store(own, smem, b.i64(levels * count * count), 1);
    }
  return scores;
}

/// exp of the sum of the gates behind token j up to i, for each pair: in ascending order, with zeros
/// for all others, so that no pair depends on how many tokens there are.
static Value pairDecays(Emitter &b, Value gates) {
  int64_t count = b.dims.tokens;
  tile::Layout rows = b.layouts.pairRows(count), cols = b.layouts.pairColumns(count);
  Value i = tile::IotaOp::create(b, b.tileType({count, 1}, b.getF32Type()), 0, rows.toAttr(b.getContext()));
  Value j = tile::IotaOp::create(b, b.tileType({1, count}, b.getF32Type()), 1, cols.toAttr(b.getContext()));
  Value sum, zeros = b.splat({count, count}, 0);
  for (int64_t t = 1; t < count; ++t) {
    Value isUpTo = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, i, b.splat({count, 1}, t));
    Value isBehind = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, j, b.splat({1, count}, t));
    Value isBetween = arith::AndIOp::create(b, b.broadcast(isUpTo, {count, count}), b.broadcast(isBehind, {count, count}));
    Value g = b.broadcast(b.load(gates, b.i64(t), {1, 1}, b.getF32Type(), 1, b.layouts.scalar()), {count, count});
    Value term = arith::SelectOp::create(b, isBetween, g, zeros);
    sum = sum ? b.add(sum, term) : term;
  }
  return math::ExpOp::create(b, sum);
}

/// With one gate a token: each pair in one thread, decayed.
static Results lowerPairs(replay::ScoresOp op, Operands<replay::ScoresOp> in, Emitter &b) {
  int64_t count = b.dims.tokens;
  SmallVector<Value> raw = scoreByMma(op, in, b);
  Value decays = pairDecays(b, only(in.getG()));
  Results results;
  for (Value smem : raw)
    results.push_back({b.mul(decays, b.load(smem, b.i64(0), {count, count}, b.getF32Type(), count, b.layouts.pairs(count, count)))});
  return results;
}

/// The scores of `x` with all earlier tokens, in shared memory.
static Value lowerChainScores(replay::ScoresOp op, Operands<replay::ScoresOp> in, size_t read, Emitter &b) {
  int64_t count = b.dims.tokens, levels = replay::TokenDecaysOp::levels(count);
  bool alongK = dimOf(op.getDecays(), 1) > 1;
  auto rowsAlongK = [&](Value smem, int64_t first = 0) {
    return b.rowsAt(smem, first, count, b.layouts.keys(count));
  };
  Value x = op.getXs()[read], xs = only(in.getXs()[read]), ys = only(in.getY()), decays = only(in.getDecays());
  Value smem = b.alloc(alongK ? levels * count + 1 : count, count, b.getF32Type());
  auto pairsWith = [&](Value keys, Value x, int64_t level, int64_t i) {
    b.store(b.dot(keys, x, 1), smem, b.i64(scoreRow(count, alongK, level, i) * count), 1);
  };
  if (!alongK) {
    Value keys = rowsAlongK(ys);
    b.forTokens(count,
                [&](Value i) { b.store(b.dot(keys, b.rowAt(xs, i), 1), smem, arith::MulIOp::create(b, i, b.i64(count)), 1); });
    return smem;
  }
  // Each token with itself, in one more row: nothing has decayed.
  b.store(b.dotRows(rowsAlongK(xs), rowsAlongK(ys)), smem, b.i64(levels * count * count), 1);
  for (int64_t level = 0; level < levels; ++level) {
    Value keys = b.mul(rowsAlongK(ys), rowsAlongK(decays, level * count));
    for (int64_t i = 0; i < count; ++i)
      if (i >> level & 1) {
        Value fromMiddle =
            b.load(decays, b.i64((level * count + i) * b.dims.K), {1, b.dims.K}, b.getF32Type(), b.dims.K, b.layouts.keyRow(1));
        pairsWith(keys, b.mul(b.rowOf(x, i), fromMiddle), level, i);
      }
  }
  return smem;
}

static FailureOr<Results> lowerScores(replay::ScoresOp op, Operands<replay::ScoresOp> in, Emitter &b) {
  Results results;
  if (!isWindowed(*op)) {
    bool byMma = b.dims.mma() && gateDim(b.kernel.getRingAttr(), b.dims) == 1;
    for (ValueRange tiles : in.getXs()) {
      Value x = b.broadcast(only(tiles), {1, b.dims.K}), y = b.broadcast(only(in.getY()), {1, b.dims.K});
      results.push_back({byMma ? b.mma(y, x, 1, b.dims.chunk) : b.dot(b.f32(x), b.f32(y), 1)});
    }
    return results;
  }
  if (!op.isOfWindow() || dimOf(op.getY(), 0) != b.dims.tokens)
    return op.emitOpError() << "expected gates between " << b.dims.tokens << " tokens";
  if (op.getParents())
    return lowerTreeScores(op, in, b);
  if (placeOf(op.getScores().front()) == replay::Place::Pairs)
    return lowerPairs(op, in, b);
  if (b.dims.mma()) {
    for (Value smem : scoreByMma(op, in, b))
      results.push_back({smem});
    return results;
  }
  for (size_t read = 0; read < op.getXs().size(); ++read)
    results.push_back({lowerChainScores(op, in, read, b)});
  return results;
}

Value lower::scoreAt(Emitter &b, Value scores, int64_t i, int64_t j) {
  auto op = scores.getDefiningOp<replay::ScoresOp>();
  if (op.getParents())
    return b.load(only(b.tiles(scores)), b.i64(i * b.dims.tokens + j), {1, 1}, b.getF32Type(), 1, b.layouts.scalar());
  using Decays = replay::TokenDecaysOp;
  bool alongK = dimOf(op.getDecays(), 1) > 1;
  int64_t level = i == j ? 0 : Decays::level(i, j);
  int64_t row = i == j && alongK ? Decays::levels(b.dims.tokens) * b.dims.tokens : scoreRow(b.dims.tokens, alongK, level, i);
  Value score = b.load(only(b.tiles(scores)), b.i64(row * b.dims.tokens + j), {1, 1}, b.getF32Type(), 1, b.layouts.scalar());
  if (i == j || alongK)
    return score;
  auto decay = [&](int64_t t) { return b.rowOf(op.getDecays(), level * b.dims.tokens + t); };
  return b.mul(score, Decays::decaysToMiddle(level, j) ? b.mul(decay(i), decay(j)) : decay(i));
}

/// d_i = beta_i (v_i - y_i - sum_{j<i} P_ij d_j): the recurrence itself.
static FailureOr<Results> lowerSolve(replay::UtSolveOp op, Operands<replay::UtSolveOp> in, Emitter &b) {
  Tiles solved;
  for (int64_t i = 0; i < b.dims.tokens; ++i) {
    Value error = arith::SubFOp::create(b, b.f32(b.rowOf(op.getV(), i)), b.rowOf(op.getY(), i));
    for (auto [j, d] : llvm::enumerate(solved))
      error =
          ifOnPath(b, in.getParents(), i, j, b.fma(arith::NegFOp::create(b, b.rowOf(op.getScores(), i, j)), d, error), error);
    solved.push_back(b.mul(b.rowOf(op.getBeta(), i), error));
  }
  return Results{solved};
}

/// Only earlier tokens, of a tree those of the path: another may hold anything.
static FailureOr<Results> lowerApply(replay::ApplyScoresOp op, Operands<replay::ApplyScoresOp> in, Emitter &b) {
  Tiles sums;
  for (int64_t i = 0; i < b.dims.tokens; ++i) {
    Value sum;
    if (op.getParents()) // Where a path starts is data.
      sum = b.splat({1, b.dims.bv}, 0);
    for (int64_t j = 0; j <= i; ++j) {
      Value score = b.rowOf(op.getScores(), i, j), d = b.rowOf(op.getDelta(), j);
      sum = sum ? ifOnPath(b, in.getParents(), i, j, b.fma(score, d, sum), sum) : b.mul(score, d);
    }
    sums.push_back(sum);
  }
  return Results{sums};
}

void lower::addWindowPatterns(Patterns &patterns) {
  patterns.add(lowerTokenDecays, Patterns::Rows::All);
  patterns.add(lowerScores, Patterns::Rows::All);
  patterns.add(lowerSolve, Patterns::Rows::All);
  patterns.add(lowerApply, Patterns::Rows::All);
}
