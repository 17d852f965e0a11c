//===- ReplayOps.cpp - Op classes; verifiers of kernels -------------------===//
#include "common/Bounds.h"
#include "dialects/Replay/Checks.h"
#include "replayssm/KernelABI.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

#define GET_OP_CLASSES
#include "dialects/Replay/ReplayOps.cpp.inc"

/// The kernel around `op`, which gives head dimensions and the ring format.
static FailureOr<KernelOp> expectKernel(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel)
    return op->emitOpError("expected to be inside a replay.kernel");
  if (!kernel.getShapeAttr())
    return op->emitOpError("expected a replay.kernel with a shape around it");
  return kernel;
}

static FailureOr<KernelOp> expectRingKernel(Operation *op) {
  FailureOr<KernelOp> kernel = expectKernel(op);
  if (succeeded(kernel) && !kernel->getRingAttr())
    return op->emitOpError("expected a replay.kernel with a ring around it");
  return kernel;
}

static int64_t windowRows(KernelOp kernel) {
  return kernel.tokens();
}

static LogicalResult expectState(Operation *op, KernelOp kernel, StateType type) {
  ShapeAttr shape = kernel.getShapeAttr();
  if (type.getV() == shape.getV() && type.getK() == shape.getK())
    return success();
  return op->emitOpError() << "expected a state of " << shape.getV() << "x" << shape.getK()
                           << " as in the kernel's shape but got " << type.getV() << "x"
                           << type.getK();
}

