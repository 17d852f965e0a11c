//===- Layout.h - Digit layouts, as a C++ value -----------------*- C++ -*-===//
//
// The value form of #tile.layout: see LayoutAttr for the meaning.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Tile/TileDialect.h"

namespace replayssm::tile {

enum class Owner { Reg, Lane, Warp };

struct Factor {
  Owner owner = Owner::Reg;
  int64_t size = 1;
  int64_t stride = 1;
  bool operator==(const Factor &) const = default;
};

struct Layout {
  llvm::SmallVector<llvm::SmallVector<Factor, 4>, 2> dims;

  Layout() = default;
  explicit Layout(LayoutAttr attr) : Layout(attr.getFactors(), attr.getCounts()) {}
  Layout(llvm::ArrayRef<int64_t> factors, llvm::ArrayRef<int64_t> counts);
  void flatten(llvm::SmallVectorImpl<int64_t> &factors, llvm::SmallVectorImpl<int64_t> &counts) const;
  LayoutAttr toAttr(mlir::MLIRContext *context) const;
  llvm::LogicalResult verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;
  bool operator==(const Layout &) const = default;

  /// The layout of a tile, or none before layouts are assigned.
  static std::optional<Layout> of(mlir::Type type);

  int64_t extent(unsigned dim) const;        ///< Padded extent.
  int64_t numRegs() const;                   ///< Elements per thread.
  int64_t covered(Owner owner) const;        ///< Product of this owner's sizes.
  int64_t warpsNeeded() const;               ///< Warps until every element has a thread.
  bool dimHas(unsigned dim, Owner owner) const;
  int64_t laneMask(unsigned dim) const;      ///< Lane bits that spread this dimension.
  /// Coordinate along `dim` that comes from register `reg` alone.
  int64_t regCoord(unsigned dim, int64_t reg) const;
  /// Lane bits that no factor names: threads that differ only there hold copies.
  int64_t freeLaneMask() const;
  /// (stride, size) of the digits of lanes or warps, `count` of them, that no
  /// factor names. The owner of an element has (id / stride) mod size = 0 in all.
  llvm::SmallVector<std::pair<int64_t, int64_t>> replicaDigits(Owner owner, int64_t count) const;

  /// Drops factors of size 1; a dimension left empty becomes [r1:1].
  Layout &normalize();
  /// Row-major register strides: the innermost factor of the last dimension first.
  Layout &renumberRegs();
  /// The layout with `dim` held once: its registers vanish, the others close up in order.
  Layout without(unsigned dim) const;
};

/// Whether the dimensions are spread alike, register strides aside.
bool sameDigits(const Layout &a, unsigned dimA, const Layout &b, unsigned dimB);
/// A digit of a coordinate that lanes have in one layout and registers in another:
/// `size` values, `weight` apart, by the lane bits from `stride` on.
struct ScatteredDigit {
  int64_t size, stride, weight;
};
/// What tells dimension `dimTo` of `to` from `dimFrom` of `from`, where only lanes
/// of `lanes` (a mask) took the place of registers; none where more differs.
std::optional<llvm::SmallVector<ScatteredDigit, 2>> scatteredDigits(const Layout &from, unsigned dimFrom,
                                                                    const Layout &to, unsigned dimTo,
                                                                    int64_t lanes);
/// The register of `from` behind each register of `to`, -1 for padding (zero), or
/// nothing where elements would change threads.
std::optional<llvm::SmallVector<int64_t>> registerMap(const Layout &from, const Layout &to,
                                                      llvm::ArrayRef<int64_t> shape);

// How lanes hold operands and sums of an mma: see tile.dot.
/// Rows of its first operand and of the sums.
bool isMmaRows(const Layout &layout, unsigned dim);
/// Rows of its second operand.
bool isMmaColumns(const Layout &layout, unsigned dim);
/// What is contracted; where sums of chunks stay apart digits tell these apart, also those of warps.
bool isMmaContraction(const Layout &layout, unsigned dim, MmaAttr mma);
/// Of the sums, from those of the operands: with `apart` a block of rows for each chunk.
Layout mmaResult(const Layout &a, const Layout &b, unsigned contracted, MmaAttr mma);
// The same of `size` elements, with registers in front; rows over `warps`.
llvm::SmallVector<Factor, 4> mmaRows(int64_t size, int64_t warps);
llvm::SmallVector<Factor, 4> mmaColumns(int64_t size);
llvm::SmallVector<Factor, 4> mmaContraction(int64_t size);
/// With warps that share its chunks.
llvm::SmallVector<Factor, 4> mmaChunks(int64_t size, int64_t chunk, int64_t warps);

} // namespace replayssm::tile
