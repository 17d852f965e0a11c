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
  // The digits of one owner, in ascending stride, must tile [0, n) without
  // overlap: each stride at least the previous stride times its size and a
  // multiple of it; registers and warps leave no gaps.
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
      bool gapAllowed = owner == Owner::Lane;
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

int64_t Layout::numRegs() const { return covered(Owner::Reg); }

bool Layout::dimHas(unsigned dim, Owner owner) const {
  return llvm::any_of(dims[dim], [&](Factor f) { return f.owner == owner && f.size > 1; });
}

int64_t Layout::regCoord(unsigned dim, int64_t reg) const {
  int64_t coord = 0;
  for (Factor f : dims[dim])
    coord = coord * f.size + (f.owner == Owner::Reg ? (reg / f.stride) % f.size : 0);
  return coord;
}

int64_t Layout::freeLaneMask() const {
  int64_t covered = 0;
  for (const auto &dim : dims)
    for (Factor f : dim)
      if (f.owner == Owner::Lane)
        covered |= (f.size - 1) * f.stride;
  return 31 & ~covered;
}
