//===- CostModel.cpp - Legal tilings and their predicted costs ------------===//
#include "passes/schedule/CostModel.h"

#include <cmath>

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using llvm::divideCeilSigned;
using namespace replayssm;
using namespace replayssm::schedule;

namespace {
/// Everything that a measurement of times may change stands here.
struct Constants {
  int64_t stateRegisters = 64;      // limit per thread
  int64_t windowRegisters = 128;    // the same of a window, whose tokens are much to do for a thread
  double spillRegisters = 64;       // that are lacking when spills take as long as the rest
  double dependentLoadNs = 650;     // one step of the chain slot -> cursor -> rows
  double barrierNs = 40;
  double bulkNs = 150;              // extra latency of a copy through shared memory
  double orderedNs = 500;           // work of rings and windows behind the tile's own register loads
  double aloneFactor = 1.1;         // nothing runs while a block that is alone waits at its barriers
  double issuePerCycle = 4;         // warp instructions of a multiprocessor
  double instructionsPerWarp = 350; // scalars, gates, norms, addresses
  double instructionsPerToken = 110; // of a window: the same once more
  double drain = 140;               // of an iteration over tokens: slots in which its last sums go over the lanes
  double sharedAccess = 16;         // slots of 16 bytes a lane: shared memory has four cycles of work with a warp's
  double earlyStoresNs = 500;       // of a window whose gates along K wait behind the stores of its tokens
  double keyShareFromL2 = 0.3;      // keys are shared by the heads and tiles of a group
} constant;
} // namespace

int64_t Tiling::rowsPerLane(const KernelFacts &facts, int64_t rows) const {
  int64_t atOnce = facts.mma() ? 2 : 1; // rows of one instruction that a lane has
  return divideCeilSigned(rows, warps * (32 / facts.lanes) * atOnce) * atOnce;
}

int64_t Tiling::keyRowsPerLane(const KernelFacts &facts) const {
  return rowsPerLane(facts, std::min(bc, facts.ringLength));
}

bool Tiling::copiesKeys(const KernelFacts &facts) const { return copy == 1 && !facts.scattered && !facts.mma(); }

/// Of a buffer of so many numbers: the next one begins at a multiple of 16.
static int64_t bufferBytes(int64_t numbers) { return llvm::alignTo(numbers * 4, 16); }

/// On tensor cores: sums of a window lie where the state was.
static int64_t sharedBytesOfMma(const KernelFacts &facts, const Tiling &tiling) {
  int64_t length = facts.ringLength, tokens = facts.tokens, bytes = 32 * tokens;
  bool bulk = tiling.copy == 1, alongK = facts.gateDim > 1;
  if (bulk)
    bytes += tiling.bv * facts.K * facts.stateBytes;
  else
    bytes += facts.reads * tokens * tiling.bv * 4;
  bytes += facts.reads * tokens * (facts.K + 8) * facts.tokenBytes; // rows a few elements apart
  if (length) // parts of the scores, and the scores
    bytes += tokens * llvm::alignTo(length, 16) * divideCeilSigned(facts.K, facts.chunk) * 4 + facts.reads * bufferBytes(tokens * length);
  bytes += facts.reads * bufferBytes(tokens * tokens * (alongK ? facts.levels() : 1));
  if (alongK)
    bytes += ((length ? length + 1 : 0) + tokens * (1 + facts.levels() + 2 * facts.reads)) * facts.K * 4;
  if (facts.folds)
    bytes += length * (tiling.bv + facts.K) * 4;
  return bytes;
}

/// Copies, scores, decays along K, the operands of the fold and the tokens of a
/// window: what is needed if no two of them share their bytes, but for operands that
/// are formed where the decays between tokens have been used: what replay-plan-shared
/// takes where more would cost a block, gaps in its placement aside.
static int64_t sharedBytes(const KernelFacts &facts, const Tiling &tiling) {
  if (facts.mma())
    return sharedBytesOfMma(facts, tiling);
  int64_t length = facts.ringLength, tokens = facts.tokens, bytes = facts.reads * bufferBytes(tokens * length);
  bool bulk = tiling.copy == 1, bulkKeys = tiling.copiesKeys(facts), alongK = facts.gateDim > 1;
  if (bulk) // and room for the mbarriers and for alignment
    bytes += tiling.bv * facts.K * facts.stateBytes + (bulkKeys ? length * facts.K * 4 : 0) + 256;
  int64_t levels = facts.paths ? 1 : facts.levels(); // a tree has its gates in place of decays
  if (alongK)
    bytes += ((length ? length + 1 : 0) + tokens * (1 + levels)) * facts.K * 4;
  if (tokens > 1) { // tokens and what is formed of them, scores, columns, results of loops
    int64_t pairs = tokens * tokens * (alongK ? levels : 1) + (alongK ? tokens : 0);
    int64_t perRead = tokens * facts.K * 4 * (alongK ? 2 : 1) + bufferBytes(pairs) + 4 * bufferBytes(tokens);
    if (tokens > tiling.unroll)
      perRead += tokens * tiling.bv * 4 * (length ? 2 : 1);
    bytes += facts.reads * perRead;
  }
  if (facts.loopGates)
    bytes += facts.K * 4;
  if (facts.folds)
    bytes += length * tiling.bv * 4 + (bulkKeys && !alongK ? 0 : length * facts.K * 4);
  return bytes;
}

