//===- BuildId.h - Which build a piece of code is of ------------*- C++ -*-===//
#pragma once

#include "replayssm/Status.h"

namespace replayssm {

/// The bytes of the GNU build id of the loaded object (program or library) that
/// holds `address`; Unsupported where it was linked without one.
Result<std::string> buildIdOf(const void *address);

} // namespace replayssm
