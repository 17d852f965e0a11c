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

/// Each number in one thread.
LogicalResult Lowering::lowerColumn(Operation &op) {
  Value result = op.getResult(0);
  if (auto norm = dyn_cast<replay::RnormOp>(op)) {
    Value x = load(shared.lookup(norm.getX()), i64(0), {dims.tokens, dims.K}, b.getF32Type(), dims.K,
                   layouts.keys(dims.tokens));
    values[result] = rnorm(norm, x);
    return success();
  }
  auto sums = dyn_cast<replay::CumulateOp>(op);
  if (!sums)
    return lowerPlain(op);
  // Of row i the gates up to i, in ascending order.
  Value smem = shared.lookup(sums.getG()), sum;
  for (int64_t t = 0; t < dims.tokens; ++t) {
    Value g = load(smem, i64(t), {dims.tokens, 1}, b.getF32Type(), 0, layouts.keyScalars(dims.tokens),
                   i64((int64_t(1) << dims.tokens) - (int64_t(1) << t)));
    sum = sum ? add(sum, g) : g;
  }
  values[result] = sum;
  return success();
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
    define(op.getSum(), t, sum);
    sums.push_back(sum);
  }
  return success();
}
