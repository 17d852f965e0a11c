//===- LowerDot.cpp - fma chains over registers, butterflies over lanes ---===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;
using tile::Owner;

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
  unsigned ca = op.getContract()[0], cb = op.getContract()[1], fa = 1 - ca, fb = 1 - cb;
  ThreadFactors lanes = a.threads(ca);
  if (lanes != b.threads(cb) || a.regCoords(ca) != b.regCoords(cb))
    return op.emitOpError("expected equal layouts along the contracted dimension but got ")
           << a.type << " and " << b.type;
  if (a.threads(fa) != result.threads(0) || b.threads(fb) != result.threads(1))
    return op.emitOpError("expected the result to be spread over threads as its operands but got ")
           << result.type << " from " << a.type << " and " << b.type;
  if (llvm::any_of(lanes, [](ThreadFactor f) { return f.owner == Owner::Warp; }))
    return op.emitOpError("expected the contracted dimension in registers and lanes but got ") << a.type;
  if (op.getAcc() && !lanes.empty())
    return op.emitOpError("expected the contracted dimension in registers alone where acc is given but got ")
           << a.type;

  auto reg = [](const TileInfo &tile, unsigned contracted, int64_t c, int64_t free) {
    return contracted == 0 ? tile.find(c, free) : tile.find(free, c);
  };
  SmallVector<Value> aRegs = l.regsOf(op.getA()), bRegs = l.regsOf(op.getB()), sums;
  std::optional<TileInfo> acc;
  SmallVector<Value> accRegs;
  if (op.getAcc()) {
    acc.emplace(op.getAcc());
    if (acc->layout != result.layout)
      return op.emitOpError("expected acc in the layout of the result but got ") << acc->type;
    accRegs = l.regsOf(op.getAcc());
  }
  SmallVector<int64_t> chain = a.regCoords(ca), butterfly = distances(lanes);
  for (int64_t r = 0, e = result.numRegs(); r < e; ++r) {
    auto [m, n] = result.coords(r);
    Value sum = acc ? accRegs[r] : Value();
    for (int64_t c : chain) {
      auto ra = reg(a, ca, c, m), rb = reg(b, cb, c, n);
      if (!ra || !rb)
        return op.emitOpError("expected a register of the operands for each of the result but got ")
               << result.type << " from " << a.type << " and " << b.type;
      sum = sum ? Value(math::FmaOp::create(l.b, aRegs[*ra], bRegs[*rb], sum))
                : Value(arith::MulFOp::create(l.b, aRegs[*ra], bRegs[*rb]));
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