LogicalResult KernelOp::verify() {
  if (getOfAttr() && !getKindAttr())
    return emitOpError("expected a kind beside 'of': packed, replay, cursors, verify, fold, compact, "
                     "input_replay, snapshots or reset");
  if (getKindAttr() && !getOfAttr())
    return emitOpError("expected 'of' beside kind");
  if (!getBody().empty() && !getBody().hasOneBlock())
    return emitOpError() << "expected a body of one block but got "
                         << llvm::range_size(getBody());
  for (int64_t window : {tokens(), maxTokens()})
    if (window < 1 || window > maxWindow)
      return emitOpError() << "expected a window in 1.." << maxWindow << " but got " << window;
  if (getWindowMax() && (!getWindow() || maxTokens() < tokens()))
    return emitOpError() << "expected a window of at most " << maxTokens() << " tokens, the most of its set, but got "
                         << (getWindow() ? std::to_string(tokens()) : "none");
  if (getMmaAttr() && !getRingAttr())
    return emitOpError("expected a ring beside 'mma': other kernels read one token at a time");
  if (getOfAttr())
    return success();
  if (getBody().empty() || getBody().front().empty())
    return emitOpError("expected a body, or 'of' and a kind to derive it from");
  if (!getShapeAttr())
    return emitOpError("expected a shape");
  if (!getNullAttr())
    return emitOpError("expected null lt0 or null le0");
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Operation *row = nullptr;
  WalkResult result = getBody().walk([&](Operation *op) {
    if (isa<RowOp>(op)) {
      if (row) {
        InFlightDiagnostic diag = op->emitOpError("expected one replay.row in a kernel");
        diag.attachNote(row->getLoc()) << "the first one is here";
        return WalkResult::interrupt();
      }
      row = op;
    }
    // Every sum over K has the order that kred fixes.
    if (isa<ReadOp, RingReadOp, ScoresOp, RnormOp, L2NormOp, DeltaOp>(op) && !getKredAttr()) {
      op->emitOpError("expected kred on the kernel: it fixes the order of sums over K");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult RowOp::verify() { return success(succeeded(expectKernel(*this))); }

LogicalResult CursorOp::verify() {
  FailureOr<KernelOp> kernel = expectRingKernel(*this);
  if (failed(kernel))
    return failure();
  if (static_cast<int64_t>(getLength()) != kernel->getRingAttr().getLength())
    return emitOpError() << "expected the ring's length "
                         << kernel->getRingAttr().getLength() << " but got " << static_cast<int64_t>(getLength());
  return success();
}

/// A snapshot stands behind one token of a window.
static LogicalResult expectStateAt(Operation *op, StateType type, Value at) {
  FailureOr<KernelOp> kernel = expectKernel(op);
  if (failed(kernel) || failed(expectState(op, *kernel, type)))
    return failure();
  if (at && !kernel->getWindow())
    return op->emitOpError("expected a replay.kernel with a window around it");
  return success();
}
LogicalResult LoadStateOp::verify() { return expectStateAt(*this, getState().getType(), getAt()); }
LogicalResult StoreStateOp::verify() { return expectStateAt(*this, getState().getType(), getAt()); }

/// Record 0 of a circular ring lies where the base says; of a linear one at 0.
static LogicalResult expectBase(Operation *op, RingAttr ring, Value base) {
  if (ring.isCircular() == (base != nullptr))
    return success();
  return op->emitOpError() << "expected " << (base ? "no base" : "a base") << " for a "
                           << stringifyRingShape(ring.getShape()) << " ring";
}
static LogicalResult expectRingWithBase(Operation *op, Value base) {
  FailureOr<KernelOp> kernel = expectRingKernel(op);
  return failed(kernel) ? failure() : expectBase(op, kernel->getRingAttr(), base);
}

LogicalResult LoadRingOp::verify() {
  FailureOr<KernelOp> kernel = expectRingKernel(*this);
  if (failed(kernel))
    return failure();
  if (getRecords().getType().getRing() != kernel->getRingAttr())
    return emitOpError() << "expected records of the kernel's ring " << kernel->getRingAttr()
                         << " but got " << getRecords().getType().getRing();
  return expectBase(*this, kernel->getRingAttr(), getBase());
}

LogicalResult WaitOp::verify() { return success(succeeded(expectKernel(*this))); }
LogicalResult FetchOp::verify() {
  if (!getX().getDefiningOp<StageOp>())
    return emitOpError("expected a row that replay.stage has put into shared memory");
  return expectShape(*this, "the row", getX(), 1, colsOf(getX()));
}

LogicalResult MoveRecordOp::verify() { return expectRingWithBase(*this, getBase()); }

/// So many rows of a field of the kernel's ring.
template <typename Matrix> static LogicalResult expectField(Operation *op, StringRef name, Matrix value, int64_t rows) {
  auto kernel = op->getParentOfType<KernelOp>();
  FieldAttr field = kernel.getRingAttr().getField(name);
  if (!field)
    return op->emitOpError() << "expected a field of the kernel's ring but got '" << name << "'";
  if (value.getType().getElementType() != field.getDtype())
    return op->emitOpError() << "expected field '" << name << "' to be " << field.getDtype() << " but got "
                             << value.getType().getElementType();
  auto records = RecordsType::get(op->getContext(), kernel.getRingAttr());
  return expectShape(op, "field '" + name + "'", value, rows,
                     records.getFieldWidth(name, kernel.getShapeAttr().getK(), kernel.getShapeAttr().getV()));
}

LogicalResult LoadFieldOp::verify() {
  FailureOr<KernelOp> kernel = expectRingKernel(*this);
  return failed(kernel) ? failure() : expectField(*this, getName(), getValue(), kernel->getRingAttr().getLength());
}

LogicalResult LoadRecordOp::verify() {
  if (failed(expectRingWithBase(*this, getBase())))
    return failure();
  return expectField(*this, getName(), getValue(), 1);
}

/// Arrays with an element for each token of each row belong to a window.
static LogicalResult expectWindowKernel(Operation *op) {
  FailureOr<KernelOp> kernel = expectKernel(op);
  if (failed(kernel))
    return failure();
  if (!kernel->getWindow())
    return op->emitOpError("expected a replay.kernel with a window around it");
  return success();
}
LogicalResult PathMaskOp::verify() { return expectWindowKernel(*this); }
LogicalResult LoadParentsOp::verify() {
  if (failed(expectWindowKernel(*this)))
    return failure();
  return expectShape(*this, "the parents", getParents(), windowRows((*this)->getParentOfType<KernelOp>()), 1);
}

LogicalResult WindowOp::verify() { return expectWindowKernel(*this); }

/// `names` for a diagnostic: "a, b or c".
static LogicalResult expectOneOf(Operation *op, StringRef name, ArrayRef<StringRef> names) {
  if (llvm::is_contained(names, name))
    return success();
  return op->emitOpError() << "expected " << llvm::join(names.drop_back(), ", ")
                           << (names.size() > 1 ? " or " : "") << names.back() << " but got '" << name << "'";
}

LogicalResult LoadRowOp::verify() {
  if (getColumn())
    return failed(expectOneOf(*this, getName(), {"accept_idx", "parent"})) ? failure()
                                                                         : expectWindowKernel(*this);
  if (failed(expectOneOf(*this, getName(), {"accept_len", "fold_len", "force_flush", "reset_mask", "track_step",
                                            "track_pos", "track_idx", "dst_idx"})))
    return failure();
  return success(succeeded(expectKernel(*this)));
}

/// What a buffer of ring slots holds at most.
static int64_t greatestOf(StringRef buffer, RingAttr ring) {
  switch (findKernelBuffer(buffer)->range) {
  case KernelBuffer::Range::Count:
    return ring.getLength();
  case KernelBuffer::Range::Position:
    return ring.getLength() - 1;
  case KernelBuffer::Range::Flag:
    return 1;
  case KernelBuffer::Range::Any:
    break;
  }
  llvm_unreachable("the verifier admits integers of ring slots only");
}

LogicalResult LoadSlotOp::verify() {
  if (failed(expectOneOf(*this, getName(), {"wp", "base", "is_flush"})))
    return failure();
  FailureOr<KernelOp> kernel = expectRingKernel(*this);
  if (failed(kernel))
    return failure();
  int64_t most = greatestOf(getName(), kernel->getRingAttr()), given = getMost().value_or(most);
  if (given > most)
    return emitOpError() << "expected at most " << most << " but got " << given;
  if (given < 0)
    return emitOpError() << "expected at least 0 but got " << given;
  return success();
}

int64_t LoadSlotOp::greatest() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  return getMost() ? static_cast<int64_t>(*getMost()) : greatestOf(getName(), kernel.getRingAttr());
}

LogicalResult StageOp::verify() {
  RankedTensorType x = getX().getType(), y = getY().getType();
  if (x.getShape() != y.getShape() || (y.getElementType() != x.getElementType() && !y.getElementType().isF32()))
    return emitOpError() << "expected " << x << " or the same in f32 but got " << y;
  return success(succeeded(expectKernel(*this)));
}

LogicalResult PhaseOp::verify() { return success(succeeded(expectKernel(*this))); }

LogicalResult ExpectOp::verify() { return success(succeeded(expectKernel(*this))); }

LogicalResult StoreRowOp::verify() {
  if (failed(expectOneOf(*this, getName(), {"fold_len", "track_pos"})))
    return failure();
  return success(succeeded(expectKernel(*this)));
}

/// Nothing, or the first token and the length.
static LogicalResult expectWindow(Operation *op, OperandRange window) {
  if (window.empty() || window.size() == 2)
    return success();
  return op->emitOpError() << "expected the first token and the length as a window but got "
                           << window.size() << " values";
}

LogicalResult LoadTokenOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel) || failed(expectWindow(*this, getWindow())))
    return failure();
  std::optional<TokenInput> input = symbolizeTokenInput(getName());
  if (!input)
    return emitOpError() << "expected q, k, v, a or b but got '" << getName() << "'";
  // A window of its own may be shorter than the kernel's: one token at a time.
  int64_t T = getWindow().empty() ? windowRows(*kernel) : std::min(windowRows(*kernel), rowsOf(getValue()));
  int64_t K = kernel->getShapeAttr().getK();
  switch (*input) {
  case TokenInput::Q:
  case TokenInput::K:
    return expectShape(*this, getName(), getValue(), T, K);
  case TokenInput::V:
    return expectShape(*this, getName(), getValue(), T, kernel->getShapeAttr().getV());
  case TokenInput::A:
    return expectGate(*this, getName(), getValue(), T, K);
  case TokenInput::B:
    return expectShape(*this, getName(), getValue(), T, 1);
  }
  llvm_unreachable("unknown input of a token");
}

