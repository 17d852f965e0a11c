//===- CudaBackend.cpp - One GPU through the driver -----------------------===//
#include "runtime/cuda/CudaBackend.h"

#include "common/Targets.h"

using namespace replayssm;
using namespace replayssm::rt;
using namespace replayssm::rt::cuda;

Result<std::shared_ptr<Backend>> rt::openCudaBackend(int ordinal) {
  Result<Driver> driver = Driver::open();
  if (!driver)
    return driver.status();
  auto backend = std::make_shared<CudaBackend>(*driver);
  RSSM_RETURN_IF_ERROR(backend->open(ordinal));
  return std::shared_ptr<Backend>(std::move(backend));
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

Status CudaBackend::open(int ordinal) {
  // Whatever stops the driver from starting, there is no GPU to use.
  auto available = [](Status status) {
    return status.isOk() ? status : Status(StatusCode::Unavailable, status.message());
  };
  int count = 0;
  RSSM_RETURN_IF_ERROR(available(driver.check("cuInit", driver.cuInit(0))));
  RSSM_RETURN_IF_ERROR(
      available(driver.check("cuDeviceGetCount", driver.cuDeviceGetCount(&count))));
  if (ordinal >= count)
    return {StatusCode::Unavailable, "no CUDA device " + std::to_string(ordinal) +
                                         ": the driver has " + std::to_string(count)};
  RSSM_CU(driver, cuDeviceGet, &device, ordinal);

  char name[256] = "";
  RSSM_CU(driver, cuDeviceGetName, name, sizeof name - 1, device);
  name_ = name;
  int major = 0, minor = 0, l2 = 0, processors = 0, shared = 0;
  RSSM_CU(driver, cuDeviceGetAttribute, &major, CuDeviceComputeCapabilityMajor, device);
  RSSM_CU(driver, cuDeviceGetAttribute, &minor, CuDeviceComputeCapabilityMinor, device);
  RSSM_CU(driver, cuDeviceGetAttribute, &l2, CuDeviceL2CacheSize, device);
  RSSM_CU(driver, cuDeviceGetAttribute, &processors, CuDeviceMultiprocessorCount, device);
  RSSM_CU(driver, cuDeviceGetAttribute, &shared, CuDeviceMaxSharedPerBlockOptin, device);
  Result<const TargetFacts *> target = targetOf({major, minor});
  if (!target)
    return {target.status().code(),
            "CUDA device " + std::to_string(ordinal) + " (" + name_ + "): " + target.status().message()};
  target_ = (*target)->name;
  l2Bytes_ = static_cast<uint64_t>(l2);
  multiprocessors_ = static_cast<uint32_t>(processors);
  maxSharedBytes_ = static_cast<uint32_t>(shared);

  CuContext retained = nullptr;
  RSSM_CU(driver, cuDevicePrimaryCtxRetain, &retained, device);
  context = retained;
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  CuStream stream = nullptr;
  RSSM_CU(driver, cuStreamCreate, &stream, CuStreamNonBlocking);
  stream_ = StreamHandle(driver, stream);
  CuEvent event = nullptr;
  RSSM_CU(driver, cuEventCreate, &event, 0);
  start = EventHandle(driver, event);
  RSSM_CU(driver, cuEventCreate, &event, 0);
  stop = EventHandle(driver, event);
  return Status::ok();
}

CudaBackend::~CudaBackend() {
  if (!context)
    return;
  {
    Current current(driver, context);
    if (capturing) {
      CuGraph graph = nullptr;
      if (driver.cuStreamEndCapture(stream(), &graph) == CuSuccess)
        GraphHandle abandoned(driver, graph);
      capturing = false;
      captured.clear();
    }
    releaseRetired();
    start = {};
    stop = {};
    stream_ = {};
  }
  (void)driver.cuDevicePrimaryCtxRelease(device);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Result<uint64_t> CudaBackend::allocate(uint64_t bytes) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("allocate"));
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  CuDevicePtr address = 0;
  RSSM_RETURN_IF_ERROR(driver.check("cuMemAlloc of " + std::to_string(bytes) + " bytes",
                                    driver.cuMemAlloc(&address, bytes)));
  return address;
}

void CudaBackend::free(uint64_t address) {
  retiredMemory.push_back(address);
  if (capturing)
    return;
  Current current(driver, context);
  releaseRetired();
}

void CudaBackend::retire(std::shared_ptr<void> object) {
  retired.push_back(std::move(object));
  if (capturing)
    return;
  Current current(driver, context);
  releaseRetired();
}

