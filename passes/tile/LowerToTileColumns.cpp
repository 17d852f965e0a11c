//===- LowerToTileColumns.cpp - Norms, and sums of gates ------------------===//
//
// Of a window with rows over the threads, so that each number is computed in few of
// them, or row by row.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

/// Whether each number is in one thread.
static bool isSpreadColumn(Value value) { return isColumn(value) && placeOf(value) == replay::Place::Spread; }

static FailureOr<Results> lowerRnorm(replay::RnormOp op, Operands<replay::RnormOp> in, Emitter &b) {
  Value x = only(in.getX());
  bool isSpread = isSpreadColumn(op.getR());
  x = isSpread ? b.rowsAt(x, 0, b.dims.tokens, b.layouts.keys(b.dims.tokens))
               : b.f32(b.broadcast(x, {1, b.dims.K}));
  int64_t rows = isSpread ? b.dims.tokens : 1;
  Value squares = rows == 1 ? b.dot(x, x, 1) : b.dotRows(x, x);
  Value r = math::RsqrtOp::create(b, b.add(squares, b.splat({rows, 1}, op.getEps().convertToDouble())));
  double scale = op.getScale().convertToDouble();
  return one(scale == 1.0 ? r : b.mul(r, b.splat({rows, 1}, scale)));
}

/// Of row i the gates up to i, in ascending order.
static FailureOr<Results> lowerSpreadSums(Value gates, Emitter &b) {
  Value sum;
  for (int64_t t = 0; t < b.dims.tokens; ++t) {
    Value g = b.load(gates, b.i64(t), {b.dims.tokens, 1}, b.getF32Type(), 0, b.layouts.keyScalars(b.dims.tokens),
                     b.i64((int64_t(1) << b.dims.tokens) - (int64_t(1) << t)));
    sum = sum ? b.add(sum, g) : g;
  }
  return one(sum);
}

static FailureOr<Results> lowerCumulate(replay::CumulateOp op, Operands<replay::CumulateOp> in, Emitter &b) {
  if (isSpreadColumn(op.getSum()))
    return lowerSpreadSums(only(in.getG()), b);
  Tiles sums;
  for (int64_t t = 0; t < b.dims.tokens; ++t) {
    Value g = b.rowOf(op.getG(), t), before;
    if (t > 0)
      before = op.getParents()
                   ? ofParent(b, in.getParents(), t, sums, b.splat(cast<RankedTensorType>(g.getType()).getShape(), 0))
                   : sums.back();
    sums.push_back(before ? b.add(before, g) : g);
  }
  return Results{sums};
}

void lower::addColumnPatterns(Patterns &patterns) {
  patterns.add(lowerRnorm, Patterns::Rows::Each);
  patterns.add(lowerCumulate, Patterns::Rows::All);
}
