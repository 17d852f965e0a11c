//===- VerifyLayer.cpp - Layers, requests and ring formats agree ----------===//
#include "passes/derive/VerifyLayer.h"

namespace replayssm {
#define GEN_PASS_DEF_VERIFYLAYER
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

/// One delta that consumes the layer's state and yields the next one; all else
/// is row-wise, so that windows can run it on several tokens at once.
static LogicalResult verifyLayer(LayerOp layer) {
  Block &block = layer.getBody().front();
  DeltaOp delta;
  for (Operation &op : block) {
    if (auto other = dyn_cast<DeltaOp>(op)) {
      if (delta) {
        InFlightDiagnostic diag = op.emitOpError("expected one replay.delta in a layer");
        diag.attachNote(delta.getLoc()) << "the first one is here";
        return failure();
      }
      delta = other;
      continue;
    }
    bool elementwise = OpTrait::hasElementwiseMappableTraits(&op);
    if (!elementwise && !op.hasTrait<OpTrait::ConstantLike>() && !isa<GateOp, BetaOp, L2NormOp, YieldOp>(op))
      return op.emitOpError("is not supported in a layer; supported are gate, beta, l2norm, "
                            "delta and elementwise arithmetic");
  }
  if (!delta)
    return layer.emitOpError("expected one replay.delta in a layer but got none");
  auto yield = cast<YieldOp>(block.getTerminator());
  if (delta.getState() != block.getArgument(0))
    return delta.emitOpError("expected the layer's state as the state of replay.delta");
  if (yield.getState() != delta.getNext())
    return yield.emitOpError("expected the next state of replay.delta");
  return success();
}

static int64_t gateDim(LayerOp layer) {
  return cast<RankedTensorType>(layer.getBody().front().getArgument(4).getType()).getDimSize(1);
}

/// A ring's fields: d, k and g where its records are read; raw_v, raw_k, g and beta
/// where the recurrence is run from them again.
static LogicalResult verifyRing(KernelOp kernel, LayerOp layer) {
  RingAttr ring = kernel.getRingAttr();
  FieldDim gate = gateDim(layer) == 1 ? FieldDim::One : FieldDim::K;
  Type f32 = Float32Type::get(kernel.getContext());
  Type io = cast<RankedTensorType>(layer.getBody().front().getArgument(1).getType()).getElementType();
  bool isRefolded = kernel.getFold() == FoldBy::Replay;
  bool isRead = !isRefolded || kernel.getFlush() != FlushAt::EveryCommit;
  struct Wanted { Head head; FieldDim dim; Type dtype; bool isNeeded; };
  auto wanted = [&](RecordField field) -> Wanted {
    switch (field) {
    case RecordField::D:
      return {Head::Value, FieldDim::V, f32, isRead};
    case RecordField::K:
      return {Head::Key, FieldDim::K, f32, isRead};
    case RecordField::G:
      return {Head::Value, gate, f32, true};
    case RecordField::RawV:
      return {Head::Value, FieldDim::V, io, isRefolded};
    case RecordField::RawK:
      return {Head::Key, FieldDim::K, io, isRefolded};
    case RecordField::Beta:
      return {Head::Value, FieldDim::One, f32, isRefolded};
    }
    llvm_unreachable("unknown record field");
  };
  std::string needed;
  for (unsigned i = 0; std::optional<RecordField> field = symbolizeRecordField(i); ++i) {
    if (!wanted(*field).isNeeded)
      continue;
    StringRef name = stringifyRecordField(*field);
    needed += (needed.empty() ? "" : ", ") + name.str();
    if (!ring.getField(*field))
      return kernel.emitOpError() << "expected ring field '" << name << "'";
  }
  for (FieldAttr field : ring.getFields()) {
    std::optional<RecordField> known = field.getKnown();
    if (!known || !wanted(*known).isNeeded)
      return kernel.emitOpError() << "expected ring fields " << needed << " but got '" << field.getName() << "'";
    Wanted want = wanted(*known);
    if (field.getHead() != want.head || field.getDim() != want.dim)
      return kernel.emitOpError()
             << "expected ring field '" << field.getName() << "' to be " << stringifyHead(want.head)
             << ", " << stringifyFieldDim(want.dim) << " but got "
             << stringifyHead(field.getHead()) << ", " << stringifyFieldDim(field.getDim());
    if (field.getDtype() != want.dtype)
      return kernel.emitOpError() << "expected ring field '" << field.getName() << "' to be " << want.dtype
                                  << " but got " << field.getDtype();
  }
  return success();
}

/// What a request says beside its kind.
static LogicalResult verifyOptions(KernelOp kernel) {
  Kind kind = *kernel.getKind();
  auto isOneOf = [&](ArrayRef<Kind> kinds) { return llvm::is_contained(kinds, kind); };
  auto expect = [&](bool isThere, bool mayBe, bool mustBe, StringRef what) -> LogicalResult {
    if (isThere && !mayBe)
      return kernel.emitOpError() << "does not take '" << what << "' with kind " << stringifyKind(kind);
    if (!isThere && mustBe)
      return kernel.emitOpError() << "needs '" << what << "' with kind " << stringifyKind(kind);
    return success();
  };
  bool ofSet = isOneOf({Kind::Verify, Kind::Fold, Kind::Compact});
  bool isCursors = isOneOf({Kind::Cursors, Kind::Reset}), ofWindow = isCursors && kernel.getWindow();
  std::optional<FlushAt> flush = kernel.getFlush();
  bool everyCommit = flush == FlushAt::EveryCommit, hasInputs = isOneOf({Kind::InputReplay, Kind::Snapshots});
  if (failed(expect(flush.has_value(), ofSet || isCursors, ofSet || ofWindow, "flush")) ||
      failed(expect(kernel.getFold().has_value(), ofSet || isCursors, ofSet || ofWindow, "fold")) ||
      failed(expect(kernel.getMask().has_value(), ofSet || hasInputs || ofWindow || (kind == Kind::Reset && flush), kind == Kind::Compact, "mask")) ||
      failed(expect(kernel.getTrack(), (kind == Kind::Fold || (kind == Kind::Cursors && ofWindow)) && flush != FlushAt::Verify, false, "track")) ||
      failed(expect(kernel.getDst(), isOneOf({Kind::Packed, Kind::Replay, Kind::Fold, Kind::InputReplay}) ||
                                         (kind == Kind::Verify && flush == FlushAt::Verify), false, "dst")) ||
      failed(expect(kernel.getLayersAttr() != nullptr,
                    isOneOf({Kind::Fold, Kind::Compact, Kind::InputReplay}), false, "layers")))
    return failure();
  RingAttr ring = kernel.getRingAttr();
  if (ring && ring.isCircular() != (flush == FlushAt::Verify))
    return kernel.emitOpError() << "expected a " << (ring.isCircular() ? "linear" : "circular")
                                << " ring for flush " << (flush ? stringifyFlushAt(*flush) : "none");
  bool needsWindow = isOneOf({Kind::Verify, Kind::Compact}) || hasInputs || (kind == Kind::Fold && everyCommit) ||
                     (kind == Kind::Cursors && flush);
  bool mayHaveWindow = needsWindow || isCursors;
  if (needsWindow && !kernel.getWindowAttr())
    return kernel.emitOpError() << "expected a window length for kind " << stringifyKind(kind);
  if (!mayHaveWindow && kernel.getWindowAttr())
    return kernel.emitOpError() << "expected no window length for kind " << stringifyKind(kind)
                                << " but got " << *kernel.getWindow();
  bool mayBeShort = kind == Kind::Verify || hasInputs;
  if (kernel.tokens() < kernel.maxTokens() && !mayBeShort)
    return kernel.emitOpError() << "expected the window of its set, " << kernel.maxTokens() << " tokens, for kind "
                                << stringifyKind(kind) << " but got " << kernel.tokens();
  int64_t tokens = kernel.maxTokens() * (flush == FlushAt::Verify ? 2 : 1);
  if (ring && kernel.getWindow() && tokens > ring.getLength())
    return kernel.emitOpError() << "expected a ring that holds " << (flush == FlushAt::Verify ? "two windows" : "a window")
                                << " of " << kernel.maxTokens() << " tokens but got one of " << ring.getLength();
  return success();
}

/// Kernels that a set has no use for, as its other kernels do their work.
static LogicalResult verifySet(KernelOp kernel) {
  struct { Kind kind; FlushAt flush; StringRef why; } const none[] = {
      {Kind::Fold, FlushAt::Verify, "its verify folds"},
      {Kind::Compact, FlushAt::EveryCommit, "its fold takes accept_idx"},
      {Kind::Reset, FlushAt::EveryCommit, "its cursors do not move"}};
  for (const auto &[kind, flush, why] : none)
    if (kernel.getKind() == kind && kernel.getFlush() == flush)
      return kernel.emitOpError() << "does not take flush " << stringifyFlushAt(flush) << " with kind "
                                  << stringifyKind(kind) << ": " << why;
  if (kernel.getKind() == Kind::Compact && kernel.getMask() != Mask::Tree)
    return kernel.emitOpError("expected mask tree for kind compact but got chain");
  return success();
}

static LogicalResult verifyRequest(KernelOp kernel, SymbolTableCollection &symbols) {
  auto layer = symbols.lookupNearestSymbolFrom<LayerOp>(kernel, kernel.getOfAttr());
  bool filled = !kernel.getBody().empty() && !kernel.getBody().front().empty();
  // Derived before: the output of each stage may be compiled again.
  if (!layer && filled)
    return success();
  if (!layer)
    return kernel.emitOpError() << "expected 'of' to name a replay.layer but got "
                                << kernel.getOfAttr();
  if (filled)
    return kernel.emitOpError("expected an empty body: derive fills it from the layer");
  Kind kind = *kernel.getKind();
  if (kernel.getShapeAttr() && kernel.getShapeAttr() != layer.getShape())
    return kernel.emitOpError() << "expected the layer's shape " << layer.getShape()
                                << " but got " << kernel.getShapeAttr();
  if (kernel.getNullAttr() && kernel.getNull() != layer.getNull())
    return kernel.emitOpError() << "expected the layer's null " << stringifyNull(layer.getNull())
                                << " but got " << stringifyNull(*kernel.getNull());
  bool hasRing = kind != Kind::Packed && kind != Kind::InputReplay && kind != Kind::Snapshots;
  if (!hasRing && kernel.getRingAttr())
    return kernel.emitOpError() << "expected no ring for kind " << stringifyKind(kind) << " but got "
                                << kernel.getRingAttr();
  if (hasRing && !kernel.getRingAttr())
    return kernel.emitOpError() << "expected a ring for kind " << stringifyKind(kind);
  bool hasSums = kind != Kind::Cursors && kind != Kind::Reset && kind != Kind::Compact;
  if (hasSums && !kernel.getKredAttr())
    return kernel.emitOpError() << "expected kred for kind " << stringifyKind(kind)
                                << ": it fixes the order of sums over K";
  if (failed(verifyOptions(kernel)) || failed(verifySet(kernel)))
    return failure();
  return kernel.getRingAttr() ? verifyRing(kernel, layer) : success();
}

LogicalResult derive::verifyLayers(ModuleOp module) {
  bool failedAny = false;
  SymbolTableCollection symbols;
  module.walk([&](Operation *op) {
    if (auto layer = dyn_cast<LayerOp>(op))
      failedAny |= failed(verifyLayer(layer));
    else if (auto kernel = dyn_cast<KernelOp>(op); kernel && kernel.getOfAttr())
      failedAny |= failed(verifyRequest(kernel, symbols));
  });
  return failure(failedAny);
}

namespace {

struct VerifyLayer : replayssm::impl::VerifyLayerBase<VerifyLayer> {
  using VerifyLayerBase::VerifyLayerBase;

  void runOnOperation() override {
    if (failed(derive::verifyLayers(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
