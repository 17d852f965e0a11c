//===- HostAsyncFixture.h - Device programs with bulk copies ----*- C++ -*-===//
//
// The correct parts of asynchronous programs, from which tests leave one out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "HostFixture.h"

#include <vector>

namespace replayssm::rt {

inline constexpr uint32_t mbar = 512, data = 0, bytes = 128;

inline void *mbarAddress() { return rssm_host_shared(mbar); }

/// Thread 0 initialises the mbarrier; every thread sees it.
inline void setUp(bool fence = true, uint32_t count = 1) {
  if (tid() == 0) {
    rssm_host_mbar_init(mbarAddress(), count, 0);
    if (fence)
      rssm_host_mbar_init_fence(1);
  }
  rssm_host_barrier(2);
}

inline void copyRow(void *const *args, uint32_t size = bytes) {
  rssm_host_copy_bulk(rssm_host_shared(data), pointerArg<float>(args, 0), size, mbarAddress(), 4);
}

/// Thread 0 starts the copy of one row.
inline void start(void *const *args, uint32_t expected = bytes) {
  if (tid() == 0) {
    rssm_host_mbar_expect(mbarAddress(), expected, 3);
    copyRow(args);
  }
}

class HostAsyncTest : public HostTest {
protected:
  void SetUp() override {
    in = buffer(1024);
    std::vector<float> values(256);
    for (unsigned i = 0; i < 256; ++i)
      values[i] = static_cast<float>(i);
    ASSERT_TRUE(backend->copyIn(in, values.data(), 1024));
    out = buffer(1024);
  }
  void expectFaultInBothLandings(rssm_host_entry program, const std::string &text) {
    for (auto landing : {HostOptions::Landing::AtIssue, HostOptions::Landing::AtWait}) {
      options.landing = landing;
      expectFault(run(program, in, out), text);
    }
  }
  uint64_t in = 0, out = 0;
};

} // namespace replayssm::rt