StringRef LoadTokenOp::getBuffer() {
  switch (getInput()) {
  case TokenInput::Q:
  case TokenInput::K:
  case TokenInput::V:
    return "mixed_qkv";
  case TokenInput::A:
  case TokenInput::B:
    return getName();
  }
  llvm_unreachable("unknown input of a token");
}

LogicalResult LoadParamOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel))
    return failure();
  if (getName() == "A_log")
    return expectShape(*this, getName(), getValue(), 1, 1);
  if (getName() == "dt_bias")
    return expectGate(*this, getName(), getValue(), 1, kernel->getShapeAttr().getK());
  return emitOpError() << "expected A_log or dt_bias but got '" << getName() << "'";
}

LogicalResult AppendOp::verify() {
  FailureOr<KernelOp> kernel = expectRingKernel(*this);
  if (failed(kernel))
    return failure();
  auto fields = getFields().getAsValueRange<StringAttr>();
  size_t count = llvm::range_size(fields);
  if (count != getValues().size())
    return emitOpError() << "expected one value for each of " << count << " fields but got "
                         << getValues().size();
  RingAttr ring = kernel->getRingAttr();
  auto records = RecordsType::get(getContext(), ring);
  llvm::SmallDenseSet<StringRef> seen;
  for (auto [name, value] : llvm::zip_equal(fields, getValues())) {
    if (!ring.getField(name))
      return emitOpError() << "expected a field of the kernel's ring but got '" << name << "'";
    if (!seen.insert(name).second)
      return emitOpError() << "expected each field once but got '" << name << "' twice";
    if (cast<Mat>(value).getType().getElementType() != ring.getField(name).getDtype())
      return emitOpError() << "expected field '" << name << "' to be " << ring.getField(name).getDtype()
                           << " but got " << cast<Mat>(value).getType().getElementType();
    int64_t width = records.getFieldWidth(name, kernel->getShapeAttr().getK(),
                                          kernel->getShapeAttr().getV());
    if (failed(expectShape(*this, "field '" + name + "'", cast<Mat>(value), windowRows(*kernel), width)))
      return failure();
  }
  if (failed(expectBase(*this, ring, getBase())))
    return failure();
  // A record with a hole would be read back as garbage.
  for (FieldAttr field : ring.getFields())
    if (!seen.contains(field.getName()))
      return emitOpError() << "expected every ring field but '" << field.getName()
                           << "' is missing";
  return success();
}

LogicalResult StoreOutOp::verify() {
  FailureOr<KernelOp> kernel = expectKernel(*this);
  if (failed(kernel) || failed(expectWindow(*this, getWindow())))
    return failure();
  if (!getIo().isF32() && !getIo().isBF16() && !getIo().isF16())
    return emitOpError() << "expected io dtype f32, bf16 or f16 but got " << getIo();
  int64_t T = getWindow().empty() ? windowRows(*kernel) : std::min(windowRows(*kernel), rowsOf(getValue()));
  return expectShape(*this, "the output", getValue(), T,
                     kernel->getShapeAttr().getV());
}

LogicalResult SetCursorOp::verify() {
  if (failed(expectOneOf(*this, getName(), {"wp", "base", "is_flush"})))
    return failure();
  return success(succeeded(expectRingKernel(*this)));
}

