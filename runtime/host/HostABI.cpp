//===- HostABI.cpp - Entry points of device code --------------------------===//
//
// The C functions that retargeted device code calls; see docs/abi.md.
//
//===----------------------------------------------------------------------===//

#include "runtime/host/HostABI.h"

#include "runtime/host/Approx.h"
#include "runtime/host/Engine.h"
#include "runtime/host/Mma.h"

#include <cstring>
#include <string>

using namespace replayssm::rt;

/// Fixed sizes become single moves.
static void copySized(void *to, const void *from, uint32_t bytes) {
  switch (bytes) {
  case 2:
    std::memcpy(to, from, 2);
    break;
  case 4:
    std::memcpy(to, from, 4);
    break;
  case 8:
    std::memcpy(to, from, 8);
    break;
  case 16:
    std::memcpy(to, from, 16);
    break;
  default:
    std::memcpy(to, from, bytes);
  }
}

uint32_t rssm_host_sreg(uint32_t id) { return Engine::current->specialRegister(id); }

void *rssm_host_shared(uint32_t byteOffset) {
  return Engine::current->sharedBase() + byteOffset;
}

void rssm_host_ld(void *result, const void *address, uint32_t bytes, uint32_t space,
                  uint32_t pred, uint32_t site) {
  if (!pred) {
    std::memset(result, 0, bytes);
    return;
  }
  Engine::current->checkAccess(address, bytes, space, /*isStore=*/false, site);
  copySized(result, address, bytes);
}

void rssm_host_st(void *address, const void *value, uint32_t bytes, uint32_t space,
                  uint32_t pred, uint32_t site) {
  if (!pred)
    return;
  Engine::current->checkAccess(address, bytes, space, /*isStore=*/true, site);
  copySized(address, value, bytes);
}

void rssm_host_barrier(uint32_t site) { Engine::current->barrier(site); }

float rssm_host_shfl_bfly(float value, uint32_t mask, uint32_t site) {
  Engine *engine = Engine::current;
  uint32_t source = (engine->lane() ^ mask) % Engine::kWarpSize;
  return engine->shuffle(Engine::Shuffle::Bfly, value, site)[source];
}

float rssm_host_shfl_down(float value, uint32_t delta, uint32_t width, uint32_t site) {
  Engine *engine = Engine::current;
  if (width == 0 || width > Engine::kWarpSize || (width & (width - 1)))
    engine->fail("expected a shuffle width that is a power of two up to 32 but got " +
                     std::to_string(width),
                 site);
  uint32_t lane = engine->lane();
  uint32_t source = lane % width + delta < width ? lane + delta : lane;
  return engine->shuffle(Engine::Shuffle::Down, value, site)[source];
}

void rssm_host_mma(float *sums, const rssm_host_mma_operands *operands, uint32_t type, uint32_t site) {
  Engine *engine = Engine::current;
  const rssm_host_mma_operands *warp = engine->gather(*operands, type, site);
  multiplyTiles(sums, warp, engine->lane(), type, engine->perturbSeed());
}

void rssm_host_mbar_init(void *mbar, uint32_t count, uint32_t site) {
  Engine::current->initMbarrier(mbar, count, site);
}

void rssm_host_mbar_init_fence(uint32_t) { Engine::current->fenceMbarriers(); }

void rssm_host_mbar_expect(void *mbar, uint32_t bytes, uint32_t site) {
  Engine::current->expect(mbar, bytes, site);
}

void rssm_host_copy_bulk(void *dst, const void *src, uint32_t bytes, void *mbar, uint32_t site) {
  Engine::current->copyBulk(dst, src, bytes, mbar, site);
}

void rssm_host_mbar_wait(void *mbar, uint32_t parity, uint32_t site) {
  Engine::current->waitMbarrier(mbar, parity, site);
}

float rssm_host_approx(uint32_t fn, float x) {
  return approximate(fn, x, Engine::current->perturbSeed());
}

void rssm_host_expect(int32_t value, int32_t low, int32_t high, uint32_t name, uint32_t site) {
  if (value < low || value > high)
    Engine::current->outOfRange(value, low, high, name, site);
}
