//===- LowerToTileGate.cpp - Gates and beta -------------------------------===//
//
// g and beta come within a few ulp, also where they vanish: what a sum or an
// exponential has rounded away is carried along where a function magnifies it.
//
//===----------------------------------------------------------------------===//
#include "passes/gpu/MathConstants.h"
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

namespace {
/// An unevaluated sum: `lo` is what `hi` has rounded away.
struct Pair {
  Value hi, lo;
};
} // namespace

static Type typeLike(Value tile, Type element) {
  return cast<RankedTensorType>(tile.getType()).clone(element);
}
static Value splatLike(ImplicitLocOpBuilder &b, Value tile, float value) {
  auto type = cast<ShapedType>(tile.getType());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getF32FloatAttr(value).getValue()));
}
static Value clamp(ImplicitLocOpBuilder &b, Value x, float low, float high) {
  x = arith::MaximumFOp::create(b, x, splatLike(b, x, low));
  return arith::MinimumFOp::create(b, x, splatLike(b, x, high));
}
static Value sub(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::SubFOp::create(b, x, y); }
static Value exp(ImplicitLocOpBuilder &b, Value x) { return math::ExpOp::create(b, x); }
static Value neg(ImplicitLocOpBuilder &b, Value x) { return arith::NegFOp::create(b, x); }
static Value isBelow(ImplicitLocOpBuilder &b, Value x, float limit) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, splatLike(b, x, limit));
}
static Value isAbove(ImplicitLocOpBuilder &b, Value x, float limit) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, splatLike(b, x, limit));
}
static Value select(ImplicitLocOpBuilder &b, Value condition, Value then, Value otherwise) {
  return arith::SelectOp::create(b, condition, then, otherwise);
}
/// What a rounding lost; 0 where the rounded number is infinite and has no error.
static Value finiteOrZero(ImplicitLocOpBuilder &b, Value lost) {
  Value isFinite = isBelow(b, math::AbsFOp::create(b, lost), std::numeric_limits<float>::infinity());
  return select(b, isFinite, lost, splatLike(b, lost, 0));
}

/// exp(x) 2^power as a pair, 2^-28 of it at most away; x is within rateFloor .. rateCeiling,
/// `power` an i32 that keeps the result a normal number.
static Pair expPair(ImplicitLocOpBuilder &b, Value x, Value power) {
  using namespace mathk;
  auto c = [&](float value) { return splatLike(b, x, value); };
  auto mul = [&](Value y, Value z) { return Value(arith::MulFOp::create(b, y, z)); };
  auto add = [&](Value y, Value z) { return Value(arith::AddFOp::create(b, y, z)); };
  auto fma = [&](Value y, Value z, Value w) { return Value(math::FmaOp::create(b, y, z, w)); };
  Value shifted = fma(x, c(log2eHi), c(expMagic));
  Value n = sub(b, c(expMagic), shifted); // -n
  Value rest = fma(n, c(ln2Hi), x);       // exact: ln2Hi has 15 bits
  Value small = mul(n, c(ln2Lo));
  Value r = add(rest, small), rLo = sub(b, small, sub(b, r, rest));
  // exp(r) = 1 + r + r^2/2 + r^3 Q(r), the larger terms without an error.
  Value square = mul(r, r), half = mul(square, c(0.5f));
  Value squareLo = fma(r, r, neg(b, square));
  Value tail = c(expTailQ[expTailTerms - 1]);
  for (int term = expTailTerms - 2; term >= 0; --term)
    tail = fma(tail, r, c(expTailQ[term]));
  tail = mul(mul(square, r), tail);
  Value first = add(c(1.0f), r), firstLo = sub(b, r, sub(b, first, c(1.0f)));
  Value second = add(first, half), secondLo = sub(b, half, sub(b, second, first));
  Value lo = fma(rLo, second, fma(squareLo, c(0.5f), tail));
  lo = add(add(firstLo, secondLo), lo);
  Value hi = add(second, lo);
  lo = sub(b, lo, sub(b, hi, second));
  Type i32 = b.getI32Type();
  Value bits = arith::AddIOp::create(b, arith::BitcastOp::create(b, typeLike(x, i32), shifted), power);
  Value shift = arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<ShapedType>(typeLike(x, i32)), APInt(32, exponentShift)));
  Value scale = arith::BitcastOp::create(b, x.getType(), arith::ShLIOp::create(b, bits, shift));
  return {mul(hi, scale), mul(lo, scale)};
}

/// x + y as a pair (TwoSum); `lo` is NaN where `hi` is infinite.
static Pair sumPair(ImplicitLocOpBuilder &b, Value x, Value y) {
  Value sum = arith::AddFOp::create(b, x, y);
  Value part = sub(b, sum, x), rest = sub(b, sum, part);
  return {sum, arith::AddFOp::create(b, sub(b, x, rest), sub(b, y, part))};
}