bool schedule::isEffective(const KernelFacts &facts, int64_t Tiling::*field) {
  if (!facts.stateBytes)
    return false;
  if (field == &Tiling::bc)
    return facts.ringLength > 0;
  if (field == &Tiling::copy) // Of the state, or of keys.
    return facts.startsAtOnce || facts.ringLength > 0;
  if (field == &Tiling::unroll)
    return facts.folds || (facts.tokens > 1 && !facts.mma()); // tensor cores take all tokens at once
  if (field == &Tiling::sink) // Of one token no store waits long.
    return facts.tokens > 1;
  if (field == &Tiling::blocks) // What a window keeps in registers is up to ptxas.
    return facts.tokens > 1;
  return true;
}

int64_t schedule::stateRegisters(const KernelFacts &facts) {
  return facts.tokens > 1 || facts.mma() ? constant.windowRegisters : constant.stateRegisters;
}

SmallVector<Tiling> schedule::legalTilings(const KernelFacts &facts, const TargetFacts &target) {
  if (!facts.stateBytes)
    return {Tiling{.bv = facts.V}};
  SmallVector<int64_t> chunks{8}, copies{0}, unrolls{1}, blocks{1}, sinks{8};
  for (int64_t bc : {16, 32, 64})
    if (bc / 2 < facts.ringLength && !facts.mma())
      chunks.push_back(bc);
  if (facts.mma()) // All records at once.
    while (chunks.back() < facts.ringLength)
      chunks.back() *= 2;
  if (isEffective(facts, &Tiling::copy))
    copies = {0, 1};
  if (isEffective(facts, &Tiling::unroll))
    unrolls = {1, 2, 4};
  if (isEffective(facts, &Tiling::sink))
    sinks = {8, 32};
  if (isEffective(facts, &Tiling::blocks))
    blocks = {1, 2, 3, 4, 5, 6, 8};
  SmallVector<Tiling> legal;
  for (int64_t bv = 8; bv <= facts.V; bv += 8) {
    if (facts.V % bv != 0)
      continue;
    for (int64_t warps : {1, 2, 3, 4, 5, 6, 8}) {
      Tiling tiling{.bv = bv, .warps = warps};
      int64_t rows = tiling.rowsPerLane(facts), perWarp = rows * (32 / facts.lanes);
      if (rows * facts.paddedK() / facts.lanes > stateRegisters(facts))
        continue;
      // No idle warp, and odd counts only where nothing is padded.
      bool fits = llvm::isPowerOf2_64(warps) ? (warps - 1) * perWarp < bv : warps * perWarp == bv;
      if (!fits)
        continue;
      for (int64_t bc : chunks)
        for (int64_t copy : copies)
          for (int64_t unroll : unrolls)
            for (int64_t count : blocks)
              for (int64_t sink : sinks)
                legal.push_back({bv, bc, warps, copy, unroll, count, sink});
    }
  }
  // Where nothing fits, the least is left to replay-plan-shared: buffers may share bytes.
  int64_t least = INT64_MAX;
  for (const Tiling &tiling : legal)
    least = std::min(least, sharedBytes(facts, tiling));
  llvm::erase_if(legal, [&](const Tiling &tiling) {
    int64_t shared = sharedBytes(facts, tiling);
    return shared > std::max(least, int64_t(target.sharedBytesPerBlock)) ||
           (tiling.blocks > 1 &&
            (tiling.blocks * (shared + int64_t(target.reservedSharedBytes)) > int64_t(target.sharedBytesPerMultiprocessor) ||
             tiling.blocks * tiling.warps * 32 > int64_t(target.maxThreadsPerMultiprocessor)));
  });
  return legal;
}

/// Instructions that join the sums of so many rows over the lanes, which share them
/// as long as they can.
static int64_t joinCost(int64_t rows, int64_t lanes) {
  int64_t cost = 0;
  for (; lanes > 1; lanes /= 2) {
    bool isShared = rows % 2 == 0;
    cost += 2 * rows;
    rows /= isShared ? 2 : 1;
  }
  return cost;
}

