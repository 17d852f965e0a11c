//===- Runtime.h - Devices, buffers, kernels --------------------*- C++ -*-===//
//
// Device is a shared handle (cheap to copy, thread-compatible). Buffer and
// Kernel are move-only owners and keep their device alive. No call on the
// launch path allocates or reads device data.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Manifest.h"
#include "replayssm/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace replayssm {

namespace rt {
class Backend;
class KernelImpl;
} // namespace rt

/// How the host device runs and what it checks. Every fault that a checker
/// finds makes the launch return Internal with the op's location.
struct HostOptions {
  bool checkBounds = true;   ///< Address inside one live buffer, aligned.
  bool checkRaces = true;    ///< Shared memory, and global between blocks.
  bool poisonShared = true;  ///< Reads of unwritten shared bytes are faults.
  enum class Landing { AtIssue, AtWait };
  Landing landing = Landing::AtWait; ///< When asynchronous copies land.
  uint64_t scheduleSeed = 0; ///< 0 = in order; else threads and blocks permuted.
  uint64_t perturbSeed = 0;  ///< != 0: approximate functions move by up to 2 ulp.
};

class Buffer;
class Kernel;
class Graph;

class RSSM_API Device {
public:
  /// Opens libcuda.so.1 (or what REPLAYSSM_LIBCUDA names) at run time; Unavailable
  /// when there is no driver or GPU, Unsupported for a chip without a target.
  static Result<Device> openCuda(int ordinal = 0);
  static Device openHost(const HostOptions &options = {});

  bool isHost() const;
  std::string name() const;           ///< "NVIDIA H200" or "host".
  std::string target() const;         ///< "sm_90a", ...; "host" on the host device.
  uint64_t l2Bytes() const;
  uint32_t multiprocessors() const;

  Result<Buffer> allocate(uint64_t bytes);
  /// Loads PTX (or, on the GPU, a cubin) text; the driver's log is in the Status.
  Result<Kernel> loadKernel(std::string_view code, const KernelManifest &manifest);
  Status synchronize();
  HostOptions &hostOptions(); ///< Host device only; read at each launch.

  /// Records the launches between begin and end on this device's stream.
  Status beginCapture();
  Result<Graph> endCapture();
  /// Milliseconds of device time of `graph`, replayed once. GPU only.
  Result<double> timeGraph(Graph &graph);

  rt::Backend &backend() const { return *backend_; }
  const std::shared_ptr<rt::Backend> &sharedBackend() const { return backend_; }
  explicit Device(std::shared_ptr<rt::Backend> backend) : backend_(std::move(backend)) {}

private:
  std::shared_ptr<rt::Backend> backend_;
};

class RSSM_API Buffer {
public:
  Buffer() = default;
  Buffer(std::shared_ptr<rt::Backend> backend, uint64_t address, uint64_t bytes);
  Buffer(Buffer &&) noexcept;
  Buffer &operator=(Buffer &&) noexcept;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer();

  uint64_t address() const { return address_; }
  uint64_t bytes() const { return bytes_; }
  /// Copies wait for everything before them on the device, and return when done.
  Status copyIn(const void *host, uint64_t bytes, uint64_t offset = 0);
  Status copyOut(void *host, uint64_t bytes, uint64_t offset = 0) const;

private:
  std::shared_ptr<rt::Backend> backend_;
  uint64_t address_ = 0, bytes_ = 0;
};

/// What the driver (or the assembler) says about a loaded kernel.
struct KernelResources {
  int registers = 0;
  int localBytes = 0;  ///< LOCAL_SIZE_BYTES: spills and stack.
  int sharedBytes = 0; ///< Dynamic, from the manifest.
  int blocksPerMultiprocessor = 0;
};

class RSSM_API Kernel {
public:
  Kernel(std::shared_ptr<rt::Backend> backend, std::unique_ptr<rt::KernelImpl> impl);
  Kernel(Kernel &&) noexcept;
  Kernel &operator=(Kernel &&) noexcept;
  ~Kernel();

  const KernelManifest &manifest() const;
  Result<KernelResources> resources() const;
  /// `args[i]` is the 8-byte value of manifest().args[i]; `rows` >= 0 (0 = nothing).
  /// `layers` is 1 but for a kernel compiled for many layers (manifest().isLayered()).
  /// Asynchronous on the GPU; the host device returns when the launch is done.
  Status launch(const std::vector<uint64_t> &args, uint32_t rows, uint32_t layers = 1);

private:
  std::shared_ptr<rt::Backend> backend_;
  std::unique_ptr<rt::KernelImpl> impl_;
};

/// Recorded launches. Keeps the code of its kernels loaded; the buffers that
/// they were given stay the caller's and must outlive every replay.
class RSSM_API Graph {
public:
  Graph(std::shared_ptr<rt::Backend> backend, void *handle);
  Graph(Graph &&) noexcept;
  Graph &operator=(Graph &&) noexcept;
  ~Graph();
  Status replay();
  void *handle() const { return handle_; }

private:
  friend class Device;
  std::shared_ptr<rt::Backend> backend_;
  void *handle_ = nullptr;
};

} // namespace replayssm
