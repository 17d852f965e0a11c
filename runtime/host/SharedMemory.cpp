//===- SharedMemory.cpp - Shared memory of the running block --------------===//
//
// The per-byte shadow: uninitialised reads and races between barriers.
//
//===----------------------------------------------------------------------===//

#include "runtime/host/SharedMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

using namespace replayssm;
using namespace replayssm::rt;

static constexpr size_t kAlignment = 1024;
static constexpr int kPoison = 0xFF; // NaN in every float type

std::string replayssm::rt::siteName(const KernelManifest &manifest, uint32_t site) {
  return site < manifest.sites.size() ? manifest.sites[site] : "site " + std::to_string(site);
}

SharedMemory::~SharedMemory() { std::free(base_); }

bool SharedMemory::reserve(uint32_t bytes, uint32_t threads) {
  threads_ = threads;
  if (base_ && bytes <= writes_.size()) {
    bytes_ = bytes;
    return true;
  }
  std::free(base_);
  size_t total = (size_t(bytes) + kAlignment) / kAlignment * kAlignment;
  base_ = static_cast<char *>(std::aligned_alloc(kAlignment, total));
  if (!base_)
    return false;
  bytes_ = bytes;
  writes_.assign(bytes, 0);
  reads_.assign(bytes, 0);
  writeSites_.assign(bytes, 0);
  readSites_.assign(bytes, 0);
  return true;
}

void SharedMemory::beginBlock(const HostOptions &options, const KernelManifest &manifest) {
  manifest_ = &manifest;
  races_ = options.checkRaces;
  poison_ = options.poisonShared;
  landing_ = options.landing;
  std::memset(base_, kPoison, bytes_);
  for (const BulkCopy &copy : copies_) // left by a block that ended in a fault
    std::fill_n(writes_.begin() + copy.offset, copy.bytes, 0);
  mbarriers_.clear();
  copies_.clear();
  tags_.assign(kTags, PhaseTag());
  nextTag_ = 0;
  barrier();
  blockBase_ = epochBase_;
}

void SharedMemory::barrier() {
  epochBase_ += kTick;
  if (epochBase_ >= kInFlight - kTick)
    rebase();
}

/// Starts epochs anew when they run out; every earlier access is ordered now.
void SharedMemory::rebase() {
  for (int32_t &stamp : writes_)
    if (stamp < kInFlight)
      stamp = stamp >= blockBase_ ? kTick : 0;
  std::fill(reads_.begin(), reads_.end(), 0);
  blockBase_ = kTick;
  epochBase_ = 2 * kTick;
}

//===----------------------------------------------------------------------===//
// Fast path: branch-free over the bytes of one access
//===----------------------------------------------------------------------===//

template <uint32_t N>
bool SharedMemory::loadFixed(uint32_t offset, int32_t mine, uint16_t site) {
  const int32_t *writes = writes_.data() + offset;
  int32_t *reads = reads_.data() + offset;
  int32_t block = blockBase_, epoch = epochBase_, many = epoch + kMany, bad = 0;
  for (uint32_t i = 0; i < N; ++i) {
    bad |= (writes[i] < block) | ((writes[i] >= epoch) & (writes[i] != mine));
    reads[i] = ((reads[i] < epoch) | (reads[i] == mine)) ? mine : many;
  }
  for (uint32_t i = 0; i < N; ++i)
    readSites_[offset + i] = site;
  return !bad;
}

template <uint32_t N>
bool SharedMemory::storeFixed(uint32_t offset, int32_t mine, uint16_t site) {
  int32_t *writes = writes_.data() + offset;
  const int32_t *reads = reads_.data() + offset;
  int32_t epoch = epochBase_, bad = 0;
  for (uint32_t i = 0; i < N; ++i) {
    bad |= (writes[i] >= epoch) & (writes[i] != mine);
    bad |= (reads[i] >= epoch) & (reads[i] != mine);
  }
  if (bad)
    return false;
  for (uint32_t i = 0; i < N; ++i)
    writes[i] = mine;
  for (uint32_t i = 0; i < N; ++i)
    writeSites_[offset + i] = site;
  return true;
}

void SharedMemory::mark(uint32_t offset, uint32_t bytes, int32_t stamp, uint32_t site) {
  std::fill_n(writes_.begin() + offset, bytes, stamp);
  std::fill_n(writeSites_.begin() + offset, bytes, static_cast<uint16_t>(site));
}

/// Calls `access(width, offset)` with the width as a constant; odd widths by bytes.
template <typename F>
static bool byWidth(uint32_t offset, uint32_t bytes, F access) {
  switch (bytes) {
  case 2:
    return access(std::integral_constant<uint32_t, 2>(), offset);
  case 4:
    return access(std::integral_constant<uint32_t, 4>(), offset);
  case 8:
    return access(std::integral_constant<uint32_t, 8>(), offset);
  case 16:
    return access(std::integral_constant<uint32_t, 16>(), offset);
  }
  bool good = true;
  for (uint32_t i = 0; i < bytes; ++i)
    good &= access(std::integral_constant<uint32_t, 1>(), offset + i);
  return good;
}

