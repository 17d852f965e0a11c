//===- KernelSpec.cpp - The textual form of a spec ------------------------===//
#include "replayssm/KernelSpec.h"

#include "lib/Import/SpecFields.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace replayssm;
using namespace replayssm::spec;

const char *replayssm::name(Rule rule) {
  switch (rule) {
  case Rule::GDN: return "gdn";
  case Rule::KDA: return "kda";
  }
  return "unknown";
}
const char *replayssm::name(Phase phase) {
  switch (phase) {
  case Phase::Packed: return "packed";
  case Phase::Replay: return "replay";
  case Phase::Cursors: return "cursors";
  case Phase::Verify: return "verify";
  case Phase::Fold: return "fold";
  case Phase::Compact: return "compact";
  case Phase::InputReplay: return "input_replay";
  case Phase::Snapshots: return "snapshots";
  case Phase::Reset: return "reset";
  }
  return "unknown";
}
const char *replayssm::name(FlushAt flushAt) {
  switch (flushAt) {
  case FlushAt::Decode: return "decode";
  case FlushAt::Verify: return "verify";
  case FlushAt::Commit: return "commit";
  case FlushAt::EveryCommit: return "every_commit";
  }
  return "unknown";
}
const char *replayssm::name(Fold fold) {
  switch (fold) {
  case Fold::Records: return "records";
  case Fold::Replay: return "replay";
  }
  return "unknown";
}
const char *replayssm::name(Window window) {
  switch (window) {
  case Window::Chain: return "chain";
  case Window::Tree: return "tree";
  }
  return "unknown";
}
const char *replayssm::name(Layers layers) {
  switch (layers) {
  case Layers::One: return "one";
  case Layers::Stride: return "stride";
  case Layers::Table: return "table";
  }
  return "unknown";
}
const char *replayssm::name(DType dtype) {
  switch (dtype) {
  case DType::F32: return "f32";
  case DType::BF16: return "bf16";
  case DType::F16: return "f16";
  }
  return "unknown";
}
const char *replayssm::name(NullRow null) {
  switch (null) {
  case NullRow::LT0: return "lt0";
  case NullRow::LE0: return "le0";
  }
  return "unknown";
}
const char *replayssm::name(Gate gate) {
  switch (gate) {
  case Gate::Softplus: return "softplus";
  case Gate::Safe: return "safe";
  case Gate::Precomputed: return "precomputed";
  }
  return "unknown";
}
const char *replayssm::name(Dot dot) {
  switch (dot) {
  case Dot::FMA: return "fma";
  case Dot::MMA: return "mma";
  }
  return "unknown";
}
const char *replayssm::name(Beta beta) {
  switch (beta) {
  case Beta::SigmoidF32: return "sigmoid_f32";
  case Beta::SigmoidIO: return "sigmoid_io";
  case Beta::Precomputed: return "precomputed";
  }
  return "unknown";
}

double KernelSpec::effectiveScale() const {
  return scale != 0 ? scale : std::pow(double(K), -0.5);
}

