//===- LowerScan.cpp - Exclusive suffix sums along rows -------------------===//
//
// Factor by factor, innermost first: with s the exclusive suffix sum inside the
// current block of rows and t the block's total, a factor of n digits makes
//   s_i += sum_{i' > i} t_i',   t = sum_i' t_i'.
//
// A ring that starts at another row than its first is two such scans, of the rows
// from there on and of those before, which are the later ones.
//
//===----------------------------------------------------------------------===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;
using tile::Factor;
using tile::Owner;

namespace {
struct Scan {
  Lowering &l;
  SmallVector<Value> suffix, total; ///< By register; a null suffix is zero.

  Value add(Value x, Value y) {
    return x && y ? Value(arith::AddFOp::create(l.b, x, y)) : x ? x : y;
  }

  void overRegisters(Factor f) {
    for (int64_t reg = 0, e = total.size(); reg < e; ++reg) {
      if ((reg / f.stride) % f.size)
        continue;
      Value later;
      for (int64_t i = f.size - 1; i >= 0; --i) {
        int64_t at = reg + i * f.stride;
        suffix[at] = add(suffix[at], later);
        later = add(total[at], later);
      }
      for (int64_t i = 0; i < f.size; ++i)
        total[reg + i * f.stride] = later;
    }
  }

  void overLanes(Factor f) {
    ImplicitLocOpBuilder &b = l.b;
    Type f32 = b.getF32Type();
    Value digit = l.digit(Owner::Lane, f.size, f.stride), width = l.i32(f.size * f.stride);
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    auto fromLater = [&](Value x, int64_t step) {
      Value moved = l.call("shfl.down.f32", f32, {x, l.i32(step * f.stride), width});
      Value any = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, digit, l.i32(f.size - step));
      return arith::SelectOp::create(b, any, moved, zero);
    };
    // Registers that hold one total share its shuffles.
    llvm::DenseMap<Value, std::pair<Value, Value>> done;
    for (auto [s, t] : llvm::zip_equal(suffix, total)) {
      auto &[later, sum] = done[t];
      if (!later) {
        Value inclusive = t;
        for (int64_t step = 1; step < f.size; step *= 2)
          inclusive = arith::AddFOp::create(b, inclusive, fromLater(inclusive, step));
        later = fromLater(inclusive, 1);
        sum = t;
        for (int64_t bit = f.stride; bit < f.stride * f.size; bit *= 2)
          sum = arith::AddFOp::create(b, sum, l.call("shfl.bfly.f32", f32, {sum, l.i32(bit)}));
      }
      s = add(s, later);
      t = sum;
    }
  }

  void run(const TileInfo &x) {
    suffix.resize(total.size());
    for (Factor f : llvm::reverse(x.layout.dims[0])) {
      if (f.size == 1)
        continue;
      f.owner == Owner::Reg ? overRegisters(f) : overLanes(f);
    }
    Value zero = arith::ConstantOp::create(l.b, l.b.getF32FloatAttr(0));
    for (Value &s : suffix)
      s = s ? s : zero;
  }
};
} // namespace

static Scan scanRows(Lowering &l, const TileInfo &x, ArrayRef<Value> regs) {
  Scan scan{l, {}, SmallVector<Value>(regs)};
  scan.run(x);
  return scan;
}

/// The rows from `from` on, then those before it.
static Scan scanFrom(Lowering &l, const TileInfo &x, ArrayRef<Value> regs, Value from) {
  ImplicitLocOpBuilder &b = l.b;
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value left = arith::IndexCastOp::create(b, b.getI32Type(), from);
  if (Value mine = l.threadCoord(x, 0))
    left = arith::SubIOp::create(b, left, mine);
  llvm::DenseMap<int64_t, Value> isOld; // by row
  SmallVector<Value> first, second;
  for (auto [reg, value] : llvm::enumerate(regs)) {
    int64_t row = x.coords(reg).first;
    Value &old = isOld[row];
    if (!old)
      old = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, left, l.i32(row));
    first.push_back(arith::SelectOp::create(b, old, value, zero));
    second.push_back(arith::SelectOp::create(b, old, zero, value));
  }
  Scan older = scanRows(l, x, first), newer = scanRows(l, x, second);
  for (size_t reg = 0; reg < regs.size(); ++reg) {
    Value all = arith::AddFOp::create(b, older.suffix[reg], newer.total[reg]);
    older.suffix[reg] = arith::SelectOp::create(b, isOld[x.coords(reg).first], all, newer.suffix[reg]);
    older.total[reg] = arith::AddFOp::create(b, older.total[reg], newer.total[reg]);
  }
  return older;
}

LogicalResult gpulower::lowerScan(Lowering &l, tile::ScanOp op) {
  TileInfo x(op.getX()), total(op.getTotal());
  SmallVector<Value> regs = l.regsOf(op.getX());
  Scan scan = op.getFrom() ? scanFrom(l, x, regs, op.getFrom()) : scanRows(l, x, regs);
  SmallVector<Value> totals;
  for (int64_t r = 0, e = total.numRegs(); r < e; ++r)
    totals.push_back(scan.total[*x.find(0, total.coords(r).second)]);
  l.replaceTile(op.getSuffix(), scan.suffix);
  l.replaceTile(op.getTotal(), totals);
  op.erase();
  return success();
}
