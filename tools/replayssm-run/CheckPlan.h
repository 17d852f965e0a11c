//===- CheckPlan.h - Which kernels a check is of ----------------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Commands.h"

#include <optional>

namespace replayssm::run {

/// The text that the command line names: a file, or the source of a spec.
struct CheckSource {
  std::string text, name;
};
Result<CheckSource> checkSource(const Options &options);

/// A kernel of the source that is checked, or that serves one.
struct PlannedKernel {
  size_t index;                   ///< In the source.
  std::optional<KernelSpec> spec; ///< None: checked with vectors.
  bool isServing = false;         ///< Checked with the kernel that it serves, or by vectors alone.
};
/// Those that --kernel chooses; `kernels` are all of the source.
Result<std::vector<PlannedKernel>> planCheck(const std::vector<KernelManifest> &kernels, const Options &options);

/// A kernel that is compiled for the check of another one.
struct Companion {
  KernelSpec spec;
  bool isTiled = false; ///< By the tiling of the command line.
};
/// The cursors of replay; of verify, a fold or compact the rest of its set; none of others.
std::vector<Companion> companions(const KernelSpec &spec);

/// Compiles every kernel that a check loads, for options.target.
Result<std::vector<KernelManifest>> compileCheck(const Options &options);

} // namespace replayssm::run