/// softplus(x) = max(x, 0) + log1p(exp(-|x|)): no branch, no overflow. Beyond +-rateBound
/// exp(A_log) and softplus may leave f32 although g does not. Above, g is exp(A_log + x) where
/// it is not beyond all bounds; below, only a large x counts, and a power of two changes sides.
static Value softplusGate(Emitter &b, Value a, Value bias, Value aLog) {
  using namespace mathk;
  ArrayRef<int64_t> shape = cast<ShapedType>(a.getType()).getShape();
  Value isLow = isBelow(b, aLog, -rateBound);
  Value scale = select(b, isLow, splatLike(b, aLog, 1 / rateScale), splatLike(b, aLog, 1));
  Pair x = sumPair(b, b.mul(a, scale), b.mul(bias, scale));
  x.lo = finiteOrZero(b, x.lo);
  Value small = exp(b, neg(b, math::AbsFOp::create(b, x.hi)));
  Value positive = arith::MaximumFOp::create(b, x.hi, splatLike(b, x.hi, 0));
  Value softplus = b.add(positive, math::Log1pOp::create(b, small));
  // Far below zero softplus is exp(x): there the rounding of the sum itself, which
  // is sub-ulp of x but |x| ulps of the result, has to come back.
  softplus = b.fma(x.lo, small, softplus);
  Value raised = arith::MaximumFOp::create(b, aLog, splatLike(b, aLog, rateFloor));
  raised = b.add(raised, splatLike(b, aLog, rateScaleLog));
  Value exponent = b.broadcast(select(b, isLow, raised, aLog), shape), wide = b.broadcast(aLog, shape);
  Value isHigh = isAbove(b, wide, rateBound);
  // A_log + x is exact where g is of any size.
  exponent = select(b, isHigh, b.add(b.add(wide, x.hi), x.lo), exponent);
  Value share = select(b, isHigh, splatLike(b, softplus, 1), softplus);
  return b.mul(share, neg(b, exp(b, exponent)));
}

/// sigmoid(z) = (z < 0 ? e : 1) / (1 + e), e = exp(-|z|), z = exp(A_log) (a + dt_bias):
/// far below zero a relative error of z counts |z| times, so z is a pair. Beyond +-rateBound
/// a power of two goes from the rate to the sum: where z counts, both are then within f32.
static Value safeGate(Emitter &b, Value a, Value bias, Value aLog, double lowerBound) {
  using namespace mathk;
  Value isLow = isBelow(b, aLog, -rateBound), isHigh = isAbove(b, aLog, rateBound);
  Value one = splatLike(b, aLog, 1);
  auto power = [&](int32_t value) -> Value {
    auto type = cast<ShapedType>(typeLike(aLog, b.getI32Type()));
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, APInt(32, value, /*isSigned=*/true)));
  };
  // Scaled down before it is summed, up behind: the sum does not overflow.
  Value down = select(b, isLow, splatLike(b, aLog, 1 / rateScale), one);
  Value up = select(b, isHigh, splatLike(b, aLog, rateScale), one);
  Pair x = sumPair(b, b.mul(a, down), b.mul(bias, down));
  x = {b.mul(x.hi, up), b.mul(x.lo, up)};
  Value moved = select(b, isLow, power(rateScaleBits), select(b, isHigh, power(-rateScaleBits), power(0)));
  Pair rate = expPair(b, clamp(b, aLog, rateFloor, rateCeiling), moved);
  Value z = b.mul(x.hi, rate.hi);
  Value zLo = b.fma(x.hi, rate.hi, neg(b, z));
  zLo = finiteOrZero(b, b.fma(x.lo, rate.hi, b.fma(x.hi, rate.lo, zLo)));
  Value isNegative = isBelow(b, z, 0);
  Value toward = select(b, isNegative, zLo, neg(b, zLo));
  Value size = math::AbsFOp::create(b, z), bound = splatLike(b, z, lowerBound);
  Value small = exp(b, neg(b, size));
  small = b.fma(small, toward, small);
  Value least = b.mul(small, bound);
  if (lowerBound < -vastBound) { // Multiplied by it, what an exponential flushes to zero counts.
    Value root = exp(b, b.mul(size, splatLike(b, z, -0.5f)));
    Value vast = b.mul(b.mul(root, bound), root);
    least = select(b, isAbove(b, size, vastFrom), b.fma(vast, toward, vast), least);
  }
  Value share = select(b, isNegative, least, bound);
  return arith::DivFOp::create(b, share, b.add(small, splatLike(b, z, 1)));
}

static FailureOr<Results> lowerGate(replay::GateOp op, Operands<replay::GateOp> in, Emitter &b) {
  Value a = b.f32(only(in.getA())), g;
  auto aLog = [&] { return only(in.getParams()[0]); };
  auto bias = [&] {
    return b.broadcast(only(in.getParams()[1]), cast<ShapedType>(a.getType()).getShape());
  };
  switch (op.getForm()) {
  case replay::GateForm::Softplus:
    g = softplusGate(b, a, bias(), aLog());
    break;
  case replay::GateForm::Safe:
    g = safeGate(b, a, bias(), aLog(), op.getLowerBound()->convertToDouble());
    break;
  case replay::GateForm::Precomputed:
    g = a;
    break;
  }
  return one(g);
}

static FailureOr<Results> lowerBeta(replay::BetaOp op, Operands<replay::BetaOp> in, Emitter &b) {
  Value x = b.f32(only(in.getB()));
  Type io = op.getB().getType().getElementType();
  auto sigmoid = [&] {
    Value one = splatLike(b, x, 1);
    return Value(arith::DivFOp::create(b, one, b.add(one, exp(b, neg(b, x)))));
  };
  switch (op.getForm()) {
  case replay::BetaForm::SigmoidF32:
    x = sigmoid();
    break;
  case replay::BetaForm::SigmoidIO:
    x = sigmoid();
    if (!io.isF32())
      x = b.f32(arith::TruncFOp::create(b, typeLike(x, io), x));
    break;
  case replay::BetaForm::Precomputed:
    break;
  }
  return one(op.getFactor() == 1 ? x : b.mul(x, splatLike(b, x, op.getFactor())));
}

void lower::addGatePatterns(Patterns &patterns) {
  patterns.add(lowerGate, Patterns::Rows::Each);
  patterns.add(lowerBeta, Patterns::Rows::Each);
}
