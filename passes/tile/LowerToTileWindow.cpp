//===- LowerToTileWindow.cpp - Several tokens of one row ------------------===//
//
// A matrix with a row for each token becomes one tile per row: what works row by
// row is lowered as for one token, once for each. Where the rows are replay-place
// has decided.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

static int64_t dimOf(Value matrix, unsigned dim) {
  return cast<RankedTensorType>(matrix.getType()).getDimSize(dim);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Lowering::define(Value source, int64_t row, Value tile) {
  if (dimOf(source, 0) == 1)
    values[source] = tile;
  else
    rows[{source, row}] = tile;
}

/// The tile of one row, or where the columns are tokens too of one element.
Value Lowering::rowOf(Value source, int64_t row, int64_t col) {
  if (Value known = rows.lookup({source, row}))
    return known;
  if (placeOf(source) == replay::Place::Remat)
    return form(source.getDefiningOp(), row, col);
  if (source.getDefiningOp<replay::ScoresOp>() && shared.contains(source))
    return scoreAt(source, row, col);
  Value smem = shared.lookup(source);
  if (!smem)
    return values.lookup(source);
  if (!source.getDefiningOp<replay::StageOp>())
    return load(smem, i64(row * dims.bv), {1, dims.bv}, b.getF32Type(), dims.bv, layouts.spreadValues());
  if (isColumn(source))
    return load(smem, i64(row), {1, 1}, getElementTypeOrSelf(source), 1, layouts.scalar());
  return load(smem, i64(row * dims.K), {1, dims.K}, b.getF32Type(), dims.K, formedRow());
}

Value Lowering::form(Operation *op, int64_t row, int64_t col) {
  // Together a transposition: of a column of tokens into a row.
  if (isa<tensor::ExpandShapeOp>(op))
    return rowOf(op->getOperand(0), col);
  if (isa<tensor::CollapseShapeOp>(op))
    return rowOf(op->getOperand(0), row);
  if (failed(lowerAt(*op, row, col)))
    return nullptr;
  Value result = op->getResult(0), formed = values.lookup(result);
  values.erase(result);
  return formed;
}

/// Lowers `op` as if its operands were the tiles of one row.
LogicalResult Lowering::lowerAt(Operation &op, int64_t row, int64_t col) {
  auto isMatrix = [](Value v) { return isa<RankedTensorType>(v.getType()); };
  SmallVector<std::pair<Value, Value>> operands;
  for (Value operand : op.getOperands()) {
    if (!isMatrix(operand))
      continue;
    // A repeated row or column is that of the broadcast's operand.
    bool oneRow = isa<tile::BroadcastOp>(op) && dimOf(operand, 0) == 1;
    bool oneCol = isa<tile::BroadcastOp>(op) && dimOf(operand, 1) == 1;
    operands.push_back({operand, rowOf(operand, oneRow ? 0 : row, oneCol ? 0 : col)});
  }
  for (auto [operand, tile] : operands)
    values[operand] = tile;
  LogicalResult result = lowerPlain(op);
  for (auto [operand, tile] : operands)
    if (dimOf(operand, 0) > 1 || placeOf(operand) == replay::Place::Remat)
      values.erase(operand);
  return result;
}

LogicalResult Lowering::lowerWindowed(Operation &op) {
  replay::Place place = op.getNumResults() ? placeOf(op.getResult(0)) : replay::Place::Regs;
  if (place == replay::Place::Remat)
    return success();
  if (auto token = dyn_cast<replay::LoadTokenOp>(op))
    return lowerToken(token);
  if (auto stage = dyn_cast<replay::StageOp>(op))
    return lowerStage(stage);
  if (place == replay::Place::Spread && isColumn(op.getResult(0)))
    return lowerColumn(op);
  if (auto parents = dyn_cast<replay::LoadParentsOp>(op))
    return lowerParents(parents);
  if (auto cumulate = dyn_cast<replay::CumulateOp>(op))
    return lowerCumulate(cumulate);
  if (auto decays = dyn_cast<replay::TokenDecaysOp>(op))
    return lowerTokenDecays(decays);
  if (auto pairs = dyn_cast<replay::ScoresOp>(op))
    return lowerWindowScores(pairs);
  if (auto solve = dyn_cast<replay::UtSolveOp>(op))
    return lowerSolve(solve);
  if (auto apply = dyn_cast<replay::ApplyScoresOp>(op))
    return lowerApply(apply);
  if (auto read = dyn_cast<replay::ReadOp>(op))
    return lowerReadOfTokens(read);
  if (!isElementwise(op) && !isa<replay::GateOp, replay::BetaOp, replay::RnormOp>(op))
    return op.emitOpError() << "has no tile form for several tokens";
  for (int64_t t = 0; t < dims.tokens; ++t) {
    if (failed(lowerAt(op, t, 0)))
      return failure();
    for (Value result : op.getResults()) {
      rows[{result, t}] = values.lookup(result);
      values.erase(result);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Decays between tokens
//===----------------------------------------------------------------------===//

/// Both parts are sums over a part of the interval: no difference, and none above one.
LogicalResult Lowering::lowerTokenDecays(replay::TokenDecaysOp op) {
  Value gates = op.getG();
  int64_t count = dimOf(gates, 0), next = 0;
  if (count != dims.tokens)
    return op.emitOpError() << "expected gates of " << dims.tokens << " tokens but got " << count;
  for (int64_t h = 1; h < count; h *= 2) {
    SmallVector<Value> sums(count);
    for (int64_t middle = h; middle < count; middle += 2 * h) {
      for (int64_t i = middle; i < std::min(middle + h, count); ++i)
        sums[i] = i > middle ? add(sums[i - 1], rowOf(gates, i)) : rowOf(gates, i);
      for (int64_t j = middle - 2; j >= middle - h; --j)
        sums[j] = sums[j + 1] ? add(sums[j + 1], rowOf(gates, j + 1)) : rowOf(gates, j + 1);
    }
    for (Value sum : sums)
      rows[{op.getDecays(), next++}] = sum ? Value(math::ExpOp::create(b, sum)) : splat({1, dimOf(gates, 1)}, 1);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Scores of pairs
//===----------------------------------------------------------------------===//

/// Where in shared memory the scores of token `i` with the tokens that `level`
/// tells from it begin; GK = 1 has one row for all levels.
static int64_t scoreRow(int64_t tokens, bool alongK, int64_t level, int64_t i) {
  return alongK ? level * tokens + i : i;
}

LogicalResult Lowering::lowerWindowScores(replay::ScoresOp op) {
  if (!op.isOfWindow() || dimOf(op.getY(), 0) != dims.tokens)
    return op.emitOpError() << "expected gates between " << dims.tokens << " tokens";
  if (op.getParents())
    return lowerTreeScores(op);
  for (auto [x, scores] : llvm::zip_equal(op.getXs(), op.getScores()))
    lowerChainScores(op, x, scores);
  return success();
}

void Lowering::lowerChainScores(replay::ScoresOp op, Value x, Value scores) {
  int64_t count = dims.tokens, levels = replay::TokenDecaysOp::levels(count);
  bool alongK = dimOf(op.getDecays(), 1) > 1;
  auto rowsAlongK = [&](Value smem, int64_t first = 0) {
    return load(smem, i64(first * dims.K), {count, dims.K}, b.getF32Type(), dims.K, layouts.keys(count));
  };
  Value xs = shared.lookup(x), ys = shared.lookup(op.getY()), decays = shared.lookup(op.getDecays());
  Value smem = alloc(alongK ? levels * count + 1 : count, count, b.getF32Type());
  shared[scores] = smem;
  auto pairsWith = [&](Value keys, Value x, int64_t level, int64_t i) {
    store(dot(keys, x, 1), smem, i64(scoreRow(count, alongK, level, i) * count), 1);
  };
  if (!alongK) {
    Value keys = rowsAlongK(ys);
    forTokens(count, [&](Value i) { store(dot(keys, rowAt(xs, i), 1), smem, arith::MulIOp::create(b, i, i64(count)), 1); });
    return;
  }
  // Each token with itself, in one more row: nothing has decayed.
  store(dotRows(rowsAlongK(xs), rowsAlongK(ys)), smem, i64(levels * count * count), 1);
  for (int64_t level = 0; level < levels; ++level) {
    Value keys = mul(rowsAlongK(ys), rowsAlongK(decays, level * count));
    for (int64_t i = 0; i < count; ++i)
      if (i >> level & 1) {
        Value fromMiddle = load(decays, i64((level * count + i) * dims.K), {1, dims.K}, b.getF32Type(), dims.K,
                                layouts.keyRow(1));
        pairsWith(keys, mul(rowOf(x, i), fromMiddle), level, i);
      }
  }
}

/// P[i, j] for j <= i, in every thread.
Value Lowering::scoreAt(Value scores, int64_t i, int64_t j) {
  auto op = scores.getDefiningOp<replay::ScoresOp>();
  if (op.getParents())
    return load(shared.lookup(scores), i64(i * dims.tokens + j), {1, 1}, b.getF32Type(), 1,
                layouts.scalar());
  using Decays = replay::TokenDecaysOp;
  bool alongK = dimOf(op.getDecays(), 1) > 1;
  int64_t level = i == j ? 0 : Decays::level(i, j);
  int64_t row = i == j && alongK ? Decays::levels(dims.tokens) * dims.tokens : scoreRow(dims.tokens, alongK, level, i);
  Value score = load(shared.lookup(scores), i64(row * dims.tokens + j), {1, 1}, b.getF32Type(), 1,
                     layouts.scalar());
  if (i == j || alongK)
    return score;
  auto decay = [&](int64_t t) { return rowOf(op.getDecays(), level * dims.tokens + t); };
  return mul(score, Decays::decaysToMiddle(level, j) ? mul(decay(i), decay(j)) : decay(i));
}

/// d_i = beta_i (v_i - y_i - sum_{j<i} P_ij d_j): the recurrence itself.
LogicalResult Lowering::lowerSolve(replay::UtSolveOp op) {
  SmallVector<Value> solved;
  for (int64_t i = 0; i < dims.tokens; ++i) {
    Value error = arith::SubFOp::create(b, f32(rowOf(op.getV(), i)), rowOf(op.getY(), i));
    for (auto [j, d] : llvm::enumerate(solved))
      error = ifOnPath(op.getParents(), i, j, fma(arith::NegFOp::create(b, rowOf(op.getScores(), i, j)), d, error), error);
    solved.push_back(mul(rowOf(op.getBeta(), i), error));
    define(op.getDelta(), i, solved.back());
  }
  return success();
}

/// Only earlier tokens, of a tree those of the path: another may hold anything.
LogicalResult Lowering::lowerApply(replay::ApplyScoresOp op) {
  for (int64_t i = 0; i < dims.tokens; ++i) {
    Value sum;
    if (op.getParents()) // Where a path starts is data.
      sum = splat({1, dims.bv}, 0);
    for (int64_t j = 0; j <= i; ++j) {
      Value score = rowOf(op.getScores(), i, j), d = rowOf(op.getDelta(), j);
      sum = sum ? ifOnPath(op.getParents(), i, j, fma(score, d, sum), sum) : mul(score, d);
    }
    define(op.getO(), i, sum);
  }
  return success();
}
