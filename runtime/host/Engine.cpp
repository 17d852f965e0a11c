//===- Engine.cpp - Runs a grid of device threads on the CPU --------------===//
//
// The loop over blocks, the checks of memory accesses, and fault reports.
//
//===----------------------------------------------------------------------===//

#include "runtime/host/Engine.h"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

using namespace replayssm;
using namespace replayssm::rt;

constinit thread_local Engine *Engine::current = nullptr;

//===----------------------------------------------------------------------===//
// Grid
//===----------------------------------------------------------------------===//

Status Engine::validate(const HostLaunch &launch) const {
  const KernelManifest &manifest = *launch.manifest;
  auto invalid = [&](const std::string &what) {
    return Status(StatusCode::InvalidArgument, "kernel '" + manifest.name + "': " + what);
  };
  if (manifest.threads == 0 || manifest.threads % kWarpSize ||
      manifest.threads > SharedMemory::kMaxThreads)
    return invalid("expected threads to be a multiple of 32 up to 1024 but got " +
                   std::to_string(manifest.threads));
  if (manifest.blocksPerRow == 0)
    return invalid("expected at least one block per row but got 0");
  if (manifest.sharedBytes > kMaxSharedBytes)
    return invalid("expected at most " + std::to_string(kMaxSharedBytes) +
                   " bytes of shared memory but got " + std::to_string(manifest.sharedBytes));
  return {};
}

Status Engine::run(const HostLaunch &launch, const HostOptions &options) {
  RSSM_RETURN_IF_ERROR(validate(launch));
  const KernelManifest &manifest = *launch.manifest;
  launch_ = launch;
  options_ = options;
  status_ = {};
  lastBuffer_.fill(nullptr); // Buffers may have been freed since.
  threads_.resize(manifest.threads);
  warps_.resize(manifest.threads / kWarpSize);
  if (!stacks_.reserve(manifest.threads) ||
      !shared_.reserve(manifest.sharedBytes, manifest.threads))
    return {StatusCode::Exhausted, "no memory for the threads of kernel '" + manifest.name + "'"};
  argPointers_.clear();
  for (size_t i = 0; i < manifest.args.size(); ++i)
    argPointers_.push_back(const_cast<uint64_t *>(launch.args + i));

  permuted_ = options.scheduleSeed != 0;
  random_ = Random(options.scheduleSeed);
  uint64_t perLayer = uint64_t(manifest.blocksPerRow) * launch.rows, blocks = perLayer * launch.layers;
  std::unique_ptr<uint64_t[]> order;
  if (permuted_) {
    if (blocks <= SIZE_MAX / sizeof(uint64_t))
      order.reset(new (std::nothrow) uint64_t[blocks]);
    if (!order)
      return {StatusCode::Exhausted, "no memory to permute the " + std::to_string(blocks) +
                                         " blocks of kernel '" + manifest.name + "'"};
    std::iota(order.get(), order.get() + blocks, 0);
    for (uint64_t i = blocks; i > 1; --i)
      std::swap(order[i - 1], order[random_.next() % i]);
  }

  blockStarts_.clear();
  clock_.beginLaunch();
  Engine *outer = std::exchange(current, this);
  for (uint64_t i = 0; i < blocks && status_; ++i) {
    uint64_t block = permuted_ ? order[i] : i;
    uint64_t inLayer = block % perLayer;
    runBlock(inLayer % manifest.blocksPerRow, inLayer / manifest.blocksPerRow, block / perLayer);
  }
  current = outer;
  return status_;
}

void Engine::runBlock(uint32_t x, uint32_t y, uint32_t z) {
  blockX_ = x;
  blockY_ = y;
  blockZ_ = z;
  clock_.beginBlock();
  if (options_.checkRaces)
    blockStarts_.push_back({clock_.blockBase, x, y, z});
  shared_.beginBlock(options_, *launch_.manifest);
  startThreads();
  switchFiber(main_, current_->fiber);
  if (status_)
    checkBlockEnd();
}

void Engine::threadMain() {
  Engine *engine = current;
  arriveFiber(engine->current_->fiber);
  engine->launch_.entry(engine->argPointers_.data());
  engine->leave();
  __builtin_unreachable();
}

