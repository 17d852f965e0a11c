//===- KernelSpec.cpp - The textual form of a spec ------------------------===//
//
// One table holds every key, its values, and which of them can be compiled.
//
//===----------------------------------------------------------------------===//
#include "replayssm/KernelSpec.h"

#include <cfloat>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

using namespace replayssm;

namespace {

using Names = std::vector<std::string_view>;

struct Key {
  enum class Type { Choice, Integer, Real, Scale };
  std::string_view name;
  Type type = Type::Choice;
  Names values = {};         ///< Choice: every spelling that means something.
  Names supported = {};      ///< Choice: the subset that this version compiles.
  bool required = false;     ///< No default: leaving it out is an error.
  int64_t low = 0, high = 0; ///< Integer range.
};

constexpr int64_t maxHeads = 65535, maxDim = 256, maxRing = 64, maxWindow = 16;

/// In the order of docs/spec.md, which is the order of the canonical text.
const std::vector<Key> &keyTable() {
  using T = Key::Type;
  static const std::vector<Key> table = {
      {"rule", T::Choice, {"gdn", "kda"}, {"gdn", "kda"}, true},
      {"phase", T::Choice,
       {"packed", "replay", "cursors", "verify", "fold", "compact", "input_replay", "snapshots"},
       {"packed", "replay", "cursors", "verify", "fold"}, true},
      {"H", T::Integer, {}, {}, true, 1, maxHeads},
      {"HV", T::Integer, {}, {}, true, 1, maxHeads},
      {"K", T::Integer, {}, {}, true, 8, maxDim},
      {"V", T::Integer, {}, {}, true, 8, maxDim},
      {"L", T::Integer, {}, {}, false, 1, maxRing},
      {"T", T::Integer, {}, {}, false, 1, maxWindow},
      {"T_max", T::Integer, {}, {}, false, 1, maxWindow},
      {"gate", T::Choice, {"softplus", "softplus_log_1p_exp", "safe", "precomputed"},
       {"softplus", "safe", "precomputed"}, true},
      {"lower_bound", T::Real},
      {"beta", T::Choice, {"sigmoid_f32", "sigmoid_io", "precomputed"},
       {"sigmoid_f32", "sigmoid_io", "precomputed"}, true},
      {"beta_factor", T::Choice, {"1", "2"}, {"1", "2"}},
      {"qk_norm", T::Choice, {"none", "l2_rsqrt", "l2_recip", "l2_div", "l2_outer"}, {"l2_rsqrt"}, true},
      {"eps", T::Real},
      {"scale", T::Scale},
      {"io", T::Choice, {"bf16", "f16", "f32"}, {"bf16", "f16", "f32"}},
      {"state", T::Choice, {"f32", "bf16", "f16"}, {"f32", "bf16"}},
      {"overflow", T::Choice, {"saturate", "inf"}, {}},
      {"null", T::Choice, {"lt0", "le0"}, {"lt0", "le0"}, true},
      {"ring", T::Choice, {"dkg", "raw", "dkg+raw"}, {"dkg"}},
      {"ring_shape", T::Choice, {"linear", "circular"}, {"linear"}},
      {"contract", T::Choice, {"exact", "ring_rounded", "tf32", "bf16"}, {"exact"}},
      {"dot", T::Choice, {"fma", "mma"}, {"fma"}},
      {"flush_dot", T::Choice, {"fma", "mma"}, {"fma"}},
      {"flush_at", T::Choice, {"verify", "commit", "every_commit"}, {"commit"}},
      {"fold", T::Choice, {"records", "replay"}, {"records"}},
  };
  return table;
}

std::string join(const Names &names) {
  std::string text;
  for (std::string_view name : names)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}
std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, "spec: " + std::move(message));
}
Status unsupported(std::string message) {
  return Status(StatusCode::Unsupported, "spec: " + std::move(message));
}

bool contains(const Names &names, std::string_view name) {
  for (std::string_view n : names)
    if (n == name)
      return true;
  return false;
}

/// The whole of `text` as a number, or none.
template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// Normal and finite as f32, which is what kernels compute with.
bool isPositiveF32(double value) {
  return std::isfinite(value) && value >= FLT_MIN && value <= FLT_MAX;
}

std::string text(double value) {
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, error == std::errc() ? end : buffer);
}

constexpr std::string_view defaultScale = "K^-0.5";

