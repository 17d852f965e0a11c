//===- Bounds.h - What the numbers of a kernel may be -----------*- C++ -*-===//
//
// A spec and the IR that it stands for are checked by the same rules: the parser
// of specs and the verifiers of the dialect both ask here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace replayssm {

constexpr int64_t maxHeads = 65535;
constexpr int64_t minDim = 8, maxDim = 256, dimStep = 8; ///< K and V.
constexpr int64_t maxRing = 64;
constexpr int64_t maxWindow = 16; ///< Paths of a tree are bits of an i32.

enum class Sign { Positive, Negative };
/// Whether kernels, which compute in f32, can have the constant `value`: of this
/// sign, finite and normal. The error names it `name`.
Status checkConstant(std::string_view name, double value, Sign sign);
Status checkRange(std::string_view name, int64_t value, int64_t low, int64_t high);

/// The shortest text that reads back to the same double.
std::string shortest(double value);

} // namespace replayssm
