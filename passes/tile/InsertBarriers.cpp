//===- InsertBarriers.cpp - Block barriers where threads exchange bytes ---===//
//
// Accesses to shared bytes since the last barrier are carried along the program;
// one that meets an earlier access of the same bytes, a write on either side,
// gets a barrier in front. mbarriers are set up by replay-tile-to-gpu before
// anything else runs, and a tile.wait orders its copy for every thread. Integer
// scalars in global memory are loaded by every thread and stored by one: they
// are held to the same rule, by buffer.
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Layout.h"
#include "passes/Preconditions.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace replayssm {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm::tile;

namespace {
struct Access {
  Operation *op;
  int64_t begin, end; // bytes
  bool write;
  Value global = {}; // the buffer; shared memory when null
  Type columns = {}; // of whole rows: what says which thread has which columns

  bool async() const { return isa<CopyOp>(op); }
  bool meets(const Access &other) const {
    bool sameThreads = columns && columns == other.columns && begin == other.begin && end == other.end;
    return global == other.global && (write || other.write) && begin < other.end &&
           other.begin < end && !sameThreads;
  }
};

/// Accesses since the last barrier, and copies in flight.
using Pending = llvm::SmallMapVector<Operation *, Access, 8>;

class Inserter {
public:
  LogicalResult run(Block &body) {
    Pending pending;
    return visit(body, pending);
  }

private:
  LogicalResult visit(Block &block, Pending &pending);
  LogicalResult visitAccess(const Access &access, Pending &pending);
  LogicalResult visitIf(scf::IfOp op, Pending &pending);
  LogicalResult visitFor(scf::ForOp op, Pending &pending);
  void barrier(Operation *before, Pending &pending);

  /// Only asks whether a barrier would be inserted.
  bool asking = false, wanted = false;
};
} // namespace

/// An integer scalar in global memory stands for its whole buffer.
static std::optional<Access> scalarAccess(Operation *op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  auto store = dyn_cast<LLVM::StoreOp>(op);
  if (!load && !store)
    return std::nullopt;
  Value buffer = load ? load.getAddr() : store.getAddr();
  while (auto element = buffer.getDefiningOp<LLVM::GEPOp>())
    buffer = element.getBase();
  return Access{op, 0, 1, store != nullptr, buffer};
}

/// Where that is plain to see.
static bool isMultipleOf(Value offset, int64_t unit) {
  APInt number;
  if (matchPattern(offset, m_ConstantInt(&number)))
    return number.getSExtValue() % unit == 0;
  if (auto sum = offset.getDefiningOp<arith::AddIOp>())
    return isMultipleOf(sum.getLhs(), unit) && isMultipleOf(sum.getRhs(), unit);
  auto product = offset.getDefiningOp<arith::MulIOp>();
  return product && (isMultipleOf(product.getLhs(), unit) || isMultipleOf(product.getRhs(), unit));
}

/// A vector as wide as the buffer, at the start of any row of it, each element in one
/// thread: whoever stored an element is the one that loads it.
static Type ownColumns(Operation *op, RankedTensorType tile, Value offset, ArrayRef<int64_t> strides, SmemType memory) {
  auto func = op->getParentOfType<gpu::GPUFuncOp>();
  std::optional<ArrayRef<int32_t>> size = func.getKnownBlockSize();
  std::optional<Layout> layout = Layout::of(tile);
  if (!size || !layout || tile.getDimSize(0) != 1 || tile.getDimSize(1) != memory.getCols() || strides[1] != 1)
    return {};
  bool replicas = layout->freeLaneMask() || !layout->replicaDigits(Owner::Warp, size->front() / 32).empty();
  return replicas || !isMultipleOf(offset, memory.getCols()) ? Type() : Type(tile);
}

/// The bytes from the first to the last element where the offset is constant,
/// the whole buffer otherwise. None for ops that threads do not share.
static FailureOr<std::optional<Access>> accessOf(Operation *op) {
  if (std::optional<Access> scalar = scalarAccess(op))
    return scalar;
  Value memory, offset;
  ArrayRef<int64_t> strides;
  RankedTensorType tile;
  if (auto load = dyn_cast<LoadOp>(op)) {
    memory = load.getSrc(), offset = load.getOffset();
    strides = load.getStrides(), tile = load.getResult().getType();
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    memory = store.getDst(), offset = store.getOffset();
    strides = store.getStrides(), tile = store.getValue().getType();
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    memory = copy.getDst();
  }
  if (!memory || !isa<SmemType>(memory.getType()))
    return std::optional<Access>();
  auto alloc = memory.getDefiningOp<AllocOp>();
  if (!alloc || !alloc.getOffset())
    return op->emitOpError() << "expected memory of a tile.alloc with a planned offset";
  SmemType type = alloc.getSmem().getType();
  int64_t base = *alloc.getOffset();
  Access access{op, base, base + type.getBytes(), !isa<LoadOp>(op)};
  APInt first;
  if (tile && (access.columns = ownColumns(op, tile, offset, strides, type)))
    return std::optional(access); // of the whole buffer
  if (tile && matchPattern(offset, m_ConstantInt(&first))) {
    int64_t elementBytes = type.getBytes() / (type.getRows() * type.getCols());
    int64_t last = first.getSExtValue() + (tile.getDimSize(0) - 1) * strides[0] +
                   (tile.getDimSize(1) - 1) * strides[1];
    access.begin = base + first.getSExtValue() * elementBytes;
    access.end = base + (last + 1) * elementBytes;
  }
  return std::optional(access);
}

