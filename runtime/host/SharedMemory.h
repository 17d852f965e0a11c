//===- SharedMemory.h - Shared memory of the running block ------*- C++ -*-===//
//
// The bytes, their shadow (who wrote and read each byte since the last
// barrier), the mbarriers in them and the bulk copies on their way to them.
//
// A stamp is `epoch << 11 | who`: `who` is a thread, or a tag for the phase of
// an mbarrier whose copy wrote the byte. Epochs count barriers and run on over
// blocks, so that nothing is cleared between blocks. Bytes of a copy that no
// thread has waited for carry the last epoch of all: unordered with everything.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace replayssm::rt {

/// What the manifest calls a site.
std::string siteName(const KernelManifest &manifest, uint32_t site);

struct Mbarrier {
  uint32_t offset = 0;
  uint32_t count = 0;   ///< Arrivals per phase.
  uint32_t pending = 0; ///< Arrivals missing in this phase.
  uint64_t expected = 0, issued = 0; ///< Bytes in this phase.
  uint32_t phase = 0;   ///< Completed phases.
  uint32_t tag = 0;     ///< Stamp tag of this phase's copies, 0 = none yet.
  uint32_t initThread = 0;
  bool fenced = false;
  std::vector<uint32_t> observed; ///< Per thread: phases that it saw complete.
};

struct BulkCopy {
  uint32_t offset = 0, bytes = 0;
  const void *source = nullptr;
  uint32_t mbarrier = 0, phase = 0, tag = 0;
  uint32_t thread = 0, site = 0;
};

class SharedMemory {
public:
  static constexpr uint32_t kMaxThreads = 1024;

  SharedMemory() = default;
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;
  ~SharedMemory();

  /// Room for one block; false when memory is exhausted.
  bool reserve(uint32_t bytes, uint32_t threads);
  /// Poisons the bytes and forgets mbarriers.
  void beginBlock(const HostOptions &options, const KernelManifest &manifest);
  void barrier();

  char *base() const { return base_; }
  uint32_t bytes() const { return bytes_; }

  /// Checks and records an access inside the block's bytes. False = a fault,
  /// which `explain` then describes.
  bool load(uint32_t offset, uint32_t bytes, uint32_t thread, uint32_t site);
  bool store(uint32_t offset, uint32_t bytes, uint32_t thread, uint32_t site);
  std::string explain(uint32_t offset, uint32_t bytes, uint32_t thread, bool isStore) const;

  // Asynchronous copies (Mbarrier.cpp). Each returns what is wrong, or nothing.
  std::string initMbarrier(uint32_t offset, uint32_t count, uint32_t thread, uint32_t site);
  void fenceMbarriers(uint32_t thread);
  std::string expect(uint32_t offset, uint32_t bytes, uint32_t thread);
  std::string copy(const BulkCopy &request, uint32_t mbarrierOffset);
  /// Whether `thread` may go on; on success the phase's bytes have landed.
  std::string wait(uint32_t offset, uint32_t parity, uint32_t thread, bool &done);
  /// Copies that the block leaves behind; null = none.
  const BulkCopy *unfinishedCopy() const;
  const Mbarrier *unfinishedPhase() const;
  std::string describe(const Mbarrier &mbarrier) const;
  const Mbarrier *findMbarrier(uint32_t offset) const;

private:
  static constexpr unsigned kWhoBits = 11;
  static constexpr int32_t kTick = 1 << kWhoBits;
  static constexpr int32_t kMany = kTick - 1;      ///< Several threads read.
  static constexpr int32_t kInFlight = INT32_MAX - kMany;
  static constexpr uint32_t kFirstTag = kMaxThreads;
  static constexpr uint32_t kTags = kMany - kFirstTag;
  struct PhaseTag {
    uint32_t mbarrier = 0, phase = 0;
  };

  template <uint32_t N>
  bool loadFixed(uint32_t offset, int32_t mine, uint16_t site);
  template <uint32_t N>
  bool storeFixed(uint32_t offset, int32_t mine, uint16_t site);
  bool ordered(int32_t writer, uint32_t thread) const;
  bool loadSlow(uint32_t offset, uint32_t bytes, uint32_t thread) const;
  bool storeSlow(uint32_t offset, uint32_t bytes, uint32_t thread) const;
  bool touchesMbarrier(uint32_t offset, uint32_t bytes) const;
  void mark(uint32_t offset, uint32_t bytes, int32_t stamp, uint32_t site);
  void rebase();
  std::string use(uint32_t offset, uint32_t thread, const char *what, Mbarrier *&result);
  std::string completeIfReady(Mbarrier &mbarrier);
  void land(uint32_t mbarrier, uint32_t phases);

  char *base_ = nullptr;
  uint32_t bytes_ = 0, threads_ = 0;
  bool races_ = true, poison_ = true;
  HostOptions::Landing landing_ = HostOptions::Landing::AtWait;

  std::vector<int32_t> writes_, reads_; ///< One stamp per byte.
  std::vector<uint16_t> writeSites_, readSites_; ///< Of the stamps, for reports.
  const KernelManifest *manifest_ = nullptr;
  int32_t blockBase_ = kTick, epochBase_ = kTick;

  std::vector<Mbarrier> mbarriers_;
  std::vector<BulkCopy> copies_; ///< Issued, not yet waited for.
  std::vector<PhaseTag> tags_;
  uint32_t nextTag_ = 0;
};

} // namespace replayssm::rt
