//===- CostModel.h - What a tiling of a kernel costs ------------*- C++ -*-===//
//
// Plain numbers: what the schedule needs to know of a kernel, the tilings that
// are legal for it, and their predicted costs on a chip.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "common/Targets.h"
#include "passes/Passes.h"

namespace replayssm::schedule {

/// Read off the kernel's ops and attributes.
struct KernelFacts {
  int64_t HV = 1, H = 1, K = 1, V = 1;
  int64_t lanes = 8, vec = 4;
  int64_t stateBytes = 0;   ///< Per element; 0 = no state.
  int64_t ringLength = 0;   ///< 0 = no records are read or folded.
  int64_t gateDim = 1;      ///< Of the records.
  int64_t reads = 0;        ///< Vectors of a token that meet the state.
  int64_t tokens = 1;       ///< Of a row.
  int64_t chunk = 0;        ///< Channels of a sum on tensor cores, where state and ring are read there.
  int64_t tokenBytes = 4;   ///< Of an element of q or k.
  bool scattered = false;   ///< Records need not lie from the first position on.
  bool folds = false;       ///< Records are applied to the state.
  bool paths = false;       ///< Tokens name their parents.
  bool moves = false;       ///< Records go to other places of their ring.
  double storeShare = 0;    ///< Mean fraction of launches that write it.
  /// Loops that carry a state: the vectors that meet it in one step, the most steps,
  /// whether gates run along K, whether every step stores a state.
  int64_t loopReads = 0, loopSteps = 0;
  bool loopGates = false, loopStores = false;
  bool startsAtOnce = false; ///< The state is needed on every path.

  static KernelFacts of(replay::KernelOp kernel);
  bool mma() const { return chunk > 0; }
  /// Levels at which the tokens of a window are told apart.
  int64_t levels() const { return llvm::Log2_64_Ceil(tokens); }
  int64_t paddedK() const { return (K + lanes * vec - 1) / (lanes * vec) * lanes * vec; }
};

/// The fields of #replay.tiling, as numbers (copy: the enum's value).
struct Tiling {
  int64_t bv = 1, bc = 8, warps = 1, copy = 0, unroll = 1, blocks = 1, sink = 8;

  static constexpr std::pair<const char *, int64_t Tiling::*> fields[] = {
      {"bv", &Tiling::bv}, {"bc", &Tiling::bc}, {"warps", &Tiling::warps},
      {"copy", &Tiling::copy}, {"unroll", &Tiling::unroll}, {"blocks", &Tiling::blocks}, {"sink", &Tiling::sink}};
  bool operator==(const Tiling &) const = default;
  /// Of so many rows over the lane groups of the block, those that one lane has a part of.
  int64_t rowsPerLane(const KernelFacts &facts, int64_t rows) const;
  int64_t rowsPerLane(const KernelFacts &facts) const { return rowsPerLane(facts, bv); } ///< Of the state.
  int64_t keyRowsPerLane(const KernelFacts &facts) const; ///< Of one pass over the ring.
  /// Whether keys lie where one copy takes them.
  bool copiesKeys(const KernelFacts &facts) const;
};

struct Costs {
  int64_t registers = 0;       ///< Per thread, estimated.
  int64_t sharedBytes = 0;     ///< Per block.
  int64_t blocksPerProcessor = 0;
  double blockBytes = 0;       ///< Moved by one block on average.
  double waves = 0;            ///< Of `referenceRows` rows.
  double microseconds = 0;     ///< For `referenceRows` rows.
};

inline constexpr int64_t referenceRows = 128;
inline constexpr double nearTie = 1.03; ///< Predictions are no better than that.

/// Whether a field changes the instructions of the kernel at all.
bool isEffective(const KernelFacts &facts, int64_t Tiling::*field);
/// Of a thread, at most, for its part of the state.
int64_t stateRegisters(const KernelFacts &facts);
/// Every legal tiling, in a fixed order; one for kernels without a state. With the least
/// shared memory of one whose state fits the registers.
llvm::SmallVector<Tiling> legalTilings(const KernelFacts &facts, const TargetFacts &target);
/// Per thread, from what is live at once; more than a thread may have means spills.
int64_t estimateRegisters(const KernelFacts &facts, const Tiling &tiling);
Costs predict(const KernelFacts &facts, const Tiling &tiling, const TargetFacts &target);

} // namespace replayssm::schedule