void Engine::checkBlockEnd() {
  if (const BulkCopy *copy = shared_.unfinishedCopy())
    report("the block ends before its async copy of " + std::to_string(copy->bytes) +
               " bytes was waited for",
           copy->site, copy->thread);
  else if (const Mbarrier *mbarrier = shared_.unfinishedPhase())
    report("the block ends in an incomplete phase: " + shared_.describe(*mbarrier),
           UINT32_MAX, mbarrier->initThread);
}

uint32_t Engine::specialRegister(uint32_t id) const {
  switch (id) {
  case RSSM_SREG_TID_X:
    return current_->id;
  case RSSM_SREG_CTAID_X:
    return blockX_;
  case RSSM_SREG_CTAID_Y:
    return blockY_;
  case RSSM_SREG_CTAID_Z:
    return blockZ_;
  case RSSM_SREG_NCTAID_X:
    return launch_.manifest->blocksPerRow;
  case RSSM_SREG_NCTAID_Y:
    return launch_.rows;
  default: // Blocks have one dimension.
    return 0;
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void Engine::checkAccess(const void *address, uint32_t bytes, uint32_t space, bool isStore,
                         uint32_t site) {
  auto where = reinterpret_cast<uintptr_t>(address);
  if (space == RSSM_SHARED)
    checkShared(where, bytes, isStore, site);
  else
    checkGlobal(where, bytes, isStore, site);
}

static std::string accessName(const char *space, bool isStore, uint32_t bytes) {
  return std::string(space) + (isStore ? " store of " : " load of ") + std::to_string(bytes) +
         " bytes";
}

void Engine::checkShared(uintptr_t address, uint32_t bytes, bool isStore, uint32_t site) {
  uintptr_t offset = address - reinterpret_cast<uintptr_t>(shared_.base());
  bool inside = offset <= shared_.bytes() && bytes <= shared_.bytes() - offset;
  if (options_.checkBounds) {
    if (!inside)
      fail(accessName("shared", isStore, bytes) + " at offset " +
               std::to_string(static_cast<int64_t>(offset)) + " is outside the block's " +
               std::to_string(shared_.bytes()) + " bytes",
           site);
    if (offset & (bytes - 1))
      fail(accessName("shared", isStore, bytes) + " at offset " + std::to_string(offset) +
               " is not naturally aligned",
           site);
  }
  if (!inside)
    return;
  auto at = static_cast<uint32_t>(offset);
  uint32_t thread = current_->id;
  if (!(isStore ? shared_.store(at, bytes, thread, site) : shared_.load(at, bytes, thread, site)))
    fail(shared_.explain(at, bytes, thread, isStore), site);
}

void Engine::checkGlobal(uintptr_t address, uint32_t bytes, bool isStore, uint32_t site) {
  if (!options_.checkBounds && !options_.checkRaces)
    return;
  HostBuffer *&last = lastBuffer_[site % kSiteCache];
  if (!last || !last->contains(address, bytes))
    last = buffers_.find(address);
  HostBuffer *buffer = last;
  bool inside = buffer && buffer->contains(address, bytes);
  if (options_.checkBounds) {
    if (!inside)
      fail(describeGlobal(address, bytes, isStore), site);
    if (address & (std::min(bytes, kMaxAccessBytes) - 1)) // bulk copies are wider
      fail(describeGlobal(address, bytes, isStore) + ", not naturally aligned", site);
  }
  if (!options_.checkRaces || !inside)
    return;
  uint64_t offset = address - buffer->base;
  if (!buffer->shadow.prepare(buffer->bytes, offset, bytes))
    fail("no memory for the race checker's shadow", site);
  GlobalConflict conflict =
      isStore ? buffer->shadow.store(offset, bytes, clock_, current_->id, site)
              : buffer->shadow.load(offset, bytes, clock_, current_->id, site);
  auto race = [&] { return describeGlobal(address, bytes, isStore) + " races with " + describeRace(conflict); };
  if (conflict.stamp)
    fail(race(), site);
}

void Engine::copyBulk(const void *dst, const void *src, uint32_t bytes, const void *mbarrier,
                      uint32_t site) {
  uintptr_t offset =
      reinterpret_cast<uintptr_t>(dst) - reinterpret_cast<uintptr_t>(shared_.base());
  auto source = reinterpret_cast<uintptr_t>(src);
  if (bytes == 0 || bytes % 16)
    fail("expected an async copy of a positive multiple of 16 bytes but got " +
             std::to_string(bytes),
         site);
  if (offset > shared_.bytes() || bytes > shared_.bytes() - offset)
    fail("async copy of " + std::to_string(bytes) + " bytes to shared offset " +
             std::to_string(static_cast<int64_t>(offset)) + " is outside the block's " +
             std::to_string(shared_.bytes()) + " bytes",
         site);
  auto misaligned = [&] {
    return "async copy: expected both addresses to be multiples of 16 but got shared offset " +
           std::to_string(offset) + " and " + describeGlobal(source, bytes, false);
  };
  if (offset % 16 || source % 16)
    fail(misaligned(), site);
  checkGlobal(source, bytes, /*isStore=*/false, site);
  BulkCopy copy;
  copy.offset = static_cast<uint32_t>(offset);
  copy.bytes = bytes;
  copy.source = src;
  copy.thread = current_->id;
  copy.site = site;
  uint32_t at = mbarrierOffset(mbarrier, site);
  if (std::string wrong = shared_.copy(copy, at); !wrong.empty())
    fail(std::move(wrong), site);
  wake(at);
}

uint32_t Engine::mbarrierOffset(const void *mbarrier, uint32_t site) {
  uintptr_t offset =
      reinterpret_cast<uintptr_t>(mbarrier) - reinterpret_cast<uintptr_t>(shared_.base());
  if (offset % 8 || offset > shared_.bytes() || shared_.bytes() - offset < 8)
    fail("expected an mbarrier at a multiple of 8 inside the block's " +
             std::to_string(shared_.bytes()) + " bytes of shared memory but got offset " +
             std::to_string(static_cast<int64_t>(offset)),
         site);
  return static_cast<uint32_t>(offset);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void Engine::outOfRange(int32_t value, int32_t low, int32_t high, uint32_t name, uint32_t site) {
  if (options_.checkRanges)
    fail("expected '" + nameOf(name) + "' of row " + std::to_string(blockY_) + " to be " + std::to_string(low) +
             " .. " + std::to_string(high) + " but got " + std::to_string(value),
         site);
}

std::string Engine::describeGlobal(uintptr_t address, uint32_t bytes, bool isStore) {
  std::string text = accessName("global", isStore, bytes);
  HostBuffer *buffer = buffers_.nearest(address);
  if (!buffer)
    return text + ": no buffer is live";
  std::string name = "a buffer of " + std::to_string(buffer->bytes) + " bytes";
  const std::vector<KernelArg> &args = launch_.manifest->args;
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].kind == KernelArg::Kind::Pointer && launch_.args[i] == buffer->base)
      name = "'" + args[i].name + "' (" + std::to_string(buffer->bytes) + " bytes)";
  auto offset = std::to_string(static_cast<int64_t>(address - buffer->base));
  if (buffer->contains(address, bytes))
    return text + " at offset " + offset + " of " + name;
  return text + " is outside every live buffer: at offset " + offset + " from " + name;
}

std::string Engine::describeRace(GlobalConflict conflict) const {
  uint64_t epoch = GlobalClock::epoch(conflict.stamp);
  std::string text = conflict.earlierWrites ? "a store by " : "a load by ";
  std::string where = " (" + nameOf(GlobalClock::site(conflict.stamp)) + ")";
  if (epoch == clock_.launchBase)
    return text + "other blocks of the launch" + where;
  const BlockStart *start = &blockStarts_.front();
  for (const BlockStart &block : blockStarts_)
    if (block.epoch <= epoch)
      start = &block;
  return text + "thread " + std::to_string(GlobalClock::thread(conflict.stamp)) + " of " +
         blockName(start->x, start->y, start->z) + where;
}

std::string Engine::blockName(uint32_t x, uint32_t y, uint32_t z) const {
  std::string layer = launch_.layers > 1 ? ", " + std::to_string(z) : "";
  return "block (" + std::to_string(x) + ", " + std::to_string(y) + layer + ")";
}

void Engine::report(const std::string &what, uint32_t site, uint32_t thread) {
  if (!status_)
    return;
  std::string text = "kernel '" + launch_.manifest->name + "': " + what + "; thread " +
                     std::to_string(thread) + " of " + blockName(blockX_, blockY_, blockZ_);
  if (site != UINT32_MAX)
    text += ", at " + nameOf(site);
  status_ = Status(StatusCode::Internal, std::move(text));
}

void Engine::fail(std::string what, uint32_t site) {
  report(what, site, current_->id);
  std::string().swap(what); // The fiber never resumes: free what it holds.
  abandon();
}

void Engine::abandon() { leaveFiber(current_->fiber, main_); }
