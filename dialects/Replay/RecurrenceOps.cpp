//===- RecurrenceOps.cpp - Verifiers of layers, states and reads ----------===//
#include "common/Bounds.h"
#include "dialects/Replay/Checks.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

/// Reads and updates need d, k and g; further fields are the kernel's own.
static LogicalResult expectRecordFields(Operation *op, RecordsType records) {
  for (RecordField field : {RecordField::D, RecordField::K, RecordField::G})
    if (!records.getRing().getField(field))
      return op->emitOpError() << "expected ring field '" << stringifyRecordField(field) << "'";
  return success();
}

static LogicalResult expectConstant(Operation *op, StringRef name, const APFloat &value, Sign sign) {
  Status status = checkConstant(name, value.convertToDouble(), sign);
  return status ? success() : op->emitOpError() << status.message();
}

//===----------------------------------------------------------------------===//
// Layer
//===----------------------------------------------------------------------===//

LogicalResult LayerOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != 8)
    return emitOpError() << "expected 8 block arguments (state, q, k, v, a, b, A_log, "
                            "dt_bias) but got "
                         << block.getNumArguments();
  int64_t K = getShape().getK(), V = getShape().getV();
  auto state = dyn_cast<StateType>(block.getArgument(0).getType());
  if (!state || state.getV() != V || state.getK() != K)
    return emitOpError() << "expected argument 'state' to be !replay.state<" << V << ", " << K
                         << ", ...> but got " << block.getArgument(0).getType();
  auto aType = dyn_cast<RankedTensorType>(block.getArgument(4).getType());
  int64_t gateDim = aType && aType.getRank() == 2 && aType.getDimSize(1) == K ? K : 1;
  auto qType = dyn_cast<RankedTensorType>(block.getArgument(1).getType());
  Type io = qType ? qType.getElementType() : Type();
  if (!io || !(io.isF32() || io.isBF16() || io.isF16()))
    return emitOpError() << "expected argument 'q' to be a tensor of f32, bf16 or f16 but got "
                         << block.getArgument(1).getType();
  Type f32 = Float32Type::get(getContext());
  // What is precomputed comes in f32.
  auto ioOrF32 = [&](unsigned argument) {
    auto type = dyn_cast<RankedTensorType>(block.getArgument(argument).getType());
    return type && type.getElementType().isF32() ? f32 : io;
  };
  struct { StringRef name; int64_t cols; Type element; } const args[] = {
      {"q", K, io}, {"k", K, io}, {"v", V, io}, {"a", gateDim, ioOrF32(4)},
      {"b", 1, ioOrF32(5)}, {"A_log", 1, f32}, {"dt_bias", gateDim, f32}};
  for (auto [index, arg] : llvm::enumerate(args)) {
    auto expected = RankedTensorType::get({1, arg.cols}, arg.element);
    if (block.getArgument(index + 1).getType() != expected)
      return emitOpError() << "expected argument '" << arg.name << "' to be " << expected
                           << " but got " << block.getArgument(index + 1).getType();
  }
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield)
    return emitOpError("expected the body to end with replay.yield");
  if (yield.getState().getType() != state)
    return yield.emitOpError() << "expected the next state to be " << state << " but got "
                               << yield.getState().getType();
  return expectShape(yield, "output", yield.getOutput(), 1, V);
}

