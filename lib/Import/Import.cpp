//===- Import.cpp - A spec as a layer and a kernel request ----------------===//
//
// Text and not ops, so that what a spec stands for is what a user can write.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Import.h"

#include "common/Bounds.h"

#include <sstream>

using namespace replayssm;

namespace {

/// A float literal that reads back to the same double; MLIR wants a point in it.
std::string literal(double value) {
  std::string text = shortest(value);
  if (text.find('.') == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

std::string row(int64_t columns, const char *dtype) {
  return "tensor<1x" + std::to_string(columns) + "x" + dtype + ">";
}

/// How sums over K are ordered: one 16-byte access of the state per lane.
const char *kred(DType state) {
  switch (state) {
  case DType::F32:
    return "<lanes = 8, vec = 4>";
  case DType::BF16:
  case DType::F16:
    return "<lanes = 8, vec = 8>";
  }
  return "";
}

void printLayer(std::ostream &os, const KernelSpec &spec) {
  const char *io = name(spec.io);
  std::string state = "!replay.state<" + std::to_string(spec.V) + ", " +
                      std::to_string(spec.K) + ", " + name(spec.state) + ">";
  std::string key = row(spec.K, io), keyF32 = row(spec.K, "f32");
  std::string value = row(spec.V, io), valueF32 = row(spec.V, "f32");
  std::string gate = row(spec.gateDim(), name(spec.aType())), gateF32 = row(spec.gateDim(), "f32");
  std::string one = row(1, name(spec.bType())), oneF32 = row(1, "f32");
  std::string eps = "eps = " + literal(spec.eps) + " : f64";

  os << "replay.layer @" << name(spec.rule) << " <H = " << spec.H << ", HV = " << spec.HV
     << ", K = " << spec.K << ", V = " << spec.V << "> null " << name(spec.null) << " {\n"
     << "^bb0(%S: " << state << ", %q: " << key << ", %k: " << key << ",\n"
     << "     %v: " << value << ", %a: " << gate << ", %b: " << one << ",\n"
     << "     %A_log: " << oneF32 << ", %dt_bias: " << gateF32 << "):\n"
     << "  %g = replay.gate " << name(spec.gate);
  std::string params = "(%a, %A_log, %dt_bias)", paramTypes = gate + ", " + oneF32 + ", " + gateF32;
  switch (spec.gate) {
  case Gate::Softplus:
    os << params << " : (" << paramTypes;
    break;
  case Gate::Safe:
    os << params << " {lower_bound = " << literal(spec.lowerBound) << " : f64} : (" << paramTypes;
    break;
  case Gate::Precomputed:
    os << "(%a) : (" << gate;
    break;
  }
  os << ") -> " << gateF32 << "\n"
     << "  %beta = replay.beta " << name(spec.beta) << "(%b)"
     << (spec.betaFactor == 2 ? " {factor = 2 : i64}" : "") << " : (" << one << ") -> " << oneF32 << "\n"
     << "  %qn = replay.l2norm l2_rsqrt(%q) {" << eps << ", scale = "
     << literal(spec.effectiveScale()) << " : f64} : (" << key << ") -> " << keyF32 << "\n"
     << "  %kn = replay.l2norm l2_rsqrt(%k) {" << eps << "} : (" << key << ") -> " << keyF32 << "\n"
     << "  %S1, %o, %d = replay.delta chain(%S, %qn, %kn, %v, %g, %beta) : (" << state << ", "
     << keyF32 << ", " << keyF32 << ", " << value << ", " << gateF32 << ", " << oneF32 << ") -> ("
     << state << ", " << valueF32 << ", " << valueF32 << ")\n"
     << "  replay.yield %S1, %o : " << state << ", " << valueF32 << "\n"
     << "}\n";
}

void printRing(std::ostream &os, const KernelSpec &spec) {
  const char *gate = spec.gateDim() == 1 ? "one" : "K", *separator = "";
  auto field = [&](const char *name, const char *dtype, const char *head, const char *dim) {
    os << separator << "<\"" << name << "\", " << dtype << ", " << head << ", " << dim << ">";
    separator = ", ";
  };
  os << "#ring = #replay.ring<" << spec.L << ", [";
  if (spec.storesDelta()) {
    field("d", "f32", "value", "V");
    field("k", "f32", "key", "K");
  }
  field("g", "f32", "value", gate);
  if (spec.storesRaw()) {
    field("raw_v", name(spec.io), "value", "V");
    field("raw_k", name(spec.io), "key", "K");
    field("beta", "f32", "value", "one");
  }
  os << "]" << (spec.isCircular() ? ", circular" : "") << ">\n\n";
}

} // namespace

std::string replayssm::importText(const KernelSpec &spec) {
  std::ostringstream os;
  if (spec.hasRing())
    printRing(os, spec);
  printLayer(os, spec);
  os << "\nreplay.kernel @" << name(spec.rule) << "_" << name(spec.phase) << " of @"
     << name(spec.rule) << " kind " << name(spec.phase) << (spec.hasRing() ? " ring #ring" : "");
  // A fold of many records does not care how long the windows were.
  bool countsTokens = spec.phase != Phase::Fold || spec.flushAt == FlushAt::EveryCommit;
  bool isWindowed = spec.isWindowSet() || spec.phase == Phase::InputReplay || spec.phase == Phase::Snapshots;
  if (isWindowed && countsTokens && spec.phase != Phase::Reset)
    os << " window " << spec.T << (spec.T < spec.Tmax ? " of " + std::to_string(spec.Tmax) : "");
  if (spec.window == Window::Tree)
    os << " mask tree";
  if (spec.isWindowSet())
    os << " flush " << name(spec.flushAt) << " fold " << name(spec.fold);
  os << (spec.track ? " track" : "") << (spec.dst ? " dst" : "");
  if (spec.layers != Layers::One)
    os << " layers " << name(spec.layers);
  os << " kred " << kred(spec.state);
  if (spec.dot == Dot::MMA && spec.takesDot())
    os << " mma<chunk = 32>";
  os << "\n    attributes {spec = \"" << print(spec) << "\"} {\n}\n";
  return os.str();
}
