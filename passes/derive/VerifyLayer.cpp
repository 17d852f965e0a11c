//===- VerifyLayer.cpp - Layers, requests and ring formats agree ----------===//
#include "passes/Passes.h"

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

/// The records that replay needs: d per value head, k per key head, g as the gate.
static LogicalResult verifyRing(KernelOp kernel, LayerOp layer) {
  RingAttr ring = kernel.getRingAttr();
  FieldDim gate = gateDim(layer) == 1 ? FieldDim::One : FieldDim::K;
  struct { StringRef name; Head head; FieldDim dim; } const needed[] = {
      {"d", Head::Value, FieldDim::V}, {"k", Head::Key, FieldDim::K}, {"g", Head::Value, gate}};
  for (const auto &want : needed) {
    FieldAttr field = ring.getField(want.name);
    if (!field)
      return kernel.emitOpError() << "expected ring field '" << want.name << "'";
    if (field.getHead() != want.head || field.getDim() != want.dim)
      return kernel.emitOpError()
             << "expected ring field '" << want.name << "' to be " << stringifyHead(want.head)
             << ", " << stringifyFieldDim(want.dim) << " but got "
             << stringifyHead(field.getHead()) << ", " << stringifyFieldDim(field.getDim());
  }
  for (FieldAttr field : ring.getFields())
    if (llvm::none_of(needed, [&](auto &want) { return want.name == field.getName(); }))
      return kernel.emitOpError() << "expected ring fields d, k and g of a layer but got '"
                                  << field.getName() << "'";
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
  if (kind == Kind::Packed && kernel.getRingAttr())
    return kernel.emitOpError() << "expected no ring for kind packed but got "
                                << kernel.getRingAttr();
  if (kind != Kind::Packed && !kernel.getRingAttr())
    return kernel.emitOpError() << "expected a ring for kind " << stringifyKind(kind);
  if (kind != Kind::Cursors && !kernel.getKredAttr())
    return kernel.emitOpError() << "expected kred for kind " << stringifyKind(kind)
                                << ": it fixes the order of sums over K";
  if (kind == Kind::Verify && !kernel.getWindowAttr())
    return kernel.emitOpError("expected a window length for kind verify");
  if (kind != Kind::Verify && kind != Kind::Cursors && kernel.getWindowAttr())
    return kernel.emitOpError() << "expected no window length for kind " << stringifyKind(kind)
                                << " but got " << *kernel.getWindow();
  if (int64_t window = kernel.getWindow().value_or(0);
      kernel.getRingAttr() && window > kernel.getRingAttr().getLength())
    return kernel.emitOpError() << "expected a ring that holds a window of " << window
                                << " tokens but got one of " << kernel.getRingAttr().getLength();
  return kernel.getRingAttr() ? verifyRing(kernel, layer) : success();
}

namespace {

struct VerifyLayer : replayssm::impl::VerifyLayerBase<VerifyLayer> {
  using VerifyLayerBase::VerifyLayerBase;

  void runOnOperation() override {
    bool failedAny = false;
    SymbolTableCollection symbols;
    getOperation().walk([&](Operation *op) {
      if (auto layer = dyn_cast<LayerOp>(op))
        failedAny |= failed(verifyLayer(layer));
      else if (auto kernel = dyn_cast<KernelOp>(op); kernel && kernel.getOfAttr())
        failedAny |= failed(verifyRequest(kernel, symbols));
    });
    if (failedAny)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
