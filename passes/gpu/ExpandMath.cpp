//===- ExpandMath.cpp - exp, log1p, rsqrt and division as fma sequences ---===//
//
// Every rounding is explicit, so both devices run one sequence. Errors, with
// approximations of 2 ulp at most: exp 1.2 ulp, log1p, rsqrt, 1/x and x/y 1 ulp;
// exp is 0 below 2^-126.5 and infinite from 2^127.5 on.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/gpu/MathConstants.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace replayssm {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm::mathk;

namespace {
/// Builds one expansion on f32 scalars or vectors alike.
struct Expander {
  ImplicitLocOpBuilder b;
  Type type, intType;

  explicit Expander(Operation *op) : b(op->getLoc(), op) {
    type = op->getResult(0).getType();
    intType = like(b.getI32Type());
  }
  Type like(Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Type t, Attribute value) {
    if (auto vector = dyn_cast<VectorType>(t))
      value = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(b, cast<TypedAttr>(value));
  }
  Value f(float value) { return constant(type, b.getF32FloatAttr(value)); }
  Value i(int32_t value) { return constant(intType, b.getI32IntegerAttr(value)); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value bits(Value x) { return arith::BitcastOp::create(b, intType, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, type, x); }
  Value below(Value x, float limit) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, f(limit));
  }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, c, x, y); }

  /// An intrinsic of one f32, element by element.
  Value approx(StringRef name, Value x) {
    auto one = [&](Value element) -> Value {
      return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr("llvm.nvvm." + name),
                                           ValueRange(element))
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return one(x);
    auto elements = vector::ToElementsOp::create(b, x);
    return vector::FromElementsOp::create(b, vector, llvm::map_to_vector(elements.getResults(), one));
  }

  template <int N>
  Value polynomial(const float (&terms)[N], Value x) {
    Value sum = f(terms[N - 1]);
    for (int term = N - 2; term >= 0; --term)
      sum = fma(sum, x, f(terms[term]));
    return sum;
  }

  Value exp(Value x) {
    // These two keep a NaN, which then reaches the product.
    x = arith::MinimumFOp::create(b, arith::MaximumFOp::create(b, x, f(expMin)), f(expMax));
    Value shifted = fma(x, f(log2eHi), f(expMagic));
    Value minusN = sub(f(expMagic), shifted);
    Value rest = fma(x, f(log2eLo), fma(x, f(log2eHi), minusN));
    Value scale = fromBits(arith::ShLIOp::create(b, bits(shifted), i(exponentShift)));
    return mul(polynomial(exp2Q, rest), scale);
  }

  Value log1p(Value u) {
    Value mantissaOffset = arith::SubIOp::create(b, bits(add(u, f(1))), i(threeQuartersBits));
    Value k = arith::AndIOp::create(b, mantissaOffset, i(exponentMask));
    Value scale = mul(fromBits(arith::SubIOp::create(b, i(fourBits), k)), f(0.25f));
    // (1 + u) 2^-k - 1 in one rounding: 2^-k is exact, also where it is subnormal.
    Value rest = fma(u, scale, add(scale, f(-1)));
    Value mantissaLog = fma(mul(rest, rest), polynomial(log1pQ, rest), rest);
    Value exponent = arith::SIToFPOp::create(b, type, k);
    Value result = fma(exponent, f(ln2PerBit), mantissaLog);
    return select(below(u, std::numeric_limits<float>::infinity()), result, u);
  }

  Value rsqrt(Value x) {
    Value y = approx("rsqrt.approx.ftz.f", x);
    Value error = fma(neg(mul(x, y)), y, f(1));
    return select(smallError(error), fma(mul(error, f(0.5f)), y, y), y);
  }

  Value reciprocal(Value x) {
    Value y = approx("rcp.approx.ftz.f", x);
    Value error = fma(neg(x), y, f(1));
    return select(smallError(error), fma(y, error, y), y);
  }

  Value divide(Value x, Value y) {
    if (matchPattern(x, m_OneFloat()))
      return reciprocal(y);
    Value inverse = reciprocal(y);
    Value quotient = mul(x, inverse);
    Value rest = fma(neg(y), quotient, x);
    Value finite = below(math::AbsFOp::create(b, rest), std::numeric_limits<float>::infinity());
    return select(finite, fma(rest, inverse, quotient), quotient);
  }

  Value smallError(Value error) { return below(math::AbsFOp::create(b, error), newtonLimit); }
};

/// What every device computes without an error.
bool isExact(Operation *op) {
  return isa<math::FmaOp, math::AbsFOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp, math::CopySignOp>(op);
}

struct ExpandMath : replayssm::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::DivFOp>(op) || (isa<math::MathDialect>(op->getDialect()) && !isExact(op)))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (!isa<math::ExpOp, math::Log1pOp, math::RsqrtOp, arith::DivFOp>(op)) {
        op->emitOpError("expected one of math.exp, math.log1p, math.rsqrt, arith.divf and what is exact: math.fma, math.absf, math.floor, "
                        "math.ceil, math.trunc, math.roundeven and math.copysign");
        return signalPassFailure();
      }
      Type type = op->getResult(0).getType();
      bool vector = isa<VectorType>(type) && cast<VectorType>(type).getRank() == 1;
      if (!getElementTypeOrSelf(type).isF32() || (isa<ShapedType>(type) && !vector)) {
        op->emitOpError("expected f32 or a vector of f32 but got ") << type;
        return signalPassFailure();
      }
      Expander expand(op);
      Value x = op->getOperand(0), result;
      if (isa<math::ExpOp>(op))
        result = expand.exp(x);
      else if (isa<math::Log1pOp>(op))
        result = expand.log1p(x);
      else if (isa<math::RsqrtOp>(op))
        result = expand.rsqrt(x);
      else
        result = expand.divide(x, op->getOperand(1));
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }
};
} // namespace
