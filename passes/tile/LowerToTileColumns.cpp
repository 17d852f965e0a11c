//===- LowerToTileColumns.cpp - One number for each token of a window -----===//
//
// Gates, beta, norms and what is made of them: rows over the threads, so that each
// is computed in few of them, and found in shared memory by all.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

static bool isColumn(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 && type.getDimSize(0) > 1 && type.getDimSize(1) == 1;
}

/// Rows over the threads, so that each number is computed in few of them.
bool Lowering::isColumnOp(Operation &op) {
  // Shared memory has no bits.
  if (loopDepth || op.getNumResults() != 1 || !isColumn(op.getResult(0)) ||
      !isa<FloatType>(getElementTypeOrSelf(op.getResult(0))))
    return false;
  if (isa<replay::LoadTokenOp>(op))
    return true;
  if (auto norm = dyn_cast<replay::RnormOp>(op))
    return tokenTiles.contains(norm.getX());
  if (auto sums = dyn_cast<replay::CumulateOp>(op))
    return !sums.getParents() && columns.contains(sums.getG());
  bool isKnown = isa<replay::GateOp, replay::BetaOp>(op) || OpTrait::hasElementwiseMappableTraits(&op);
  return isKnown && llvm::all_of(op.getOperands(), [&](Value operand) {
           return columns.contains(operand) || !isColumn(operand);
         });
}

LogicalResult Lowering::lowerColumn(Operation &op) {
  Value result = op.getResult(0);
  if (auto token = dyn_cast<replay::LoadTokenOp>(op))
    return lowerToken(token);
  if (auto norm = dyn_cast<replay::RnormOp>(op)) {
    Value x = load(staged(norm.getX()), i64(0), {dims.tokens, dims.K}, b.getF32Type(), dims.K, layouts.keys(dims.tokens));
    columns[result] = rnorm(norm, x);
  } else if (auto sums = dyn_cast<replay::CumulateOp>(op)) {
    // Of row i the gates up to i, in ascending order.
    Value smem = publishColumn(sums.getG()), sum;
    for (int64_t t = 0; t < dims.tokens; ++t) {
      Value g = load(smem, i64(t), {dims.tokens, 1}, b.getF32Type(), 0, layouts.keyScalars(dims.tokens),
                     i64((int64_t(1) << dims.tokens) - (int64_t(1) << t)));
      sum = sum ? add(sum, g) : g;
    }
    columns[result] = sum;
    formDecaysFor(sums);
  } else {
    for (Value operand : op.getOperands())
      if (Value column = columns.lookup(operand))
        values[operand] = column;
    if (failed(lowerPlain(op)))
      return failure();
    columns[result] = values.lookup(result);
    for (Value operand : op.getOperands())
      if (columns.contains(operand))
        values.erase(operand);
    values.erase(result);
  }
  // With the others of its kind, in front of one barrier.
  if (llvm::any_of(result.getUsers(), [&](Operation *user) { return user->getNumResults() != 1 || !isColumn(user->getResult(0)); }))
    publishColumn(result);
  return success();
}

/// In shared memory, from where all threads have any of them.
Value Lowering::publishColumn(Value source) {
  Value &smem = cache.staged[source];
  if (!smem) {
    smem = alloc(dims.tokens, 1, getElementTypeOrSelf(source));
    store(columns.lookup(source), smem, i64(0), 1);
  }
  return smem;
}

/// Also of gates along K and in trees, row by row.
LogicalResult Lowering::lowerCumulate(replay::CumulateOp op) {
  SmallVector<Value> sums;
  Value parents = op.getParents();
  for (int64_t t = 0; t < dims.tokens; ++t) {
    Value g = rowOf(op.getG(), t), sum = g;
    if (t > 0)
      sum = add(parents ? ofParent(parents, t, sums, splat(cast<RankedTensorType>(g.getType()).getShape(), 0))
                        : sums.back(), g);
    if (spread.contains(g))
      spread.insert(sum);
    define(op.getSum(), t, sum);
    sums.push_back(sum);
  }
  formDecaysFor(op);
  return success();
}

/// Beside the sums, where scores will need them.
void Lowering::formDecaysFor(replay::CumulateOp op) {
  if (dims.tokens > 1 && llvm::any_of(op.getG().getUsers(), llvm::IsaPred<replay::ScoresOp>))
    op.getParents() ? stageGates(op.getG()) : formDecays(op.getG());
}