/// The values of one spec text, by position in the key table.
class Fields {
public:
  Status parse(std::string_view text);
  Status checkValues() const;
  Status checkSupported() const;
  std::optional<std::string_view> get(std::string_view name) const {
    return values_[indexOf(name)];
  }

private:
  static size_t indexOf(std::string_view name) {
    size_t i = 0;
    while (i < keyTable().size() && keyTable()[i].name != name)
      ++i;
    return i;
  }
  std::vector<std::optional<std::string_view>> values_{keyTable().size()};
};

Status Fields::parse(std::string_view text) {
  for (size_t begin = 0; begin <= text.size();) {
    size_t comma = std::min(text.find(',', begin), text.size());
    std::string_view item = text.substr(begin, comma - begin);
    begin = comma + 1;
    size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size())
      return invalid("expected key=value but got " + quote(item));
    std::string_view name = item.substr(0, equals);
    size_t index = indexOf(name);
    if (index == keyTable().size()) {
      Names known;
      for (const Key &key : keyTable())
        known.push_back(key.name);
      return invalid("unknown key " + quote(name) + "; known keys: " + join(known));
    }
    if (values_[index])
      return invalid("expected " + quote(name) + " once but got it twice");
    values_[index] = item.substr(equals + 1);
  }
  return Status::ok();
}

Status Fields::checkValues() const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Key &key = keyTable()[i];
    if (!values_[i]) {
      if (!key.required)
        continue;
      return invalid("expected " + quote(key.name) + " to be given" +
                     (key.values.empty() ? "" : ", one of " + join(key.values)));
    }
    std::string_view value = *values_[i];
    switch (key.type) {
    case Key::Type::Choice:
      if (!contains(key.values, value))
        return invalid("expected " + quote(key.name) + " to be one of " + join(key.values) +
                       " but got " + quote(value));
      break;
    case Key::Type::Integer:
      if (auto n = number<int64_t>(value); !n || *n < key.low || *n > key.high)
        return invalid("expected " + quote(key.name) + " to be an integer in " +
                       std::to_string(key.low) + ".." + std::to_string(key.high) +
                       " but got " + quote(value));
      break;
    case Key::Type::Scale:
      if (value == defaultScale)
        break;
      [[fallthrough]];
    case Key::Type::Real:
      if (!number<double>(value))
        return invalid("expected " + quote(key.name) + " to be a number but got " + quote(value));
      break;
    }
  }
  return Status::ok();
}

Status Fields::checkSupported() const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Key &key = keyTable()[i];
    if (values_[i] && key.type == Key::Type::Choice && !contains(key.supported, *values_[i]))
      return unsupported(std::string(key.name) + "=" + std::string(*values_[i]) +
                         " cannot be compiled by this version; supported: " +
                         (key.supported.empty() ? "none" : join(key.supported)));
  }
  auto T = get("T"), most = get("T_max");
  if (T && most && *number<int64_t>(*T) < *number<int64_t>(*most))
    return unsupported("T=" + std::string(*T) + " cannot be compiled by this version; supported: T_max, which is " +
                       std::string(*most));
  return Status::ok();
}

/// Windows, and what becomes of a ring behind them.
Status checkWindow(const Fields &fields) {
  std::string_view phase = *fields.get("phase");
  bool decodes = phase == "packed" || phase == "replay", isCursors = phase == "cursors";
  auto flushAt = fields.get("flush_at"), fold = fields.get("fold");
  auto T = fields.get("T"), most = fields.get("T_max");
  if (T && most && *number<int64_t>(*T) > *number<int64_t>(*most))
    return invalid("expected 'T' to be at most T_max=" + std::string(*most) + " but got " + quote(*T));
  for (std::string_view name : {"flush_at", "fold"})
    if (fields.get(name) && decodes)
      return invalid(quote(name) + " does not apply to phase=" + std::string(phase));
  // Cursors without flush_at and fold are those of replay decode.
  if (decodes || (isCursors && !flushAt && !fold)) {
    for (auto [name, value] : {std::pair("T", T), std::pair("T_max", most)})
      if (value && *number<int64_t>(*value) != 1)
        return invalid("expected '" + std::string(name) + "' to be 1 for phase=" + std::string(phase) +
                       (isCursors ? " without 'flush_at'" : "") + " but got " + quote(*value));
    return Status::ok();
  }
  if (phase != "verify" && phase != "fold" && !isCursors)
    return Status::ok();
  if (!flushAt)
    return invalid("expected 'flush_at' to be given for phase=" + std::string(phase) +
                   ", one of verify, commit, every_commit");
  if (!fold)
    return invalid("expected 'fold' to be given for phase=" + std::string(phase) +
                   ", one of records, replay");
  if (!T && !most)
    return invalid("expected 'T_max' to be given for phase=" + std::string(phase));
  return Status::ok();
}

