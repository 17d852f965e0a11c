//===- HostFixture.h - Device programs written in C++ -----------*- C++ -*-===//
//
// Runs C++ functions as device code, as retargeted IR would be run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Backend.h"

#include <gtest/gtest.h>

#include <cstring>

namespace replayssm::rt {

// Markers as device code sees them.
template <typename T>
T loadGlobal(const T *address, uint32_t site = 0, bool pred = true) {
  T value;
  rssm_host_ld(&value, address, sizeof(T), RSSM_GLOBAL, pred, site);
  return value;
}
template <typename T>
void storeGlobal(T *address, T value, uint32_t site = 0, bool pred = true) {
  rssm_host_st(address, &value, sizeof(T), RSSM_GLOBAL, pred, site);
}
template <typename T>
T loadShared(uint32_t offset, uint32_t site = 0, bool pred = true) {
  T value;
  rssm_host_ld(&value, rssm_host_shared(offset), sizeof(T), RSSM_SHARED, pred, site);
  return value;
}
template <typename T>
void storeShared(uint32_t offset, T value, uint32_t site = 0, bool pred = true) {
  rssm_host_st(rssm_host_shared(offset), &value, sizeof(T), RSSM_SHARED, pred, site);
}
inline uint32_t tid() { return rssm_host_sreg(RSSM_SREG_TID_X); }
inline uint32_t blockX() { return rssm_host_sreg(RSSM_SREG_CTAID_X); }
inline uint32_t blockY() { return rssm_host_sreg(RSSM_SREG_CTAID_Y); }
template <typename T>
T *pointerArg(void *const *args, unsigned index) {
  T *pointer;
  std::memcpy(&pointer, args[index], sizeof(pointer));
  return pointer;
}

/// A kernel of up to two pointer arguments, "in" and "out". Site i is "op<i>".
class HostTest : public testing::Test {
protected:
  HostOptions options;
  uint32_t threads = 32, blocks = 1, rows = 1, sharedBytes = 1024;
  std::shared_ptr<Backend> backend = openHostBackend({});

  std::unique_ptr<KernelImpl> kernel(rssm_host_entry entry) const {
    KernelManifest manifest;
    manifest.name = "test";
    manifest.threads = threads;
    manifest.blocksPerRow = blocks;
    manifest.sharedBytes = sharedBytes;
    manifest.args = {{"in", KernelArg::Kind::Pointer, "f32"},
                     {"out", KernelArg::Kind::Pointer, "f32"}};
    for (unsigned i = 0; i < 10; ++i)
      manifest.sites.push_back("op" + std::to_string(i));
    return makeHostKernel(entry, manifest, nullptr);
  }
  uint64_t buffer(uint64_t bytes) { return backend->allocate(bytes).take(); }
  Status run(rssm_host_entry entry, uint64_t in = 0, uint64_t out = 0) {
    uint64_t args[] = {in, out};
    *backend->hostOptions() = options;
    return backend->launch(*kernel(entry), args, rows, 1);
  }
  /// The launch fails with exactly this fault of kernel 'test'.
  void expectFault(const Status &status, const std::string &text) {
    EXPECT_EQ(status.code(), StatusCode::Internal);
    EXPECT_EQ(status.message(), "kernel 'test': " + text);
  }
};

} // namespace replayssm::rt