LogicalResult GateOp::verify() {
  int64_t rows = rowsOf(getA()), gateDim = colsOf(getA());
  bool isBounded = false, isGiven = false; // by lower_bound; g itself
  switch (getForm()) {
  case GateForm::Softplus:
    break;
  case GateForm::Safe:
    isBounded = true;
    break;
  case GateForm::Precomputed:
    isGiven = true;
    break;
  }
  unsigned params = isGiven ? 0 : 2;
  if (getParams().size() != params)
    return emitOpError() << "expected " << params + 1 << " operands of gate "
                         << stringifyGateForm(getForm()) << " but got " << getNumOperands();
  if (isBounded && !getLowerBound())
    return emitOpError() << "expected lower_bound of gate " << stringifyGateForm(getForm());
  if (!isBounded && getLowerBound())
    return emitOpError() << "expected no lower_bound of gate " << stringifyGateForm(getForm());
  if (isBounded && failed(expectConstant(*this, "lower_bound", *getLowerBound(), Sign::Negative)))
    return failure();
  if (isGiven && !getA().getType().getElementType().isF32())
    return emitOpError() << "expected a precomputed gate in f32 but got "
                         << getA().getType().getElementType();
  if (isGiven)
    return expectShape(*this, "the result", getG(), rows, gateDim);
  if (failed(expectShape(*this, "A_log", getALog(), 1, 1)) ||
      failed(expectShape(*this, "dt_bias", getDtBias(), 1, gateDim)))
    return failure();
  return expectShape(*this, "the result", getG(), rows, gateDim);
}

LogicalResult BetaOp::verify() {
  if (getFactor() != 1 && getFactor() != 2)
    return emitOpError() << "expected factor 1 or 2 but got " << static_cast<int64_t>(getFactor());
  if (getForm() == BetaForm::Precomputed && !getB().getType().getElementType().isF32())
    return emitOpError() << "expected a precomputed beta in f32 but got "
                         << getB().getType().getElementType();
  if (failed(expectShape(*this, "b", getB(), rowsOf(getB()), 1)))
    return failure();
  return expectShape(*this, "the result", getBeta(), rowsOf(getB()), 1);
}

LogicalResult L2NormOp::verify() {
  if (failed(expectConstant(*this, "eps", getEps(), Sign::Positive)) ||
      failed(expectConstant(*this, "scale", getScale(), Sign::Positive)))
    return failure();
  return expectShape(*this, "the result", getY(), rowsOf(getX()), colsOf(getX()));
}

LogicalResult RnormOp::verify() {
  if (failed(expectConstant(*this, "eps", getEps(), Sign::Positive)) ||
      failed(expectConstant(*this, "scale", getScale(), Sign::Positive)))
    return failure();
  return expectShape(*this, "the result", getR(), rowsOf(getX()), 1);
}

LogicalResult DeltaOp::verify() {
  int64_t T = rowsOf(getQ());
  int64_t K = getState().getType().getK(), V = getState().getType().getV();
  if (failed(expectShape(*this, "q", getQ(), T, K)) ||
      failed(expectShape(*this, "k", getK(), T, K)) ||
      failed(expectShape(*this, "v", getV(), T, V)) ||
      failed(expectGate(*this, "g", getG(), T, K)) ||
      failed(expectShape(*this, "beta", getBeta(), T, 1)) ||
      failed(expectShape(*this, "o", getO(), T, V)) ||
      failed(expectShape(*this, "d", getD(), T, V)))
    return failure();
  if ((getMask() == Mask::Tree) != (getParents() != nullptr))
    return emitOpError() << "expected parents for a tree and none for a chain";
  return getParents() ? expectShape(*this, "the parents", getParents(), T, 1) : success();
}

//===----------------------------------------------------------------------===//
// Virtual states and their reads
//===----------------------------------------------------------------------===//

LogicalResult ReplayOp::verify() {
  RecordsType records = getRecords().getType();
  if (failed(expectRecordFields(*this, records)))
    return failure();
  StateType state = getState().getType();
  int64_t gateDim = records.getFieldWidth(RecordField::G, state.getK(), state.getV());
  return getTot() ? expectShape(*this, "tot", getTot(), 1, gateDim) : success();
}

LogicalResult DecayOp::verify() {
  return expectGate(*this, "g", getG(), 1, getState().getType().getK());
}

LogicalResult ScaleOp::verify() {
  return expectGate(*this, "the factor", getFactor(), 1, getState().getType().getK());
}

LogicalResult Rank1Op::verify() {
  if (failed(expectShape(*this, "d", getD(), 1, getState().getType().getV())))
    return failure();
  return expectShape(*this, "k", getK(), 1, getState().getType().getK());
}

