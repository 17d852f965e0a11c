//===- Status.h - Errors at the library's edge ------------------*- C++ -*-===//
//
// Every public call that can fail returns Status or Result<T>. Nothing throws,
// prints or exits. Both types are values: thread-compatible, freely copied.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string>
#include <utility>

#if defined(_WIN32)
#error "replayssm supports Linux only"
#endif
#define RSSM_API __attribute__((visibility("default")))

namespace replayssm {

enum class StatusCode {
  Ok,
  InvalidArgument, ///< The caller's request is malformed; the message names the fix.
  Unsupported,     ///< Legal, but not supported by this build, chip or version.
  Unavailable,     ///< A device, driver or tool is absent.
  Incompatible,    ///< Two things that do not belong together: a manifest of another ABI version.
  Exhausted,       ///< Out of memory or of another resource.
  Internal,        ///< A fault of this library, or of the driver.
};

/// The lower-case name of a code, for example "invalid argument".
RSSM_API const char *statusCodeName(StatusCode code);

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}
  static Status ok() { return {}; }

  bool isOk() const { return code_ == StatusCode::Ok; }
  explicit operator bool() const { return isOk(); }
  StatusCode code() const { return code_; }
  const std::string &message() const { return message_; }
  /// "invalid argument: expected ..." or "ok".
  std::string str() const {
    return isOk() ? "ok" : std::string(statusCodeName(code_)) + ": " + message_;
  }

private:
  StatusCode code_ = StatusCode::Ok;
  std::string message_;
};

/// A value or the Status that says why there is none. `*`, `->` and `take` are for a
/// Result with a value; take() leaves it moved from.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status)
      : status_(status.isOk() ? Status(StatusCode::Internal, "expected an error of a result without a value")
                              : std::move(status)) {}
  Result(StatusCode code, std::string message) : Result(Status(code, std::move(message))) {}

  bool isOk() const { return value_.has_value(); }
  explicit operator bool() const { return isOk(); }
  const Status &status() const { return status_; }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }
  T take() { return std::move(*value_); }

private:
  std::optional<T> value_;
  Status status_;
};

} // namespace replayssm

/// Returns from the enclosing function when `expr` is an error.
#define RSSM_RETURN_IF_ERROR(expr)                                             \
  do {                                                                         \
    if (::replayssm::Status rssmStatus_ = (expr); !rssmStatus_.isOk())         \
      return rssmStatus_;                                                      \
  } while (0)
