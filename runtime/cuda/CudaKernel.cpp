//===- CudaKernel.cpp - Loading and launching kernels ---------------------===//
#include "runtime/cuda/CudaBackend.h"

using namespace replayssm;
using namespace replayssm::rt;
using namespace replayssm::rt::cuda;

/// Above this a function has to ask for its dynamic shared memory.
static constexpr uint32_t defaultSharedBytes = 48 * 1024;

CudaKernel::~CudaKernel() {
  if (module_)
    backend.retire(std::move(module_));
}

Status CudaKernel::load(const Module &module) {
  const Driver &driver = backend.driver;
  module_ = module;
  RSSM_RETURN_IF_ERROR(
      driver.check("cuModuleGetFunction of '" + manifest.name + "'",
                   driver.cuModuleGetFunction(&function, module->get(), manifest.name.c_str())));
  RSSM_RETURN_IF_ERROR(checkParams());
  return checkLimits();
}

/// A kernel with other parameters than its manifest's would read past the
/// arguments of a launch. Drivers before CUDA 12.4 cannot tell.
Status CudaKernel::checkParams() const {
  const Driver &driver = backend.driver;
  if (!driver.cuFuncGetParamInfo)
    return Status::ok();
  size_t count = manifest.args.size();
  for (size_t i = 0; i <= count; ++i) {
    size_t offset = 0, bytes = 0;
    CuResult result = driver.cuFuncGetParamInfo(function, i, &offset, &bytes);
    if (result != CuSuccess && result != CuErrorInvalidValue)
      return driver.error("cuFuncGetParamInfo of '" + manifest.name + "'", result);
    bool present = result == CuSuccess;
    if (present != (i < count))
      return {StatusCode::InvalidArgument,
              "kernel '" + manifest.name + "': expected " + std::to_string(count) +
                  " parameters, as in its manifest, but the code has " +
                  (present ? "more" : std::to_string(i))};
    if (present && (offset != 8 * i || bytes != 8))
      return {StatusCode::InvalidArgument,
              "kernel '" + manifest.name + "': expected 8 bytes at offset " +
                  std::to_string(8 * i) + " for parameter '" + manifest.args[i].name +
                  "' but the code has " + std::to_string(bytes) + " at offset " +
                  std::to_string(offset)};
  }
  return Status::ok();
}

Result<int> CudaKernel::attribute(CuFunctionAttribute attribute) const {
  int value = 0;
  RSSM_RETURN_IF_ERROR(
      backend.driver.check("cuFuncGetAttribute of '" + manifest.name + "'",
                           backend.driver.cuFuncGetAttribute(&value, attribute, function)));
  return value;
}

/// Refuses at load what would fail at every launch.
Status CudaKernel::checkLimits() const {
  Result<int> threads = attribute(CuFuncMaxThreadsPerBlock);
  if (!threads)
    return threads.status();
  if (manifest.threads > static_cast<uint32_t>(*threads))
    return {StatusCode::Unsupported,
            "kernel '" + manifest.name + "' has blocks of " + std::to_string(manifest.threads) +
                " threads but its registers allow " + std::to_string(*threads)};
  Result<int> fixed = attribute(CuFuncSharedSizeBytes);
  if (!fixed)
    return fixed.status();
  uint64_t total = uint64_t{manifest.sharedBytes} + static_cast<uint32_t>(*fixed);
  if (total > backend.maxSharedBytes())
    return {StatusCode::Unsupported,
            "kernel '" + manifest.name + "' needs " + std::to_string(total) +
                " bytes of shared memory per block but " + backend.name() + " has " +
                std::to_string(backend.maxSharedBytes())};
  if (total <= defaultSharedBytes)
    return Status::ok();
  return backend.driver.check(
      "cuFuncSetAttribute of '" + manifest.name + "'",
      backend.driver.cuFuncSetAttribute(function, CuFuncMaxDynamicSharedSizeBytes,
                                        static_cast<int>(manifest.sharedBytes)));
}

Result<KernelResources> CudaKernel::resources() const {
  KernelResources resources;
  Result<int> registers = attribute(CuFuncNumRegs);
  if (!registers)
    return registers.status();
  Result<int> local = attribute(CuFuncLocalSizeBytes);
  if (!local)
    return local.status();
  resources.registers = *registers;
  resources.localBytes = *local;
  resources.sharedBytes = static_cast<int>(manifest.sharedBytes);
  RSSM_RETURN_IF_ERROR(backend.driver.check(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor of '" + manifest.name + "'",
      backend.driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &resources.blocksPerMultiprocessor, function, static_cast<int>(manifest.threads),
          manifest.sharedBytes)));
  return resources;
}

Status CudaKernel::launch(const uint64_t *args, uint32_t rows, uint32_t layers) {
  for (size_t i = 0; i < params.size(); ++i)
    params[i] = const_cast<uint64_t *>(args + i);
  CuLaunchConfig config = {};
  config.gridX = manifest.blocksPerRow;
  config.gridY = rows;
  config.gridZ = layers;
  config.blockX = manifest.threads;
  config.blockY = config.blockZ = 1;
  config.sharedBytes = manifest.sharedBytes;
  config.stream = backend.stream();
  CuResult result =
      backend.driver.cuLaunchKernelEx(&config, function, params.data(), /*extra=*/nullptr);
  if (result == CuSuccess)
    return Status::ok();
  return backend.driver.error("cuLaunchKernelEx of '" + manifest.name + "'", result);
}

//===----------------------------------------------------------------------===//
// Kernels of one module
//===----------------------------------------------------------------------===//

/// The driver's log names entries itself; what it is asked for is named here.
static std::string namesOf(const std::vector<KernelManifest> &manifests) {
  std::string names;
  for (const KernelManifest &manifest : manifests)
    names += (names.empty() ? "'" : ", '") + manifest.name + "'";
  return names;
}

Result<Module> CudaBackend::loadModule(std::string_view code,
                                       const std::vector<KernelManifest> &manifests) {
  std::string image(code); // PTX ends with a null byte, code need not.
  std::string log(16 * 1024, '\0');
  int options[] = {CuJitErrorLogBuffer, CuJitErrorLogBufferSizeBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  CuModule loaded = nullptr;
  CuResult result = driver.cuModuleLoadDataEx(&loaded, image.c_str(), 2, options, values);
  if (result != CuSuccess)
    return driver.error("cuModuleLoadDataEx of " + namesOf(manifests), result,
                        std::string_view(log.c_str()));
  return std::make_shared<ModuleHandle>(driver, loaded);
}

Result<std::vector<std::unique_ptr<KernelImpl>>>
CudaBackend::loadKernels(std::string_view code, const std::vector<KernelManifest> &manifests) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("load of a kernel"));
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  Result<Module> module = loadModule(code, manifests);
  if (!module)
    return module.status();
  std::vector<std::unique_ptr<KernelImpl>> kernels;
  for (const KernelManifest &manifest : manifests) {
    auto kernel = std::make_unique<CudaKernel>(*this, manifest);
    RSSM_RETURN_IF_ERROR(kernel->load(*module));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}
