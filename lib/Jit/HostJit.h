//===- HostJit.h - Machine code of the host from a device module *- C++ -*-===//
#pragma once

#include "lib/Codegen/Emit.h"
#include "runtime/host/HostABI.h"

#include <memory>

namespace replayssm {

struct HostCode {
  std::shared_ptr<void> owner;          ///< Keeps the code alive.
  std::vector<rssm_host_entry> entries; ///< One per kernel, in manifest order.
};

/// Compiles `device` (the result of codegen::optimizeDevice) for this machine.
Result<HostCode> compileForHost(codegen::DeviceModule device);

} // namespace replayssm
