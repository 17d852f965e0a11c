//===- Import.h - A spec as a layer and a kernel request --------*- C++ -*-===//
#pragma once

#include "replayssm/KernelSpec.h"

#include <string>

namespace replayssm {

/// The .mlir text of a valid `spec`: the recurrence of its layer and one request.
std::string importText(const KernelSpec &spec);

} // namespace replayssm
