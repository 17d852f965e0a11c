//===- Schedule.cpp - Which device thread runs next -----------------------===//
//
// Lanes of a warp run round robin, so that a shuffle costs each lane one
// switch; a warp runs until none of its lanes can. With a schedule seed every
// choice is random instead.
//
//===----------------------------------------------------------------------===//

#include "runtime/host/Engine.h"

#include <bit>
#include <utility>

using namespace replayssm;
using namespace replayssm::rt;

static constexpr uint32_t kAllLanes = UINT32_MAX;

void Engine::startThreads() {
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    threads_[i] = Thread();
    threads_[i].id = i;
    threads_[i].fiber = stacks_.prepare(i, threadMain);
  }
  for (Warp &warp : warps_) {
    warp.runnable = kAllLanes;
    warp.shuffling = warp.exited = 0;
  }
  exited_ = atBarrier_ = 0;
  current_ = &threads_.front();
  if (permuted_)
    current_ = pick();
}

static uint32_t nthSetBit(uint32_t mask, uint32_t n) {
  while (n--)
    mask &= mask - 1;
  return std::countr_zero(mask);
}

/// A thread that can run, or null.
Engine::Thread *Engine::pick() {
  auto count = static_cast<uint32_t>(warps_.size());
  uint32_t index = current_->id / kWarpSize, after = current_->id % kWarpSize + 1;
  if (permuted_) {
    index = random_.below(count);
    after = 0;
  } else {
    // Lanes behind the current one first, then the warp's others.
    uint32_t behind = after == kWarpSize ? 0 : warps_[index].runnable >> after << after;
    if (behind)
      return &threads_[index * kWarpSize + std::countr_zero(behind)];
  }
  for (uint32_t step = 0; step < count; ++step, index = index + 1 == count ? 0 : index + 1) {
    uint32_t runnable = warps_[index].runnable;
    if (!runnable)
      continue;
    uint32_t lane = permuted_ ? nthSetBit(runnable, random_.below(std::popcount(runnable)))
                              : std::countr_zero(runnable);
    return &threads_[index * kWarpSize + lane];
  }
  return nullptr;
}

void Engine::suspend(Wait wait, uint32_t site) {
  Thread *self = current_;
  self->wait = wait;
  self->site = site;
  warp().runnable &= ~laneBit();
  Thread *next = pick();
  if (!next) {
    deadlock();
    abandon();
  }
  current_ = next;
  switchFiber(self->fiber, next->fiber);
}

void Engine::leave() {
  Warp &mine = warp();
  current_->wait = Wait::Exited;
  mine.runnable &= ~laneBit();
  mine.exited |= laneBit();
  ++exited_;
  if (exited_ != threads_.size()) {
    Thread *next = pick();
    if (next) {
      Thread *self = std::exchange(current_, next);
      leaveFiber(self->fiber, next->fiber);
    }
    deadlock();
  }
  abandon();
}

//===----------------------------------------------------------------------===//
// Meeting points
//===----------------------------------------------------------------------===//

void Engine::barrier(uint32_t site) {
  if (exited_)
    fail("barrier divergence: the thread waits at a barrier after " + std::to_string(exited_) +
             " threads of the block have finished",
         site);
  if (atBarrier_ && site != barrierSite_)
    fail("barrier divergence: other threads wait at another barrier (" + nameOf(barrierSite_) +
             ")",
         site);
  barrierSite_ = site;
  if (++atBarrier_ < threads_.size())
    return suspend(Wait::Barrier, site);
  atBarrier_ = 0;
  for (Warp &warp : warps_)
    warp.runnable = kAllLanes;
  shared_.barrier();
}

uint32_t Engine::enter(Meeting meeting, uint32_t site) {
  Warp &mine = warp();
  if (mine.exited)
    fail("warp divergence: the lane waits at " + meeting.name() + " after other lanes of its warp have "
         "finished",
         site);
  if (mine.shuffling && (mine.site != site || mine.kind != meeting))
    fail("warp divergence: other lanes of the warp wait at " +
             (mine.kind.wait == meeting.wait ? "another" + meeting.name().substr(meeting.name().find(' '))
                                             : mine.kind.name()) +
             " (" + nameOf(mine.site) + ")",
         site);
  mine.site = site;
  mine.kind = meeting;
  return mine.generation & 1;
}

