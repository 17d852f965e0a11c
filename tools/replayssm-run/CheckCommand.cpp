//===- CheckCommand.cpp - replayssm-run check -----------------------------===//
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

Result<std::optional<Kernel>> run::jitCursors(Device &device, const KernelSpec &spec) {
  if (spec.phase != Phase::Replay)
    return std::optional<Kernel>();
  KernelSpec cursors = spec;
  cursors.phase = Phase::Cursors;
  cursors.dst = false;
  auto kernel = jitSpec(device, cursors);
  if (!kernel)
    return kernel.status();
  return std::optional<Kernel>(kernel.take());
}

Result<VerifyKernels> run::jitVerifySet(Device &device, Kernel kernel, const KernelSpec &spec,
                                        const CompileOptions &options) {
  KernelSpec plain = spec;
  plain.T = plain.Tmax;
  plain.track = plain.dst = false;
  auto jit = [&](Phase phase, bool track, bool dst, const CompileOptions &options) {
    KernelSpec other = plain;
    other.phase = phase;
    other.track = track;
    other.dst = dst;
    return jitSpec(device, other, options);
  };
  auto cursors = jit(Phase::Cursors, spec.track, false, {});
  if (!cursors)
    return cursors.status();
  bool isFold = spec.phase == Phase::Fold;
  auto other = isFold                            ? jit(Phase::Verify, false, false, options)
               : spec.flushAt == FlushAt::Verify ? jit(Phase::Reset, false, false, {})
                                                 : jit(Phase::Fold, false, false, options);
  if (!other)
    return other.status();
  VerifyKernels kernels{isFold ? other.take() : std::move(kernel), cursors.take()};
  if (isFold)
    kernels.fold.emplace(std::move(kernel));
  else
    (spec.flushAt == FlushAt::Verify ? kernels.reset : kernels.fold).emplace(other.take());
  if (spec.flushAt == FlushAt::Commit) {
    auto reset = jit(Phase::Reset, false, false, {});
    if (!reset)
      return reset.status();
    kernels.reset.emplace(reset.take());
  }
  if (spec.window == Window::Tree && spec.flushAt != FlushAt::EveryCommit) {
    auto compact = jit(Phase::Compact, false, false, {});
    if (!compact)
      return compact.status();
    kernels.compact.emplace(compact.take());
  }
  // Rings of the two shapes need not agree bitwise.
  if (spec.Tmax > 1 || spec.L == 1 || spec.isCircular() || !spec.storesDelta())
    return kernels;
  plain.flushAt = FlushAt::Decode;
  plain.window = Window::Chain;
  plain.fold = Fold::Records;
  auto decode = jit(Phase::Replay, false, false, {});
  if (!decode)
    return decode.status();
  kernels.decode.emplace(decode.take());
  return kernels;
}

static Result<std::vector<Kernel>> loadKernels(Device &device, const Options &options,
                                               const CompileOptions &compile) {
  std::vector<Kernel> kernels;
  if (!options.spec.empty()) {
    auto spec = parseKernelSpec(options.spec);
    if (!spec)
      return spec.status();
    auto kernel = jitSpec(device, *spec, compile);
    if (!kernel)
      return kernel.status();
    kernels.push_back(kernel.take());
    return kernels;
  }
  if (options.file.empty())
    return Status(StatusCode::InvalidArgument, "expected a file or --spec=...");
  auto text = readFile(options.file);
  if (!text)
    return text.status();
  auto all = jitSource(device, *text, options.file, compile);
  if (!all)
    return all.status();
  std::string names;
  for (Kernel &kernel : *all) {
    names += (names.empty() ? "" : ", ") + kernel.manifest().name;
    if (options.kernel.empty() || kernel.manifest().name == options.kernel)
      kernels.push_back(std::move(kernel));
  }
  if (kernels.empty())
    return Status(StatusCode::InvalidArgument,
                  options.kernel.empty() ? "'" + options.file + "' holds no kernel"
                                         : "no kernel '" + options.kernel + "' in '" +
                                               options.file + "'; it holds " + names);
  return kernels;
}

int run::runCheck(const Options &options) {
  auto device = openDevice(options);
  if (!device)
    return report(device.status());
  CompileOptions compile;
  compile.tiling = options.tiling;
  auto kernels = loadKernels(*device, options, compile);
  if (!kernels)
    return report(kernels.status());
  std::printf("device: %s\n", device->name().c_str());
  std::vector<int64_t> rows = options.rows.empty() ? std::vector<int64_t>{3} : options.rows;
  std::string json = "{\"device\": " + quoted(device->name()) + ", \"checks\": [";
  int64_t passed = 0, failed = 0;
  for (Kernel &kernel : *kernels) {
    const KernelManifest manifest = kernel.manifest();
    if (manifest.spec.empty()) {
      if (options.vectors.empty())
        return report(Status(StatusCode::InvalidArgument,
                             "kernel '" + manifest.name +
                                 "' has no spec: give its inputs and expected outputs with "
                                 "--vectors=<file>"));
      runVectors(options, *device, kernel) == 0 ? ++passed : ++failed;
      continue;
    }
    auto spec = parseKernelSpec(manifest.spec);
    if (!spec)
      return report(spec.status());
    bool isAlone = kernels->size() == 1 && spec->phase == Phase::Fold;
    bool isServing = spec->phase == Phase::Cursors || spec->phase == Phase::Reset || spec->phase == Phase::Compact;
    if (isServing || (spec->phase == Phase::Fold && !isAlone)) {
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
    if (spec->phase == Phase::Verify || isAlone) {
      auto built = jitVerifySet(*device, std::move(kernel), *spec, compile);
      if (!built)
        return report(built.status());
      set.emplace(built.take());
      spec->phase = Phase::Verify; // a fold alone: of the set's windows
    } else {
      auto built = jitCursors(*device, *spec);
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
      ++(ok ? passed : failed);
      std::printf("%s %s  rows %lld, %lld steps, digest %016llx\n  %s\n%s", ok ? "PASS" : "FAIL",
                  manifest.name.c_str(), static_cast<long long>(B),
                  static_cast<long long>(result->steps),
                  static_cast<unsigned long long>(result->digest), manifest.spec.c_str(),
                  toText(*result).c_str());
      if (!device->isHost())
        printResources(manifest.name, result->resources);
      std::fflush(stdout);
      json += std::string(passed + failed > 1 ? ",\n  " : "\n  ") + "{\"kernel\": " +
              quoted(manifest.name) + ", \"rows\": " + std::to_string(B) + ", \"spec\": " +
              quoted(manifest.spec) + ", \"report\": " + toJson(*result) + "}";
    }
  }
  if (passed + failed == 0)
    return report(Status(StatusCode::InvalidArgument,
                         "expected a kernel with outputs or inputs but got cursors and folds only: they are "
                         "checked with the kernel that they serve"));
  json += "\n]}\n";
  if (!options.jsonPath.empty())
    if (Status status = writeFile(options.jsonPath, json); !status)
      return report(status);
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(passed),
              static_cast<long long>(failed));
  return failed == 0 && passed > 0 ? 0 : 1;
}
