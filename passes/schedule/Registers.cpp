//===- Registers.cpp - The registers that a tiling takes ------------------===//
//
// Per thread, from what is live at once. With rows of the tile and elements along K
// in one lane (perLane), rows that the lanes of one sum share (share), and
//
//   tile  = rows * perLane, the state; of 16 bits 7/8 in a window, 3/4 where one token's
//           waits in shared memory for the ring
//   ring  = key rows in flight * perLane + gates along K / 2 + ceil(L / 8) * rows
//   pairs = perLane * (1.5, with gates along K 3) + trees with gates along K: T token rows / 5
//   token = 2 + rows / share + where tokens are not a loop (rows + T / 2) / 4
//           + in a tree 1, and where tokens are not a loop 6 (gates along K: 12)
//   loop  = 1 for each token but one of an iteration, where tokens are a loop
//
// the largest of what one phase takes:
//
//   reads of one token   tile + ring + reads * perLane; a tile that is copied in bulk comes behind the ring
//   reads of a window    tile + max(ring, pairs) + T * token + loop; keys that are copied in bulk count 3/4
//   no reads             max(tile, keys of the ring and the larger of its gates and values)
//   fold                 rows * perLane + unroll * (perLane + rows / 2), and the outputs
//   loop over a state    rows * perLane (alone 5/4) + (reads + 1, with gates along K 2) * perLane + 4 * rows
//   no state             what a lane has of a record that is moved
//
// ptxas keeps more loads in flight where it has registers left, and fewer where it
// has not: the estimate is what it can do with little harm, within a factor of 1.5.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/CostModel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using llvm::divideCeilSigned;
using namespace replayssm;
using namespace replayssm::schedule;

namespace {
struct Constants {
  int64_t base = 36;       // addresses, scalars, temporaries
  int64_t windowBase = 30; // the same of a window, whose scalars are in shared memory
  int64_t updateBase = 18; // and where nothing is read, so that there are no outputs
  int64_t moveBase = 32;   // of a kernel that moves records
  int64_t cursorBase = 14; // of one that has cursors alone
  int64_t token = 2;       // of a window: gates, norms and the sums that are found again
  int64_t parent = 1;      // of a token of a tree: its parent and its path
  int64_t ahead = 6;       // of a token of a tree without a loop: what it takes over from its parent;
                           // twice where gates run along K
  int64_t beside = 1;      // of a token that is read beside another one of a loop
  int64_t circular = 12;   // masks of records that lie anywhere in their ring
  int64_t fold = 8;        // of a window whose state is read in front of a fold
  int64_t outputs = 12;    // of reads, beside a fold
  int64_t carry = 26;      // of a window beside a loop that carries a state
  int64_t mmaBase = 52;       // on tensor cores
} constant;
} // namespace

/// Of the records: keys of the passes that are under way, gates and values.
static int64_t ringRegisters(const KernelFacts &facts, const Tiling &tiling) {
  int64_t length = facts.ringLength, perLane = facts.paddedK() / facts.lanes;
  bool bulkKeys = tiling.copiesKeys(facts), alongK = facts.gateDim > 1, isWindow = facts.tokens > 1;
  // Passes are straight code, so that the loads of the next ones begin early.
  int64_t ahead = bulkKeys ? 1 : isWindow || !facts.reads ? 4 : 2;
  int64_t passes = std::min(divideCeilSigned(length, tiling.bc), ahead);
  if (alongK && !isWindow) // weighted keys beside those that are loaded
    passes = std::max<int64_t>(passes, 2);
  int64_t gates = alongK ? length * divideCeilSigned(facts.K, tiling.warps * 32) / 2 : 0;
  int64_t values = divideCeilSigned(length, 8) * tiling.rowsPerLane(facts);
  // Without reads, gates have become weights when values are loaded.
  return passes * tiling.keyRowsPerLane(facts) * perLane + (facts.reads ? gates + values : std::max(gates, values));
}