/// Rules between keys: what may be given only together with something else.
Status checkRelations(const Fields &fields) {
  RSSM_RETURN_IF_ERROR(checkWindow(fields));
  if (fields.get("L") && fields.get("phase") == "packed")
    return invalid("'L' does not apply to phase=packed: it has no ring");
  bool isF16 = fields.get("state").value_or("f32") == "f16";
  if (fields.get("overflow") && !isF16)
    return invalid("'overflow' applies to state=f16 only");
  if (isF16 && !fields.get("overflow"))
    return invalid("expected 'overflow' to be given for state=f16, one of saturate, inf");
  bool isSafe = *fields.get("gate") == "safe";
  if (fields.get("lower_bound") && !isSafe)
    return invalid("'lower_bound' applies to gate=safe only");
  if (isSafe && !fields.get("lower_bound"))
    return invalid("expected 'lower_bound' to be given for gate=safe, a number below 0");
  return Status::ok();
}

} // namespace

const char *replayssm::name(Rule rule) { return rule == Rule::GDN ? "gdn" : "kda"; }
const char *replayssm::name(Phase phase) {
  constexpr const char *names[] = {"packed", "replay", "cursors", "verify", "fold"};
  return names[static_cast<int>(phase)];
}
const char *replayssm::name(DType dtype) {
  return dtype == DType::F32 ? "f32" : dtype == DType::BF16 ? "bf16" : "f16";
}
const char *replayssm::name(NullRow null) { return null == NullRow::LT0 ? "lt0" : "le0"; }

const char *replayssm::name(Gate gate) {
  return gate == Gate::Softplus ? "softplus" : gate == Gate::Safe ? "safe" : "precomputed";
}
const char *replayssm::name(Beta beta) {
  return beta == Beta::SigmoidF32 ? "sigmoid_f32" : beta == Beta::SigmoidIO ? "sigmoid_io" : "precomputed";
}

double KernelSpec::effectiveScale() const {
  return scale != 0 ? scale : std::pow(double(K), -0.5);
}

