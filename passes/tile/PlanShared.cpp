//===- PlanShared.cpp - Where buffers and mbarriers lie in shared memory --===//
#include "common/Targets.h"
#include "passes/Preconditions.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace replayssm {
#define GEN_PASS_DEF_PLANSHARED
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::tile;

namespace {
/// Positions are those of a walk over the function; [first, last] is where the
/// bytes must be the buffer's own.
struct Buffer {
  AllocOp alloc;
  int64_t first = 0, last = 0, bytes = 0, align = 16, at = 0;

  int64_t end() const { return at + bytes; }
  bool overlaps(const Buffer &other) const { return at < other.end() && other.at < end(); }
  bool livesWith(const Buffer &other) const { return first <= other.last && other.first <= last; }
};

class Planner {
public:
  explicit Planner(gpu::GPUFuncOp func) : func(func) {}
  LogicalResult run(const TargetFacts &chip);

private:
  void number();
  Buffer bufferOf(AllocOp alloc);
  /// Sets every buffer's place; gives the bytes needed.
  int64_t place(ArrayRef<Buffer *> order, bool reuse);
  /// Blocks that a multiprocessor holds when each takes so many bytes.
  int64_t blocks(int64_t bytes, const TargetFacts &chip);
  /// The last position where `op`, seen from the block of `alloc`, may run.
  int64_t lastRun(Operation *op, AllocOp alloc);

  gpu::GPUFuncOp func;
  DenseMap<Operation *, std::pair<int64_t, int64_t>> span; // of an op and its regions
  int64_t end = 0, mbarriers = 0;
  /// Mbarriers stand in front of all buffers, or between the halves of a skewed one.
  Buffer ofMbarriers;
  Buffer *skewed = nullptr;
};
} // namespace

void Planner::number() {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { span[op] = {end, end}, ++end; });
  func.walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (Operation *parent = op->getParentOp(); span.contains(parent))
      span[parent].second = std::max(span[parent].second, span[op].second);
  });
}

int64_t Planner::lastRun(Operation *op, AllocOp alloc) {
  int64_t last = span[op].second;
  // A loop that does not contain the buffer comes back to it.
  for (Operation *parent = op->getParentOp(); parent != func; parent = parent->getParentOp())
    if (isa<scf::ForOp>(parent) && !parent->isProperAncestor(alloc))
      last = std::max(last, span[parent].second);
  return last;
}

Buffer Planner::bufferOf(AllocOp alloc) {
  Buffer buffer{alloc, span[alloc].first, span[alloc].first, alloc.getSmem().getType().getBytes()};
  for (Operation *user : alloc->getUsers()) {
    buffer.last = std::max(buffer.last, lastRun(user, alloc));
    auto copy = dyn_cast<CopyOp>(user);
    if (!copy)
      continue;
    // The copy engine is ordered with nothing before the copy: nobody else may
    // have touched these bytes. Nor after it, on a path without a wait.
    buffer.align = 128;
    buffer.first = 0;
    bool waited = llvm::any_of(copy->getUsers(), [&](Operation *wait) {
      return wait->getBlock() == copy->getBlock();
    });
    for (Operation *wait : copy->getUsers())
      buffer.last = std::max(buffer.last, lastRun(wait, alloc));
    if (!waited)
      buffer.last = end;
  }
  return buffer;
}

int64_t Planner::place(ArrayRef<Buffer *> order, bool reuse) {
  int64_t start = skewed ? 0 : 8 * mbarriers, total = start;
  for (auto [i, buffer] : llvm::enumerate(order)) {
    if (buffer == &ofMbarriers) {
      SmemType type = skewed->alloc.getSmem().getType();
      buffer->at = skewed->at + type.getRows() / 2 * type.getCols() * type.getElementType().getIntOrFloatBitWidth() / 8;
      continue;
    }
    // The lowest place that is free of every buffer placed before.
    buffer->at = llvm::alignTo(start, buffer->align);
    for (size_t other = 0; other < i;) {
      bool clash = buffer->overlaps(*order[other]) && (!reuse || buffer->livesWith(*order[other]));
      if (clash)
        buffer->at = llvm::alignTo(order[other]->end(), buffer->align);
      other = clash ? 0 : other + 1;
    }
    total = std::max(total, buffer->end());
  }
  return llvm::alignTo(total, 16);
}

