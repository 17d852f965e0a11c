//===- Runtime.cpp - Devices, buffers, kernels over a backend -------------===//
//
// The public handles: they check what every device would have to check and
// leave the rest to the backend.
//
//===----------------------------------------------------------------------===//
#include "runtime/Backend.h"

using namespace replayssm;
using rt::Backend;

namespace {
Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}
} // namespace

Status rt::movedFrom(const char *what) {
  return invalid(std::string("expected ") + what + " but got one that was moved from");
}

Status Backend::expectNoCapture(const char *what) const {
  return isCapturing() ? invalid(std::string(what) + ": expected no open capture on this device") : Status::ok();
}

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

Result<Device> Device::openCuda(int ordinal) {
  if (ordinal < 0)
    return invalid("expected a device ordinal of at least 0 but got " + std::to_string(ordinal));
  Result<std::shared_ptr<Backend>> backend = rt::openCudaBackend(ordinal);
  if (!backend)
    return backend.status();
  return Device(backend.take());
}

Device Device::openHost(const HostOptions &options) {
  return Device(rt::openHostBackend(options));
}

bool Device::isHost() const { return backend_ && backend_->isHost(); }
std::string Device::name() const { return backend_ ? backend_->name() : ""; }
std::string Device::target() const { return backend_ ? backend_->target() : ""; }
uint64_t Device::l2Bytes() const { return backend_ ? backend_->l2Bytes() : 0; }
uint32_t Device::multiprocessors() const { return backend_ ? backend_->multiprocessors() : 0; }

Result<Buffer> Device::allocate(uint64_t bytes) {
  if (!backend_)
    return rt::movedFrom("a device");
  if (bytes == 0)
    return invalid("expected a buffer of at least 1 byte but got 0");
  Result<uint64_t> address = backend_->allocate(bytes);
  if (!address)
    return address.status();
  return Buffer(backend_, *address, bytes);
}

Result<Kernel> Device::loadKernel(std::string_view code, const KernelManifest &manifest) {
  Result<std::vector<Kernel>> kernels = loadKernels(code, {manifest});
  if (!kernels)
    return kernels.status();
  return std::move(kernels->front());
}

Result<std::vector<Kernel>> Device::loadKernels(std::string_view code,
                                                const std::vector<KernelManifest> &manifests) {
  if (!backend_)
    return rt::movedFrom("a device");
  if (manifests.empty())
    return invalid("expected the manifest of at least one kernel but got none");
  for (size_t i = 0; i < manifests.size(); ++i) {
    RSSM_RETURN_IF_ERROR(rt::checkManifest(manifests[i]));
    // They would be one function of the driver, with one limit of shared memory.
    for (size_t j = 0; j < i; ++j)
      if (manifests[j].name == manifests[i].name)
        return invalid("manifest of '" + manifests[i].name +
                       "': expected distinct names of kernels but got this one twice");
  }
  if (code.empty())
    return invalid("expected code for kernel '" + manifests.front().name + "' but got none");
  Result<std::vector<std::unique_ptr<rt::KernelImpl>>> impls = backend_->loadKernels(code, manifests);
  if (!impls)
    return impls.status();
  std::vector<Kernel> kernels;
  for (std::unique_ptr<rt::KernelImpl> &impl : *impls)
    kernels.emplace_back(backend_, std::move(impl));
  return kernels;
}

Status Device::synchronize() { return backend_ ? backend_->synchronize() : rt::movedFrom("a device"); }

HostOptions &Device::hostOptions() {
  if (HostOptions *options = backend_ ? backend_->hostOptions() : nullptr)
    return *options;
  // A GPU has none: what is written here has no effect.
  static thread_local HostOptions ignored;
  return ignored;
}

Status Device::beginCapture() { return backend_ ? backend_->beginCapture() : rt::movedFrom("a device"); }

Result<Graph> Device::endCapture() {
  if (!backend_)
    return rt::movedFrom("a device");
  Result<void *> handle = backend_->endCapture();
  if (!handle)
    return handle.status();
  return Graph(backend_, *handle);
}