Status replayssm::validate(const KernelSpec &spec) {
  auto range = [](std::string_view name, int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high
               ? Status::ok()
               : invalid("expected " + quote(name) + " to be an integer in " + std::to_string(low) +
                         ".." + std::to_string(high) + " but got '" + std::to_string(value) + "'");
  };
  RSSM_RETURN_IF_ERROR(range("H", spec.H, 1, maxHeads));
  RSSM_RETURN_IF_ERROR(range("HV", spec.HV, 1, maxHeads));
  RSSM_RETURN_IF_ERROR(range("K", spec.K, 8, maxDim));
  RSSM_RETURN_IF_ERROR(range("V", spec.V, 8, maxDim));
  if (spec.phase != Phase::Packed)
    RSSM_RETURN_IF_ERROR(range("L", spec.L, 1, maxRing));
  RSSM_RETURN_IF_ERROR(range("T_max", spec.T, 1, maxWindow));
  bool decodes = spec.phase == Phase::Packed || spec.phase == Phase::Replay;
  if (decodes && spec.flushAt != FlushAt::Decode)
    return invalid(std::string("'flush_at' does not apply to phase=") + name(spec.phase));
  if (!decodes && spec.phase != Phase::Cursors && spec.flushAt == FlushAt::Decode)
    return invalid(std::string("expected 'flush_at' to be given for phase=") + name(spec.phase) +
                   ", one of verify, commit, every_commit");
  if (spec.flushAt == FlushAt::Decode && spec.T != 1)
    return invalid(std::string("expected 'T_max' to be 1 for phase=") + name(spec.phase) + " but got '" +
                   std::to_string(spec.T) + "'");
  if (spec.flushAt == FlushAt::Commit && spec.L < spec.T)
    return invalid("expected 'L' to be at least T_max=" + std::to_string(spec.T) + " but got '" +
                   std::to_string(spec.L) + "'");
  if (spec.HV % spec.H != 0)
    return invalid("expected 'HV' to be a multiple of 'H' but got H=" + std::to_string(spec.H) +
                   ", HV=" + std::to_string(spec.HV));
  for (auto [name, dim] : {std::pair("K", spec.K), std::pair("V", spec.V)})
    if (dim % 8 != 0)
      return unsupported(std::string(name) + "=" + std::to_string(dim) +
                         " cannot be compiled by this version; supported: multiples of 8");
  if (!isPositiveF32(spec.eps))
    return invalid("expected 'eps' to be a positive f32 number but got '" + text(spec.eps) + "'");
  if (spec.scale != 0 && !isPositiveF32(spec.scale))
    return invalid("expected 'scale' to be a positive f32 number but got '" + text(spec.scale) + "'");
  if (spec.gate == Gate::Safe && !isPositiveF32(-spec.lowerBound))
    return invalid("expected 'lower_bound' to be below 0 but got '" + text(spec.lowerBound) + "'");
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
  RSSM_RETURN_IF_ERROR(fields.checkValues());
  RSSM_RETURN_IF_ERROR(checkRelations(fields));
  RSSM_RETURN_IF_ERROR(fields.checkSupported());

  auto integer = [&](std::string_view key, int64_t &value) {
    if (auto given = fields.get(key))
      value = *number<int64_t>(*given);
  };
  auto dtype = [&](std::string_view key, DType &value) {
    for (DType candidate : {DType::F32, DType::BF16, DType::F16})
      if (fields.get(key) == name(candidate))
        value = candidate;
  };
  KernelSpec spec;
  spec.rule = fields.get("rule") == "gdn" ? Rule::GDN : Rule::KDA;
  for (Phase phase : {Phase::Packed, Phase::Replay, Phase::Cursors, Phase::Verify, Phase::Fold})
    if (fields.get("phase") == name(phase))
      spec.phase = phase;
  integer("H", spec.H);
  integer("HV", spec.HV);
  integer("K", spec.K);
  integer("V", spec.V);
  integer("L", spec.L);
  integer("T", spec.T);
  integer("T_max", spec.T);
  if (fields.get("flush_at"))
    spec.flushAt = FlushAt::Commit;
  for (Gate gate : {Gate::Softplus, Gate::Safe, Gate::Precomputed})
    if (fields.get("gate") == name(gate))
      spec.gate = gate;
  for (Beta beta : {Beta::SigmoidF32, Beta::SigmoidIO, Beta::Precomputed})
    if (fields.get("beta") == name(beta))
      spec.beta = beta;
  if (auto bound = fields.get("lower_bound"))
    spec.lowerBound = *number<double>(*bound);
  integer("beta_factor", spec.betaFactor);
  dtype("io", spec.io);
  dtype("state", spec.state);
  spec.null = fields.get("null") == "lt0" ? NullRow::LT0 : NullRow::LE0;
  if (auto eps = fields.get("eps"))
    spec.eps = *number<double>(*eps);
  if (auto scale = fields.get("scale"); scale && scale != defaultScale) {
    spec.scale = *number<double>(*scale);
    if (spec.scale == 0) // Zero means "default" in the struct, never in the text.
      return invalid("expected 'scale' to be a positive f32 number but got " + quote(*scale));
  }
  RSSM_RETURN_IF_ERROR(validate(spec));
  return spec;
}

std::string replayssm::print(const KernelSpec &spec) {
  auto item = [](const char *key, const std::string &value) { return std::string(",") + key + "=" + value; };
  std::string out = std::string("rule=") + name(spec.rule) + item("phase", name(spec.phase));
  out += item("H", std::to_string(spec.H)) + item("HV", std::to_string(spec.HV)) +
         item("K", std::to_string(spec.K)) + item("V", std::to_string(spec.V));
  if (spec.phase != Phase::Packed)
    out += item("L", std::to_string(spec.L));
  out += item("T", std::to_string(spec.T)) + item("T_max", std::to_string(spec.T)) + item("gate", name(spec.gate));
  if (spec.gate == Gate::Safe)
    out += item("lower_bound", text(spec.lowerBound));
  out += item("beta", name(spec.beta)) + item("beta_factor", std::to_string(spec.betaFactor)) +
         ",qk_norm=l2_rsqrt";
  out += item("eps", text(spec.eps)) +
         item("scale", spec.scale == 0 ? std::string(defaultScale) : text(spec.scale)) +
         item("io", name(spec.io)) + item("state", name(spec.state)) + item("null", name(spec.null));
  out += ",ring=dkg,ring_shape=linear,contract=exact,dot=fma,flush_dot=fma";
  return spec.flushAt == FlushAt::Commit ? out + ",flush_at=commit,fold=records" : out;
}
