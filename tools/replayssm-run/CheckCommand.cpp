//===- CheckCommand.cpp - replayssm-run check and demo --------------------===//
#include "tools/replayssm-run/Verify.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace replayssm;
using namespace replayssm::run;

static int report(const Status &status) {
  std::fprintf(stderr, "replayssm-run: %s\n", status.str().c_str());
  return 1;
}

static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
  }
  return result + "\"";
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string run::toText(const CheckReport &report) {
  std::string text;
  for (const Metric *metric : report.metrics()) {
    if (metric->count == 0)
      continue;
    char line[256];
    std::snprintf(line, sizeof line, "    %-17s %10.3g  bound %-9.3g (%.2f of it)  %lld checked\n",
                  metric->name.c_str(), metric->max, metric->bound, metric->worstRatio,
                  static_cast<long long>(metric->count));
    text += line;
  }
  for (const std::string &violation : report.firstViolations)
    text += "    FAILED: " + violation + "\n";
  return text;
}

std::string run::toJson(const CheckReport &report) {
  std::string json = "{\"steps\": " + std::to_string(report.steps) +
                     ", \"violations\": " + std::to_string(report.violations);
  char digest[32];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(report.digest));
  json += ", \"digest\": \"" + std::string(digest) + "\"";
  json += ", \"registers\": " + std::to_string(report.resources.registers) +
          ", \"local_bytes\": " + std::to_string(report.resources.localBytes) +
          ", \"shared_bytes\": " + std::to_string(report.resources.sharedBytes);
  json += ", \"metrics\": {";
  bool first = true;
  for (const Metric *metric : report.metrics()) {
    if (metric->count == 0)
      continue;
    json += std::string(first ? "" : ", ") + quoted(metric->name) + ": {\"max\": " +
            (std::isfinite(metric->max) ? number(metric->max) : "null") + ", \"of_bound\": " +
            (metric->worstRatio > 1e300 ? "null" : number(metric->worstRatio)) +
            ", \"count\": " + std::to_string(metric->count) + "}";
    first = false;
  }
  json += "}, \"failures\": [";
  for (size_t i = 0; i < report.firstViolations.size(); ++i)
    json += (i ? ", " : "") + quoted(report.firstViolations[i]);
  return json + "]}";
}

static void printResources(const std::string &kernel, const KernelResources &resources) {
  std::printf("    %s: registers %d, local bytes %d, shared bytes %d, blocks per SM %d\n",
              kernel.c_str(), resources.registers, resources.localBytes, resources.sharedBytes,
              resources.blocksPerMultiprocessor);
}

/// The cursor kernel that belongs to a replay kernel.
static Result<std::optional<Kernel>> jitCursors(Device &device, const KernelSpec &spec) {
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

//===----------------------------------------------------------------------===//
// demo
//===----------------------------------------------------------------------===//

namespace {
struct DemoRow {
  const char *model;
  const char *spec;
};
const DemoRow demoRows[] = {
    {"Qwen3.5 GDN packed", "rule=gdn,phase=packed,H=16,HV=32,K=128,V=128"},
    {"Qwen3.5 GDN replay", "rule=gdn,phase=replay,H=16,HV=32,K=128,V=128,L=16"},
    {"Kimi-Linear KDA packed", "rule=kda,phase=packed,H=32,HV=32,K=128,V=128"},
    {"Kimi-Linear KDA replay", "rule=kda,phase=replay,H=32,HV=32,K=128,V=128,L=16"},
};
} // namespace

int run::runDemo(const Options &options) {
  auto device = openDevice(options);
  if (!device)
    return report(device.status());
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  int64_t steps = options.steps ? options.steps : 64;
  std::printf("replayssm: decode kernels generated from their recurrence\n");
  std::printf("device: %s%s\n\n", device->name().c_str(),
              device->isHost() ? " (no GPU: fewer rows, every checker on)" : "");
  std::printf("%-23s %8s %8s %5s %6s %10s %10s %10s %9s\n", "kernel", "sm_90a", "sm_100a",
              "rows", "steps", "out/bound", "d error", "state err", "ms/step");
  bool failed = false;
  for (const DemoRow &row : demoRows) {
    auto spec = parseKernelSpec(std::string(row.spec) +
                                ",gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0");
    if (!spec)
      return report(spec.status());
    double built[2];
    const char *targets[] = {"sm_90a", "sm_100a"};
    for (int i = 0; i < 2; ++i) {
      CompileOptions compile;
      compile.target = targets[i];
      auto start = Clock::now();
      if (auto module = compileSpec(*spec, compile); !module)
        return report(module.status());
      built[i] = seconds(start);
    }
    auto kernel = jitSpec(*device, *spec);
    if (!kernel)
      return report(kernel.status());
    auto cursors = jitCursors(*device, *spec);
    if (!cursors)
      return report(cursors.status());
    CheckOptions check;
    check.rows = options.rows.empty() ? (device->isHost() ? 1 : 16) : options.rows[0];
    check.steps = steps;
    check.flushRate = 0; // Natural flushes only: four ring cycles of 16.
    check.nullRate = 0;
    check.seed = options.seed;
    auto result = checkKernel(*device, *kernel, *cursors ? &**cursors : nullptr, *spec, check);
    if (!result)
      return report(result.status());
    std::printf("%-23s %6.0fms %6.0fms %5lld %6lld %10.2f %10.2g %10.2g %9.3f  %s\n", row.model,
                built[0] * 1e3, built[1] * 1e3, static_cast<long long>(check.rows),
                static_cast<long long>(steps), result->out.worstRatio, result->delta.max,
                result->state.max, result->launchSeconds / steps * 1e3,
                result->violations ? "FAIL" : "ok");
    std::fflush(stdout);
    if (result->violations) {
      failed = true;
      std::printf("%s", toText(*result).c_str());
    }
  }
  std::printf("\nsm_90a, sm_100a: time to compile to PTX. out/bound: worst output error over its "
              "bound (1 ulp of bf16 + 2e-6 rms).\nd, state: relative errors against fp64. %s\n",
              failed ? "FAILED" : "Every output, record and state was checked against fp64.");
  return failed ? 1 : 0;
}