static LogicalResult verifyReads(Operation *op, OperandRange xs, ResultRange ys,
                                 int64_t keyDim, int64_t valueDim) {
  if (xs.empty())
    return op->emitOpError("expected at least one operand to read with");
  if (xs.size() != ys.size())
    return op->emitOpError() << "expected one result per operand but got " << xs.size()
                             << " operands and " << ys.size() << " results";
  for (auto [x, y] : llvm::zip_equal(xs, ys)) {
    auto xMat = cast<Mat>(x);
    int64_t K = keyDim ? keyDim : colsOf(xMat);
    int64_t V = valueDim ? valueDim : colsOf(cast<Mat>(Value(y)));
    if (failed(expectShape(op, "the operand", xMat, rowsOf(xMat), K)) ||
        failed(expectShape(op, "the result", cast<Mat>(Value(y)), rowsOf(xMat), V)))
      return failure();
  }
  return success();
}

LogicalResult ReadOp::verify() {
  StateType state = getState().getType();
  return verifyReads(*this, getXs(), getYs(), state.getK(), state.getV());
}

LogicalResult RingWeightsOp::verify() {
  if (failed(expectRecordFields(*this, getRecords().getType())))
    return failure();
  RecordsType records = getRecords().getType();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  ShapeAttr shape = kernel ? kernel.getShapeAttr() : ShapeAttr();
  int64_t gateDim = shape ? records.getFieldWidth(RecordField::G, shape.getK(), shape.getV()) : colsOf(getW());
  int64_t length = records.getRing().getLength();
  if (failed(expectShape(*this, "w", getW(), length, gateDim)) ||
      (getG() && failed(expectShape(*this, "g", getG(), length, gateDim))))
    return failure();
  return expectShape(*this, "tot", getTot(), 1, gateDim);
}

/// Weights, keys and values of all records of a ring; those that are null are not asked for.
static LogicalResult expectFieldShapes(Operation *op, RecordsType records, Mat w, Mat k, Mat d) {
  if (failed(expectRecordFields(op, records)))
    return failure();
  auto kernel = op->getParentOfType<KernelOp>();
  ShapeAttr shape = kernel ? kernel.getShapeAttr() : ShapeAttr();
  int64_t length = records.getRing().getLength();
  auto width = [&](RecordField field, Mat value) {
    return shape ? records.getFieldWidth(field, shape.getK(), shape.getV()) : colsOf(value);
  };
  if (failed(expectShape(op, "w", w, length, width(RecordField::G, w))) ||
      (k && failed(expectShape(op, "k", k, length, width(RecordField::K, k)))))
    return failure();
  return d ? expectShape(op, "d", d, length, width(RecordField::D, d)) : success();
}

LogicalResult StageRecordsOp::verify() {
  return expectFieldShapes(*this, getRecords().getType(), getW(), getK(), getD());
}

static LogicalResult verifyRingReads(RingReadOp op) {
  auto kernel = op->getParentOfType<KernelOp>();
  ShapeAttr shape = kernel ? kernel.getShapeAttr() : ShapeAttr();
  return verifyReads(op, op.getXs(), op.getYs(), shape ? shape.getK() : 0, shape ? shape.getV() : 0);
}

LogicalResult RingReadOp::verify() {
  RecordsType records = getRecords().getType();
  if (failed(expectFieldShapes(*this, records, getW(), getK(), getD())))
    return failure();
  if (getAll().size() < getXs().size() || getAll().size() > getXs().size() + 1)
    return emitOpError() << "expected a result for each operand, and one for what is staged at most, but got "
                         << getXs().size() << " operands and " << getAll().size() << " results";
  for (Value y : getYs())
    if (!isa<RankedTensorType>(y.getType()))
      return emitOpError() << "expected a matrix for each operand but got " << y.getType();
  if (!getStaged())
    return getWhen() ? emitOpError("expected staged records beside a condition") : verifyRingReads(*this);
  if (!getK())
    return emitOpError("expected the fields of the records beside what is staged of them");
  if (getStaged().getType() != records)
    return emitOpError() << "expected to stage " << records << " but got " << getStaged().getType();
  return verifyRingReads(*this);
}

