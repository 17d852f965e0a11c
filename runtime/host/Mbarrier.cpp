//===- Mbarrier.cpp - Bulk copies and the mbarriers that count them -------===//
//
// A phase completes when its arrivals and its bytes are all there; the bytes
// land when they are issued or when a thread waits, as the options say.
//
//===----------------------------------------------------------------------===//

#include "runtime/host/SharedMemory.h"

#include <algorithm>
#include <cstring>

using namespace replayssm;
using namespace replayssm::rt;

static constexpr uint32_t kMbarrierBytes = 8;
static constexpr int kPoison = 0xFF;

const Mbarrier *SharedMemory::findMbarrier(uint32_t offset) const {
  for (const Mbarrier &mbarrier : mbarriers_)
    if (mbarrier.offset == offset)
      return &mbarrier;
  return nullptr;
}

std::string SharedMemory::describe(const Mbarrier &mbarrier) const {
  return "mbarrier at offset " + std::to_string(mbarrier.offset) + " has " +
         std::to_string(mbarrier.count - mbarrier.pending) + " of " +
         std::to_string(mbarrier.count) + " arrivals, expected " +
         std::to_string(mbarrier.expected) + " bytes but got " +
         std::to_string(mbarrier.issued);
}

std::string SharedMemory::initMbarrier(uint32_t offset, uint32_t count, uint32_t thread,
                                       uint32_t site) {
  if (findMbarrier(offset))
    return "mbarrier at offset " + std::to_string(offset) + " is initialised twice";
  if (count == 0)
    return "mbarrier at offset " + std::to_string(offset) + " expects no arrival";
  if (!store(offset, kMbarrierBytes, thread, site))
    return explain(offset, kMbarrierBytes, thread, /*isStore=*/true);
  Mbarrier mbarrier;
  mbarrier.offset = offset;
  mbarrier.count = mbarrier.pending = count;
  mbarrier.initThread = thread;
  mbarrier.observed.assign(threads_, 0);
  mbarriers_.push_back(std::move(mbarrier));
  return {};
}

void SharedMemory::fenceMbarriers(uint32_t thread) {
  for (Mbarrier &mbarrier : mbarriers_)
    if (mbarrier.initThread == thread)
      mbarrier.fenced = true;
}

/// The mbarrier at `offset`, when its initialisation is ordered before now.
std::string SharedMemory::use(uint32_t offset, uint32_t thread, const char *what,
                              Mbarrier *&result) {
  auto found = std::find_if(mbarriers_.begin(), mbarriers_.end(),
                            [&](const Mbarrier &m) { return m.offset == offset; });
  if (found == mbarriers_.end())
    return std::string(what) + " uses shared offset " + std::to_string(offset) +
           ", where no mbarrier was initialised";
  if (found->initThread != thread && races_ && writes_[offset] >= epochBase_)
    return std::string(what) + " races with the mbarrier's initialisation by thread " +
           std::to_string(found->initThread) + ": no barrier between them";
  result = &*found;
  return {};
}

std::string SharedMemory::completeIfReady(Mbarrier &mbarrier) {
  if (mbarrier.pending != 0)
    return {};
  if (mbarrier.issued > mbarrier.expected)
    return describe(mbarrier);
  if (mbarrier.issued < mbarrier.expected)
    return {};
  ++mbarrier.phase;
  mbarrier.pending = mbarrier.count;
  mbarrier.expected = mbarrier.issued = 0;
  mbarrier.tag = 0;
  return {};
}

std::string SharedMemory::expect(uint32_t offset, uint32_t bytes, uint32_t thread) {
  Mbarrier *mbarrier = nullptr;
  if (std::string wrong = use(offset, thread, "mbarrier arrival", mbarrier); !wrong.empty())
    return wrong;
  if (mbarrier->pending == 0)
    return "arrival at an mbarrier that has all " + std::to_string(mbarrier->count) +
           " arrivals of its phase";
  --mbarrier->pending;
  mbarrier->expected += bytes;
  return completeIfReady(*mbarrier);
}

std::string SharedMemory::copy(const BulkCopy &request, uint32_t mbarrierOffset) {
  Mbarrier *mbarrier = nullptr;
  if (std::string wrong = use(mbarrierOffset, request.thread, "async copy", mbarrier);
      !wrong.empty())
    return wrong;
  if (!mbarrier->fenced)
    return "async copy uses an mbarrier with no init fence after its initialisation";
  if (touchesMbarrier(request.offset, request.bytes))
    return "async copy overwrites an mbarrier";
  if ((races_ || poison_) && !storeSlow(request.offset, request.bytes, request.thread))
    return "async copy: " +
           explain(request.offset, request.bytes, request.thread, /*isStore=*/true);
  if (mbarrier->tag == 0) {
    uint32_t index = nextTag_++ % kTags;
    tags_[index] = {static_cast<uint32_t>(mbarrier - mbarriers_.data()), mbarrier->phase};
    mbarrier->tag = kFirstTag + index;
  }
  BulkCopy copy = request;
  copy.mbarrier = static_cast<uint32_t>(mbarrier - mbarriers_.data());
  copy.phase = mbarrier->phase;
  copy.tag = mbarrier->tag;
  mark(copy.offset, copy.bytes, static_cast<int32_t>(kInFlight + copy.tag), copy.site);
  if (landing_ == HostOptions::Landing::AtIssue)
    std::memcpy(base_ + copy.offset, copy.source, copy.bytes);
  else
    std::memset(base_ + copy.offset, kPoison, copy.bytes);
  copies_.push_back(copy);
  mbarrier->issued += copy.bytes;
  return completeIfReady(*mbarrier);
}

/// Copies of the first `phases` phases become visible to whoever waited.
void SharedMemory::land(uint32_t mbarrier, uint32_t phases) {
  auto landed = [&](const BulkCopy &copy) {
    if (copy.mbarrier != mbarrier || copy.phase >= phases)
      return false;
    if (landing_ == HostOptions::Landing::AtWait)
      std::memcpy(base_ + copy.offset, copy.source, copy.bytes);
    mark(copy.offset, copy.bytes, static_cast<int32_t>(epochBase_ + copy.tag), copy.site);
    return true;
  };
  copies_.erase(std::remove_if(copies_.begin(), copies_.end(), landed), copies_.end());
}

std::string SharedMemory::wait(uint32_t offset, uint32_t parity, uint32_t thread, bool &done) {
  Mbarrier *mbarrier = nullptr;
  if (std::string wrong = use(offset, thread, "mbarrier wait", mbarrier); !wrong.empty())
    return wrong;
  done = (mbarrier->phase & 1) != (parity & 1);
  if (done) {
    land(static_cast<uint32_t>(mbarrier - mbarriers_.data()), mbarrier->phase);
    mbarrier->observed[thread] = mbarrier->phase;
  }
  return {};
}

const BulkCopy *SharedMemory::unfinishedCopy() const {
  return copies_.empty() ? nullptr : &copies_.front();
}

const Mbarrier *SharedMemory::unfinishedPhase() const {
  for (const Mbarrier &mbarrier : mbarriers_)
    if (mbarrier.pending != mbarrier.count || mbarrier.issued != 0)
      return &mbarrier;
  return nullptr;
}
