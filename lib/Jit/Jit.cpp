//===- Jit.cpp - Compile and load in one step -----------------------------===//
#include "replayssm/Jit.h"

#include "common/Targets.h"
#include "lib/Compiler/Session.h"
#include "lib/Jit/HostJit.h"
#include "runtime/Backend.h"

using namespace replayssm;

static Result<std::vector<Kernel>> jitForHost(Device &device, std::string_view mlir,
                                              std::string_view fileName,
                                              const CompileOptions &options) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = lowerToGpu(*context, mlir, fileName, options);
  if (!module)
    return module.status();
  auto optimized = codegen::optimizeDevice(**module, options.target, options.verifyEach);
  if (!optimized)
    return optimized.status();
  std::vector<KernelManifest> manifests = optimized->kernels;
  Result<HostCode> code = compileForHost(optimized.take());
  if (!code)
    return code.status();
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < manifests.size(); ++i) {
    auto impl = rt::makeHostKernel(code->entries[i], std::move(manifests[i]), code->owner);
    kernels.emplace_back(device.sharedBackend(), std::move(impl));
  }
  return kernels;
}

Result<std::vector<Kernel>> replayssm::jitSource(Device &device, std::string_view mlir,
                                                 std::string_view fileName,
                                                 const CompileOptions &options) {
  if (!device.sharedBackend())
    return rt::movedFrom("a device");
  RSSM_RETURN_IF_ERROR(device.sharedBackend()->expectNoCapture("load of a kernel"));
  CompileOptions own = options;
  own.emit = Emit::PTX;
  own.stopAfter.clear();
  // The host device checks device code: it runs that of the default target.
  own.target = device.isHost() ? defaultTarget : device.target();
  if (device.isHost())
    return jitForHost(device, mlir, fileName, own);
  Result<CompiledModule> compiled = compileSource(mlir, fileName, own);
  if (!compiled)
    return compiled.status();
  return device.loadKernels(compiled->code, compiled->kernels);
}

Result<Kernel> replayssm::jitSpec(Device &device, const KernelSpec &spec,
                                  const CompileOptions &options) {
  Result<std::string> source = importSpec(spec);
  if (!source)
    return source.status();
  auto kernels = jitSource(device, *source, "<spec>", options);
  if (!kernels)
    return kernels.status();
  if (kernels->size() != 1)
    return {StatusCode::Internal, "expected one kernel of a spec but got " +
                                      std::to_string(kernels->size())};
  return std::move(kernels->front());
}
