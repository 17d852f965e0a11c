//===- Targets.cpp - The one table of chip facts --------------------------===//
#include "common/Targets.h"

#include <algorithm>
#include <vector>

using namespace replayssm;

namespace {
constexpr Capability onHopper[] = {{9, 0}}, onB200[] = {{10, 0}}, onBlackwell[] = {{10, 0}, {10, 3}};

/// H200. Streams measured with cold caches: read 4.57-4.67, in place 4.20-4.30 TB/s.
constexpr TargetFacts hopper(const char *name, CodeScope scope) {
  return {.name = name, .ptxFeature = "+ptx80", .ptxVersion = 80,
          .scope = scope, .runsOn = onHopper,
          .multiprocessors = 132, .maxThreadsPerBlock = 1024,
          .maxThreadsPerMultiprocessor = 2048, .maxBlocksPerMultiprocessor = 32,
          .registersPerMultiprocessor = 65536, .maxRegistersPerThread = 255,
          .sharedBytesPerMultiprocessor = 228 * 1024, .sharedBytesPerBlock = 227 * 1024,
          .reservedSharedBytes = 1024, .l2Bytes = 50ull << 20,
          .readGBps = 4600, .inPlaceGBps = 4250, .clockGHz = 1.75,
          .launchMicroseconds = 0.6, .fmaPerClock = 128, .maxAccessBytes = 16};
}
/// B200. Streams are estimates: 91 and 85 % of the 8 TB/s peak, as on Hopper's 4.8 (95, 89 %)
/// less a margin, until one is measured. 32-byte accesses need PTX 8.8.
constexpr TargetFacts blackwell(const char *name, CodeScope scope, std::span<const Capability> runsOn,
                                const char *feature, unsigned version) {
  return {.name = name, .ptxFeature = feature, .ptxVersion = version,
          .scope = scope, .runsOn = runsOn,
          .multiprocessors = 148, .maxThreadsPerBlock = 1024,
          .maxThreadsPerMultiprocessor = 2048, .maxBlocksPerMultiprocessor = 32,
          .registersPerMultiprocessor = 65536, .maxRegistersPerThread = 255,
          .sharedBytesPerMultiprocessor = 228 * 1024, .sharedBytesPerBlock = 227 * 1024,
          .reservedSharedBytes = 1024, .l2Bytes = 126ull << 20,
          .readGBps = 7300, .inPlaceGBps = 6800, .clockGHz = 1.85,
          .launchMicroseconds = 0.6, .fmaPerClock = 128,
          .maxAccessBytes = version >= 88 ? 32u : 16u};
}

constexpr TargetFacts targets[] = {
    hopper("sm_90", CodeScope::Forward),
    hopper("sm_90a", CodeScope::Chip),
    blackwell("sm_100a", CodeScope::Chip, onB200, "+ptx86", 86),
    blackwell("sm_100f", CodeScope::Family, onBlackwell, "+ptx88", 88),
};
} // namespace

const TargetFacts *replayssm::findTarget(std::string_view name) {
  for (const TargetFacts &target : targets)
    if (name == target.name)
      return &target;
  return nullptr;
}

std::string replayssm::knownTargets() {
  std::string list;
  for (const TargetFacts &target : targets)
    list += (list.empty() ? "" : ", ") + std::string(target.name);
  return list;
}

Result<const TargetFacts *> replayssm::lookupTarget(std::string_view name) {
  if (const TargetFacts *target = findTarget(name))
    return target;
  return {StatusCode::InvalidArgument,
          "expected a target of " + knownTargets() + " but got '" + std::string(name) + "'"};
}

static std::string text(Capability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

Result<const TargetFacts *> replayssm::targetOf(Capability capability) {
  const TargetFacts *best = nullptr;
  std::vector<Capability> known;
  for (const TargetFacts &target : targets)
    for (Capability device : target.runsOn) {
      if (std::find(known.begin(), known.end(), device) == known.end())
        known.push_back(device);
      if (device == capability && (!best || target.scope < best->scope))
        best = &target;
    }
  if (best)
    return best;
  std::string list;
  for (size_t i = 0; i < known.size(); ++i)
    list += (i == 0 ? "" : i + 1 == known.size() ? " or " : ", ") + text(known[i]);
  return {StatusCode::Unsupported, "expected compute capability " + list + " but got " + text(capability)};
}
