//===- Layout.cpp - Digit layouts -----------------------------------------===//
#include "dialects/Tile/Layout.h"

using namespace mlir;
using namespace replayssm::tile;

Layout::Layout(ArrayRef<int64_t> factors, ArrayRef<int64_t> counts) {
  for (int64_t count : counts) {
    auto &dim = dims.emplace_back();
    for (int64_t i = 0; i < count; ++i, factors = factors.drop_front(3))
      dim.push_back({static_cast<Owner>(factors[0]), factors[1], factors[2]});
  }
}

void Layout::flatten(SmallVectorImpl<int64_t> &factors, SmallVectorImpl<int64_t> &counts) const {
  for (const auto &dim : dims) {
    counts.push_back(dim.size());
    for (Factor f : dim)
      factors.append({static_cast<int64_t>(f.owner), f.size, f.stride});
  }
}

LayoutAttr Layout::toAttr(MLIRContext *context) const {
  SmallVector<int64_t> factors, counts;
  flatten(factors, counts);
  return LayoutAttr::get(context, factors, counts);
}

LogicalResult Layout::verify(function_ref<InFlightDiagnostic()> emitError) const {
  // The digits of one owner, in ascending stride, must not overlap: each stride
  // a multiple of the previous stride times its size. Registers leave no gaps:
  // every register holds an element; lanes and warps in a gap hold copies.
  for (Owner owner : {Owner::Reg, Owner::Lane, Owner::Warp}) {
    SmallVector<Factor> mine;
    for (const auto &dim : dims)
      for (Factor f : dim) {
        if (f.size < 1 || f.stride < 1)
          return emitError() << "expected positive sizes and strides";
        if (f.owner == owner && f.size > 1)
          mine.push_back(f);
      }
    llvm::sort(mine, [](Factor a, Factor b) { return a.stride < b.stride; });
    int64_t next = 1;
    for (Factor f : mine) {
      bool gapAllowed = owner != Owner::Reg;
      if (f.stride < next || f.stride % next != 0 || (!gapAllowed && f.stride != next))
        return emitError() << "expected the strides of '" << "rlw"[static_cast<int>(owner)]
                           << "' factors to follow each other but got stride " << f.stride
                           << " where " << next << " comes next";
      if (owner == Owner::Lane && (!llvm::isPowerOf2_64(f.size) || !llvm::isPowerOf2_64(f.stride)))
        return emitError() << "expected lane factors to be powers of two but got l" << f.size
                           << ":" << f.stride;
      next = f.stride * f.size;
    }
    if (owner == Owner::Lane && next > 32)
      return emitError() << "expected lane factors to fit 32 lanes but they need " << next;
  }
  return success();
}

std::optional<Layout> Layout::of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return std::nullopt;
  auto attr = dyn_cast_if_present<LayoutAttr>(tensor.getEncoding());
  if (!attr)
    return std::nullopt;
  return Layout(attr);
}

int64_t Layout::extent(unsigned dim) const {
  int64_t n = 1;
  for (Factor f : dims[dim])
    n *= f.size;
  return n;
}

int64_t Layout::covered(Owner owner) const {
  int64_t n = 1;
  for (const auto &dim : dims)
    for (Factor f : dim)
      if (f.owner == owner)
        n *= f.size;
  return n;
}

int64_t Layout::warpsNeeded() const {
  int64_t last = 0;
  for (const auto &dim : dims)
    for (Factor f : dim)
      if (f.owner == Owner::Warp)
        last += (f.size - 1) * f.stride;
  return last + 1;
}

int64_t Layout::numRegs() const { return covered(Owner::Reg); }

bool Layout::dimHas(unsigned dim, Owner owner) const {
  return llvm::any_of(dims[dim], [&](Factor f) { return f.owner == owner && f.size > 1; });
}

int64_t Layout::laneMask(unsigned dim) const {
  int64_t mask = 0;
  for (Factor f : dims[dim])
    if (f.owner == Owner::Lane)
      mask |= (f.size - 1) * f.stride;
  return mask;
}

int64_t Layout::regCoord(unsigned dim, int64_t reg) const {
  int64_t coord = 0;
  for (Factor f : dims[dim])
    coord = coord * f.size + (f.owner == Owner::Reg ? (reg / f.stride) % f.size : 0);
  return coord;
}

int64_t Layout::freeLaneMask() const {
  int64_t covered = 0;
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    covered |= laneMask(dim);
  return 31 & ~covered;
}

