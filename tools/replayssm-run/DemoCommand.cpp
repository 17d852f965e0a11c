//===- DemoCommand.cpp - replayssm-run demo -------------------------------===//
#include "tools/replayssm-run/Check.h"

#include <chrono>
#include <cstdio>

using namespace replayssm;
using namespace replayssm::run;

static int report(const Status &status) {
  std::fprintf(stderr, "replayssm-run: %s\n", status.str().c_str());
  return 1;
}

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
      CompileOptions compile; // Without the cache: the time is shown.
      compile.target = targets[i];
      auto start = Clock::now();
      if (auto module = compileSpec(*spec, compile); !module)
        return report(module.status());
      built[i] = seconds(start);
    }
    auto kernel = jitSpec(*device, *spec, options.compileOptions(/*isTiled=*/false));
    if (!kernel)
      return report(kernel.status());
    auto cursors = jitCursors(*device, *spec, options);
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
