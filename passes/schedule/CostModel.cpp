//===- CostModel.cpp - Legal tilings and their predicted costs ------------===//
#include "passes/schedule/CostModel.h"

#include <cmath>

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using llvm::divideCeilSigned;
using namespace replayssm;
using namespace replayssm::schedule;

namespace {
/// Everything that a measurement may change stands here.
struct Constants {
  int64_t stateRegisters = 64;      // limit per thread
  int64_t baseRegisters = 36;       // addresses, scalars, temporaries
  int64_t pathRegisters = 6;        // of a token of a tree and a row, where gates run along K
  int64_t fewTokens = 4;            // of a window: as many as ptxas handles one by one
  double dependentLoadNs = 650;     // one step of the chain slot -> cursor -> rows
  double barrierNs = 40;
  double bulkNs = 150;              // extra latency of a copy through shared memory
  double orderedNs = 500;           // ring work behind the tile's own register loads
  double aloneFactor = 1.06;        // nothing runs while a block that is alone waits at its barriers
  double issuePerCycle = 4;         // warp instructions of a multiprocessor
  double instructionsPerWarp = 350; // scalars, gates, norms, addresses
  double keyShareFromL2 = 0.3;      // keys are shared by the heads and tiles of a group
} constant;
} // namespace


KernelFacts KernelFacts::of(replay::KernelOp kernel) {
  KernelFacts facts;
  if (replay::ShapeAttr shape = kernel.getShapeAttr()) {
    facts.H = shape.getH();
    facts.HV = shape.getHV();
    facts.K = shape.getK();
    facts.V = shape.getV();
  }
  if (replay::KredAttr kred = kernel.getKredAttr()) {
    facts.lanes = kred.getLanes();
    facts.vec = kred.getVec();
  }
  auto useState = [&](Value state) {
    Type dtype = cast<replay::StateType>(state.getType()).getDtype();
    facts.stateBytes = dtype.getIntOrFloatBitWidth() / 8;
  };
  auto useRing = [&](Value records) {
    replay::RingAttr ring = cast<replay::RecordsType>(records.getType()).getRing();
    facts.ringLength = ring.getLength();
    if (replay::FieldAttr g = ring.getField("g"); g && g.getDim() == replay::FieldDim::K)
      facts.gateDim = facts.K;
    // One copy takes records that lie from the first position on.
    auto load = records.getDefiningOp<replay::LoadRingOp>();
    facts.scattered |= load && (load.getBase() || load.getMask());
  };
  bool always = false, sometimes = false;
  auto isInLoop = [](Operation *op) { return op->getParentOfType<scf::ForOp>() != nullptr; };
  kernel.getBody().walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !loop.getInits().empty()) {
      replay::RingAttr ring = kernel.getRingAttr();
      facts.loopSteps = ring ? ring.getLength() : static_cast<int64_t>(kernel.getWindow().value_or(1));
      facts.startsAtOnce |= loop->getParentOp() == kernel;
    }
    // What a loop does is counted apart.
    if (isInLoop(op)) {
      if (auto read = dyn_cast<replay::ReadOp>(op))
        facts.loopReads += read.getXs().size();
      if (auto decay = dyn_cast<replay::DecayOp>(op))
        facts.loopGates |= decay.getG().getType().getDimSize(1) > 1;
      facts.loopStores |= isa<replay::StoreStateOp>(op) && isa<scf::ForOp>(op->getParentOp());
      return;
    }
    if (auto load = dyn_cast<replay::LoadStateOp>(op))
      useState(load.getState());
    if (auto read = dyn_cast<replay::ReadOp>(op)) {
      facts.startsAtOnce = true;
      facts.reads += read.getXs().size();
      facts.tokens = cast<ShapedType>(read.getXs().front().getType()).getDimSize(0);
    }
    if (auto scores = dyn_cast<replay::ScoresOp>(op))
      facts.paths |= scores.getParents() != nullptr;
    if (auto read = dyn_cast<replay::RingReadOp>(op))
      useRing(read.getRecords());
    if (auto fold = dyn_cast<replay::ReplayOp>(op)) {
      useRing(fold.getRecords());
      facts.folds = true;
    }
    if (auto store = dyn_cast<replay::StoreStateOp>(op)) {
      useState(store.getState());
      (store->getParentOp() == kernel ? always : sometimes) = true;
      facts.startsAtOnce |= store->getParentOp() == kernel;
    }
  });
  // A branch that stores is that of the flush: once in a cycle of the ring. Without
  // any reads it is all that the kernel does.
  if (facts.reads == 0)
    always |= sometimes;
  if (always || sometimes)
    facts.storeShare = always ? 1.0 : 1.0 / std::max<int64_t>(facts.ringLength, 1);
  return facts;
}

