//===- LaunchArgs.h - What a launch may be given ----------------*- C++ -*-===//
//
// Checks on manifests and launch arguments that hold on every device. The
// rules of a kernel are computed once, so that a launch compares integers only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Manifest.h"

namespace replayssm::rt {

/// Grid y, the launched rows, is 16 bits wide on every chip.
constexpr uint32_t maxRows = 65535;
/// Grid z, the layers of one launch, too.
constexpr uint32_t maxLayers = 65535;
/// Threads of one block.
constexpr uint32_t maxThreads = 1024;

/// The value of one argument, times `scale`, is a multiple of `align` bytes, and that
/// of a stride at least `least` or at most -`least`.
struct ArgRule {
  uint64_t scale = 1;
  uint64_t align = 1;
  uint64_t least = 0;
  bool isAddress = false; ///< Not null.
};

/// The size of an element of a dtype of docs/abi.md, 0 for other names.
uint64_t dtypeBytes(std::string_view dtype);

std::vector<ArgRule> argRules(const KernelManifest &manifest);

/// Is `manifest` one that a device can launch by?
Status checkManifest(const KernelManifest &manifest);
Status checkArgCount(const KernelManifest &manifest, size_t count);
/// `args`, `rows` and `layers` of one launch.
Status checkLaunch(const KernelManifest &manifest, const std::vector<ArgRule> &rules,
                   const std::vector<uint64_t> &args, uint32_t rows, uint32_t layers);

} // namespace replayssm::rt
