//===- MmaLayouts.cpp - How lanes hold what tensor cores take and give ----===//
//
// Lane 4 g + t has rows g and g + 8 of the first operand, row g of the second, and
// of the sums columns 2 t and 2 t + 1 of rows g and g + 8. Which row of a tile is row
// g of an instruction is free, as both sides of the contraction agree on its channels:
// thread t takes four that follow each other, which are one access.
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Layout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace replayssm::tile;
using llvm::divideCeilSigned;

static constexpr int64_t groupLanes = 28; // lane bits of g

static SmallVector<Factor, 4> digitsOf(const Layout &layout, unsigned dim) {
  return llvm::filter_to_vector<4>(layout.dims[dim], [](Factor f) { return f.size > 1; });
}

/// Whether the innermost factors are these, register strides aside.
static bool endsIn(const Layout &layout, unsigned dim, ArrayRef<Factor> last) {
  SmallVector<Factor, 4> factors = digitsOf(layout, dim);
  if (factors.size() < last.size())
    return false;
  for (auto [f, wanted] : llvm::zip_equal(ArrayRef(factors).take_back(last.size()), last))
    if (f.owner != wanted.owner || f.size != wanted.size || (f.owner != Owner::Reg && f.stride != wanted.stride))
      return false;
  return true;
}

bool replayssm::tile::isMmaRows(const Layout &layout, unsigned dim) {
  return layout.laneMask(dim) == groupLanes && endsIn(layout, dim, {{Owner::Reg, 2, 1}});
}
bool replayssm::tile::isMmaColumns(const Layout &layout, unsigned dim) {
  return layout.laneMask(dim) == groupLanes && endsIn(layout, dim, {{Owner::Lane, 8, 4}});
}
/// The outer digits, down to those that make up `size` elements; none where a digit is a part of
/// both.
static std::optional<SmallVector<Factor, 4>> outerDigits(const Layout &layout, unsigned dim, int64_t size) {
  SmallVector<Factor, 4> factors = digitsOf(layout, dim);
  for (; size > 1 && !factors.empty(); factors.pop_back()) {
    if (size % factors.back().size != 0)
      return std::nullopt;
    size /= factors.back().size;
  }
  return factors;
}

bool replayssm::tile::isMmaContraction(const Layout &layout, unsigned dim, MmaAttr mma) {
  if (layout.laneMask(dim) != 3 || !endsIn(layout, dim, {{Owner::Lane, 4, 1}, {Owner::Reg, 4, 1}}))
    return false;
  if (!mma.getApart())
    return !layout.dimHas(dim, Owner::Warp);
  // All warps are among those that tell chunks apart.
  auto chunks = outerDigits(layout, dim, mma.getChunk());
  auto isWarp = [](Factor f) { return f.owner == Owner::Warp; };
  return chunks && llvm::count_if(*chunks, isWarp) == llvm::count_if(digitsOf(layout, dim), isWarp);
}

SmallVector<Factor, 4> replayssm::tile::mmaRows(int64_t size, int64_t warps) {
  return {{Owner::Warp, warps, 1}, {Owner::Reg, divideCeilSigned(size, 16 * warps), 1}, {Owner::Lane, 8, 4}, {Owner::Reg, 2, 1}};
}
SmallVector<Factor, 4> replayssm::tile::mmaColumns(int64_t size) {
  return {{Owner::Reg, divideCeilSigned(size, 8), 1}, {Owner::Lane, 8, 4}};
}
SmallVector<Factor, 4> replayssm::tile::mmaContraction(int64_t size) {
  return {{Owner::Reg, divideCeilSigned(size, 16), 1}, {Owner::Lane, 4, 1}, {Owner::Reg, 4, 1}};
}
SmallVector<Factor, 4> replayssm::tile::mmaChunks(int64_t size, int64_t chunk, int64_t warps) {
  SmallVector<Factor, 4> factors{{Owner::Warp, warps, 1}, {Owner::Reg, divideCeilSigned(size, chunk * warps), 1}};
  factors.append(mmaContraction(chunk));
  return factors;
}

Layout replayssm::tile::mmaResult(const Layout &a, const Layout &b, unsigned contracted, MmaAttr mma) {
  unsigned free = 1 - contracted;
  SmallVector<Factor, 4> rows, cols = *outerDigits(b, free, 8);
  if (mma.getApart())
    rows = *outerDigits(a, contracted, mma.getChunk());
  rows.append(digitsOf(a, free));
  cols.append({{Owner::Lane, 4, 1}, {Owner::Reg, 2, 1}});
  Layout result;
  result.dims = {rows, cols};
  return result.renumberRegs();
}