/// What a phase, its window and its ring have to agree on.
static Status validateWindow(const KernelSpec &spec) {
  auto isOneOf = [&](std::initializer_list<Phase> phases) {
    return std::find(phases.begin(), phases.end(), spec.phase) != phases.end();
  };
  auto doesNotApply = [&](const char *key) {
    return invalid(quote(key) + " does not apply to phase=" + name(spec.phase));
  };
  bool ofSet = isOneOf({Phase::Verify, Phase::Fold, Phase::Compact});
  bool hasWindow = ofSet || isOneOf({Phase::InputReplay, Phase::Snapshots});
  if (!ofSet && !isOneOf({Phase::Cursors, Phase::Reset}) && spec.isWindowSet())
    return doesNotApply("flush_at");
  if (ofSet && !spec.isWindowSet())
    return invalid(std::string("expected 'flush_at' to be given for phase=") + name(spec.phase) + ", one of " +
                   std::string(flushChoices(name(spec.phase))));
  if (!spec.isWindowSet() && !hasWindow && spec.Tmax != 1)
    return invalid(std::string("expected 'T_max' to be 1 for phase=") + name(spec.phase) + " but got '" +
                   std::to_string(spec.Tmax) + "'");
  if (spec.T > spec.Tmax)
    return invalid("expected 'T' to be at most T_max=" + std::to_string(spec.Tmax) + " but got '" +
                   std::to_string(spec.T) + "'");
  // The others keep what a set keeps: they are the same kernel for every window.
  if (spec.T < spec.Tmax && !isOneOf({Phase::Verify, Phase::InputReplay, Phase::Snapshots}))
    return invalid("expected 'T' to be T_max=" + std::to_string(spec.Tmax) + " for phase=" + name(spec.phase) +
                   " but got '" + std::to_string(spec.T) + "'");
  if (!spec.hasRing() && spec.dot == Dot::MMA)
    return invalid(std::string("expected 'dot' to be fma for phase=") + name(spec.phase) +
                   ", whose bits are those of one token at a time, but got 'mma'");
  if (!spec.isWindowSet() && spec.fold != Fold::Records)
    return doesNotApply("fold");
  int64_t least = spec.flushAt == FlushAt::Verify ? 2 * spec.Tmax : spec.Tmax;
  if (spec.isWindowSet() && spec.L < least)
    return invalid("expected 'L' to be at least " + std::string(spec.flushAt == FlushAt::Verify ? "2 * " : "") +
                   "T_max=" + std::to_string(least) + " for flush_at=" + name(spec.flushAt) + " but got '" +
                   std::to_string(spec.L) + "'");
  if (spec.window == Window::Tree && !hasWindow && !spec.isWindowSet())
    return doesNotApply("window");
  if (spec.phase == Phase::Compact && spec.window != Window::Tree)
    return invalid("expected 'window' to be tree for phase=compact but got 'chain'");
  if (spec.phase == Phase::Compact && spec.flushAt == FlushAt::EveryCommit)
    return invalid("phase=compact does not apply to flush_at=every_commit: its fold takes accept_idx");
  if (spec.phase == Phase::Fold && spec.flushAt == FlushAt::Verify)
    return invalid("phase=fold does not apply to flush_at=verify: its verify folds");
  if (spec.phase == Phase::Reset && spec.flushAt == FlushAt::EveryCommit)
    return invalid("phase=reset does not apply to flush_at=every_commit: its cursors do not move");
  if (spec.track && !isOneOf({Phase::Cursors, Phase::Fold}))
    return doesNotApply("track");
  if (spec.track && (!spec.isWindowSet() || spec.flushAt == FlushAt::Verify))
    return invalid("expected 'flush_at' to be commit or every_commit for track=yes but got '" +
                   std::string(spec.isWindowSet() ? name(spec.flushAt) : "none") + "'");
  bool storesState = isOneOf({Phase::Packed, Phase::Replay, Phase::Fold, Phase::InputReplay}) ||
                     (spec.phase == Phase::Verify && spec.flushAt == FlushAt::Verify);
  if (spec.dst && !storesState)
    return doesNotApply("dst");
  if (spec.layers != Layers::One && !isOneOf({Phase::Fold, Phase::Compact, Phase::InputReplay}))
    return doesNotApply("layers");
  return Status::ok();
}

/// A choice that a program has put together may be none of the enum's.
static Status validateChoices(const KernelSpec &spec) {
  auto choice = [](std::string_view key, auto value, auto last) {
    return value >= decltype(value)() && value <= last
               ? Status::ok()
               : invalid("expected " + quote(key) + " to be one of its enum's values but got " +
                         std::to_string(static_cast<int64_t>(value)));
  };
  RSSM_RETURN_IF_ERROR(choice("rule", spec.rule, Rule::KDA));
  RSSM_RETURN_IF_ERROR(choice("phase", spec.phase, Phase::Reset));
  RSSM_RETURN_IF_ERROR(choice("flush_at", spec.flushAt, FlushAt::EveryCommit));
  RSSM_RETURN_IF_ERROR(choice("fold", spec.fold, Fold::Replay));
  RSSM_RETURN_IF_ERROR(choice("window", spec.window, Window::Tree));
  RSSM_RETURN_IF_ERROR(choice("layers", spec.layers, Layers::Table));
  RSSM_RETURN_IF_ERROR(choice("gate", spec.gate, Gate::Precomputed));
  RSSM_RETURN_IF_ERROR(choice("beta", spec.beta, Beta::Precomputed));
  RSSM_RETURN_IF_ERROR(choice("io", spec.io, DType::F16));
  RSSM_RETURN_IF_ERROR(choice("state", spec.state, DType::F16));
  return choice("null", spec.null, NullRow::LE0);
}