bool SharedMemory::load(uint32_t offset, uint32_t bytes, uint32_t thread, uint32_t site) {
  if (!races_ && !poison_)
    return true;
  auto mine = static_cast<int32_t>(epochBase_ + thread);
  bool good = byWidth(offset, bytes, [&](auto width, uint32_t at) {
    return loadFixed<width>(at, mine, site);
  });
  return (good || loadSlow(offset, bytes, thread)) && !touchesMbarrier(offset, bytes);
}

bool SharedMemory::store(uint32_t offset, uint32_t bytes, uint32_t thread, uint32_t site) {
  if (!races_ && !poison_)
    return true;
  auto mine = static_cast<int32_t>(epochBase_ + thread);
  bool good = byWidth(offset, bytes, [&](auto width, uint32_t at) {
    return storeFixed<width>(at, mine, site);
  });
  if (touchesMbarrier(offset, bytes))
    return false;
  if (good)
    return true;
  if (!storeSlow(offset, bytes, thread))
    return false;
  mark(offset, bytes, mine, site);
  return true;
}

//===----------------------------------------------------------------------===//
// Slow path: what the options ask for, and bytes that a copy brought
//===----------------------------------------------------------------------===//

/// Whether the last write is ordered before an access of `thread` now.
bool SharedMemory::ordered(int32_t writer, uint32_t thread) const {
  if (writer < epochBase_)
    return true;
  uint32_t who = writer & kMany;
  if (writer >= kInFlight)
    return false;
  if (who < kFirstTag)
    return who == thread || !races_;
  const PhaseTag &tag = tags_[who - kFirstTag];
  return mbarriers_[tag.mbarrier].observed[thread] > tag.phase;
}

bool SharedMemory::loadSlow(uint32_t offset, uint32_t bytes, uint32_t thread) const {
  int32_t known = -1; // Bytes of one access mostly share their writer.
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    int32_t writer = writes_[i];
    if (writer == known)
      continue;
    if ((poison_ && writer < blockBase_) || !ordered(writer, thread))
      return false;
    known = writer;
  }
  return true;
}

bool SharedMemory::storeSlow(uint32_t offset, uint32_t bytes, uint32_t thread) const {
  int32_t mine = static_cast<int32_t>(epochBase_ + thread);
  for (uint32_t i = offset; i < offset + bytes; ++i)
    if (!ordered(writes_[i], thread) ||
        (races_ && reads_[i] >= epochBase_ && reads_[i] != mine))
      return false;
  return true;
}

bool SharedMemory::touchesMbarrier(uint32_t offset, uint32_t bytes) const {
  for (const Mbarrier &mbarrier : mbarriers_)
    if (offset < mbarrier.offset + 8 && mbarrier.offset < offset + bytes)
      return true;
  return false;
}

static std::string threadName(int32_t who, int32_t many) {
  return who == many ? "other threads" : "thread " + std::to_string(who);
}

std::string SharedMemory::explain(uint32_t offset, uint32_t bytes, uint32_t thread,
                                  bool isStore) const {
  std::string access = "shared " + std::string(isStore ? "store" : "load") + " of " +
                       std::to_string(bytes) + " bytes at offset " + std::to_string(offset);
  if (touchesMbarrier(offset, bytes))
    return access + " touches an mbarrier";
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    std::string byte = i == offset ? "" : " (at byte " + std::to_string(i - offset) + ")";
    int32_t writer = writes_[i], reader = reads_[i], who = writer & kMany;
    std::string writeSite = " (" + siteName(*manifest_, writeSites_[i]) + ")";
    if (!isStore && poison_ && writer < blockBase_)
      return access + " reads shared memory that nothing has written" + byte;
    if (!ordered(writer, thread)) {
      if (writer >= kInFlight)
        return access + " meets an async copy" + writeSite + " that no thread has waited for" +
               byte;
      if (static_cast<uint32_t>(who) >= kFirstTag)
        return access + " meets an async copy" + writeSite +
               " that this thread has not waited for" + byte;
      return access + " races with a store by " + threadName(who, kMany) + writeSite +
             ": no barrier between them" + byte;
    }
    if (isStore && races_ && reader >= epochBase_ &&
        reader != static_cast<int32_t>(epochBase_ + thread))
      return access + " races with a load by " + threadName(reader & kMany, kMany) +
             " (" + siteName(*manifest_, readSites_[i]) + "): no barrier between them" + byte;
  }
  return access;
}
