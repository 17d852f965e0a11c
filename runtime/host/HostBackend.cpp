//===- HostBackend.cpp - The CPU as a device ------------------------------===//
//
// Buffers are host memory, launches run at once, graphs are lists of launches.
//
//===----------------------------------------------------------------------===//

#include "runtime/Backend.h"
#include "runtime/host/Engine.h"

#include <cstring>
#include <thread>

using namespace replayssm;
using namespace replayssm::rt;

namespace {

/// Shared by a kernel and the graphs that launch it.
struct HostCode {
  rssm_host_entry entry;
  KernelManifest manifest;
  std::shared_ptr<void> code;
};

class HostKernel : public KernelImpl {
public:
  explicit HostKernel(std::shared_ptr<const HostCode> code)
      : KernelImpl(code->manifest), code(std::move(code)) {}
  std::shared_ptr<const HostCode> code;
};

struct RecordedLaunch {
  std::shared_ptr<const HostCode> code;
  std::vector<uint64_t> args;
  uint32_t rows, layers;
};

using HostGraph = std::vector<RecordedLaunch>;

class HostBackend : public Backend {
public:
  explicit HostBackend(const HostOptions &options) : options_(options), engine_(buffers_) {}

  bool isHost() const override { return true; }
  std::string name() const override { return "host"; }
  std::string target() const override { return "host"; }
  uint64_t l2Bytes() const override { return 0; }
  uint32_t multiprocessors() const override { return 1; }
  HostOptions *hostOptions() override { return &options_; }

  Result<uint64_t> allocate(uint64_t bytes) override;
  void free(uint64_t address) override { buffers_.free(address); }
  Status copyIn(uint64_t destination, const void *source, uint64_t bytes) override;
  Status copyOut(void *destination, uint64_t source, uint64_t bytes) override;

  Result<std::vector<std::unique_ptr<KernelImpl>>>
  loadKernels(std::string_view code, const std::vector<KernelManifest> &manifests) override;
  Result<KernelResources> resources(KernelImpl &kernel) override;
  Status launch(KernelImpl &kernel, const uint64_t *args, uint32_t rows, uint32_t layers) override;
  Status synchronize() override { return expectNoCapture("synchronize"); }

  /// As on a GPU, which can do nothing but launch while it records.
  bool isCapturing() const override { return capture_ != nullptr; }
  Status beginCapture() override;
  Result<void *> endCapture() override;
  Status replay(void *graph) override;
  Result<double> timeGraph(void *graph) override;
  void destroyGraph(void *graph) override { delete static_cast<HostGraph *>(graph); }

private:
  Status checkRange(const char *what, uint64_t address, uint64_t bytes);
  Status run(const HostCode &code, const uint64_t *args, uint32_t rows, uint32_t layers);

  HostOptions options_;
  BufferMap buffers_;
  Engine engine_;
  std::unique_ptr<HostGraph> capture_; ///< Non-null between begin and end,
  std::thread::id captureThread_;      ///< which are calls of one thread.
};

} // namespace

Result<uint64_t> HostBackend::allocate(uint64_t bytes) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("allocate"));
  HostBuffer *buffer = buffers_.allocate(bytes);
  if (!buffer)
    return {StatusCode::Exhausted,
            "no memory for a buffer of " + std::to_string(bytes) + " bytes"};
  return static_cast<uint64_t>(buffer->base);
}

Status HostBackend::checkRange(const char *what, uint64_t address, uint64_t bytes) {
  HostBuffer *buffer = bytes ? buffers_.find(address) : nullptr;
  if (bytes && !(buffer && buffer->contains(address, bytes)))
    return {StatusCode::InvalidArgument, std::string(what) + " of " + std::to_string(bytes) +
                                             " bytes does not lie inside one live buffer"};
  return {};
}

Status HostBackend::copyIn(uint64_t destination, const void *source, uint64_t bytes) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("copy into a buffer"));
  RSSM_RETURN_IF_ERROR(checkRange("copy to the device", destination, bytes));
  if (bytes)
    std::memcpy(reinterpret_cast<void *>(destination), source, bytes);
  return {};
}

Status HostBackend::copyOut(void *destination, uint64_t source, uint64_t bytes) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("copy out of a buffer"));
  RSSM_RETURN_IF_ERROR(checkRange("copy from the device", source, bytes));
  if (bytes)
    std::memcpy(destination, reinterpret_cast<const void *>(source), bytes);
  return {};
}

Result<std::vector<std::unique_ptr<KernelImpl>>>
HostBackend::loadKernels(std::string_view, const std::vector<KernelManifest> &) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("load of a kernel"));
  return {StatusCode::Unsupported,
          "the host device runs JIT-compiled kernels: use replayssm::jitSource"};
}

Result<KernelResources> HostBackend::resources(KernelImpl &kernel) {
  KernelResources resources;
  resources.sharedBytes = static_cast<int>(kernel.manifest.sharedBytes);
  return resources;
}

Status HostBackend::run(const HostCode &code, const uint64_t *args, uint32_t rows, uint32_t layers) {
  if (options_.landing < HostOptions::Landing::AtIssue || options_.landing > HostOptions::Landing::AtWait)
    return {StatusCode::InvalidArgument, "launch of '" + code.manifest.name +
                                             "': expected HostOptions::landing to be AtIssue or AtWait but got " +
                                             std::to_string(static_cast<int>(options_.landing))};
  return engine_.run({code.entry, &code.manifest, args, rows, layers}, options_);
}

Status HostBackend::launch(KernelImpl &kernel, const uint64_t *args, uint32_t rows, uint32_t layers) {
  const auto &code = static_cast<HostKernel &>(kernel).code;
  if (!capture_)
    return run(*code, args, rows, layers);
  capture_->push_back({code, {args, args + code->manifest.args.size()}, rows, layers});
  return {};
}

Status HostBackend::beginCapture() {
  RSSM_RETURN_IF_ERROR(expectNoCapture("begin of a capture"));
  capture_ = std::make_unique<HostGraph>();
  captureThread_ = std::this_thread::get_id();
  return {};
}

Result<void *> HostBackend::endCapture() {
  if (!capture_)
    return {StatusCode::InvalidArgument,
            "end of a capture: expected an open capture on this device but there is none"};
  if (captureThread_ != std::this_thread::get_id())
    return {StatusCode::InvalidArgument, "end of a capture: expected the thread that began it"};
  return static_cast<void *>(capture_.release());
}

Status HostBackend::replay(void *graph) {
  RSSM_RETURN_IF_ERROR(expectNoCapture("replay of a graph"));
  for (const RecordedLaunch &launch : *static_cast<HostGraph *>(graph))
    RSSM_RETURN_IF_ERROR(run(*launch.code, launch.args.data(), launch.rows, launch.layers));
  return {};
}

Result<double> HostBackend::timeGraph(void *) {
  return {StatusCode::Unsupported, "the host device does not time graphs"};
}

std::shared_ptr<Backend> replayssm::rt::openHostBackend(const HostOptions &options) {
  return std::make_shared<HostBackend>(options);
}

std::unique_ptr<KernelImpl> replayssm::rt::makeHostKernel(rssm_host_entry entry,
                                                          KernelManifest manifest,
                                                          std::shared_ptr<void> code) {
  return std::make_unique<HostKernel>(std::make_shared<const HostCode>(
      HostCode{entry, std::move(manifest), std::move(code)}));
}
