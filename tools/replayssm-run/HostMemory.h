//===- HostMemory.h - Whether so much memory can be had ---------*- C++ -*-===//
#pragma once

#include "replayssm/Status.h"

#include <cstdint>
#include <string>

namespace replayssm::run {

/// Exhausted where `what` takes more host memory than there is: to be asked before it is
/// allocated, which ends the program where it fails. It may be more than 64 bits can say.
Status expectHostMemory(const std::string &what, double bytes);
/// The refusal of one buffer, with the bytes of all.
Status noDeviceMemory(const std::string &what, uint64_t bytes, const Status &refused);

} // namespace replayssm::run
