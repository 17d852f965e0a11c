//===- LowerDot.cpp - fma chains over registers, butterflies over lanes ---===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;

/// Distances of the butterfly over these factors, ascending.
static SmallVector<int64_t> distances(const ThreadFactors &factors) {
  SmallVector<int64_t> result;
  for (ThreadFactor f : factors)
    for (int64_t bit = f.stride; bit < f.stride * f.size; bit *= 2)
      result.push_back(bit);
  llvm::sort(result);
  return result;
}

namespace {
/// By coordinates of registers.
using Sums = llvm::MapVector<std::pair<int64_t, int64_t>, Value>;

/// A bit of a coordinate of the result that lanes have: (coordinate / weight) mod 2.
struct Split {
  unsigned dim;
  int64_t weight;
  int64_t bitOf(std::pair<int64_t, int64_t> at) const { return (dim ? at.second : at.first) / weight % 2; }
};
} // namespace

/// What a lane and the one at `distance` share the sums by; none where both keep all.
static std::optional<Split> splitAt(int64_t distance, tile::DotOp op) {
  unsigned c = op.getContract()[0];
  tile::Layout to = *tile::Layout::of(op.getType());
  for (unsigned dim = 0; dim < (op.getRows() ? 1 : 2); ++dim) {
    tile::Layout from = *tile::Layout::of(op->getOperand(dim).getType());
    auto digits = scatteredDigits(from, 1 - c, to, dim, from.laneMask(c));
    for (tile::ScatteredDigit digit : *digits) // The verifier has shown that there are some.
      if (digit.stride <= distance && distance < digit.stride * digit.size)
        return Split{dim, digit.weight * (distance / digit.stride)};
  }
  return std::nullopt;
}

static Value exchange(Lowering &l, Value value, int64_t distance) {
  return l.call("shfl.bfly.f32", l.b.getF32Type(), {value, l.i32(distance)});
}

/// Each lane keeps the sums whose bit is its own and gives the others away.
static void scatter(Lowering &l, Sums &sums, int64_t distance, Split split) {
  Value bit = l.digit(tile::Owner::Lane, 2, distance);
  Value isUpper = arith::CmpIOp::create(l.b, arith::CmpIPredicate::ne, bit, l.i32(0));
  Sums kept;
  for (auto &[at, low] : sums) {
    if (split.bitOf(at))
      continue;
    auto upper = at;
    (split.dim ? upper.second : upper.first) += split.weight;
    Value high = sums[upper];
    Value own = arith::SelectOp::create(l.b, isUpper, high, low), given = arith::SelectOp::create(l.b, isUpper, low, high);
    kept[at] = arith::AddFOp::create(l.b, own, exchange(l, given, distance));
  }
  sums = std::move(kept);
}

LogicalResult gpulower::lowerDot(Lowering &l, tile::DotOp op) {
  if (op.getMma())
    return lowerMma(l, op);
  TileInfo a(op.getA()), b(op.getB()), result(op.getResult());
  unsigned contracted = op.getContract()[0];
  // The verifier has shown that operands and result are spread alike.
  auto reg = [&](const TileInfo &tile, int64_t c, int64_t free) {
    return *(contracted == 0 ? tile.find(c, free) : tile.find(free, c));
  };
  SmallVector<Value> aRegs = l.regsOf(op.getA()), bRegs = l.regsOf(op.getB()), accRegs, regs;
  if (op.getAcc())
    accRegs = l.regsOf(op.getAcc());
  SmallVector<int64_t> chain = a.regCoords(contracted), butterfly = distances(a.threads(contracted));
  Sums sums;
  SmallVector<int64_t> rows = a.regCoords(1 - contracted), cols = b.regCoords(1 - contracted);
  for (int64_t m : rows)
    for (int64_t n : op.getRows() ? ArrayRef<int64_t>(m) : ArrayRef<int64_t>(cols)) {
      Value sum = op.getAcc() ? accRegs[*result.find(m, n)] : Value();
      for (int64_t c : chain) {
        Value x = aRegs[reg(a, c, m)], y = bRegs[reg(b, c, n)];
        sum = sum ? Value(math::FmaOp::create(l.b, x, y, sum)) : Value(arith::MulFOp::create(l.b, x, y));
      }
      sums[{m, op.getRows() ? 0 : n}] = sum;
    }
  // Distance by distance over all results: their shuffles overlap. Own + other
  // is commutative, so every lane ends with the same bits.
  for (int64_t distance : butterfly)
    if (std::optional<Split> split = splitAt(distance, op))
      scatter(l, sums, distance, *split);
    else
      for (auto &[at, sum] : sums)
        sum = arith::AddFOp::create(l.b, sum, exchange(l, sum, distance));
  for (int64_t r = 0, e = result.numRegs(); r < e; ++r)
    regs.push_back(sums[result.coords(r)]);
  l.replaceTile(op.getResult(), regs);
  op.erase();
  return success();
}