SmallVector<std::pair<int64_t, int64_t>> Layout::replicaDigits(Owner owner, int64_t count) const {
  SmallVector<Factor> mine;
  for (const auto &dim : dims)
    for (Factor f : dim)
      if (f.owner == owner && f.size > 1)
        mine.push_back(f);
  llvm::sort(mine, [](Factor a, Factor b) { return a.stride < b.stride; });
  SmallVector<std::pair<int64_t, int64_t>> digits;
  int64_t next = 1;
  for (Factor f : mine) {
    if (f.stride > next)
      digits.push_back({next, f.stride / next});
    next = f.stride * f.size;
  }
  if (next < count)
    digits.push_back({next, llvm::divideCeil(count, next)});
  return digits;
}

Layout &Layout::normalize() {
  for (auto &dim : dims) {
    llvm::erase_if(dim, [](Factor f) { return f.size == 1; });
    if (dim.empty())
      dim.push_back(Factor());
  }
  return *this;
}

Layout &Layout::renumberRegs() {
  int64_t next = 1;
  for (auto &dim : llvm::reverse(dims))
    for (Factor &f : llvm::reverse(dim))
      if (f.owner == Owner::Reg) {
        f.stride = next;
        next *= f.size;
      }
  return normalize();
}

Layout Layout::without(unsigned dim) const {
  Layout result = *this;
  result.dims[dim].clear();
  SmallVector<Factor *> regs;
  for (auto &factors : result.dims)
    for (Factor &f : factors)
      if (f.owner == Owner::Reg && f.size > 1)
        regs.push_back(&f);
  llvm::sort(regs, [](Factor *a, Factor *b) { return a->stride < b->stride; });
  int64_t next = 1;
  for (Factor *f : regs) {
    f->stride = next;
    next *= f->size;
  }
  return result.normalize();
}

bool replayssm::tile::sameDigits(const Layout &a, unsigned dimA, const Layout &b, unsigned dimB) {
  auto digits = [](const Layout &layout, unsigned dim) {
    SmallVector<Factor, 4> result;
    for (Factor f : layout.dims[dim])
      if (f.size > 1)
        result.push_back({f.owner, f.size, f.owner == Owner::Reg ? 1 : f.stride});
    return result;
  };
  return digits(a, dimA) == digits(b, dimB);
}

/// Factors of threads with the weight of their digits in the coordinate.
static SmallVector<std::pair<Factor, int64_t>> threadParts(const Layout &layout, unsigned dim) {
  SmallVector<std::pair<Factor, int64_t>> parts;
  int64_t weight = 1;
  for (Factor f : llvm::reverse(layout.dims[dim])) {
    if (f.owner != Owner::Reg && f.size > 1)
      parts.push_back({f, weight});
    weight *= f.size;
  }
  return parts;
}

std::optional<SmallVector<ScatteredDigit, 2>>
replayssm::tile::scatteredDigits(const Layout &from, unsigned dimFrom, const Layout &to, unsigned dimTo,
                                 int64_t lanes) {
  SmallVector<ScatteredDigit, 2> digits;
  auto before = threadParts(from, dimFrom);
  for (auto part : threadParts(to, dimTo)) {
    auto [f, weight] = part;
    if (auto *same = llvm::find(before, part); same != before.end()) {
      before.erase(same);
      continue;
    }
    if (f.owner != Owner::Lane || ((f.size - 1) * f.stride & ~lanes))
      return std::nullopt;
    digits.push_back({f.size, f.stride, weight});
  }
  if (!before.empty() || from.extent(dimFrom) != to.extent(dimTo))
    return std::nullopt;
  return digits;
}

std::optional<SmallVector<int64_t>> replayssm::tile::registerMap(const Layout &from, const Layout &to,
                                                                 ArrayRef<int64_t> shape) {
  // A coordinate is the sum of a part of the thread and a part of the register:
  // registers can be renamed only where the threads' parts agree.
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (threadParts(from, dim) != threadParts(to, dim))
      return std::nullopt;
  llvm::SmallDenseMap<std::pair<int64_t, int64_t>, int64_t> held;
  for (int64_t reg = 0; reg < from.numRegs(); ++reg)
    held[{from.regCoord(0, reg), from.regCoord(1, reg)}] = reg;
  SmallVector<int64_t> map;
  for (int64_t reg = 0; reg < to.numRegs(); ++reg) {
    int64_t row = to.regCoord(0, reg), col = to.regCoord(1, reg);
    auto it = held.find({row, col});
    bool padding = row >= shape[0] || col >= shape[1];
    if (it == held.end() && !padding)
      return std::nullopt;
    map.push_back(padding ? -1 : it->second);
  }
  return map;
}