int64_t Planner::blocks(int64_t bytes, const TargetFacts &chip) {
  int64_t threads = 32;
  if (auto size = func.getKnownBlockSize())
    threads = std::max(1, size->front());
  return std::min<int64_t>({chip.maxBlocksPerMultiprocessor, chip.maxThreadsPerMultiprocessor / threads,
                            static_cast<int64_t>(chip.sharedBytesPerMultiprocessor /
                                                 (bytes + chip.reservedSharedBytes))});
}

LogicalResult Planner::run(const TargetFacts &chip) {
  number();
  SmallVector<Buffer> buffers;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    mbarriers += isa<CopyOp>(op);
    if (auto alloc = dyn_cast<AllocOp>(op))
      buffers.push_back(bufferOf(alloc));
  });
  // Destinations of copies first, then large before small.
  SmallVector<Buffer *> order;
  for (Buffer &buffer : buffers)
    order.push_back(&buffer);
  std::sort(order.begin(), order.end(), [](Buffer *a, Buffer *b) {
    return std::tuple(-a->align, -a->bytes, a->first) < std::tuple(-b->align, -b->bytes, b->first);
  });
  auto hasRoom = [&](Buffer *buffer) {
    SmemType type = buffer->alloc.getSmem().getType();
    return type.getSkew() * type.getElementType().getIntOrFloatBitWidth() >= 64 * mbarriers;
  };
  if (!order.empty() && mbarriers && hasRoom(order.front())) {
    skewed = order.front();
    ofMbarriers = {AllocOp(), 0, end, 8 * mbarriers};
    order.insert(order.begin() + 1, &ofMbarriers);
  }
  // Reuse of bytes costs barriers: only where more blocks fit for it.
  int64_t limit = chip.sharedBytesPerBlock, least = place(order, /*reuse=*/true);
  int64_t total = place(order, /*reuse=*/false);
  if (total > limit || blocks(total, chip) < blocks(least, chip))
    total = place(order, /*reuse=*/true);
  if (total > limit) {
    InFlightDiagnostic diag = func.emitOpError()
                              << "expected at most " << limit << " bytes of shared memory per block on "
                              << chip.name << " but '" << func.getName() << "' needs " << total;
    if (!order.empty())
      diag.attachNote(order.front()->alloc.getLoc())
          << "the largest buffer holds " << order.front()->bytes << " bytes";
    return diag;
  }
  int64_t mbarrier = ofMbarriers.at;
  func.walk<WalkOrder::PreOrder>([&](CopyOp copy) { copy.setMbarrier(mbarrier), mbarrier += 8; });
  Builder b(func.getContext());
  for (Buffer &buffer : buffers)
    buffer.alloc.setOffset(buffer.at);
  NamedAttrList manifest(func->getAttrOfType<DictionaryAttr>("replay.manifest"));
  manifest.set("sharedBytes", b.getI64IntegerAttr(total));
  func->setAttr("replay.manifest", manifest.getDictionary(func.getContext()));
  return success();
}

namespace {
struct PlanShared : replayssm::impl::PlanSharedBase<PlanShared> {
  using PlanSharedBase::PlanSharedBase;
  void runOnOperation() override {
    std::string chip = defaultTarget;
    if (ArrayAttr targets = getOperation().getTargetsAttr())
      for (Attribute target : targets)
        if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target))
          chip = nvvm.getChip().str();
    const TargetFacts *facts = findTarget(chip);
    if (!facts) {
      getOperation().emitOpError()
          << "expected a target of " << knownTargets() << " but got '" << chip << "'";
      return signalPassFailure();
    }
    FailureOr<SmallVector<gpu::GPUFuncOp>> functions = tilePrograms(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (gpu::GPUFuncOp func : *functions)
      if (failed(Planner(func).run(*facts)))
        return signalPassFailure();
  }
};
} // namespace