Result<double> Device::timeGraph(Graph &graph) {
  if (!backend_)
    return rt::movedFrom("a device");
  if (!graph.handle_)
    return rt::movedFrom("a graph");
  if (graph.backend_ != backend_)
    return invalid("expected a graph captured on this device but got another device's");
  return backend_->timeGraph(graph.handle_);
}

//===----------------------------------------------------------------------===//
// Buffer
//===----------------------------------------------------------------------===//

Buffer::Buffer(std::shared_ptr<Backend> backend, uint64_t address, uint64_t bytes)
    : backend_(std::move(backend)), address_(address), bytes_(bytes) {}

Buffer::Buffer(Buffer &&other) noexcept
    : backend_(std::move(other.backend_)), address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  Buffer old(std::move(other));
  std::swap(backend_, old.backend_);
  std::swap(address_, old.address_);
  std::swap(bytes_, old.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (backend_)
    backend_->free(address_);
}

static Status checkCopy(const char *what, bool hasMemory, const void *host, uint64_t bytes, uint64_t offset,
                        uint64_t size) {
  if (!hasMemory)
    return invalid(std::string(what) + ": expected a buffer of Device::allocate but got one that is empty or was "
                                       "moved from");
  if (offset > size || bytes > size - offset)
    return invalid(std::string(what) + " of " + std::to_string(bytes) + " bytes at offset " +
                   std::to_string(offset) + ": expected it inside the buffer of " +
                   std::to_string(size) + " bytes");
  if (!host && bytes)
    return invalid(std::string(what) + " of " + std::to_string(bytes) +
                   " bytes: expected a host address but got null");
  return Status::ok();
}

Status Buffer::copyIn(const void *host, uint64_t bytes, uint64_t offset) {
  RSSM_RETURN_IF_ERROR(checkCopy("copy into a buffer", bool(backend_), host, bytes, offset, bytes_));
  return bytes ? backend_->copyIn(address_ + offset, host, bytes) : Status::ok();
}

Status Buffer::copyOut(void *host, uint64_t bytes, uint64_t offset) const {
  RSSM_RETURN_IF_ERROR(checkCopy("copy out of a buffer", bool(backend_), host, bytes, offset, bytes_));
  return bytes ? backend_->copyOut(host, address_ + offset, bytes) : Status::ok();
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

Kernel::Kernel(std::shared_ptr<Backend> backend, std::unique_ptr<rt::KernelImpl> impl)
    : backend_(std::move(backend)), impl_(std::move(impl)) {}

Kernel::Kernel(Kernel &&) noexcept = default;

// The old code goes before the backend that loaded it.
Kernel &Kernel::operator=(Kernel &&other) noexcept {
  Kernel old(std::move(other));
  std::swap(backend_, old.backend_);
  std::swap(impl_, old.impl_);
  return *this;
}

Kernel::~Kernel() = default;

const KernelManifest &Kernel::manifest() const {
  static const KernelManifest none;
  return impl_ ? impl_->manifest : none;
}

Result<KernelResources> Kernel::resources() const {
  if (!impl_)
    return rt::movedFrom("a kernel");
  return backend_->resources(*impl_);
}

Status Kernel::launch(const std::vector<uint64_t> &args, uint32_t rows, uint32_t layers) {
  if (!impl_)
    return rt::movedFrom("a kernel");
  RSSM_RETURN_IF_ERROR(rt::checkLaunch(impl_->manifest, impl_->argRules, args, rows, layers));
  return rows && layers ? backend_->launch(*impl_, args.data(), rows, layers) : Status::ok();
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

Graph::Graph(std::shared_ptr<Backend> backend, void *handle)
    : backend_(std::move(backend)), handle_(handle) {}

Graph::Graph(Graph &&other) noexcept
    : backend_(std::move(other.backend_)), handle_(std::exchange(other.handle_, nullptr)) {}

Graph &Graph::operator=(Graph &&other) noexcept {
  Graph old(std::move(other));
  std::swap(backend_, old.backend_);
  std::swap(handle_, old.handle_);
  return *this;
}

Graph::~Graph() {
  if (handle_)
    backend_->destroyGraph(handle_);
}

Status Graph::replay() {
  if (!handle_)
    return rt::movedFrom("a graph");
  return backend_->replay(handle_);
}