int64_t Tiling::rowsPerLane(const KernelFacts &facts) const {
  return divideCeilSigned(bv, warps * (32 / facts.lanes));
}

/// Copies, scores, decays along K, the operands of the fold and the tokens of a
/// window: what is needed if no two of them can share their bytes.
static int64_t sharedBytes(const KernelFacts &facts, const Tiling &tiling) {
  int64_t length = facts.ringLength, bytes = facts.reads * facts.tokens * length * 4;
  bool bulk = tiling.copy == 1, alongK = facts.gateDim > 1;
  bool bulkKeys = bulk && !facts.scattered;
  if (bulk) // and room for the mbarriers and for alignment
    bytes += tiling.bv * facts.K * facts.stateBytes + (bulkKeys ? length * facts.K * 4 : 0) + 256;
  if (alongK)
    bytes += (length + 1 + facts.tokens * (1 + facts.levels())) * facts.K * 4;
  if (facts.tokens > 1)
    bytes += facts.reads * facts.tokens * 4 * (facts.K + facts.tokens * (alongK ? facts.levels() : 1));
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
    return facts.folds;
  return true;
}

SmallVector<Tiling> schedule::legalTilings(const KernelFacts &facts, const TargetFacts &target) {
  if (!facts.stateBytes)
    return {Tiling{.bv = facts.V}};
  SmallVector<int64_t> chunks{8}, copies{0}, unrolls{1};
  for (int64_t bc : {16, 32, 64})
    if (bc / 2 < facts.ringLength)
      chunks.push_back(bc);
  if (isEffective(facts, &Tiling::copy))
    copies = {0, 1};
  if (facts.folds)
    unrolls = {1, 2, 4};
  SmallVector<Tiling> legal;
  for (int64_t bv = 8; bv <= facts.V; bv += 8) {
    if (facts.V % bv != 0)
      continue;
    for (int64_t warps : {1, 2, 3, 4, 5, 6, 8}) {
      Tiling tiling{.bv = bv, .warps = warps};
      int64_t rows = tiling.rowsPerLane(facts), perWarp = rows * (32 / facts.lanes);
      if (rows * facts.paddedK() / facts.lanes > constant.stateRegisters)
        continue;
      // No idle warp, and odd counts only where nothing is padded.
      bool fits = llvm::isPowerOf2_64(warps) ? (warps - 1) * perWarp < bv : warps * perWarp == bv;
      if (!fits)
        continue;
      for (int64_t bc : chunks)
        for (int64_t copy : copies)
          for (int64_t unroll : unrolls)
            legal.push_back({bv, bc, warps, copy, unroll});
    }
  }
  llvm::erase_if(legal, [&](const Tiling &tiling) {
    return sharedBytes(facts, tiling) > int64_t(target.sharedBytesPerBlock);
  });
  return legal;
}