/// Of the tokens of a window while the state is read.
static int64_t tokenRegisters(const KernelFacts &facts, const Tiling &tiling) {
  int64_t rows = tiling.rowsPerLane(facts), tokens = facts.tokens;
  // Lanes share what runs along V as far as its rows can be halved.
  int64_t share = std::min(rows & -rows, facts.lanes);
  double each = constant.token + rows / share;
  bool isLoop = tokens > tiling.unroll;
  if (!isLoop)
    each += (rows + tokens / 2.0) / 4;
  if (facts.paths)
    each += constant.parent + (isLoop ? 0 : constant.ahead * (facts.gateDim > 1 ? 2 : 1));
  return static_cast<int64_t>(tokens * each) + (isLoop ? constant.beside * (tiling.unroll - 1) : 0);
}

/// Of the token rows that are in flight for scores of tokens.
static int64_t pairRegisters(const KernelFacts &facts, const Tiling &tiling) {
  int64_t perLane = facts.paddedK() / facts.lanes, tokens = facts.tokens;
  if (facts.gateDim == 1)
    return perLane * 3 / 2;
  // The gates of a path are picked among those of all earlier tokens.
  return 3 * perLane + (facts.paths ? tokens * perLane * tiling.rowsPerLane(facts, tokens) / 5 : 0);
}

/// On tensor cores: keys and deltas of the ring, two or three accumulators of each sum.
static int64_t registersOfMma(const KernelFacts &facts, const Tiling &tiling) {
  int64_t length = llvm::alignTo(facts.ringLength, 16), threads = tiling.warps * 32;
  int64_t rows = tiling.rowsPerLane(facts), columns = facts.reads * divideCeilSigned(facts.tokens, 8);
  int64_t state = tiling.copy == 1 ? 0 : rows * facts.paddedK() / facts.lanes * 3 / 2;
  int64_t ring = length * (facts.paddedK() + tiling.bv) / threads;
  return constant.mmaBase + ring + state + rows / 2 * columns * 10 + (facts.folds ? rows * facts.paddedK() / facts.lanes : 0);
}

int64_t schedule::estimateRegisters(const KernelFacts &facts, const Tiling &tiling) {
  if (facts.mma() && facts.stateBytes)
    return registersOfMma(facts, tiling);
  bool isWindow = facts.tokens > 1;
  if (!facts.stateBytes) // What is moved is as wide as a record, over the lanes of one warp.
    return facts.moves ? constant.moveBase + (facts.K + facts.V + facts.gateDim) / 32 : constant.cursorBase;
  bool bulk = tiling.copy == 1;
  int64_t rows = tiling.rowsPerLane(facts), perLane = facts.paddedK() / facts.lanes;
  int64_t state = rows * perLane, tile = state;
  if (facts.stateBytes < 4) // packed in part until it is used
    tile = isWindow ? state * 7 / 8 : bulk && facts.ringLength ? state * 3 / 4 : state;
  int64_t ring = ringRegisters(facts, tiling);

  int64_t base = !facts.reads ? constant.updateBase : isWindow ? constant.windowBase : constant.base;
  int64_t most = 0;
  if (!facts.reads) {
    most = std::max(tile, ring);
  } else if (isWindow) {
    int64_t inFlight = std::max(ring, pairRegisters(facts, tiling));
    most = tile + (tiling.copiesKeys(facts) ? inFlight * 3 / 4 : inFlight) + tokenRegisters(facts, tiling) +
           (facts.folds ? constant.fold : 0) + (facts.loopSteps ? constant.carry : 0);
  } else {
    most = (bulk ? std::max(tile, ring) : tile + ring) + facts.reads * perLane +
           (facts.scattered ? constant.circular : 0);
  }
  if (facts.folds)
    most = std::max(most, state + tiling.unroll * (perLane + rows / 2) + (facts.reads ? constant.outputs : 0));
  if (facts.loopSteps)
    most = std::max(most, (facts.reads ? state : state * 5 / 4) +
                              (facts.loopReads + (facts.loopGates ? 2 : 1)) * perLane + 4 * rows);
  return base + most;
}
