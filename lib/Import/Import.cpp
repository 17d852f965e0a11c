//===- Import.cpp - A spec as a layer and a kernel request ----------------===//
//
// Text and not ops, so that what a spec stands for is what a user can write.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Import.h"

#include <charconv>
#include <sstream>

using namespace replayssm;

namespace {

/// A float literal that reads back to the same double; MLIR wants a point in it.
std::string literal(double value) {
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, error == std::errc() ? end : buffer);
  if (text.find('.') == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

std::string row(int64_t columns, const char *dtype) {
  return "tensor<1x" + std::to_string(columns) + "x" + dtype + ">";
}

/// How sums over K are ordered: one 16-byte access of the state per lane.
const char *kred(DType state) {
  return state == DType::F32 ? "<lanes = 8, vec = 4>" : "<lanes = 8, vec = 8>";
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
  if (spec.gate == Gate::Precomputed)
    os << "(%a) : (" << gate;
  else
    os << "(%a, %A_log, %dt_bias)"
       << (spec.gate == Gate::Safe ? " {lower_bound = " + literal(spec.lowerBound) + " : f64}" : "")
       << " : (" << gate << ", " << oneF32 << ", " << gateF32;
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

} // namespace

std::string replayssm::importText(const KernelSpec &spec) {
  std::ostringstream os;
  bool hasRing = spec.phase != Phase::Packed;
  if (hasRing)
    os << "#ring = #replay.ring<" << spec.L << ", [<\"d\", f32, value, V>, <\"k\", f32, key, K>, "
       << "<\"g\", f32, value, " << (spec.rule == Rule::GDN ? "one" : "K") << ">]>\n\n";
  printLayer(os, spec);
  // A fold reads records alone; how long the windows were is nothing to it.
  bool hasWindow = spec.flushAt == FlushAt::Commit && spec.phase != Phase::Fold;
  os << "\nreplay.kernel @" << name(spec.rule) << "_" << name(spec.phase) << " of @"
     << name(spec.rule) << " kind " << name(spec.phase) << (hasRing ? " ring #ring" : "")
     << (hasWindow ? " window " + std::to_string(spec.T) : "")
     << " kred " << kred(spec.state) << "\n    attributes {spec = \"" << print(spec) << "\"} {\n}\n";
  return os.str();
}