Status replayssm::validate(const KernelSpec &spec) {
  RSSM_RETURN_IF_ERROR(validateChoices(spec));
  auto range = [](std::string_view name, int64_t value, int64_t low, int64_t high) {
    return ofSpec(checkRange(name, value, low, high));
  };
  RSSM_RETURN_IF_ERROR(range("H", spec.H, 1, maxHeads));
  RSSM_RETURN_IF_ERROR(range("HV", spec.HV, 1, maxHeads));
  RSSM_RETURN_IF_ERROR(range("K", spec.K, minDim, maxDim));
  RSSM_RETURN_IF_ERROR(range("V", spec.V, minDim, maxDim));
  if (spec.hasRing())
    RSSM_RETURN_IF_ERROR(range("L", spec.L, 1, maxRing));
  RSSM_RETURN_IF_ERROR(range("T_max", spec.Tmax, 1, maxWindow));
  RSSM_RETURN_IF_ERROR(range("T", spec.T, 1, maxWindow));
  RSSM_RETURN_IF_ERROR(validateWindow(spec));
  if (spec.HV % spec.H != 0)
    return invalid("expected 'HV' to be a multiple of 'H' but got H=" + std::to_string(spec.H) +
                   ", HV=" + std::to_string(spec.HV));
  for (auto [name, dim] : {std::pair("K", spec.K), std::pair("V", spec.V)})
    if (dim % dimStep != 0)
      return unsupported(std::string(name) + "=" + std::to_string(dim) +
                         " cannot be compiled by this version; supported: multiples of 8");
  RSSM_RETURN_IF_ERROR(ofSpec(checkConstant("eps", spec.eps, Sign::Positive)));
  if (spec.scale != 0)
    RSSM_RETURN_IF_ERROR(ofSpec(checkConstant("scale", spec.scale, Sign::Positive)));
  if (spec.gate == Gate::Safe)
    RSSM_RETURN_IF_ERROR(ofSpec(checkConstant("lower_bound", spec.lowerBound, Sign::Negative)));
  if (spec.gate != Gate::Safe && spec.lowerBound != 0)
    return invalid("'lower_bound' applies to gate=safe only");
  if (spec.betaFactor != 1 && spec.betaFactor != 2)
    return invalid("expected 'beta_factor' to be one of 1, 2 but got '" + std::to_string(spec.betaFactor) + "'");
  if (spec.state == DType::F16)
    return unsupported("state=f16 cannot be compiled by this version; supported: f32, bf16");
  return Status::ok();
}

