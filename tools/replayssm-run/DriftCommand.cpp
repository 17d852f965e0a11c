//===- DriftCommand.cpp - replayssm-run drift -----------------------------===//
#include "tools/replayssm-run/Drift.h"

#include <cstdio>

using namespace replayssm;
using namespace replayssm::run;

namespace {

/// Few heads; small ones on the host device, which runs every thread of every block.
const char *const hostShapes[] = {"rule=gdn,H=1,HV=2,K=64,V=64", "rule=kda,H=1,HV=2,K=64,V=64"};
const char *const cudaShapes[] = {"rule=gdn,H=2,HV=4,K=128,V=128", "rule=kda,H=2,HV=2,K=128,V=128"};
const char *const sets[] = {
    "phase=replay,L=16",
    "phase=verify,L=16,T_max=1,flush_at=commit,fold=records",
    "phase=verify,L=16,T_max=4,flush_at=commit,fold=records",
    "phase=verify,L=32,T_max=8,flush_at=commit,fold=records",
    "phase=verify,L=16,T_max=1,flush_at=commit,fold=replay",
    "phase=verify,L=16,T_max=4,flush_at=commit,fold=replay",
    "phase=verify,L=32,T_max=8,flush_at=commit,fold=replay",
};

std::vector<std::string> specTexts(const Options &options, bool isHost) {
  if (!options.spec.empty())
    return {options.spec};
  std::vector<std::string> texts;
  for (const char *set : sets)
    for (const char *shape : isHost ? hostShapes : cudaShapes)
      texts.push_back(std::string(shape) + "," + set +
                      ",gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,io=f32");
  return texts;
}

Result<std::vector<KernelSpec>> driftSpecs(const Options &options, bool isHost) {
  std::vector<KernelSpec> specs;
  for (const std::string &text : specTexts(options, isHost)) {
    auto spec = parseKernelSpec(text);
    if (!spec)
      return spec.status();
    // The inputs are made for these, and the bounds are those of f32 states.
    bool isSet = spec->phase == Phase::Verify ? spec->flushAt == FlushAt::Commit && spec->window == Window::Chain
                                              : spec->phase == Phase::Replay && spec->L > 1;
    if (!isSet || spec->dst || spec->state != DType::F32 || spec->gate != Gate::Softplus ||
        spec->beta == Beta::Precomputed || spec->betaFactor != 1)
      return Status(StatusCode::Unsupported,
                    "drift: expected phase=replay with L > 1, or phase=verify with flush_at=commit and "
                    "window=chain, state=f32, gate=softplus, beta from a sigmoid and beta_factor=1 but got " + text);
    specs.push_back(*spec);
  }
  return specs;
}

Status writeReports(const Options &options, const std::vector<DriftReport> &reports, const Device &device) {
  std::string json = "{\"device\": \"" + device.name() + "\", \"cases\": [";
  for (size_t i = 0; i < reports.size(); ++i)
    json += (i ? ",\n  " : "\n  ") + toJson(reports[i]);
  if (!options.jsonPath.empty())
    RSSM_RETURN_IF_ERROR(writeFile(options.jsonPath, json + "\n]}\n"));
  if (!options.svgPath.empty())
    RSSM_RETURN_IF_ERROR(writeFile(options.svgPath, toSvg(reports, device.name())));
  if (!options.markdownPath.empty())
    RSSM_RETURN_IF_ERROR(writeFile(options.markdownPath, toMarkdown(reports, device.name())));
  return Status::ok();
}

Result<bool> runAll(const Options &options) {
  auto device = openDevice(options);
  if (!device)
    return device.status();
  auto specs = driftSpecs(options, device->isHost());
  if (!specs)
    return specs.status();
  std::printf("device: %s\n", device->name().c_str());
  std::vector<DriftReport> reports;
  bool ok = true;
  for (const KernelSpec &spec : *specs)
    for (bool noDecay : {false, true}) {
      DriftOptions drift;
      drift.rows = options.rows.empty() ? (device->isHost() ? 1 : 4) : options.rows[0];
      drift.cycles = options.cycles ? options.cycles : device->isHost() ? 50 : 1000;
      drift.seed = options.seed;
      drift.noDecay = noDecay;
      drift.compile = options.compileOptions(/*isTiled=*/false);
      auto report = runDriftCase(*device, spec, drift);
      if (!report)
        return report.status();
      ok &= report->violations.empty();
      std::printf("%s", toText(*report).c_str());
      std::fflush(stdout);
      reports.push_back(report.take());
    }
  RSSM_RETURN_IF_ERROR(writeReports(options, reports, *device));
  std::printf("bounds: state %.3g x the f32 recurrence at every checkpoint, its ratio growing by %.3g at most; "
              "d %.3g x the f32 ring form. %s\n",
              driftStateBound, driftGrowthBound, driftDeltaBound, ok ? "All hold." : "VIOLATED");
  return ok;
}

} // namespace

int run::runDrift(const Options &options) {
  auto ok = runAll(options);
  if (!ok)
    std::fprintf(stderr, "replayssm-run: %s\n", ok.status().str().c_str());
  return ok && *ok ? 0 : 1;
}
