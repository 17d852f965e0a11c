//===- LowerMma.cpp - Contractions on tensor cores ------------------------===//
//
// An operand of 16 bits is exact in tf32. One of 32 bits is split: high + low, of 11
// and up to 13 bits, of which tensor cores take 11; the product of two low parts is left
// out. Beside an exact operand the high part is cut off, so that low is exact; beside
// another of 32 bits it is rounded: two low parts are 2^-22 of the product at most then.
//
//===----------------------------------------------------------------------===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;

namespace {
/// What a thread gives to one instruction, of each operand.
struct Fragment {
  Value high, low; ///< Vectors; no low part where high is exact.
};

class Mma {
public:
  Mma(Lowering &l, tile::DotOp op)
      : l(l), op(op), a(op.getA()), b(op.getB()), contracted(op.getContract()[0]), aRegs(l.regsOf(op.getA())),
        bRegs(l.regsOf(op.getB())), chain(a.regCoords(contracted)) {
    isHalf = !a.element().isF32() && a.element() == b.element();
    roundsSplit = a.element().isF32() && b.element().isF32();
  }

  void run();

private:
  Value vector(ArrayRef<Value> elements) {
    auto type = VectorType::get({int64_t(elements.size())}, elements.front().getType());
    return vector::FromElementsOp::create(l.b, type, elements);
  }
  Value elementOf(const TileInfo &tile, ArrayRef<Value> regs, int64_t free, int64_t channel) {
    return regs[*(contracted == 0 ? tile.find(channel, free) : tile.find(free, channel))];
  }
  std::pair<Value, Value> split(Value x);
  Fragment fragment(SmallVector<Value> elements);
  Fragment ofA(int64_t row, int64_t step);
  Fragment ofB(int64_t col, int64_t step);
  Value multiply(Value x, Value y, Value sums);
  Value sumsOf(ArrayRef<Fragment> rows, ArrayRef<Fragment> cols, int64_t first, int64_t last);
  Value zeros() {
    auto type = VectorType::get({4}, l.b.getF32Type());
    return arith::ConstantOp::create(l.b, DenseElementsAttr::get(type, 0.0f));
  }
  /// x may be null: nothing.
  Value add(Value x, Value y) { return x ? Value(arith::AddFOp::create(l.b, x, y)) : y; }
  /// Registers along the channels in one step.
  int64_t perStep() const { return isHalf ? 4 : 2; }
  int64_t steps() const { return chain.size() / perStep(); }

  Lowering &l;
  tile::DotOp op;
  TileInfo a, b;
  unsigned contracted;
  SmallVector<Value> aRegs, bRegs;
  SmallVector<int64_t> chain;
  bool isHalf = false, roundsSplit = false;
};
} // namespace

std::pair<Value, Value> Mma::split(Value x) {
  Type i32 = l.b.getI32Type();
  Value bits = arith::BitcastOp::create(l.b, i32, x);
  if (roundsSplit)
    bits = arith::AddIOp::create(l.b, bits, l.i32(0x1000));
  Value high = arith::AndIOp::create(l.b, bits, l.call("tf32.mask", i32, {}, false));
  high = arith::BitcastOp::create(l.b, x.getType(), high);
  return {high, arith::SubFOp::create(l.b, x, high)};
}

Fragment Mma::fragment(SmallVector<Value> elements) {
  if (isHalf)
    return {vector(elements), Value()};
  Type f32 = l.b.getF32Type();
  if (elements.front().getType() != f32) {
    for (Value &x : elements)
      x = arith::ExtFOp::create(l.b, f32, x);
    return {vector(elements), Value()};
  }
  SmallVector<Value> high, low;
  for (Value x : elements) {
    auto [h, rest] = split(x);
    high.push_back(h);
    low.push_back(rest);
  }
  return {vector(high), vector(low)};
}

/// Rows g and g + 8 are registers that follow each other; channels of one step as well.
Fragment Mma::ofA(int64_t row, int64_t step) {
  SmallVector<Value> elements;
  int64_t width = isHalf ? 2 : 1;
  for (int64_t half : {0, 1})
    for (int64_t r : {0, 1})
      for (int64_t j = 0; j < width; ++j)
        elements.push_back(elementOf(a, aRegs, row + r, chain[step * perStep() + half * width + j]));
  return fragment(elements);
}

Fragment Mma::ofB(int64_t col, int64_t step) {
  SmallVector<Value> elements;
  for (int64_t j = 0; j < perStep(); ++j)
    elements.push_back(elementOf(b, bRegs, col, chain[step * perStep() + j]));
  return fragment(elements);
}

Value Mma::multiply(Value x, Value y, Value sums) {
  StringRef name = !isHalf ? "mma.tf32" : a.element().isBF16() ? "mma.bf16" : "mma.f16";
  return l.call(name, sums.getType(), {x, y, sums});
}

/// The sums of the steps from `first` up to `last`.
Value Mma::sumsOf(ArrayRef<Fragment> rows, ArrayRef<Fragment> cols, int64_t first, int64_t last) {
  Value sums = zeros(), corrections;
  for (int64_t step = first; step < last; ++step) {
    const Fragment &x = rows[step], &y = cols[step];
    if (x.low || y.low)
      corrections = corrections ? corrections : zeros();
    if (x.low)
      corrections = multiply(x.low, y.high, corrections);
    if (y.low)
      corrections = multiply(x.high, y.low, corrections);
    sums = multiply(x.high, y.high, sums);
  }
  return corrections ? add(sums, corrections) : sums;
}

void Mma::run() {
  TileInfo result(op.getResult());
  tile::MmaAttr order = *op.getMma();
  SmallVector<int64_t> rows = a.regCoords(1 - contracted), cols = b.regCoords(1 - contracted);
  SmallVector<int64_t> sumCols = result.regCoords(1);
  SmallVector<Value> regs(result.numRegs());
  SmallVector<SmallVector<Fragment>> ofCols(cols.size());
  int64_t stepsOfChunk = order.getChunk() ? order.getChunk() / (isHalf ? 16 : 8) : steps();
  for (size_t n = 0; n < cols.size(); ++n)
    for (int64_t step = 0; step < steps(); ++step)
      ofCols[n].push_back(ofB(cols[n], step));
  for (size_t m = 0; m < rows.size(); m += 2) {
    SmallVector<Fragment> ofRows;
    for (int64_t step = 0; step < steps(); ++step)
      ofRows.push_back(ofA(rows[m], step));
    for (size_t n = 0; n < cols.size(); ++n) {
      auto keep = [&](Value sums, int64_t block) {
        auto elements = vector::ToElementsOp::create(l.b, sums);
        for (int64_t i = 0; i < 4; ++i)
          regs[*result.find(block + rows[m] + i / 2, sumCols[2 * n + i % 2])] = elements.getResult(i);
      };
      Value total;
      for (int64_t first = 0; first < steps(); first += stepsOfChunk) {
        Value sums = sumsOf(ofRows, ofCols[n], first, std::min(first + stepsOfChunk, steps()));
        if (order.getApart()) // the warp's part of the number is in the layout
          keep(sums, chain[first * perStep()] / order.getChunk() * a.layout.extent(1 - contracted));
        else
          total = add(total, sums);
      }
      if (total)
        keep(total, 0);
    }
  }
  l.replaceTile(op.getResult(), regs);
  op.erase();
}

LogicalResult gpulower::lowerMma(Lowering &l, tile::DotOp op) {
  Mma(l, op).run();
  return success();
}
