//===- BufferMap.cpp - Live buffers and who touched them ------------------===//
//
// Registration of global memory and its race shadow.
//
//===----------------------------------------------------------------------===//

#include "runtime/host/BufferMap.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <sys/mman.h>

using namespace replayssm::rt;

static constexpr uint64_t kAlignment = 256;
/// Wide enough that an index that is off by a row of a tile lands in a gap.
static constexpr uint64_t kGapBytes = 4096;
static constexpr int kPoison = 0xFF; // NaN in every float type
static constexpr uint64_t kSparseBytes = uint64_t(1) << 30;

//===----------------------------------------------------------------------===//
// Shadow
//===----------------------------------------------------------------------===//

static uint64_t granules(uint64_t bytes, unsigned log2) {
  return (bytes + (uint64_t(1) << log2) - 1) >> log2;
}

bool GlobalShadow::split(uint64_t bufferBytes, uint64_t extent) {
  unsigned log2 = std::min<unsigned>(granuleLog2_, std::countr_zero(extent));
  uint64_t count = std::max<uint64_t>(granules(bufferBytes, log2), 1);
  auto grow = [&](Stamps &stamps) {
    // calloc: untouched pages of a large buffer's shadow cost nothing.
    Stamps wider(static_cast<uint64_t *>(std::calloc(count, sizeof(uint64_t))));
    if (!wider)
      return false;
    if (stamps)
      for (uint64_t i = 0; i < count; ++i)
        wider[i] = stamps[i >> (granuleLog2_ - log2)];
    stamps = std::move(wider);
    return true;
  };
  if (!grow(writes_) || !grow(reads_))
    return false;
  granuleLog2_ = log2;
  return true;
}

GlobalConflict GlobalShadow::load(uint64_t offset, uint32_t bytes, const GlobalClock &clock,
                                  uint32_t thread, uint32_t site) {
  uint64_t mine = clock.stamp(thread, site);
  uint64_t end = granules(offset + bytes, granuleLog2_);
  for (uint64_t i = offset >> granuleLog2_; i < end; ++i) {
    if (clock.byOtherBlock(writes_[i]))
      return {writes_[i], true};
    bool several = clock.byOtherBlock(reads_[i]);
    reads_[i] = several ? mine - clock.blockBase + clock.launchBase : mine;
  }
  return {};
}

GlobalConflict GlobalShadow::store(uint64_t offset, uint32_t bytes, const GlobalClock &clock,
                                   uint32_t thread, uint32_t site) {
  uint64_t mine = clock.stamp(thread, site);
  uint64_t end = granules(offset + bytes, granuleLog2_);
  for (uint64_t i = offset >> granuleLog2_; i < end; ++i) {
    if (clock.byOtherBlock(writes_[i]))
      return {writes_[i], true};
    if (clock.byOtherBlock(reads_[i]))
      return {reads_[i], false};
    writes_[i] = mine;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

BufferMap::~BufferMap() {
  for (auto &buffer : buffers_)
    release(*buffer);
}

void BufferMap::release(HostBuffer &buffer) {
  if (buffer.mapped)
    munmap(buffer.storage, buffer.mapped);
  else
    std::free(buffer.storage);
}

HostBuffer *BufferMap::allocate(uint64_t bytes) {
  constexpr uint64_t overhead = 2 * kGapBytes + kAlignment;
  if (bytes > std::numeric_limits<uint64_t>::max() / 2 - overhead)
    return nullptr;
  uint64_t total = (bytes + overhead) / kAlignment * kAlignment;
  auto buffer = std::make_unique<HostBuffer>();
  void *storage = nullptr;
  if (bytes >= kSparseBytes) {
    storage = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (storage == MAP_FAILED)
      return nullptr;
    buffer->mapped = total;
  } else {
    storage = std::aligned_alloc(kAlignment, total);
    if (!storage)
      return nullptr;
    std::memset(storage, kPoison, total);
  }
  buffer->base = reinterpret_cast<uintptr_t>(storage) + kGapBytes;
  buffer->bytes = bytes;
  buffer->storage = storage;
  auto place = std::upper_bound(
      buffers_.begin(), buffers_.end(), buffer->base,
      [](uintptr_t base, const auto &other) { return base < other->base; });
  return buffers_.insert(place, std::move(buffer))->get();
}

bool BufferMap::free(uintptr_t base) {
  for (auto it = buffers_.begin(); it != buffers_.end(); ++it)
    if ((*it)->base == base) {
      release(**it);
      buffers_.erase(it);
      return true;
    }
  return false;
}

HostBuffer *BufferMap::find(uintptr_t address) {
  auto after = std::upper_bound(
      buffers_.begin(), buffers_.end(), address,
      [](uintptr_t value, const auto &buffer) { return value < buffer->base; });
  if (after == buffers_.begin())
    return nullptr;
  HostBuffer *buffer = std::prev(after)->get();
  return address - buffer->base < buffer->bytes ? buffer : nullptr;
}

HostBuffer *BufferMap::nearest(uintptr_t address) {
  HostBuffer *best = nullptr;
  uintptr_t least = std::numeric_limits<uintptr_t>::max();
  for (auto &buffer : buffers_) {
    uintptr_t end = buffer->base + buffer->bytes;
    uintptr_t distance = address < buffer->base ? buffer->base - address
                         : address >= end       ? address - end
                                                : 0;
    if (distance < least) {
      least = distance;
      best = buffer.get();
    }
  }
  return best;
}
