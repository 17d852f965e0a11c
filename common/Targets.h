//===- Targets.h - The one table of chip facts ------------------*- C++ -*-===//
//
// Plain C++: the scheduler's cost model, code generation and the runtime read it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace replayssm {

struct Capability {
  int major, minor;
  bool operator==(const Capability &) const = default;
};

/// On what else than its own chip the code of a target runs.
enum class CodeScope {
  Chip,    ///< Nothing else ("a").
  Family,  ///< Later chips of the family ("f").
  Forward, ///< Every later chip, as PTX.
};

/// What one chip offers. Bandwidths are measured streams of a whole kernel
/// (not data-sheet peaks), in 1e9 bytes per second.
struct TargetFacts {
  const char *name;        ///< As given to --target, and the chip of LLVM.
  const char *ptxFeature;  ///< Pins the PTX ISA version, for example "+ptx80".
  unsigned ptxVersion;     ///< The same, major * 10 + minor.
  CodeScope scope;
  std::span<const Capability> runsOn; ///< Devices that are known to run the code.

  unsigned multiprocessors;
  unsigned maxThreadsPerBlock;
  unsigned maxThreadsPerMultiprocessor;
  unsigned maxBlocksPerMultiprocessor;
  unsigned registersPerMultiprocessor;
  unsigned maxRegistersPerThread;
  uint64_t sharedBytesPerMultiprocessor;
  uint64_t sharedBytesPerBlock;    ///< Largest dynamic size, opt-in.
  uint64_t reservedSharedBytes;    ///< Taken by the system in each block.
  uint64_t l2Bytes;

  double readGBps;         ///< Read-only stream.
  double inPlaceGBps;      ///< Read plus write of the same lines, both counted.
  double clockGHz;         ///< Boost clock under load.
  double launchMicroseconds; ///< An empty kernel inside a graph.
  unsigned fmaPerClock;    ///< f32 FMA lanes of one multiprocessor.

  unsigned maxAccessBytes; ///< Widest global access of one thread.
};

/// The facts of `name`; null when the target is unknown.
const TargetFacts *findTarget(std::string_view name);
/// The same; the error lists the known targets.
Result<const TargetFacts *> lookupTarget(std::string_view name);
/// "sm_90, sm_90a, sm_100a, sm_100f".
std::string knownTargets();
/// What is compiled for where nothing else is said.
inline constexpr char defaultTarget[] = "sm_90a";

/// What to compile for on a device of this capability: the target of the narrowest
/// scope that runs there. The error lists the capabilities that there is one for.
Result<const TargetFacts *> targetOf(Capability capability);

} // namespace replayssm
