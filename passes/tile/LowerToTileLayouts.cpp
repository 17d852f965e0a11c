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
  if (replay::MmaAttr mma = kernel.getMmaAttr())
    dims.chunk = mma.getChunk();
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
/// The state is the first operand of every read, and its rows are those of the sums.
static SmallVector<Factor, 4> stateRows(const Dims &d) {
  if (!d.mma())
    return alongV(d);
  SmallVector<Factor, 4> rows = tile::mmaRows(d.bv, d.warps);
  if (d.stateSkew()) { // Lanes of one access have rows of both halves.
    rows[2] = {Owner::Lane, 4, 8};
    rows.insert(rows.begin(), {Owner::Lane, 2, 4});
  }
  return rows;
}
static SmallVector<Factor, 4> stateColumns(const Dims &d) { return d.mma() ? tile::mmaContraction(d.K) : alongK(d); }
static SmallVector<Factor, 4> records(const Dims &d, int64_t rows) { return d.mma() ? tile::mmaContraction(rows) : alongRing(rows); }
Layout Layouts::state() const { return makeLayout(stateRows(dims), stateColumns(dims)); }
Layout Layouts::updateKey() const { return makeLayout(inRegisters(1), stateColumns(dims)); }
Layout Layouts::updateValue() const { return makeLayout(inRegisters(1), stateRows(dims)); }
Layout Layouts::ringValues(int64_t rows) const { return makeLayout(records(dims, rows), stateRows(dims)); }
Layout Layouts::ringScalars(int64_t rows) const { return makeLayout(records(dims, rows), inRegisters(1)); }
/// Chunks of channels over the warps, but for those that would have none.
static SmallVector<Factor, 4> chunks(const Dims &d) {
  return tile::mmaChunks(d.K, d.chunk, std::min(d.warps, divideCeilSigned(d.K, d.chunk)));
}
Layout Layouts::stateChunk(int64_t width) const { return makeLayout(stateRows(dims), tile::mmaContraction(width)); }
Layout Layouts::tokenColumns(int64_t count, int64_t width) const { return makeLayout(tile::mmaColumns(count), tile::mmaContraction(width)); }
Layout Layouts::tokenChunks(int64_t count) const { return makeLayout(tile::mmaColumns(count), chunks(dims)); }
Layout Layouts::tokenRows(int64_t count, int64_t width) const { return makeLayout(tile::mmaRows(count, 1), tile::mmaContraction(width)); }
Layout Layouts::sumColumns(int64_t count) const {
  return makeLayout(inRegisters(1), {{Owner::Reg, divideCeilSigned(count, 8), 1}, {Owner::Lane, 4, 1}, {Owner::Reg, 2, 1}});
}
Layout Layouts::pairs(int64_t rows, int64_t columns) const {
  int64_t lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(columns)), others = 32 / lanes;
  int64_t warps = std::min(dims.warps, divideCeilSigned(rows, others));
  return makeLayout({{Owner::Reg, divideCeilSigned(rows, warps * others), 1}, {Owner::Warp, warps, 1}, {Owner::Lane, others, lanes}},
                    {{Owner::Reg, divideCeilSigned(columns, lanes), 1}, {Owner::Lane, lanes, 1}});
}
Layout Layouts::pairRows(int64_t count) const { return makeLayout(pairs(count, count).dims[0], inRegisters(1)); }
Layout Layouts::pairColumns(int64_t count) const { return makeLayout(inRegisters(1), pairs(count, count).dims[1]); }
Layout Layouts::scoreColumns(int64_t length, int64_t count) const {
  return makeLayout(tile::mmaContraction(length), tile::mmaColumns(count));
}
Layout Layouts::ringKeys(int64_t rows) const {
  if (!dims.mma())
    return keys(rows);
  return makeLayout(tile::mmaRows(rows, 1), chunks(dims));
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
