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

  static Dims of(replay::KernelOp kernel);
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
  tile::Layout keys(int64_t rows) const;        ///< Ring rows of one pass.
  tile::Layout keyScalars(int64_t rows) const;  ///< One number for each of them.
  tile::Layout ringValues(int64_t rows) const;  ///< Ring rows along V.
  tile::Layout ringScalars(int64_t rows) const; ///< One number per ring row.
  tile::Layout spread(int64_t rows) const;      ///< Gates along K, each computed once.
  tile::Layout record(int64_t columns) const;   ///< A field of one record, each element once.
};

} // namespace replayssm::lower
