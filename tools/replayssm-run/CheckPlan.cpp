//===- CheckPlan.cpp - Which kernels a check is of ------------------------===//
#include "tools/replayssm-run/CheckPlan.h"
#include "tools/replayssm-run/Verify.h"

#include <algorithm>
#include <map>

using namespace replayssm;
using namespace replayssm::run;

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

Result<CheckSource> run::checkSource(const Options &options) {
  if (!options.spec.empty()) {
    auto spec = parseKernelSpec(options.spec);
    if (!spec)
      return spec.status();
    auto text = importSpec(*spec);
    if (!text)
      return text.status();
    return CheckSource{text.take(), "<spec>"};
  }
  if (options.file.empty())
    return invalid("expected a file or --spec=...");
  auto text = readFile(options.file);
  if (!text)
    return text.status();
  return CheckSource{text.take(), options.file};
}

/// Compiled from its spec with the verify that it belongs to: one that is not, say for
/// many layers, is checked by a life cycle of its own.
static bool isCompanion(const KernelSpec &spec, const std::vector<PlannedKernel> &plan) {
  return std::any_of(plan.begin(), plan.end(), [&](const PlannedKernel &other) {
    if (!other.spec || other.spec->phase != Phase::Verify)
      return false;
    std::vector<Companion> all = companions(*other.spec);
    return std::any_of(all.begin(), all.end(), [&](const Companion &one) { return one.spec == spec; });
  });
}

Result<std::vector<PlannedKernel>> run::planCheck(const std::vector<KernelManifest> &kernels,
                                                  const Options &options) {
  std::vector<PlannedKernel> plan;
  std::string names;
  for (size_t i = 0; i < kernels.size(); ++i) {
    names += (names.empty() ? "" : ", ") + kernels[i].name;
    if (options.kernel.empty() || kernels[i].name == options.kernel)
      plan.push_back({i, std::nullopt});
  }
  if (plan.empty())
    return options.kernel.empty() ? invalid("'" + options.file + "' holds no kernel")
                                  : invalid("no kernel '" + options.kernel + "' in " +
                                            (options.file.empty() ? "the spec" : "'" + options.file + "'") +
                                            "; it holds " + names);
  if (!options.vectors.empty() && plan.size() > 1)
    return invalid("--vectors: expected one kernel, chosen by --kernel=<name>, but got " + names);
  for (PlannedKernel &planned : plan) {
    const KernelManifest &kernel = kernels[planned.index];
    if (!kernel.spec.empty()) {
      auto spec = parseKernelSpec(kernel.spec);
      if (!spec)
        return spec.status();
      planned.spec = *spec;
    } else if (options.vectors.empty()) {
      return invalid("kernel '" + kernel.name +
                     "' has no spec: give its inputs and expected outputs with --vectors=<file>");
    }
  }
  bool isOneChecked = !options.vectors.empty();
  for (PlannedKernel &planned : plan) {
    if (planned.spec)
      planned.isServing = planned.spec->phase == Phase::Cursors || planned.spec->phase == Phase::Reset ||
                          isCompanion(*planned.spec, plan);
    isOneChecked |= !planned.isServing;
  }
  if (!isOneChecked)
    return invalid("expected a kernel with outputs or inputs but got cursors and resets only: they are "
                   "checked with the kernel that they serve");
  return plan;
}

std::vector<Companion> run::companions(const KernelSpec &spec) {
  bool isReplay = spec.phase == Phase::Replay, isFold = spec.phase == Phase::Fold;
  bool isCompact = spec.phase == Phase::Compact;
  if (!isReplay && !isFold && !isCompact && spec.phase != Phase::Verify)
    return {};
  KernelSpec plain = spec;
  plain.T = plain.Tmax;
  plain.track = plain.dst = false;
  plain.layers = Layers::One;
  std::vector<Companion> result;
  auto add = [&](Phase phase, bool isTiled) {
    plain.phase = phase;
    result.push_back({plain, isTiled});
  };
  add(Phase::Cursors, false);
  if (isReplay)
    return result;
  result.back().spec.track = spec.track;
  if (isFold || isCompact)
    add(Phase::Verify, isFold);
  if (!isFold && spec.flushAt != FlushAt::Verify) {
    add(Phase::Fold, !isCompact);
    result.back().spec.layers = spec.layers;
  }
  if (spec.flushAt != FlushAt::EveryCommit)
    add(Phase::Reset, false);
  if (spec.window == Window::Tree && spec.flushAt != FlushAt::EveryCommit && !isCompact) {
    add(Phase::Compact, false);
    result.back().spec.layers = spec.layers;
  }
  // Replay decode with the same ring; rings of the two shapes need not agree bitwise.
  if (spec.Tmax > 1 || spec.L == 1 || spec.isCircular() || !spec.storesDelta())
    return result;
  plain.flushAt = FlushAt::Decode;
  plain.window = Window::Chain;
  plain.fold = Fold::Records;
  add(Phase::Replay, false);
  return result;
}

//===----------------------------------------------------------------------===//
// On a device, and without one
//===----------------------------------------------------------------------===//

static Result<std::map<Phase, Kernel>> jitCompanions(Device &device, const KernelSpec &spec, const Options &options) {
  std::map<Phase, Kernel> kernels;
  for (const Companion &companion : companions(spec)) {
    auto kernel = jitSpec(device, companion.spec, options.compileOptions(companion.isTiled));
    if (!kernel)
      return kernel.status();
    kernels.emplace(companion.spec.phase, kernel.take());
  }
  return kernels;
}

static std::optional<Kernel> take(std::map<Phase, Kernel> &kernels, Phase phase) {
  auto found = kernels.find(phase);
  if (found == kernels.end())
    return std::nullopt;
  return std::move(found->second);
}

Result<std::optional<Kernel>> run::jitCursors(Device &device, const KernelSpec &spec, const Options &options) {
  auto kernels = jitCompanions(device, spec, options);
  if (!kernels)
    return kernels.status();
  return take(*kernels, Phase::Cursors);
}

Result<VerifyKernels> run::jitVerifySet(Device &device, Kernel kernel, const KernelSpec &spec, const Options &options) {
  auto kernels = jitCompanions(device, spec, options);
  if (!kernels)
    return kernels.status();
  kernels->emplace(spec.phase, std::move(kernel));
  return VerifyKernels{.verify = *take(*kernels, Phase::Verify),
                       .cursors = *take(*kernels, Phase::Cursors),
                       .fold = take(*kernels, Phase::Fold),
                       .reset = take(*kernels, Phase::Reset),
                       .decode = take(*kernels, Phase::Replay),
                       .compact = take(*kernels, Phase::Compact)};
}

Result<std::vector<KernelManifest>> run::compileCheck(const Options &options) {
  auto source = checkSource(options);
  if (!source)
    return source.status();
  auto named = compileSource(source->text, source->name, options.compileOptions(/*isTiled=*/true));
  if (!named)
    return named.status();
  auto plan = planCheck(named->kernels, options);
  if (!plan)
    return plan.status();
  std::vector<KernelManifest> kernels = named->kernels;
  for (const PlannedKernel &planned : *plan) {
    if (!planned.spec || planned.isServing)
      continue;
    for (const Companion &companion : companions(*planned.spec)) {
      auto other = compileSpec(companion.spec, options.compileOptions(companion.isTiled));
      if (!other)
        return other.status();
      kernels.insert(kernels.end(), other->kernels.begin(), other->kernels.end());
    }
  }
  return kernels;
}