namespace {
/// Of the loops that carry a state, on average over launches.
struct LoopCosts {
  double bytes = 0, perThread = 0, latencyNs = 0;
};
} // namespace

static LoopCosts predictLoops(const KernelFacts &facts, const Tiling &tiling) {
  LoopCosts costs;
  if (!facts.loopSteps)
    return costs;
  int64_t rows = tiling.rowsPerLane(facts), threads = tiling.warps * 32;
  int64_t perLane = facts.paddedK() / facts.lanes, state = rows * perLane;
  // Half of the steps that there may be; beside other reads only where a ring is full.
  double steps = facts.loopSteps / 2.0 * (facts.reads ? facts.storeShare : 1);
  double perStep = constant.instructionsPerWarp / 2 + facts.loopReads * (state + rows * 2 * std::log2(facts.lanes)) +
                   2 * state + 3 * perLane + (facts.loopStores ? state / 4.0 : 0) +
                   (facts.loopGates ? 30.0 * facts.K / threads : 0);
  costs.perThread = steps * perStep;
  costs.bytes = steps * (facts.loopStores ? double(tiling.bv) * facts.K * facts.stateBytes : 0);
  costs.latencyNs = steps * (constant.dependentLoadNs + (facts.loopGates ? 2 : 0) * constant.barrierNs);
  return costs;
}

/// Instructions of a thread that read state and ring on tensor cores; per 16 channels or records,
/// and tiles of 16 rows and 8 columns: loads, splits of what has 32 bits, products.
static double predictMma(const KernelFacts &facts, const Tiling &tiling) {
  auto products = [&](double channels, double rows, double columns, double loads, double terms) {
    return channels * (rows * loads + columns * (terms > 4 ? 20 : 6) + rows * columns * terms);
  };
  double columns = facts.reads * divideCeilSigned(facts.tokens, 8), rows = tiling.rowsPerLane(facts) / 2.0;
  double records = divideCeilSigned(facts.ringLength, 16), channels = facts.paddedK() / 16.0;
  bool alongK = facts.gateDim > 1, isHalf = facts.stateBytes < 4 && !alongK;
  double ofTokens = alongK ? 6 : 4; // two products of two operands of 32 bits have six terms, else four
  return products(channels, rows, columns, isHalf ? 2 : 18, isHalf ? 1 : ofTokens) +
         products(std::ceil(channels / tiling.warps), records, columns, alongK ? 26 : 18, ofTokens) +
         products(records, rows, columns, 32, 6) +
         products(channels * (alongK ? facts.levels() : 1), divideCeilSigned(facts.tokens, 16), columns, alongK ? 40 : 2, alongK ? 6 : 1);
}

