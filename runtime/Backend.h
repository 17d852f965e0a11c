//===- Backend.h - What a device has to do ----------------------*- C++ -*-===//
//
// Internal interface behind Device, Buffer, Kernel and Graph. One backend is
// used from one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Runtime.h"
#include "runtime/LaunchArgs.h"
#include "runtime/host/HostABI.h"

namespace replayssm::rt {

/// A loaded kernel; each backend derives its own. It may outlive neither its
/// backend nor, on the GPU, be destroyed while another thread uses the backend.
class KernelImpl {
public:
  explicit KernelImpl(KernelManifest manifest)
      : manifest(std::move(manifest)), argRules(rt::argRules(this->manifest)) {}
  virtual ~KernelImpl() = default;
  const KernelManifest manifest;
  const std::vector<ArgRule> argRules;
};

/// InvalidArgument for a call of a handle that has nothing left; `what` is "a device", ...
Status movedFrom(const char *what);

/// Callers have checked sizes, ranges and arguments (Runtime.cpp): a backend
/// only meets launches of >= 1 row and layer, and copies inside one buffer.
class Backend {
public:
  virtual ~Backend() = default;
  virtual bool isHost() const = 0;
  virtual std::string name() const = 0;
  virtual std::string target() const = 0;
  virtual uint64_t l2Bytes() const = 0;
  virtual uint32_t multiprocessors() const = 0;
  virtual HostOptions *hostOptions() { return nullptr; }

  virtual Result<uint64_t> allocate(uint64_t bytes) = 0;
  virtual void free(uint64_t address) = 0;
  virtual Status copyIn(uint64_t destination, const void *source, uint64_t bytes) = 0;
  virtual Status copyOut(void *destination, uint64_t source, uint64_t bytes) = 0;

  /// All of one module; there is at least one manifest.
  virtual Result<std::vector<std::unique_ptr<KernelImpl>>>
  loadKernels(std::string_view code, const std::vector<KernelManifest> &manifests) = 0;
  virtual Result<KernelResources> resources(KernelImpl &kernel) = 0;
  virtual Status launch(KernelImpl &kernel, const uint64_t *args, uint32_t rows,
                        uint32_t layers) = 0;
  virtual Status synchronize() = 0;

  virtual bool isCapturing() const = 0;
  /// An error while a capture is open: `what` cannot be recorded.
  Status expectNoCapture(const char *what) const;
  virtual Status beginCapture() = 0;
  virtual Result<void *> endCapture() = 0;
  virtual Status replay(void *graph) = 0;
  virtual Result<double> timeGraph(void *graph) = 0;
  virtual void destroyGraph(void *graph) = 0;
};

Result<std::shared_ptr<Backend>> openCudaBackend(int ordinal);
std::shared_ptr<Backend> openHostBackend(const HostOptions &options);

/// A host kernel from its JIT-compiled entry; `code` keeps the code alive.
std::unique_ptr<KernelImpl> makeHostKernel(rssm_host_entry entry, KernelManifest manifest,
                                           std::shared_ptr<void> code);

} // namespace replayssm::rt
