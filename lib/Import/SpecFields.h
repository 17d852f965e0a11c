//===- SpecFields.h - The keys of a spec and their values -------*- C++ -*-===//
#pragma once

#include "common/Bounds.h"
#include "replayssm/Status.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace replayssm::spec {

constexpr std::string_view defaultScale = "K^-0.5";

inline std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }
inline Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, "spec: " + std::move(message));
}
/// A fault that the IR has too, as one of a spec.
inline Status ofSpec(const Status &status) { return status.isOk() ? status : invalid(status.message()); }
inline Status unsupported(std::string message) {
  return Status(StatusCode::Unsupported, "spec: " + std::move(message));
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

/// The values of `flush_at` that a phase of a set can have.
std::string_view flushChoices(std::string_view phase);

/// The values of one spec text, by position in the key table.
class Fields {
public:
  Status parse(std::string_view text);
  /// Each value by its key, what this version compiles, and the rules between keys.
  Status check() const;
  std::optional<std::string_view> get(std::string_view name) const;

private:
  Status checkValues() const;
  Status checkSupported() const;
  Status checkWindow() const;
  Status checkRing() const;
  Status checkRelations() const;
  std::vector<std::optional<std::string_view>> values_;
};

} // namespace replayssm::spec
