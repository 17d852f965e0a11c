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

LogicalResult gpulower::lowerDot(Lowering &l, tile::DotOp op) {
  TileInfo a(op.getA()), b(op.getB()), result(op.getResult());
  unsigned contracted = op.getContract()[0];
  // The verifier has shown that operands and result are spread alike.
  auto reg = [&](const TileInfo &tile, int64_t c, int64_t free) {
    return *(contracted == 0 ? tile.find(c, free) : tile.find(free, c));
  };
  SmallVector<Value> aRegs = l.regsOf(op.getA()), bRegs = l.regsOf(op.getB()), accRegs, sums;
  if (op.getAcc())
    accRegs = l.regsOf(op.getAcc());
  SmallVector<int64_t> chain = a.regCoords(contracted), butterfly = distances(a.threads(contracted));
  for (int64_t r = 0, e = result.numRegs(); r < e; ++r) {
    auto [m, n] = result.coords(r);
    Value sum = op.getAcc() ? accRegs[r] : Value();
    for (int64_t c : chain) {
      Value x = aRegs[reg(a, c, m)], y = bRegs[reg(b, c, n)];
      sum = sum ? Value(math::FmaOp::create(l.b, x, y, sum)) : Value(arith::MulFOp::create(l.b, x, y));
    }
    sums.push_back(sum);
  }
  // Distance by distance over all results: their shuffles overlap. Own + other
  // is commutative, so every lane ends with the same bits.
  for (int64_t distance : butterfly)
    for (Value &sum : sums) {
      Value other = l.call("shfl.bfly.f32", l.b.getF32Type(), {sum, l.i32(distance)});
      sum = arith::AddFOp::create(l.b, sum, other);
    }
  l.replaceTile(op.getResult(), sums);
  op.erase();
  return success();
}