Result<KernelSpec> replayssm::parseKernelSpec(std::string_view text) {
  Fields fields;
  RSSM_RETURN_IF_ERROR(fields.parse(text));
  RSSM_RETURN_IF_ERROR(fields.check());

  auto integer = [&](std::string_view key, int64_t &value) {
    if (auto given = fields.get(key))
      value = *number<int64_t>(*given);
  };
  KernelSpec spec;
  auto choice = [&](std::string_view key, auto &value, auto... candidates) {
    ((fields.get(key) == name(candidates) ? void(value = candidates) : void()), ...);
  };
  choice("rule", spec.rule, Rule::GDN, Rule::KDA);
  choice("phase", spec.phase, Phase::Packed, Phase::Replay, Phase::Cursors, Phase::Verify, Phase::Fold,
         Phase::Compact, Phase::InputReplay, Phase::Snapshots, Phase::Reset);
  choice("flush_at", spec.flushAt, FlushAt::Verify, FlushAt::Commit, FlushAt::EveryCommit);
  choice("fold", spec.fold, Fold::Records, Fold::Replay);
  choice("window", spec.window, Window::Chain, Window::Tree);
  choice("dot", spec.dot, Dot::FMA, Dot::MMA);
  choice("layers", spec.layers, Layers::One, Layers::Stride, Layers::Table);
  spec.track = fields.get("track") == "yes";
  spec.dst = fields.get("dst") == "yes";
  integer("H", spec.H);
  integer("HV", spec.HV);
  integer("K", spec.K);
  integer("V", spec.V);
  // Either says the other.
  integer("T", spec.Tmax);
  integer("T_max", spec.Tmax);
  spec.T = spec.Tmax;
  integer("T", spec.T);
  if (spec.flushAt == FlushAt::Verify)
    spec.L = std::min(maxRing, int64_t(std::bit_ceil(uint64_t(4 * spec.Tmax))));
  integer("L", spec.L);
  choice("gate", spec.gate, Gate::Softplus, Gate::Safe, Gate::Precomputed);
  choice("beta", spec.beta, Beta::SigmoidF32, Beta::SigmoidIO, Beta::Precomputed);
  if (auto bound = fields.get("lower_bound"))
    spec.lowerBound = *number<double>(*bound);
  integer("beta_factor", spec.betaFactor);
  choice("io", spec.io, DType::F32, DType::BF16, DType::F16);
  choice("state", spec.state, DType::F32, DType::BF16, DType::F16);
  choice("null", spec.null, NullRow::LT0, NullRow::LE0);
  if (auto eps = fields.get("eps"))
    spec.eps = *number<double>(*eps);
  if (auto scale = fields.get("scale"); scale && scale != defaultScale) {
    spec.scale = *number<double>(*scale);
    // Zero means "default" in the struct, never in the text.
    RSSM_RETURN_IF_ERROR(ofSpec(checkConstant("scale", spec.scale, Sign::Positive)));
  }
  RSSM_RETURN_IF_ERROR(validate(spec));
  return spec;
}

std::string replayssm::print(const KernelSpec &spec) {
  auto item = [](const char *key, const std::string &value) { return std::string(",") + key + "=" + value; };
  std::string out = std::string("rule=") + name(spec.rule) + item("phase", name(spec.phase));
  out += item("H", std::to_string(spec.H)) + item("HV", std::to_string(spec.HV)) +
         item("K", std::to_string(spec.K)) + item("V", std::to_string(spec.V));
  if (spec.hasRing())
    out += item("L", std::to_string(spec.L));
  out += item("T", std::to_string(spec.T)) + item("T_max", std::to_string(spec.Tmax)) + item("gate", name(spec.gate));
  if (spec.gate == Gate::Safe)
    out += item("lower_bound", shortest(spec.lowerBound));
  out += item("beta", name(spec.beta)) + item("beta_factor", std::to_string(spec.betaFactor)) +
         ",qk_norm=l2_rsqrt";
  out += item("eps", shortest(spec.eps)) +
         item("scale", spec.scale == 0 ? std::string(defaultScale) : shortest(spec.scale)) +
         item("io", name(spec.io)) + item("state", name(spec.state)) + item("null", name(spec.null));
  if (spec.hasRing())
    out += item("ring", !spec.storesRaw() ? "dkg" : spec.storesDelta() ? "dkg+raw" : "raw") +
           item("ring_shape", spec.isCircular() ? "circular" : "linear");
  out += ",contract=exact" + item("dot", name(spec.dot)) + ",flush_dot=fma";
  if (spec.isWindowSet())
    out += item("flush_at", name(spec.flushAt)) + item("fold", name(spec.fold));
  if (spec.window == Window::Tree)
    out += item("window", name(spec.window));
  if (spec.track)
    out += ",track=yes";
  if (spec.dst)
    out += ",dst=yes";
  if (spec.layers != Layers::One)
    out += item("layers", name(spec.layers));
  return out;
}
