//===- SpecFields.cpp - The keys of a spec and their values ---------------===//
//
// One table holds every key, its values, and which of them can be compiled.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/SpecFields.h"

#include <algorithm>

using namespace replayssm;
using namespace replayssm::spec;

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

/// In the order of docs/spec.md, which is the order of the canonical text.
const std::vector<Key> &keyTable() {
  using T = Key::Type;
  static const std::vector<Key> table = {
      {"rule", T::Choice, {"gdn", "kda"}, {"gdn", "kda"}, true},
      {"phase", T::Choice,
       {"packed", "replay", "cursors", "verify", "fold", "compact", "input_replay", "snapshots", "reset"},
       {"packed", "replay", "cursors", "verify", "fold", "compact", "input_replay", "snapshots", "reset"}, true},
      {"H", T::Integer, {}, {}, true, 1, maxHeads},
      {"HV", T::Integer, {}, {}, true, 1, maxHeads},
      {"K", T::Integer, {}, {}, true, minDim, maxDim},
      {"V", T::Integer, {}, {}, true, minDim, maxDim},
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
      {"ring", T::Choice, {"dkg", "raw", "dkg+raw"}, {"dkg", "raw", "dkg+raw"}},
      {"ring_shape", T::Choice, {"linear", "circular"}, {"linear", "circular"}},
      {"contract", T::Choice, {"exact", "ring_rounded", "tf32", "bf16"}, {"exact"}},
      {"dot", T::Choice, {"fma", "mma"}, {"fma", "mma"}},
      {"flush_dot", T::Choice, {"fma", "mma"}, {"fma"}},
      {"flush_at", T::Choice, {"verify", "commit", "every_commit"}, {"verify", "commit", "every_commit"}},
      {"fold", T::Choice, {"records", "replay"}, {"records", "replay"}},
      {"window", T::Choice, {"chain", "tree"}, {"chain", "tree"}},
      {"track", T::Choice, {"no", "yes"}, {"no", "yes"}},
      {"dst", T::Choice, {"no", "yes"}, {"no", "yes"}},
      {"layers", T::Choice, {"one", "stride", "table"}, {"one", "stride", "table"}},
  };
  return table;
}

std::string join(const Names &names) {
  std::string text;
  for (std::string_view name : names)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}
bool contains(const Names &names, std::string_view name) {
  for (std::string_view n : names)
    if (n == name)
      return true;
  return false;
}

size_t indexOf(std::string_view name) {
  size_t i = 0;
  while (i < keyTable().size() && keyTable()[i].name != name)
    ++i;
  return i;
}

} // namespace

std::string_view spec::flushChoices(std::string_view phase) {
  if (phase == "fold") // else its verify folds
    return "commit, every_commit";
  // Where every commit folds no record moves, and no cursor.
  return phase == "compact" || phase == "reset" ? "verify, commit" : "verify, commit, every_commit";
}

std::optional<std::string_view> Fields::get(std::string_view name) const {
  return values_[indexOf(name)];
}

Status Fields::check() const {
  RSSM_RETURN_IF_ERROR(checkValues());
  // First, or a relation might ask for what goes with a value that is refused.
  RSSM_RETURN_IF_ERROR(checkSupported());
  return checkRelations();
}

Status Fields::parse(std::string_view text) {
  values_.assign(keyTable().size(), std::nullopt);
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
                     (key.values.empty() ? "" : ", one of " + join(key.supported)));
    }
    std::string_view value = *values_[i];
    switch (key.type) {
    case Key::Type::Choice:
      if (!contains(key.values, value))
        return invalid("expected " +
                       (key.supported.empty() ? "no " + quote(key.name)
                                              : quote(key.name) + " to be one of " + join(key.supported)) +
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
  return Status::ok();
}

/// Windows, and what becomes of a ring behind them.
Status Fields::checkWindow() const {
  std::string_view phase = *get("phase");
  auto isOneOf = [&](std::initializer_list<std::string_view> phases) {
    return std::find(phases.begin(), phases.end(), phase) != phases.end();
  };
  bool ofSet = isOneOf({"verify", "fold", "compact"}), mayBeOfSet = isOneOf({"cursors", "reset"});
  bool hasInputs = isOneOf({"input_replay", "snapshots"});
  auto flushAt = get("flush_at"), fold = get("fold");
  auto T = get("T"), most = get("T_max");
  for (std::string_view name : {"flush_at", "fold"})
    if (get(name) && !ofSet && !mayBeOfSet)
      return invalid(quote(name) + " does not apply to phase=" + std::string(phase));
  bool isWindow = ofSet || hasInputs || flushAt || fold;
  if (!isWindow) {
    // Cursors without flush_at and fold are those of replay decode.
    for (auto [name, value] : {std::pair("T", T), std::pair("T_max", most)})
      if (value && *number<int64_t>(*value) != 1)
        return invalid("expected '" + std::string(name) + "' to be 1 for phase=" + std::string(phase) +
                       (mayBeOfSet ? " without 'flush_at'" : "") + " but got " + quote(*value));
    return Status::ok();
  }
  if (!flushAt && !hasInputs)
    return invalid("expected 'flush_at' to be given for phase=" + std::string(phase) + ", one of " +
                   std::string(flushChoices(phase)));
  if (!fold && !hasInputs)
    return invalid("expected 'fold' to be given for phase=" + std::string(phase) +
                   ", one of records, replay");
  if (!T && !most)
    return invalid("expected 'T_max' to be given for phase=" + std::string(phase));
  return Status::ok();
}

/// Which records a ring holds, and how they lie in it.
Status Fields::checkRing() const {
  std::string_view phase = *get("phase");
  bool hasRing = phase != "packed" && phase != "input_replay" && phase != "snapshots";
  for (std::string_view name : {"L", "ring", "ring_shape"})
    if (get(name) && !hasRing)
      return invalid(quote(name) + " does not apply to phase=" + std::string(phase) + ": it has no ring");
  if (!hasRing)
    return Status::ok();
  std::string_view flushAt = get("flush_at").value_or(""), fold = get("fold").value_or("records");
  std::string_view ring = fold == "records" ? "dkg" : flushAt == "every_commit" ? "raw" : "dkg+raw";
  if (get("ring").value_or(ring) != ring)
    return invalid("expected 'ring' to be " + std::string(ring) + " for fold=" + std::string(fold) +
                   (flushAt.empty() ? "" : " and flush_at=" + std::string(flushAt)) + " but got " + quote(*get("ring")));
  if (flushAt == "verify" && get("ring_shape") == "linear")
    return invalid("expected 'ring_shape' to be circular for flush_at=verify but got 'linear': a window is "
                   "written behind records that are still read");
  if (flushAt != "verify" && get("ring_shape") == "circular")
    return unsupported("ring_shape=circular cannot be compiled by this version" +
                       (flushAt.empty() ? "" : " for flush_at=" + std::string(flushAt)) +
                       "; supported: linear, and circular for flush_at=verify");
  return Status::ok();
}

/// Rules between keys: what may be given only together with something else.
Status Fields::checkRelations() const {
  RSSM_RETURN_IF_ERROR(checkWindow());
  RSSM_RETURN_IF_ERROR(checkRing());
  bool isSafe = *get("gate") == "safe";
  if (get("lower_bound") && !isSafe)
    return invalid("'lower_bound' applies to gate=safe only");
  if (isSafe && !get("lower_bound"))
    return invalid("expected 'lower_bound' to be given for gate=safe, a number below 0");
  return Status::ok();
}
