//===- Runtime.h - Devices, buffers, kernels --------------------*- C++ -*-===//
//
// Device is a shared handle (cheap to copy). Buffer, Kernel and Graph are
// move-only owners and keep their device alive. A device and all that belongs
// to it are used from one thread at a time; different devices are independent.
// No call on the launch path allocates or reads device data.
//
// Errors: InvalidArgument for what the caller can mend (the message says how);
// on a GPU a fault of a launch comes back from a later call, as Internal. Calls of
// a handle that was moved from are InvalidArgument; what returns no Status gives
// false, 0 or nothing of it.
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
  bool checkRanges = true;   ///< Cursors, lengths and positions: what a kernel would clamp.
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
  uint64_t l2Bytes() const;           ///< 0 on the host device.
  uint32_t multiprocessors() const;

  /// At least 1 byte, aligned to 16 or more, contents undefined; Exhausted when out of memory.
  Result<Buffer> allocate(uint64_t bytes);
  /// Loads one kernel of a module: PTX text or the bytes of a cubin; the driver's log is in
  /// the Status. GPU only: the host device has no code but Jit.h's (Unsupported).
  Result<Kernel> loadKernel(std::string_view code, const KernelManifest &manifest);
  /// Kernels of one module, at least one and each once, in the order of `manifests`: the driver
  /// gets it once, and keeps it until the last of them, and of the graphs that recorded one, goes.
  /// Where one cannot be loaded none is.
  Result<std::vector<Kernel>> loadKernels(std::string_view code,
                                          const std::vector<KernelManifest> &manifests);
  /// Waits for everything launched: the first call that sees all their faults.
  Status synchronize();
  HostOptions &hostOptions(); ///< Read at each launch; without effect on a GPU.

  /// Records the launches between begin and end, calls of one thread, instead of running them;
  /// copies, allocations, loads and waits are refused until then. A device has one stream of
  /// its own, which does not wait for other streams of the process, nor they for it.
  Status beginCapture();
  Result<Graph> endCapture();
  /// Milliseconds of device time of `graph`, of this device, replayed once. GPU only.
  Result<double> timeGraph(Graph &graph);

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

  uint64_t address() const { return address_; } ///< Of the device; what a launch takes.
  uint64_t bytes() const { return bytes_; }
  /// `bytes` at `offset`, which lie inside the buffer. Copies wait for everything before them on the device, and return when done.
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
  int blocksPerMultiprocessor = 0; ///< Resident at a time.
};

class RSSM_API Kernel {
public:
  Kernel(std::shared_ptr<rt::Backend> backend, std::unique_ptr<rt::KernelImpl> impl);
  Kernel(Kernel &&) noexcept;
  Kernel &operator=(Kernel &&) noexcept;
  ~Kernel();

  const KernelManifest &manifest() const; ///< Empty of a kernel that was moved from.
  Result<KernelResources> resources() const;
  /// `args[i]` is the 8-byte value of manifest().args[i]: the address of a buffer, any memory of
  /// the device's primary context; or a stride in elements. `rows` up to 65535 (0 = nothing).
  /// `layers` is 1 but for a kernel compiled for many layers (manifest().isLayered()).
  /// Null or misaligned arguments and strides below their manifest's min_elements are
  /// InvalidArgument, before anything runs; sizes of buffers are not known here.
  /// Asynchronous on the GPU, `args` may go at once; the host device returns when the launch
  /// is done, and what its checkers found is Internal.
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
  Status replay(); ///< Asynchronous as a launch.
  void *handle() const { return handle_; }

private:
  friend class Device;
  std::shared_ptr<rt::Backend> backend_;
  void *handle_ = nullptr;
};

} // namespace replayssm
