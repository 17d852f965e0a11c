//===- SpecCheck.cpp - A request's spec against its layer -----------------===//
#include "lib/Compiler/SpecCheck.h"

#include "dialects/Replay/ReplayDialect.h"
#include "replayssm/KernelSpec.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

namespace {

std::string dtypeOf(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  else if (auto state = dyn_cast<StateType>(type))
    type = state.getDtype();
  os << type;
  return text;
}

/// Compares one field; the diagnostic names the key of the spec.
class Comparison {
public:
  explicit Comparison(KernelOp kernel) : kernel(kernel) {}

  template <typename T>
  void field(const char *key, const T &layer, const T &spec) {
    if (failed || layer == spec)
      return;
    failed = true;
    kernel.emitOpError() << "expected the spec to say " << key << "=" << layer
                         << " as the layer and the request do but got " << key << "=" << spec;
  }
  LogicalResult result() const { return failure(failed); }

private:
  KernelOp kernel;
  bool failed = false;
};

void compareRecurrence(Comparison &compare, LayerOp layer, const KernelSpec &spec) {
  ShapeAttr shape = layer.getShape();
  compare.field("H", shape.getH(), spec.H);
  compare.field("HV", shape.getHV(), spec.HV);
  compare.field("K", shape.getK(), spec.K);
  compare.field("V", shape.getV(), spec.V);
  compare.field("null", stringifyNull(layer.getNull()).str(), std::string(name(spec.null)));
  layer.walk([&](GateOp gate) {
    int64_t gateDim = cast<ShapedType>(gate.getG().getType()).getDimSize(1);
    // K is at least 8, so the width of the gate tells the rules apart.
    compare.field("rule", std::string(gateDim == 1 ? "gdn" : "kda"), std::string(name(spec.rule)));
    compare.field("gate", stringifyGateForm(gate.getForm()).str(), std::string(name(spec.gate)));
    if (auto bound = gate.getLowerBound())
      compare.field("lower_bound", bound->convertToDouble(), spec.lowerBound);
  });
  layer.walk([&](BetaOp beta) {
    compare.field("beta", stringifyBetaForm(beta.getForm()).str(), std::string(name(spec.beta)));
    compare.field("beta_factor", int64_t(beta.getFactor()), spec.betaFactor);
  });
  layer.walk([&](DeltaOp delta) {
    compare.field("state", dtypeOf(delta.getState().getType()), std::string(name(spec.state)));
    compare.field("io", dtypeOf(delta.getV().getType()), std::string(name(spec.io)));
    if (auto norm = delta.getQ().getDefiningOp<L2NormOp>()) {
      compare.field("eps", norm.getEps().convertToDouble(), spec.eps);
      // Written by hand, K^-0.5 need not be the nearest double; kernels use f32.
      compare.field("scale", float(norm.getScale().convertToDouble()), float(spec.effectiveScale()));
    }
  });
}

LogicalResult checkSpec(KernelOp kernel, LayerOp layer) {
  Result<KernelSpec> spec = parseKernelSpec(kernel.getSpecAttr().getValue());
  if (!spec)
    return kernel.emitOpError() << spec.status().message();
  Comparison compare(kernel);
  if (std::optional<Kind> kind = kernel.getKind())
    compare.field("phase", stringifyKind(*kind).str(), std::string(name(spec->phase)));
  if (RingAttr ring = kernel.getRingAttr(); ring && spec->hasRing())
    compare.field("L", ring.getLength(), spec->L);
  if (kernel.getWindow()) {
    compare.field("T_max", kernel.maxTokens(), spec->Tmax);
    compare.field("T", kernel.tokens(), spec->T);
  }
  if (kernel.getKind() && spec->takesDot())
    compare.field("dot", std::string(kernel.getMmaAttr() ? "mma" : "fma"), std::string(name(spec->dot)));
  if (kernel.getKind()) {
    compare.field("flush_at", kernel.getFlush() ? stringifyFlushAt(*kernel.getFlush()).str() : std::string("decode"),
                  std::string(name(spec->flushAt)));
    compare.field("fold", stringifyFoldBy(kernel.getFold().value_or(FoldBy::Records)).str(), std::string(name(spec->fold)));
    compare.field("window", stringifyMask(kernel.getMask().value_or(Mask::Chain)).str(), std::string(name(spec->window)));
    auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
    compare.field("track", yes(kernel.getTrack()), yes(spec->track));
    compare.field("dst", yes(kernel.getDst()), yes(spec->dst));
    compare.field("layers", kernel.getLayers() ? stringifyLayers(*kernel.getLayers()).str() : std::string("one"),
                  std::string(name(spec->layers)));
  }
  if (layer)
    compareRecurrence(compare, layer, *spec);
  kernel.setSpec(print(*spec));
  return compare.result();
}

} // namespace

LogicalResult replayssm::checkSpecs(ModuleOp module) {
  for (auto kernel : module.getOps<KernelOp>()) {
    if (!kernel.getSpecAttr())
      continue;
    LayerOp layer;
    if (FlatSymbolRefAttr of = kernel.getOfAttr())
      layer = module.lookupSymbol<LayerOp>(of);
    if (failed(checkSpec(kernel, layer)))
      return failure();
  }
  return success();
}
