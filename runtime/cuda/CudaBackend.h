//===- CudaBackend.h - One GPU through the driver ---------------*- C++ -*-===//
//
// The device's primary context (shared with whoever else uses the GPU in this
// process) and one stream of our own. Work that must not happen while the
// stream is being captured, such as freeing, waits until the capture ends.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Backend.h"
#include "runtime/cuda/Handles.h"

namespace replayssm::rt::cuda {

class CudaBackend;

/// Shared by its kernels and by every graph that recorded one.
using Module = std::shared_ptr<ModuleHandle>;

class CudaKernel final : public KernelImpl {
public:
  CudaKernel(CudaBackend &backend, const KernelManifest &manifest)
      : KernelImpl(manifest), backend(backend), params(manifest.args.size()) {}
  ~CudaKernel() override;

  /// Finds the function in `module` and prepares it; called once.
  Status load(const Module &module);
  Result<KernelResources> resources() const;
  Status launch(const uint64_t *args, uint32_t rows, uint32_t layers);

  const Module &module() const { return module_; }

private:
  Status checkParams() const;
  Status checkLimits() const;
  Result<int> attribute(CuFunctionAttribute attribute) const;

  CudaBackend &backend;
  Module module_;
  CuFunction function = nullptr;
  std::vector<void *> params; ///< Scratch of launch, which must not allocate.
};

struct CudaGraph {
  GraphExecHandle exec;
  std::vector<Module> modules;
};

class CudaBackend final : public Backend {
public:
  explicit CudaBackend(const Driver &driver) : driver(driver) {}
  ~CudaBackend() override;
  Status open(int ordinal);

  bool isHost() const override { return false; }
  std::string name() const override { return name_; }
  std::string target() const override { return target_; }
  uint64_t l2Bytes() const override { return l2Bytes_; }
  uint32_t multiprocessors() const override { return multiprocessors_; }
  uint32_t maxSharedBytes() const { return maxSharedBytes_; }

  Result<uint64_t> allocate(uint64_t bytes) override;
  void free(uint64_t address) override;
  Status copyIn(uint64_t destination, const void *source, uint64_t bytes) override;
  Status copyOut(void *destination, uint64_t source, uint64_t bytes) override;

  Result<std::vector<std::unique_ptr<KernelImpl>>>
  loadKernels(std::string_view code, const std::vector<KernelManifest> &manifests) override;
  Result<KernelResources> resources(KernelImpl &kernel) override;
  Status launch(KernelImpl &kernel, const uint64_t *args, uint32_t rows, uint32_t layers) override;
  Status synchronize() override;

  bool isCapturing() const override { return capturing; }
  Status beginCapture() override;
  Result<void *> endCapture() override;
  Status replay(void *graph) override;
  Result<double> timeGraph(void *graph) override;
  void destroyGraph(void *graph) override;

  /// Lets go of `object` once the GPU and an open capture are done with it.
  void retire(std::shared_ptr<void> object);

  const Driver driver;
  CuStream stream() const { return stream_.get(); }

private:
  Result<Module> loadModule(std::string_view code, const std::vector<KernelManifest> &manifests);
  Result<std::unique_ptr<CudaGraph>> instantiate(CuGraph recorded);
  void releaseRetired();

  CuDevice device = 0;
  CuContext context = nullptr;
  StreamHandle stream_;
  EventHandle start, stop;
  std::string name_, target_;
  uint64_t l2Bytes_ = 0;
  uint32_t multiprocessors_ = 0, maxSharedBytes_ = 0;

  bool capturing = false;
  std::vector<Module> captured;
  std::vector<std::shared_ptr<void>> retired;
  std::vector<CuDevicePtr> retiredMemory;
};

} // namespace replayssm::rt::cuda