/// Whether each iteration of the loop around `op` has bytes of its own: what one
/// thread wrote there no other writes again.
static bool advances(Operation *op) {
  auto store = dyn_cast<StoreOp>(op);
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!store || !loop)
    return false;
  Value offset = store.getOffset();
  if (auto sum = offset.getDefiningOp<arith::AddIOp>(); sum && matchPattern(sum.getRhs(), m_Constant()))
    offset = sum.getLhs();
  auto scaled = offset.getDefiningOp<arith::MulIOp>();
  auto number = scaled ? scaled.getLhs().getDefiningOp<arith::IndexCastOp>() : arith::IndexCastOp();
  APInt step;
  if (!number || number.getIn() != loop.getInductionVar() || !matchPattern(scaled.getRhs(), m_ConstantInt(&step)))
    return false;
  RankedTensorType tile = store.getValue().getType();
  ArrayRef<int64_t> strides = store.getStrides();
  return step.getSExtValue() > (tile.getDimSize(0) - 1) * strides[0] + (tile.getDimSize(1) - 1) * strides[1];
}

static void unite(Pending &into, const Pending &from) {
  for (const auto &entry : from)
    into.insert(entry);
}

/// A barrier orders what threads did; a copy stays in flight.
static void clear(Pending &pending) {
  pending.remove_if([](auto &entry) { return !entry.second.async(); });
}

void Inserter::barrier(Operation *before, Pending &pending) {
  wanted = true;
  if (!asking) {
    OpBuilder b(before);
    BarrierOp::create(b, before->getLoc());
  }
  clear(pending);
}

LogicalResult Inserter::visitAccess(const Access &access, Pending &pending) {
  bool conflict = false;
  for (auto &[op, earlier] : pending) {
    if (!access.meets(earlier) || (op == access.op && advances(op)))
      continue;
    if (earlier.async()) {
      InFlightDiagnostic diag = access.op->emitOpError()
                                << "expected a tile.wait before its shared bytes are touched";
      diag.attachNote(op->getLoc()) << "the copy in flight";
      return diag;
    }
    conflict = true;
  }
  if (conflict)
    barrier(access.op, pending);
  pending.insert({access.op, access});
  return success();
}

LogicalResult Inserter::visitIf(scf::IfOp op, Pending &pending) {
  Pending other = pending;
  if (failed(visit(op.getThenRegion().front(), pending)))
    return failure();
  if (!op.getElseRegion().empty() && failed(visit(op.getElseRegion().front(), other)))
    return failure();
  unite(pending, other);
  return success();
}

LogicalResult Inserter::visitFor(scf::ForOp op, Pending &pending) {
  // What iterations need among themselves, until nothing new comes back to the
  // top; then one barrier in front of the loop for what comes from outside.
  Pending carried;
  for (size_t known = SIZE_MAX; known != carried.size();) {
    known = carried.size();
    Pending after = carried;
    if (failed(visit(*op.getBody(), after)))
      return failure();
    unite(carried, after);
  }
  if (!asking) {
    Pending entering = pending;
    unite(entering, carried);
    asking = true, wanted = false;
    LogicalResult result = visit(*op.getBody(), entering);
    asking = false;
    if (failed(result))
      return failure();
    if (wanted)
      barrier(op, pending);
  }
  Pending after = pending;
  unite(after, carried);
  if (failed(visit(*op.getBody(), after)))
    return failure();
  std::optional<APInt> trips = op.getStaticTripCount();
  if (!trips || trips->isZero())
    unite(after, pending);
  pending = std::move(after);
  return success();
}

LogicalResult Inserter::visit(Block &block, Pending &pending) {
  for (Operation &op : block.without_terminator()) {
    LogicalResult result = success();
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      result = visitIf(branch, pending);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      result = visitFor(loop, pending);
    } else if (isa<BarrierOp>(op)) {
      clear(pending);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      pending.erase(wait.getToken().getDefiningOp());
    } else {
      FailureOr<std::optional<Access>> access = accessOf(&op);
      if (failed(access))
        return failure();
      if (*access)
        result = visitAccess(**access, pending);
    }
    if (failed(result))
      return failure();
  }
  return success();
}

namespace {
struct InsertBarriers : replayssm::impl::InsertBarriersBase<InsertBarriers> {
  using InsertBarriersBase::InsertBarriersBase;
  void runOnOperation() override {
    FailureOr<SmallVector<gpu::GPUFuncOp>> functions = replayssm::tilePrograms(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (gpu::GPUFuncOp func : *functions)
      if (failed(Inserter().run(func.getBody().front())))
        return signalPassFailure();
  }
};
} // namespace