/// Kernels in flight may still use what is let go: the stream is drained first.
void CudaBackend::releaseRetired() {
  if (retired.empty() && retiredMemory.empty())
    return;
  (void)driver.cuStreamSynchronize(stream());
  for (CuDevicePtr address : retiredMemory)
    (void)driver.cuMemFree(address);
  retiredMemory.clear();
  retired.clear();
}

Status CudaBackend::copyIn(uint64_t destination, const void *source, uint64_t bytes) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("copy into a buffer"));
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  RSSM_CU(driver, cuMemcpyHtoDAsync, destination, source, bytes, stream());
  RSSM_CU(driver, cuStreamSynchronize, stream());
  return Status::ok();
}

Status CudaBackend::copyOut(void *destination, uint64_t source, uint64_t bytes) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("copy out of a buffer"));
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  RSSM_CU(driver, cuMemcpyDtoHAsync, destination, source, bytes, stream());
  RSSM_CU(driver, cuStreamSynchronize, stream());
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Result<KernelResources> CudaBackend::resources(KernelImpl &kernel) {
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  return static_cast<CudaKernel &>(kernel).resources();
}

Status CudaBackend::launch(KernelImpl &kernel, const uint64_t *args, uint32_t rows, uint32_t layers) {
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  auto &cudaKernel = static_cast<CudaKernel &>(kernel);
  RSSM_RETURN_IF_ERROR(cudaKernel.launch(args, rows, layers));
  if (capturing)
    captured.push_back(cudaKernel.module());
  return Status::ok();
}

Status CudaBackend::synchronize() {
  RSSM_RETURN_IF_ERROR(expectNoCapture("synchronize"));
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  RSSM_CU(driver, cuStreamSynchronize, stream());
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Capture and replay
//===----------------------------------------------------------------------===//

Status CudaBackend::beginCapture() {
  RSSM_RETURN_IF_ERROR(expectNoCapture("begin of a capture"));
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  RSSM_CU(driver, cuStreamBeginCapture, stream(), CuCaptureModeThreadLocal);
  capturing = true;
  return Status::ok();
}

/// Uploads the graph too, so that its first replay costs what later ones do.
Result<std::unique_ptr<CudaGraph>> CudaBackend::instantiate(CuGraph recorded) {
  GraphHandle graph(driver, recorded);
  CuGraphExec exec = nullptr;
  RSSM_CU(driver, cuGraphInstantiateWithFlags, &exec, graph.get(), /*flags=*/0);
  auto result = std::make_unique<CudaGraph>();
  result->exec = GraphExecHandle(driver, exec);
  RSSM_CU(driver, cuGraphUpload, exec, stream());
  return result;
}

Result<void *> CudaBackend::endCapture() {
  if (!capturing)
    return Status(StatusCode::InvalidArgument,
                  "end of a capture: expected an open capture on this device but there is none");
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  CuGraph recorded = nullptr;
  CuResult ended = driver.cuStreamEndCapture(stream(), &recorded);
  if (ended == CuErrorStreamCaptureWrongThread) // The capture is still open.
    return driver.error("cuStreamEndCapture", ended);
  capturing = false;
  std::vector<Module> modules = std::move(captured);
  captured.clear();
  releaseRetired();
  RSSM_RETURN_IF_ERROR(driver.check("cuStreamEndCapture", ended));
  Result<std::unique_ptr<CudaGraph>> graph = instantiate(recorded);
  if (!graph)
    return graph.status();
  (*graph)->modules = std::move(modules);
  return static_cast<void *>(graph.take().release());
}

Status CudaBackend::replay(void *graph) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("replay of a graph"));
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  RSSM_CU(driver, cuGraphLaunch, static_cast<CudaGraph *>(graph)->exec.get(), stream());
  return Status::ok();
}

Result<double> CudaBackend::timeGraph(void *graph) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("timing of a graph"));
  Current current(driver, context);
  RSSM_RETURN_IF_ERROR(current.status());
  float milliseconds = 0;
  RSSM_CU(driver, cuEventRecord, start.get(), stream());
  RSSM_CU(driver, cuGraphLaunch, static_cast<CudaGraph *>(graph)->exec.get(), stream());
  RSSM_CU(driver, cuEventRecord, stop.get(), stream());
  RSSM_CU(driver, cuEventSynchronize, stop.get());
  RSSM_CU(driver, cuEventElapsedTime, &milliseconds, start.get(), stop.get());
  return static_cast<double>(milliseconds);
}

void CudaBackend::destroyGraph(void *graph) {
  retire(std::shared_ptr<CudaGraph>(static_cast<CudaGraph *>(graph)));
}
