//===- Engine.h - Runs a grid of device threads on the CPU ------*- C++ -*-===//
//
// Blocks run one after the other; the threads of a block are fibers that meet
// at barriers, shuffles and mbarriers. The first fault ends the launch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Runtime.h"
#include "runtime/host/BufferMap.h"
#include "runtime/host/Fiber.h"
#include "runtime/host/HostABI.h"
#include "runtime/host/Random.h"
#include "runtime/host/SharedMemory.h"

#include <array>
#include <vector>

namespace replayssm::rt {

struct HostLaunch {
  rssm_host_entry entry = nullptr;
  const KernelManifest *manifest = nullptr;
  const uint64_t *args = nullptr;
  uint32_t rows = 0, layers = 1;
};

/// One per backend; used from one OS thread at a time.
class Engine {
public:
  static constexpr uint32_t kWarpSize = 32;
  static constexpr uint32_t kMaxSharedBytes = 227 * 1024;
  static constexpr uint32_t kMaxAccessBytes = 16;

  explicit Engine(BufferMap &buffers) : buffers_(buffers) {}
  Status run(const HostLaunch &launch, const HostOptions &options);

  /// The engine whose device code runs on this OS thread. Every marker call
  /// reads it: the model costs one move, and one pointer fits the static block
  /// even of a library that is opened at run time.
  static constinit thread_local Engine *current __attribute__((tls_model("initial-exec")));

  // What device code calls, on the fiber of the calling thread.
  uint32_t specialRegister(uint32_t id) const;
  char *sharedBase() const { return shared_.base(); }
  void checkAccess(const void *address, uint32_t bytes, uint32_t space, bool isStore,
                   uint32_t site);
  void barrier(uint32_t site);
  enum class Shuffle : uint8_t { Bfly, Down };
  /// The values of all lanes, once the whole warp is here.
  const float *shuffle(Shuffle kind, float value, uint32_t site);
  /// The same of what lanes bring to an mma of this type.
  const rssm_host_mma_operands *gather(const rssm_host_mma_operands &own, uint32_t type, uint32_t site);
  uint32_t lane() const { return current_->id % kWarpSize; }
  void initMbarrier(const void *mbarrier, uint32_t count, uint32_t site);
  void fenceMbarriers() { shared_.fenceMbarriers(current_->id); }
  void expect(const void *mbarrier, uint32_t bytes, uint32_t site);
  void copyBulk(const void *dst, const void *src, uint32_t bytes, const void *mbarrier,
                uint32_t site);
  void waitMbarrier(const void *mbarrier, uint32_t parity, uint32_t site);
  /// A number that the kernel was given for this block's row; `name` is a site.
  void outOfRange(int32_t value, int32_t low, int32_t high, uint32_t name, uint32_t site);
  uint64_t perturbSeed() const { return options_.perturbSeed; }
  /// Ends the launch with a fault of the current thread. The fiber never resumes:
  /// temporaries of the caller that own memory are leaked.
  [[noreturn]] void fail(std::string what, uint32_t site);

private:
  enum class Wait : uint8_t { None, Shuffle, Mma, Barrier, Mbarrier, Exited };
  /// Where the lanes of a warp meet: all at one shuffle or mma, of one kind.
  struct Meeting {
    Wait wait = Wait::Shuffle;
    uint32_t kind = 0;
    bool operator==(const Meeting &) const = default;
    std::string name() const { return wait == Wait::Mma ? "an mma" : "a shuffle"; }
  };
  struct Thread {
    Fiber fiber;
    uint32_t id = 0;
    uint32_t site = 0;
    uint32_t mbarrier = 0; ///< Shared offset.
    Wait wait = Wait::None;
  };
  struct Warp {
    uint32_t runnable = 0, shuffling = 0, exited = 0; ///< One bit per lane.
    uint32_t generation = 0;
    uint32_t site = 0;
    Meeting kind;
    // Two, as a lane may enter the next shuffle while others still have to read.
    std::array<float, kWarpSize> values[2] = {};
    std::array<rssm_host_mma_operands, kWarpSize> operands[2] = {};
  };

  Status validate(const HostLaunch &launch) const;
  void runBlock(uint32_t x, uint32_t y, uint32_t z);
  void checkBlockEnd();
  static void threadMain();

  // Schedule.cpp
  void startThreads();
  void suspend(Wait wait, uint32_t site); ///< Returns when made runnable again.
  void leave();                           ///< The current thread has finished.
  Thread *pick();
  uint32_t enter(Meeting meeting, uint32_t site); ///< Of two sets of values the one for this meeting.
  void meet();                                    ///< Returns when the whole warp is there.
  void wake(uint32_t mbarrier);
  Warp &warp() { return warps_[current_->id / kWarpSize]; }
  uint32_t laneBit() const { return uint32_t(1) << lane(); }
  void deadlock();
  std::string describeWait(const Thread &thread) const;

  void checkShared(uintptr_t address, uint32_t bytes, bool isStore, uint32_t site);
  void checkGlobal(uintptr_t address, uint32_t bytes, bool isStore, uint32_t site);
  uint32_t mbarrierOffset(const void *mbarrier, uint32_t site);
  std::string describeGlobal(uintptr_t address, uint32_t bytes, bool isStore);
  std::string describeRace(GlobalConflict conflict) const;
  std::string blockName(uint32_t x, uint32_t y, uint32_t z) const;
  std::string nameOf(uint32_t site) const { return siteName(*launch_.manifest, site); }
  /// Keeps the first fault.
  void report(const std::string &what, uint32_t site, uint32_t thread);
  /// Leaves the block's fibers where they are and returns to runBlock.
  [[noreturn]] void abandon();

  BufferMap &buffers_;
  HostOptions options_;
  HostLaunch launch_;
  Status status_;

  FiberStacks stacks_;
  Fiber main_; ///< The OS thread, in runBlock.
  Thread *current_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  uint32_t exited_ = 0, atBarrier_ = 0, barrierSite_ = 0;
  uint32_t blockX_ = 0, blockY_ = 0, blockZ_ = 0;
  bool permuted_ = false;
  Random random_;

  SharedMemory shared_;
  GlobalClock clock_;
  struct BlockStart {
    uint64_t epoch;
    uint32_t x, y, z;
  };
  std::vector<BlockStart> blockStarts_; ///< Of this launch, for race reports.
  static constexpr uint32_t kSiteCache = 256;
  std::array<HostBuffer *, kSiteCache> lastBuffer_ = {}; ///< By site.
  std::vector<void *> argPointers_;
};

} // namespace replayssm::rt