namespace {
/// Of the loops that carry a state, on average over launches.
struct LoopCosts {
  int64_t registers = 0;
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
  int64_t gates = facts.loopGates ? perLane : 0;
  // The vectors that are read, the normalised key, and what goes along V.
  costs.registers = state + (facts.loopReads + 1) * perLane + gates + 5 * rows;
  double perStep = constant.instructionsPerWarp / 2 + facts.loopReads * (state + rows * 2 * std::log2(facts.lanes)) +
                   2 * state + 3 * perLane + (facts.loopStores ? state / 4.0 : 0) +
                   (facts.loopGates ? 30.0 * facts.K / threads : 0);
  costs.perThread = steps * perStep;
  costs.bytes = steps * (facts.loopStores ? double(tiling.bv) * facts.K * facts.stateBytes : 0);
  costs.latencyNs = steps * (constant.dependentLoadNs + (facts.loopGates ? 2 : 0) * constant.barrierNs);
  return costs;
}

Costs schedule::predict(const KernelFacts &facts, const Tiling &tiling, const TargetFacts &target) {
  Costs costs;
  if (!facts.stateBytes) {
    costs.registers = constant.baseRegisters;
    costs.blocksPerProcessor = target.maxBlocksPerMultiprocessor;
    costs.waves = double(referenceRows) / (target.multiprocessors * costs.blocksPerProcessor);
    costs.microseconds = target.launchMicroseconds + 2 * constant.dependentLoadNs / 1000;
    return costs;
  }
  int64_t rows = tiling.rowsPerLane(facts), threads = tiling.warps * 32;
  int64_t perLane = facts.paddedK() / facts.lanes, length = facts.ringLength;
  bool bulk = tiling.copy == 1, bulkKeys = bulk && !facts.scattered, alongK = facts.gateDim > 1;

  // Registers: the state tile and its operands, and what the ring keeps in flight
  // (weights meet the keys where gates run along K).
  int64_t passes = divideCeilSigned(length, tiling.bc);
  int64_t keyRows = divideCeilSigned(std::min(tiling.bc, length), tiling.warps * (32 / facts.lanes));
  int64_t ring = 0;
  if (length) {
    int64_t keys = keyRows * perLane * ((!bulkKeys && passes > 1 ? 2 : 1) + (alongK ? 1 : 0));
    int64_t gates = alongK ? length * divideCeilSigned(facts.K, threads) : 0;
    ring = keys + gates + divideCeilSigned(length, 8) * rows;
  }
  // A window has its operands one by one, and every token's outputs at once; from
  // some number on ptxas keeps more loads in flight for them (measured).
  int64_t state = rows * perLane, tokens = facts.tokens;
  int64_t perToken = tokens > constant.fewTokens ? 5 * rows * rows / 2 + 2 : 4 * rows + 2;
  perToken += facts.paths ? (alongK ? constant.pathRegisters * rows : 2) : 0;
  int64_t operands = facts.reads * perLane + (tokens > 1 ? tokens * perToken : 0);
  int64_t folding = facts.folds ? tiling.unroll * (perLane + rows) : 0;
  int64_t reading = bulk ? std::max(state, ring) + operands : state + ring + operands;
  if (tokens > 1) // which come from shared memory when the ring is done with
    reading = state + std::max(ring, operands);
  LoopCosts loops = predictLoops(facts, tiling);
  costs.registers = constant.baseRegisters + std::max({reading, state + folding, loops.registers});

  costs.sharedBytes = sharedBytes(facts, tiling);
  int64_t shared = costs.sharedBytes;
  int64_t rounded = divideCeilSigned(std::min<int64_t>(costs.registers, target.maxRegistersPerThread), 8) * 8;
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

  double perThread = constant.instructionsPerWarp +
                     facts.reads * tokens * (state + rows * 2 * std::log2(facts.lanes)) +
                     state / 4.0 * (1 + facts.storeShare) + (bulk ? state / 4.0 : 0) +
                     passes * keyRows * facts.reads * tokens * (perLane + 12.0) +
                     (alongK ? 12.0 * length * facts.K / threads : 0);
  if (tokens > 1) { // norms, scores, decays, the solve
    double pairs = tokens * tokens / 2.0, rowsOfKeys = divideCeilSigned(tokens, tiling.warps * (32 / facts.lanes));
    double instructions = perLane * (1.25 + rowsOfKeys) + 18;
    perThread += facts.reads * tokens * instructions * (alongK ? 1 + facts.levels() / 2.0 : 1) +
                 pairs * facts.reads * (rows + 4) +
                 12.0 * tokens * (1 + facts.levels()) * facts.gateDim / (alongK ? threads : 1);
  }
  double foldPerThread = facts.folds ? length * (state + perLane / 4.0 + 6.0 / tiling.unroll) : 0;
  perThread += foldPerThread * facts.storeShare + loops.perThread;
  double issueNs = perThread * tiling.warps / constant.issuePerCycle / target.clockGHz;

  double chain = 2 + (length ? 1 : 0);
  double latencyNs = chain * constant.dependentLoadNs + (length ? 3 + passes : 1) * constant.barrierNs +
                     perThread * 2 / target.clockGHz + loops.latencyNs +
                     (bulk ? constant.bulkNs : length && tokens == 1 ? constant.orderedNs : 0);
  // A smooth maximum: what overlaps never overlaps fully.
  double blockNs = std::sqrt(memoryNs * memoryNs + issueNs * issueNs +
                             std::pow(latencyNs / resident, 2));
  // Spills cost more than anything else, the more the worse.
  int64_t excess = costs.registers - int64_t(target.maxRegistersPerThread);
  if (excess > 0 || costs.blocksPerProcessor == 0)
    blockNs *= 2 + std::max<int64_t>(excess, 0) / 16.0;
  if (costs.blocksPerProcessor == 1)
    blockNs *= constant.aloneFactor;
  double blocks = double(referenceRows) * facts.HV * (facts.V / tiling.bv);
  costs.waves = blocks / (double(target.multiprocessors) * resident);
  costs.microseconds = target.launchMicroseconds +
                       std::max(blocks / target.multiprocessors * blockNs, latencyNs) / 1000;
  return costs;
}
