//===- Bounds.cpp - What the numbers of a kernel may be -------------------===//
#include "common/Bounds.h"

#include <cfloat>
#include <charconv>
#include <cmath>

using namespace replayssm;

std::string replayssm::shortest(double value) {
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, error == std::errc() ? end : buffer);
}

static Status expected(std::string_view name, const std::string &what, const std::string &got) {
  return {StatusCode::InvalidArgument,
          "expected '" + std::string(name) + "' to be " + what + " but got '" + got + "'"};
}

Status replayssm::checkConstant(std::string_view name, double value, Sign sign) {
  if (!std::isfinite(value))
    return expected(name, "finite", shortest(value));
  bool isNegative = sign == Sign::Negative;
  double size = isNegative ? -value : value;
  if (size <= 0)
    return expected(name, isNegative ? "below 0" : "above 0", shortest(value));
  // From here on halves of a unit round up to 2^128; kernels flush what is not normal.
  constexpr double overflow = 0x1.ffffffp127;
  if (size >= overflow || static_cast<float>(size) < FLT_MIN)
    return expected(name, "a normal number in f32", shortest(value));
  return Status::ok();
}

Status replayssm::checkRange(std::string_view name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high)
    return Status::ok();
  return expected(name, "an integer in " + std::to_string(low) + ".." + std::to_string(high),
                  std::to_string(value));
}
