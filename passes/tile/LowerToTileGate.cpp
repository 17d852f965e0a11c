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
static Value neg(ImplicitLocOpBuilder &b, Value x) { return arith::NegFOp::create(b, x); }

/// exp(x) as a pair, 2^-29 of it at most away; x is within -80 .. 60.
static Pair expPair(ImplicitLocOpBuilder &b, Value x) {
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
  Value bits = arith::BitcastOp::create(b, typeLike(x, i32), shifted);
  Value shift = arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<ShapedType>(typeLike(x, i32)), APInt(32, exponentShift)));
  Value scale = arith::BitcastOp::create(b, x.getType(), arith::ShLIOp::create(b, bits, shift));
  return {mul(hi, scale), mul(lo, scale)};
}

/// x + y as a pair (TwoSum).
static Pair sumPair(ImplicitLocOpBuilder &b, Value sum, Value x, Value y) {
  Value part = sub(b, sum, x), rest = sub(b, sum, part);
  Value lo = arith::AddFOp::create(b, sub(b, x, rest), sub(b, y, part));
  return {sum, lo};
}

/// softplus(x) = max(x, 0) + log1p(exp(-|x|)): no branch, no overflow.
Value Lowering::softplusGate(Value a, Value bias, Value aLog) {
  Value x = add(a, bias);
  Value small = exp(neg(b, math::AbsFOp::create(b, x)));
  Value positive = arith::MaximumFOp::create(b, x, splatLike(b, x, 0));
  Value softplus = add(positive, math::Log1pOp::create(b, small));
  // Far below zero softplus is exp(x): there the rounding of the sum itself, which
  // is sub-ulp of x but |x| ulps of the result, has to come back.
  softplus = fma(sumPair(b, x, a, bias).lo, small, softplus);
  return mul(softplus, neg(b, exp(aLog)));
}

/// sigmoid(z) = (z < 0 ? e : 1) / (1 + e), e = exp(-|z|), z = exp(A_log) (a + dt_bias):
/// far below zero a relative error of z counts |z| times, so z is a pair.
Value Lowering::safeGate(Value a, Value bias, Value aLog, double lowerBound) {
  Pair x = sumPair(b, add(a, bias), a, bias);
  // Keeps z finite; the sigmoid is 0 or 1 there but for rates below exp(-23).
  x.hi = clamp(b, x.hi, -1e12f, 1e12f);
  Pair rate = expPair(b, clamp(b, aLog, -80, 60));
  Value z = mul(x.hi, rate.hi);
  Value zLo = fma(x.hi, rate.hi, neg(b, z));
  zLo = fma(x.lo, rate.hi, fma(x.hi, rate.lo, zLo));
  Value isBelow = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, z, splatLike(b, z, 0));
  Value toward = arith::SelectOp::create(b, isBelow, zLo, neg(b, zLo));
  Value small = exp(neg(b, math::AbsFOp::create(b, z)));
  small = fma(small, toward, small);
  Value bound = splatLike(b, z, lowerBound);
  Value share = arith::SelectOp::create(b, isBelow, mul(small, bound), bound);
  return arith::DivFOp::create(b, share, add(small, splatLike(b, z, 1)));
}

LogicalResult Lowering::lowerGate(replay::GateOp op) {
  Value a = f32(values.lookup(op.getA())), g;
  auto aLog = [&] { return values.lookup(op.getALog()); };
  auto bias = [&] {
    return broadcast(values.lookup(op.getDtBias()), cast<ShapedType>(a.getType()).getShape());
  };
  switch (op.getForm()) {
  case replay::GateForm::Softplus:
    g = softplusGate(a, bias(), aLog());
    break;
  case replay::GateForm::Safe:
    g = safeGate(a, bias(), aLog(), op.getLowerBound()->convertToDouble());
    break;
  case replay::GateForm::Precomputed:
    g = a;
    break;
  }
  values[op.getG()] = g;
  if (cast<ShapedType>(g.getType()).getDimSize(1) > 1)
    spread.insert(g);
  return success();
}

LogicalResult Lowering::lowerBeta(replay::BetaOp op) {
  Value x = f32(values.lookup(op.getB()));
  Type io = op.getB().getType().getElementType();
  auto sigmoid = [&] {
    Value one = splatLike(b, x, 1);
    return Value(arith::DivFOp::create(b, one, add(one, exp(neg(b, x)))));
  };
  switch (op.getForm()) {
  case replay::BetaForm::SigmoidF32:
    x = sigmoid();
    break;
  case replay::BetaForm::SigmoidIO:
    x = sigmoid();
    if (!io.isF32())
      x = f32(arith::TruncFOp::create(b, typeLike(x, io), x));
    break;
  case replay::BetaForm::Precomputed:
    break;
  }
  values[op.getBeta()] = op.getFactor() == 1 ? x : mul(x, splatLike(b, x, op.getFactor()));
  return success();
}