void Engine::meet() {
  Warp &mine = warp();
  mine.shuffling |= laneBit();
  if (mine.shuffling != kAllLanes)
    return suspend(mine.kind.wait, mine.site);
  mine.shuffling = 0;
  ++mine.generation;
  mine.runnable = kAllLanes;
}

const float *Engine::shuffle(Shuffle kind, float value, uint32_t site) {
  auto &values = warp().values[enter({Wait::Shuffle, static_cast<uint32_t>(kind)}, site)];
  values[lane()] = value;
  meet();
  return values.data();
}

const rssm_host_mma_operands *Engine::gather(const rssm_host_mma_operands &own, uint32_t type, uint32_t site) {
  auto &operands = warp().operands[enter({Wait::Mma, type}, site)];
  operands[lane()] = own;
  meet();
  return operands.data();
}

void Engine::initMbarrier(const void *mbarrier, uint32_t count, uint32_t site) {
  uint32_t offset = mbarrierOffset(mbarrier, site);
  if (std::string wrong = shared_.initMbarrier(offset, count, current_->id, site); !wrong.empty())
    fail(std::move(wrong), site);
}

void Engine::expect(const void *mbarrier, uint32_t bytes, uint32_t site) {
  uint32_t offset = mbarrierOffset(mbarrier, site);
  if (std::string wrong = shared_.expect(offset, bytes, current_->id); !wrong.empty())
    fail(std::move(wrong), site);
  wake(offset);
}

/// Waiters look again; one whose phase is still incomplete suspends itself.
void Engine::wake(uint32_t mbarrier) {
  for (Thread &thread : threads_)
    if (thread.wait == Wait::Mbarrier && thread.mbarrier == mbarrier) {
      thread.wait = Wait::None;
      warps_[thread.id / kWarpSize].runnable |= uint32_t(1) << thread.id % kWarpSize;
    }
}

void Engine::waitMbarrier(const void *mbarrier, uint32_t parity, uint32_t site) {
  uint32_t offset = mbarrierOffset(mbarrier, site);
  while (true) {
    bool done = false;
    if (std::string wrong = shared_.wait(offset, parity, current_->id, done); !wrong.empty())
      fail(std::move(wrong), site);
    if (done)
      return;
    current_->mbarrier = offset;
    suspend(Wait::Mbarrier, site);
  }
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

std::string Engine::describeWait(const Thread &thread) const {
  std::string text = "thread " + std::to_string(thread.id);
  switch (thread.wait) {
  case Wait::Barrier:
    return text + " waits at a barrier (" + nameOf(thread.site) + ")";
  case Wait::Shuffle:
    return text + " waits at a shuffle (" + nameOf(thread.site) + ")";
  case Wait::Mma:
    return text + " waits at an mma (" + nameOf(thread.site) + ")";
  case Wait::Mbarrier:
    return text + " waits at an mbarrier (" + nameOf(thread.site) + ")";
  case Wait::Exited:
    return text + " has finished";
  case Wait::None:
    break;
  }
  return text + " can run";
}

/// Nothing can run: one wait of each kind tells how the block came apart.
void Engine::deadlock() {
  const Thread *first = nullptr;
  std::string others;
  bool seen[6] = {};
  for (const Thread &thread : threads_) {
    bool &known = seen[static_cast<size_t>(thread.wait)];
    if (known)
      continue;
    known = true;
    if (!first && thread.wait != Wait::Exited)
      first = &thread;
    others += (others.empty() ? "" : ", ") + describeWait(thread);
  }
  std::string text = "deadlock: " + others;
  for (const Thread &thread : threads_)
    if (thread.wait == Wait::Mbarrier) {
      if (const Mbarrier *mbarrier = shared_.findMbarrier(thread.mbarrier))
        text += "; the " + shared_.describe(*mbarrier);
      first = &thread;
      break;
    }
  report(text, first->site, first->id);
}
