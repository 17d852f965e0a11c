//===- CheckCommand.cpp - replayssm-run check -----------------------------===//
#include "tools/replayssm-run/CheckPlan.h"
#include "tools/replayssm-run/Verify.h"

#include <cstdio>
#include <optional>

using namespace replayssm;
using namespace replayssm::run;

static int report(const Status &status) {
  std::fprintf(stderr, "replayssm-run: %s\n", status.str().c_str());
  return 1;
}

static void printResources(const std::string &kernel, const KernelResources &resources) {
  std::printf("    %s: registers %d, local bytes %d, shared bytes %d, blocks per SM %d\n",
              kernel.c_str(), resources.registers, resources.localBytes, resources.sharedBytes,
              resources.blocksPerMultiprocessor);
}

/// Compiles what a check would load.
static int compileOnly(const Options &options) {
  auto kernels = compileCheck(options);
  if (!kernels)
    return report(kernels.status());
  for (const KernelManifest &kernel : *kernels)
    std::printf("%s  %s\n", kernel.name.c_str(), kernel.spec.c_str());
  std::printf("%s", cacheLine(options).c_str());
  return 0;
}

int run::runCheck(const Options &options) {
  if (options.compileOnly)
    return compileOnly(options);
  auto device = openDevice(options);
  if (!device)
    return report(device.status());
  auto source = checkSource(options);
  if (!source)
    return report(source.status());
  auto kernels = jitSource(*device, source->text, source->name, options.compileOptions(/*isTiled=*/true));
  if (!kernels)
    return report(kernels.status());
  std::vector<KernelManifest> manifests;
  for (const Kernel &kernel : *kernels)
    manifests.push_back(kernel.manifest());
  auto plan = planCheck(manifests, options);
  if (!plan)
    return report(plan.status());
  std::printf("device: %s\n", device->name().c_str());
  std::vector<int64_t> rows = options.rows.empty() ? std::vector<int64_t>{3} : options.rows;
  std::string json = "{\"device\": " + quoted(device->name()) + ", \"checks\": [";
  int64_t passed = 0, failed = 0;
  auto count = [&](bool ok) {
    ++(ok ? passed : failed);
    json += passed + failed > 1 ? ",\n  " : "\n  ";
  };
  for (const PlannedKernel &planned : *plan) {
    Kernel &kernel = (*kernels)[planned.index];
    const KernelManifest &manifest = manifests[planned.index];
    std::optional<KernelSpec> spec = planned.spec;
    if (!options.vectors.empty()) {
      auto differing = runVectors(options, *device, kernel);
      if (!differing)
        return report(differing.status());
      count(*differing == 0);
      json += "{\"kernel\": " + quoted(manifest.name) + ", \"vectors\": " + quoted(options.vectors) +
              ", \"report\": {\"violations\": " + std::to_string(*differing) + "}}";
    }
    if (!spec)
      continue;
    if (planned.isServing) {
      // Checked with the kernel that it serves; its resources are its own.
      auto resources = kernel.resources();
      if (!resources)
        return report(resources.status());
      if (!device->isHost())
        printResources(manifest.name, *resources);
      continue;
    }
    std::optional<VerifyKernels> set;
    std::optional<Kernel> cursors;
    if (spec->phase == Phase::Verify || spec->phase == Phase::Fold || spec->phase == Phase::Compact) {
      auto built = jitVerifySet(*device, std::move(kernel), *spec, options);
      if (!built)
        return report(built.status());
      set.emplace(built.take());
      spec->phase = Phase::Verify; // a fold or compact alone: of the set's windows
    } else {
      auto built = jitCursors(*device, *spec, options);
      if (!built)
        return report(built.status());
      cursors = built.take();
    }
    for (int64_t B : rows) {
      CheckOptions check;
      check.rows = B;
      check.steps = options.steps;
      check.seed = options.seed;
      check.nullRate = options.nullRate;
      check.flushRate = options.flushRate;
      check.gates = options.gates;
      bool isRecurrent = spec->phase == Phase::Snapshots || spec->phase == Phase::InputReplay;
      auto result = set           ? checkVerify(*device, *set, *spec, check)
                    : isRecurrent ? checkRecurrent(*device, kernel, *spec, check)
                                  : checkKernel(*device, kernel, cursors ? &*cursors : nullptr, *spec, check);
      if (!result)
        return report(result.status());
      bool ok = result->violations == 0;
      count(ok);
      std::printf("%s %s  rows %lld, %lld steps, digest %016llx, buffers %016llx\n  %s\n%s", ok ? "PASS" : "FAIL",
                  manifest.name.c_str(), static_cast<long long>(B),
                  static_cast<long long>(result->steps),
                  static_cast<unsigned long long>(result->digest),
                  static_cast<unsigned long long>(result->buffers), manifest.spec.c_str(),
                  toText(*result).c_str());
      if (!device->isHost())
        printResources(manifest.name, result->resources);
      std::fflush(stdout);
      json += "{\"kernel\": " + quoted(manifest.name) + ", \"rows\": " + std::to_string(B) + ", \"spec\": " +
              quoted(manifest.spec) + ", \"report\": " + toJson(*result) + "}";
    }
  }
  json += "\n]}\n";
  if (!options.jsonPath.empty())
    if (Status status = writeFile(options.jsonPath, json); !status)
      return report(status);
  std::printf("%s%lld passed, %lld failed\n", cacheLine(options).c_str(), static_cast<long long>(passed),
              static_cast<long long>(failed));
  return failed == 0 && passed > 0 ? 0 : 1;
}
