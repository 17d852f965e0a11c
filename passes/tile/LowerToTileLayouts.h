//===- LowerToTileLayouts.h - The layouts of tiles, by their place -*- C++ -*-===//
#pragma once

#include "dialects/Tile/Layout.h"
#include "passes/Passes.h"

namespace replayssm::lower {

/// The numbers that addresses and layouts are made of.
struct Dims {
  int64_t H = 1, HV = 1, K = 1, V = 1;
  int64_t tokens = 1;                     // of a row, at most
  int64_t maxTokens = 1;                  // the same of the kernel set
  int64_t lanes = 8, vec = 4;             // #replay.kred
  int64_t bv = 1, bc = 1, warps = 1, unroll = 1; // #replay.tiling
  bool bulk = false;
  int64_t chunk = 0; ///< #replay.mma; 0: by fma


  static Dims of(replay::KernelOp kernel);
  bool mma() const { return chunk > 0; }
  /// Elements from one row in shared memory to the next. Tensor cores take eight rows at once, and
  /// their sums come by columns: rows that begin in one bank would wait for each other.
  int64_t keyPitch(int64_t elementBytes) const { return mma() ? K + (elementBytes == 4 ? 16 : 8) : K; }
  /// Bytes between the halves of a state that is copied. No rows are padded then.
  int64_t stateSkew() const { return mma() && bulk && bv % (16 * warps) == 0 ? 64 : 0; }
  int64_t valuePitch() const { return mma() ? bv + 4 : bv; }
  int64_t groups() const { return 32 / lanes; } ///< Lane groups of a warp.
  bool isLoop(int64_t count) const { return count > unroll; } ///< Over so many tokens.
  int64_t tiles() const { return V / bv; }      ///< V tiles of a head.
};

/// The table of layouts of docs/architecture.md.
struct Layouts {
  const Dims &dims;
  tile::Layout scalar() const;
  tile::Layout keyRow(int64_t rows) const;      ///< Vectors along K: q, k.
  tile::Layout valueRow(int64_t rows) const;    ///< Vectors along V: v, d, out.
  tile::Layout spreadValues() const;            ///< The same of a window: lanes of a sum along K share them.
  tile::Layout state() const;
  tile::Layout updateKey() const;               ///< One row along K, as the columns of the state.
  tile::Layout updateValue() const;             ///< One row along V, as the rows of the state.
  tile::Layout keys(int64_t rows) const;        ///< Rows of tokens along K.
  tile::Layout ringKeys(int64_t rows) const;    ///< Ring rows of one pass.
  // Operands of tensor cores along K: all of it, or `width` channels of it.
  tile::Layout stateChunk(int64_t width) const;
  tile::Layout tokenColumns(int64_t count, int64_t width) const; ///< Tokens.
  tile::Layout tokenChunks(int64_t count) const;              ///< The same, with channels over warps.
  tile::Layout tokenRows(int64_t count, int64_t width) const; ///< Tokens as the first operand.
  tile::Layout sumColumns(int64_t count) const;               ///< One number for each token, as their sums lie.
  tile::Layout pairs(int64_t rows, int64_t columns) const;    ///< A matrix with each number in one thread.
  tile::Layout pairRows(int64_t count) const;                 ///< One number for each row of it,
  tile::Layout pairColumns(int64_t count) const;              ///< and for each column.
  tile::Layout scoreColumns(int64_t length, int64_t count) const; ///< Scores of records by token, the same.
  tile::Layout keyScalars(int64_t rows) const;  ///< One number for each of them.
  tile::Layout ringValues(int64_t rows) const;  ///< Ring rows along V.
  tile::Layout ringScalars(int64_t rows) const; ///< One number per ring row.
  tile::Layout spread(int64_t rows) const;      ///< Gates along K, each computed once.
  tile::Layout record(int64_t columns) const;   ///< A field of one record, each element once.
};

} // namespace replayssm::lower
