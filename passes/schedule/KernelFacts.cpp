//===- KernelFacts.cpp - What the schedule needs to know of a kernel ------===//
#include "passes/Preconditions.h"
#include "passes/schedule/CostModel.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::schedule;

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
  if (replay::MmaAttr mma = kernel.getMmaAttr()) { // Four lanes have a row, in accesses of four.
    facts.chunk = mma.getChunk();
    facts.lanes = facts.vec = 4;
  }
  auto useState = [&](Value state) {
    Type dtype = cast<replay::StateType>(state.getType()).getDtype();
    facts.stateBytes = dtype.getIntOrFloatBitWidth() / 8;
  };
  auto useGates = [&](replay::RingAttr ring) {
    if (replay::FieldAttr g = ring.getField(replay::RecordField::G); g && g.getDim() == replay::FieldDim::K)
      facts.gateDim = facts.K;
  };
  auto useRing = [&](Value records) {
    replay::RingAttr ring = cast<replay::RecordsType>(records.getType()).getRing();
    facts.ringLength = ring.getLength();
    useGates(ring);
    // One copy takes records that lie from the first position on.
    auto load = records.getDefiningOp<replay::LoadRingOp>();
    facts.scattered |= load && (load.getBase() || load.getMask());
  };
  bool always = false, sometimes = false;
  kernel.getBody().walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !loop.getInits().empty()) {
      replay::RingAttr ring = kernel.getRingAttr();
      facts.loopSteps = ring ? ring.getLength() : static_cast<int64_t>(kernel.getWindow().value_or(1));
      facts.startsAtOnce |= loop->getParentOp() == kernel;
    }
    if (isa<replay::MoveRecordOp>(op)) {
      facts.moves = true;
      if (replay::RingAttr ring = kernel.getRingAttr())
        useGates(ring);
    }
    // What a loop does is counted apart.
    if (isInLoop(op)) {
      if (auto read = dyn_cast<replay::ReadOp>(op))
        facts.loopReads += read.getXs().size();
      if (isa<replay::DecayOp, replay::ScaleOp>(op))
        facts.loopGates |= cast<ShapedType>(op->getOperand(1).getType()).getDimSize(1) > 1;
      facts.loopStores |= isa<replay::StoreStateOp>(op) && isa<scf::ForOp>(op->getParentOp());
      return;
    }
    if (isa<replay::GateOp, replay::CumulateOp>(op) && cast<ShapedType>(op->getResult(0).getType()).getDimSize(1) > 1)
      facts.gateDim = facts.K;
    if (auto token = dyn_cast<replay::LoadTokenOp>(op); token && token.getInput() == replay::TokenInput::K)
      facts.tokenBytes = getElementTypeOrSelf(token.getValue()).getIntOrFloatBitWidth() / 8;
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
  // A branch that stores is that of the flush: once in a cycle of the ring, which a
  // window fills with all of its tokens. Without any reads it is all that the kernel does.
  if (facts.reads == 0)
    always |= sometimes;
  if (always || sometimes)
    facts.storeShare = always ? 1.0 : std::min(1.0, double(facts.tokens) / std::max<int64_t>(facts.ringLength, 1));
  return facts;
}
