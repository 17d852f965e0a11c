//===- BufferMap.h - Live buffers and who touched them ----------*- C++ -*-===//
//
// Global memory of the host device: registered buffers between unregistered
// gaps, each with a lazily made shadow of its last readers and writers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace replayssm::rt {

/// Times of the global shadow. A stamp is `epoch << 27 | thread << 16 | site`;
/// every block is an epoch, and epochs go on over launches, so that older
/// launches need no clearing. Threads of one block do not race here: uniform
/// loads that one thread then overwrites are common and harmless.
struct GlobalClock {
  static constexpr unsigned kThreadBits = 11, kSiteBits = 16;
  static constexpr uint64_t kTick = uint64_t(1) << (kThreadBits + kSiteBits);

  /// No block has the epoch of the launch itself: it stands for several.
  uint64_t launchBase = kTick, blockBase = kTick;

  void beginLaunch() { launchBase = blockBase += kTick; }
  void beginBlock() { blockBase += kTick; }
  uint64_t stamp(uint32_t thread, uint32_t site) const {
    return blockBase | uint64_t(thread) << kSiteBits | (site & ((1 << kSiteBits) - 1));
  }
  bool byOtherBlock(uint64_t stamp) const { return stamp >= launchBase && stamp < blockBase; }

  static uint64_t epoch(uint64_t stamp) { return stamp & ~(kTick - 1); }
  static uint32_t thread(uint64_t stamp) {
    return (stamp >> kSiteBits) & ((1 << kThreadBits) - 1);
  }
  static uint32_t site(uint64_t stamp) { return stamp & ((1 << kSiteBits) - 1); }
};

/// Two accesses of different blocks: the stamp of the earlier one.
struct GlobalConflict {
  uint64_t stamp = 0; ///< 0 = none.
  bool earlierWrites = false;
};

class GlobalShadow {
public:
  /// False when memory is exhausted. `bytes` is the buffer's size.
  bool prepare(uint64_t bufferBytes, uint64_t offset, uint32_t bytes) {
    uint64_t inGranule = (uint64_t(1) << granuleLog2_) - 1;
    return (((offset | bytes) & inGranule) == 0 && reads_) || split(bufferBytes, offset | bytes);
  }
  GlobalConflict load(uint64_t offset, uint32_t bytes, const GlobalClock &clock, uint32_t thread,
                      uint32_t site);
  GlobalConflict store(uint64_t offset, uint32_t bytes, const GlobalClock &clock,
                       uint32_t thread, uint32_t site);

private:
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  using Stamps = std::unique_ptr<uint64_t[], Free>;
  /// Makes granules at least as fine as the lowest set bit of `extent`.
  bool split(uint64_t bufferBytes, uint64_t extent);

  /// Accesses are naturally aligned, so granules as wide as the narrowest
  /// access seen are exact; a narrower one splits them.
  unsigned granuleLog2_ = 4;
  Stamps writes_, reads_;
};

struct HostBuffer {
  uintptr_t base = 0;
  uint64_t bytes = 0;
  void *storage = nullptr;
  uint64_t mapped = 0; ///< Bytes of a mapping; 0 = of the heap.
  GlobalShadow shadow;

  bool contains(uintptr_t address, uint64_t size) const {
    return address - base <= bytes && size <= bytes - (address - base);
  }
};

class BufferMap {
public:
  BufferMap() = default;
  BufferMap(const BufferMap &) = delete;
  BufferMap &operator=(const BufferMap &) = delete;
  ~BufferMap();

  /// A poisoned buffer, or null when memory is exhausted. One of 1 GiB and more is
  /// zeros, of which only the pages that are touched take memory.
  HostBuffer *allocate(uint64_t bytes);
  /// False when no buffer starts at `base`.
  bool free(uintptr_t base);
  /// The buffer that holds `address`, or null.
  HostBuffer *find(uintptr_t address);
  /// The buffer at the least distance from `address`, or null.
  HostBuffer *nearest(uintptr_t address);

private:
  static void release(HostBuffer &buffer);
  std::vector<std::unique_ptr<HostBuffer>> buffers_; ///< Sorted by base.
};

} // namespace replayssm::rt