Costs schedule::predict(const KernelFacts &facts, const Tiling &tiling, const TargetFacts &target) {
  Costs costs;
  costs.registers = estimateRegisters(facts, tiling);
  if (!facts.stateBytes) {
    costs.blocksPerProcessor = target.maxBlocksPerMultiprocessor;
    costs.waves = double(referenceRows) / (target.multiprocessors * costs.blocksPerProcessor);
    costs.microseconds = target.launchMicroseconds + 2 * constant.dependentLoadNs / 1000;
    return costs;
  }
  int64_t rows = tiling.rowsPerLane(facts), threads = tiling.warps * 32;
  int64_t perLane = facts.paddedK() / facts.lanes, length = facts.ringLength;
  bool bulk = tiling.copy == 1, alongK = facts.gateDim > 1;
  int64_t passes = divideCeilSigned(length, tiling.bc), keyRows = tiling.keyRowsPerLane(facts);
  int64_t state = rows * perLane, tokens = facts.tokens;
  LoopCosts loops = predictLoops(facts, tiling);

  costs.sharedBytes = sharedBytes(facts, tiling);
  int64_t shared = costs.sharedBytes;
  int64_t allowed = target.maxRegistersPerThread, taken = costs.registers;
  if (tokens > 1) { // ptxas takes what it may have, to keep more loads in flight
    int64_t quarter = divideCeilSigned(tiling.warps * tiling.blocks, 4); // warps that share a scheduler and its registers
    taken = allowed = std::min(allowed, int64_t(target.registersPerMultiprocessor) / 4 / (quarter * 32) / 8 * 8);
  }
  int64_t rounded = divideCeilSigned(std::min(taken, allowed), 8) * 8;
  costs.blocksPerProcessor = std::min<int64_t>(
      {int64_t(target.registersPerMultiprocessor) / (threads * rounded),
       int64_t(target.maxThreadsPerMultiprocessor) / threads,
       int64_t(target.sharedBytesPerMultiprocessor / (shared + target.reservedSharedBytes)),
       int64_t(target.maxBlocksPerMultiprocessor)});
  int64_t resident = std::max<int64_t>(costs.blocksPerProcessor, 1);

  // A ring is half full on average.
  double tile = double(tiling.bv) * facts.K * facts.stateBytes;
  double records = length / 2.0 * 4 *
                   (tiling.bv + facts.K * constant.keyShareFromL2 + facts.gateDim);
  costs.blockBytes = tile * (1 + facts.storeShare) + records + loops.bytes;
  double gbps = facts.storeShare == 1.0 ? target.inPlaceGBps : target.readGBps;
  double memoryNs = costs.blockBytes / (gbps / target.multiprocessors);

  double readsByFma = facts.reads * tokens *
                          (state + (tokens > 1 ? joinCost(rows, facts.lanes) : rows * 2 * std::log2(facts.lanes))) +
                      passes * keyRows * facts.reads * tokens * (perLane + 12.0);
  double perThread = constant.instructionsPerWarp +
                     (facts.mma() ? predictMma(facts, tiling) : readsByFma) + state / 4.0 * (1 + facts.storeShare) +
                     (alongK ? 12.0 * length * facts.K / threads : 0);
  // An update reads a copy again; a loop loads the checkpoint again, however it came.
  if (bulk && facts.reads && !facts.loopSteps)
    perThread += state / 4.0 * facts.storeShare * constant.sharedAccess;
  double waitNs = bulk ? constant.bulkNs : length || tokens > 1 ? constant.orderedNs : 0;
  if (tokens > 1) { // norms, scores, decays, the solve
    double pairs = tokens * tokens / 2.0, rowsOfKeys = tiling.rowsPerLane(facts, tokens);
    double instructions = facts.mma() ? 18 : perLane * (1.25 + rowsOfKeys) + 18;
    int64_t records = length && !facts.mma() ? divideCeilSigned(length, 8) * rows + joinCost(rows, 8) : 0;
    double inFront = tokens * constant.instructionsPerToken +
                     facts.reads * tokens * instructions * (alongK ? 1 + facts.levels() / 2.0 : 1) +
                     12.0 * tokens * (1 + facts.levels()) * facts.gateDim / (alongK ? threads : 1);
    perThread += inFront + facts.reads * tokens * records +
                 pairs * facts.reads * (divideCeilSigned(rows, facts.lanes) + 4) +
                 constant.drain * divideCeilSigned(tokens, tiling.unroll);
    // Records stand behind the copy of the state; what needs neither hides that.
    if (bulk && length)
      waitNs += std::max(tile / (gbps / target.multiprocessors) - inFront * 2 / target.clockGHz, 0.0);
  }
  double foldPerThread = facts.folds ? length * (state + perLane / 4.0 + 6.0 / tiling.unroll) : 0;
  perThread += foldPerThread * facts.storeShare + loops.perThread;
  double issueNs = perThread * tiling.warps / constant.issuePerCycle / target.clockGHz;

  double chain = 2 + (length ? 1 : 0);
  double latencyNs = chain * constant.dependentLoadNs + (length ? 3 + passes : 1) * constant.barrierNs +
                     perThread * 2 / target.clockGHz + loops.latencyNs + waitNs;
  // Stores of tokens, a tile of them for each read, that stand in front of the barrier with
  // those of the decays let the two overlap; one gate a token has no such phase.
  int64_t tokenTiles = tokens > 1 && alongK ? facts.reads * tiling.rowsPerLane(facts, tokens) * perLane : 0;
  if (tokenTiles > tiling.sink)
    latencyNs += constant.earlyStoresNs;
  // A smooth maximum: what overlaps never overlaps fully.
  double blockNs = std::sqrt(memoryNs * memoryNs + issueNs * issueNs +
                             std::pow(latencyNs / resident, 2));
  // A few spills of a window hide among its arithmetic where the chip sets the limit;
  // a limit that the schedule sets is not worth any.
  int64_t waiting = (tiling.sink - Tiling().sink) / 2; // some of them are free by then
  int64_t excess = std::max<int64_t>(costs.registers + waiting - allowed, 0);
  if (tokens > 1 && allowed == target.maxRegistersPerThread && costs.blocksPerProcessor > 0)
    blockNs *= 1 + std::pow(excess / constant.spillRegisters, 2);
  else if (excess > 0 || costs.blocksPerProcessor == 0)
    blockNs *= 2 + excess / 16.0;
  if (costs.blocksPerProcessor == 1)
    blockNs *= constant.aloneFactor;
  double blocks = double(referenceRows) * facts.HV * (facts.V / tiling.bv);
  costs.waves = blocks / (double(target.multiprocessors) * resident);
  costs.microseconds = target.launchMicroseconds +
                       std::max(blocks / target.multiprocessors * blockNs, latencyNs) / 1000;
  return costs;
}
