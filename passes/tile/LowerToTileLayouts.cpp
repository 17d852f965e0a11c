//===- LowerToTileLayouts.cpp - The table of docs/architecture.md ---------===//
#include "passes/tile/LowerToTileLayouts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;
using llvm::divideCeilSigned;
using tile::Factor;
using tile::Layout;
using tile::Owner;

Dims Dims::of(replay::KernelOp kernel) {
  Dims dims;
  if (replay::ShapeAttr shape = kernel.getShapeAttr()) {
    dims.H = shape.getH();
    dims.HV = shape.getHV();
    dims.K = shape.getK();
    dims.V = dims.bv = shape.getV();
  }
  dims.tokens = kernel.tokens();
  dims.maxTokens = kernel.maxTokens();
  if (replay::KredAttr kred = kernel.getKredAttr()) {
    dims.lanes = kred.getLanes();
    dims.vec = kred.getVec();
  }
  if (replay::TilingAttr tiling = kernel.getTilingAttr()) {
    dims.bv = tiling.getBv();
    dims.bc = tiling.getBc();
    dims.warps = tiling.getWarps();
    dims.unroll = tiling.getUnroll();
    dims.bulk = tiling.getCopy() == replay::CopyKind::Bulk;
  }
  return dims;
}

/// Factors are given outermost first; registers are numbered row-major over
/// them, so that the innermost register factor of the last dimension is 1.
static Layout makeLayout(SmallVector<Factor, 4> rows, SmallVector<Factor, 4> cols) {
  Layout layout;
  layout.dims = {std::move(rows), std::move(cols)};
  int64_t next = 1;
  for (auto &dim : llvm::reverse(layout.dims)) {
    llvm::erase_if(dim, [](Factor f) { return f.size == 1; });
    for (Factor &f : llvm::reverse(dim))
      if (f.owner == Owner::Reg) {
        f.stride = next;
        next *= f.size;
      }
    if (dim.empty())
      dim.push_back({Owner::Reg, 1, 1});
  }
  return layout;
}

static SmallVector<Factor, 4> alongK(const Dims &d) {
  return {{Owner::Reg, divideCeilSigned(d.K, d.lanes * d.vec), 1},
          {Owner::Lane, d.lanes, 1},
          {Owner::Reg, d.vec, 1}};
}
static SmallVector<Factor, 4> alongV(const Dims &d) {
  return {{Owner::Warp, d.warps, 1},
          {Owner::Lane, d.groups(), d.lanes},
          {Owner::Reg, divideCeilSigned(d.bv, d.warps * d.groups()), 1}};
}
/// The rows of a thread shared among the lanes that hold them alike.
static SmallVector<Factor, 4> alongVSpread(const Dims &d) {
  int64_t rows = divideCeilSigned(d.bv, d.warps * d.groups()), lanes = std::min(d.lanes, rows & -rows);
  return {{Owner::Warp, d.warps, 1},
          {Owner::Lane, d.groups(), d.lanes},
          {Owner::Lane, lanes, 1},
          {Owner::Reg, rows / lanes, 1}};
}
static SmallVector<Factor, 4> inRegisters(int64_t n) { return {{Owner::Reg, n, 1}}; }
/// The tree of the sum over ring records: eight lanes, whatever the schedule.
static SmallVector<Factor, 4> alongRing(int64_t rows) {
  return {{Owner::Reg, divideCeilSigned(rows, 8), 1}, {Owner::Lane, 8, 1}};
}

Layout Layouts::scalar() const { return makeLayout(inRegisters(1), inRegisters(1)); }
Layout Layouts::keyRow(int64_t rows) const { return makeLayout(inRegisters(rows), alongK(dims)); }
Layout Layouts::valueRow(int64_t rows) const { return makeLayout(inRegisters(rows), alongV(dims)); }
Layout Layouts::spreadValues() const { return makeLayout(inRegisters(1), alongVSpread(dims)); }
Layout Layouts::state() const { return makeLayout(alongV(dims), alongK(dims)); }
Layout Layouts::ringValues(int64_t rows) const { return makeLayout(alongRing(rows), alongV(dims)); }
Layout Layouts::ringScalars(int64_t rows) const {
  return makeLayout(alongRing(rows), inRegisters(1));
}
Layout Layouts::keys(int64_t rows) const {
  int64_t warps = std::min(dims.warps, divideCeilSigned(rows, dims.groups()));
  return makeLayout({{Owner::Reg, divideCeilSigned(rows, warps * dims.groups()), 1},
                     {Owner::Warp, warps, 1},
                     {Owner::Lane, dims.groups(), dims.lanes}},
                    alongK(dims));
}
Layout Layouts::keyScalars(int64_t rows) const {
  Layout layout = keys(rows);
  return makeLayout(layout.dims[0], inRegisters(1));
}
Layout Layouts::spread(int64_t rows) const {
  int64_t warps = std::min(dims.warps, divideCeilSigned(dims.K, 32));
  return makeLayout(inRegisters(rows), {{Owner::Reg, divideCeilSigned(dims.K, warps * 32), 1},
                                        {Owner::Warp, warps, 1},
                                        {Owner::Lane, 32, 1}});
}

Layout Layouts::record(int64_t columns) const {
  int64_t vec = columns % 4 == 0 ? 4 : 1, warps = std::min(dims.warps, divideCeilSigned(columns, 32 * vec));
  return makeLayout(inRegisters(1), {{Owner::Reg, divideCeilSigned(columns, warps * 32 * vec), 1},
                                     {Owner::Warp, warps, 1},
                                     {Owner::Lane, columns == 1 ? 1 : 32, 1},
                                     {Owner::Reg, vec, 1}});
}