int64_t TokenDecaysOp::levels(int64_t tokens) { return llvm::Log2_64_Ceil(tokens); }
int64_t TokenDecaysOp::level(int64_t i, int64_t j) { return llvm::Log2_64(i ^ j); }
bool TokenDecaysOp::decaysToMiddle(int64_t level, int64_t j) { return (j + 1) % (int64_t(1) << level) != 0; }

LogicalResult TokenDecaysOp::verify() {
  int64_t tokens = rowsOf(getG());
  if (tokens < 2)
    return emitOpError() << "expected gates of two tokens at least but got " << tokens;
  return expectShape(*this, "the decays", getDecays(), levels(tokens) * tokens, colsOf(getG()));
}

LogicalResult ScoresOp::verify() {
  if (getXs().empty())
    return emitOpError("expected at least one x");
  if (getXs().size() != getScores().size())
    return emitOpError() << "expected one result per x but got " << getXs().size() << " of them and "
                         << getScores().size() << " results";
  auto first = cast<Mat>(getXs().front());
  int64_t rows = rowsOf(first), K = colsOf(first);
  if (getG() && getDecays())
    return emitOpError("expected gates or what is made of them but got both");
  for (Value x : getXs())
    if (failed(expectShape(*this, "x", cast<Mat>(x), rows, K)))
      return failure();
  if (failed(expectShape(*this, "y", getY(), isOfWindow() ? rows : rowsOf(getY()), K)) ||
      (getG() && failed(expectGate(*this, "g", getG(), rows, K))) ||
      (getDecays() && failed(expectGate(*this, "the decays", getDecays(), TokenDecaysOp::levels(rows) * rows, K))))
    return failure();
  if (getParents() && !getG() && rows > 1) // One token has none before it.
    return emitOpError("expected gates beside parents");
  if (getParents() && failed(expectShape(*this, "the parents", getParents(), rows, 1)))
    return failure();
  for (Value scores : getScores())
    if (failed(expectShape(*this, "the result", cast<Mat>(scores), rows, rowsOf(getY()))))
      return failure();
  return success();
}

LogicalResult CumulateOp::verify() {
  return getParents() ? expectShape(*this, "the parents", getParents(), rowsOf(getG()), 1) : success();
}

/// Scores, behind what scales them, and what is made of them have the same parents: off
/// its path nothing of a token is defined.
static LogicalResult expectParents(Operation *op, Mat scores, Value parents) {
  if (parents && failed(expectShape(op, "the parents", cast<Mat>(parents), rowsOf(scores), 1)))
    return failure();
  llvm::SetVector<Operation *> defs;
  auto visit = [&](Value value) {
    if (Operation *def = value.getDefiningOp())
      defs.insert(def);
  };
  visit(scores);
  for (size_t next = 0; next < defs.size(); ++next) {
    if (auto pairs = dyn_cast<ScoresOp>(defs[next])) {
      if (pairs.getParents() == parents)
        continue;
      InFlightDiagnostic diag = op->emitOpError("expected the parents that its scores have");
      diag.attachNote(pairs.getLoc()) << "formed here";
      return diag;
    }
    for (Value operand : defs[next]->getOperands())
      if (operand.getType() == scores.getType())
        visit(operand);
  }
  return success();
}

LogicalResult ApplyScoresOp::verify() {
  int64_t rows = rowsOf(getScores());
  if (failed(expectParents(*this, getScores(), getParents())))
    return failure();
  if (failed(expectShape(*this, "the delta", getDelta(), colsOf(getScores()), colsOf(getDelta()))))
    return failure();
  return expectShape(*this, "the result", getO(), rows, colsOf(getDelta()));
}

LogicalResult UtSolveOp::verify() {
  int64_t T = rowsOf(getY()), V = colsOf(getY());
  if (failed(expectShape(*this, "the scores", getScores(), T, T)) ||
      failed(expectShape(*this, "v", getV(), T, V)) ||
      failed(expectShape(*this, "beta", getBeta(), T, 1)))
    return failure();
  if (failed(expectParents(*this, getScores(), getParents())))
    return failure();
  return expectShape(*this, "the result", getDelta(), T, V);
}
