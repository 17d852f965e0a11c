//===- HostAsyncTest.cpp - Bulk copies against other accesses -------------===//
//
// When the bytes of a copy may be touched, and what is said of those that do
// it too early, too late or out of bounds.
//
//===----------------------------------------------------------------------===//

#include "HostAsyncFixture.h"

using namespace replayssm;
using namespace replayssm::rt;

TEST_F(HostAsyncTest, WaitMakesTheBytesVisible) {
  threads = 64;
  auto program = [](void *const *args) {
    setUp();
    for (uint32_t phase = 0; phase < 4; ++phase) {
      start(args);
      rssm_host_mbar_wait(mbarAddress(), phase & 1, 5);
      float x = loadShared<float>(data + 4 * (tid() % 32), 6);
      if (phase == 3)
        storeGlobal(pointerArg<float>(args, 1) + tid(), x, 7);
      rssm_host_barrier(8); // before the next copy overwrites them
    }
  };
  for (auto landing : {HostOptions::Landing::AtIssue, HostOptions::Landing::AtWait}) {
    options.landing = landing;
    Status status = run(program, in, out);
    ASSERT_TRUE(status) << status.message();
    float x;
    ASSERT_TRUE(backend->copyOut(&x, out + 4 * 40, 4));
    EXPECT_EQ(x, 8);
  }
}

TEST_F(HostAsyncTest, CopiesNeedTheirSourceAlignedToSixteenBytesOnly) {
  auto program = [](void *const *args) {
    setUp();
    if (tid() == 0) {
      rssm_host_mbar_expect(mbarAddress(), 256, 3);
      rssm_host_copy_bulk(rssm_host_shared(16), pointerArg<float>(args, 0) + 4, 256,
                          mbarAddress(), 4);
    }
    rssm_host_mbar_wait(mbarAddress(), 0, 5);
    storeGlobal(pointerArg<float>(args, 1) + tid(), loadShared<float>(16 + 4 * tid(), 6), 7);
  };
  for (auto landing : {HostOptions::Landing::AtIssue, HostOptions::Landing::AtWait}) {
    options.landing = landing;
    Status status = run(program, in, out);
    ASSERT_TRUE(status) << status.message();
    float x;
    ASSERT_TRUE(backend->copyOut(&x, out + 4 * 31, 4));
    EXPECT_EQ(x, 35);
  }
}

TEST_F(HostAsyncTest, OneWaitAndABarrierServeTheBlock) {
  auto program = [](void *const *args) {
    setUp();
    start(args);
    if (tid() == 7)
      rssm_host_mbar_wait(mbarAddress(), 0, 5);
    rssm_host_barrier(6);
    loadShared<float>(data + 4 * tid(), 7);
  };
  Status status = run(program, in, out);
  EXPECT_TRUE(status) << status.message();
}

TEST_F(HostAsyncTest, ReadBeforeTheWait) {
  auto program = [](void *const *args) {
    setUp();
    start(args);
    rssm_host_barrier(5);
    if (tid() == 3)
      loadShared<float>(data + 4 * tid(), 6);
    rssm_host_barrier(7); // no thread waits before
    rssm_host_mbar_wait(mbarAddress(), 0, 8);
  };
  expectFaultInBothLandings(program,
                            "shared load of 4 bytes at offset 12 meets an async copy (op4) that "
                            "no thread has waited for; thread 3 of block (0, 0), at op6");
}

TEST_F(HostAsyncTest, ReadByAThreadThatDidNotWait) {
  auto program = [](void *const *args) {
    setUp();
    start(args);
    if (tid() != 30)
      rssm_host_mbar_wait(mbarAddress(), 0, 5);
    loadShared<float>(data + 4 * tid(), 6);
  };
  expectFaultInBothLandings(program,
                            "shared load of 4 bytes at offset 120 meets an async copy (op4) that "
                            "this thread has not waited for; thread 30 of block (0, 0), at op6");
}

TEST_F(HostAsyncTest, WithoutChecksAnEarlyReadIsPoisonOrEarly) {
  options.checkRaces = options.poisonShared = false;
  auto program = [](void *const *args) {
    setUp();
    start(args);
    rssm_host_barrier(5);
    float early = loadShared<float>(data + 4 * tid(), 6);
    storeGlobal(pointerArg<float>(args, 1) + tid(), early, 7);
    rssm_host_barrier(8); // no thread waits before all have read
    rssm_host_mbar_wait(mbarAddress(), 0, 8);
  };
  float x;
  options.landing = HostOptions::Landing::AtWait;
  ASSERT_TRUE(run(program, in, out));
  ASSERT_TRUE(backend->copyOut(&x, out + 4 * 9, 4));
  EXPECT_NE(x, x);
  options.landing = HostOptions::Landing::AtIssue;
  ASSERT_TRUE(run(program, in, out));
  ASSERT_TRUE(backend->copyOut(&x, out + 4 * 9, 4));
  EXPECT_EQ(x, 9);
}

TEST_F(HostAsyncTest, StoreUnderACopyInFlight) {
  auto program = [](void *const *args) {
    setUp();
    start(args);
    rssm_host_barrier(5);
    if (tid() == 3)
      storeShared<float>(data + 4 * tid(), 1, 6);
  };
  expectFaultInBothLandings(program,
                            "shared store of 4 bytes at offset 12 meets an async copy (op4) that "
                            "no thread has waited for; thread 3 of block (0, 0), at op6");
}

TEST_F(HostAsyncTest, CopyOverBytesThatOthersRead) {
  threads = 64;
  auto program = [](void *const *args) {
    setUp();
    storeShared<float>(data + 1024 + 4 * tid(), 1, 5);
    if (tid() < 32)
      storeShared<float>(data + 4 * tid(), 1, 5);
    rssm_host_barrier(6);
    if (tid() >= 32)
      loadShared<float>(data + 4 * (tid() - 32), 7);
    rssm_host_shfl_bfly(1, 1, 8);
    if (tid() == 63) {
      rssm_host_mbar_expect(mbarAddress(), bytes, 3);
      copyRow(args);
    }
    rssm_host_mbar_wait(mbarAddress(), 0, 9);
  };
  sharedBytes = 2048;
  expectFaultInBothLandings(program,
                            "async copy: shared store of 128 bytes at offset 0 races with a load "
                            "by thread 32 (op7): no barrier between them; thread 63 of block (0, "
                            "0), at op4");
}

TEST_F(HostAsyncTest, OverlappingCopies) {
  auto program = [](void *const *args) {
    setUp();
    start(args, 2 * bytes);
    if (tid() == 0)
      copyRow(args);
  };
  expectFaultInBothLandings(program,
                            "async copy: shared store of 128 bytes at offset 0 meets an async "
                            "copy (op4) that no thread has waited for; thread 0 of block (0, 0), "
                            "at op4");
}

TEST_F(HostAsyncTest, CopySizeAlignmentAndBounds) {
  expectFaultInBothLandings(
      [](void *const *args) {
        setUp();
        if (tid() == 0)
          copyRow(args, 24);
      },
      "expected an async copy of a positive multiple of 16 bytes but got 24; "
      "thread 0 of block (0, 0), at op4");
  expectFaultInBothLandings(
      [](void *const *args) {
        setUp();
        if (tid() == 0)
          copyRow(args, 0);
      },
      "expected an async copy of a positive multiple of 16 bytes but got 0; "
      "thread 0 of block (0, 0), at op4");
  expectFaultInBothLandings(
      [](void *const *args) {
        rssm_host_copy_bulk(rssm_host_shared(8), pointerArg<float>(args, 0), 16, mbarAddress(), 4);
      },
      "async copy: expected both addresses to be multiples of 16 but got shared offset 8 and "
      "global load of 16 bytes at offset 0 of 'in' (1024 bytes); "
      "thread 0 of block (0, 0), at op4");
  expectFaultInBothLandings([](void *const *args) { copyRow(args, 2048); },
                            "async copy of 2048 bytes to shared offset 0 is outside the block's "
                            "1024 bytes; thread 0 of block (0, 0), at op4");
  expectFaultInBothLandings(
      [](void *const *args) {
        rssm_host_copy_bulk(rssm_host_shared(0), pointerArg<float>(args, 0) + 252, 32,
                            mbarAddress(), 4);
      },
      "global load of 32 bytes is outside every live buffer: at offset 1008 from 'in' (1024 "
      "bytes); thread 0 of block (0, 0), at op4");
}

TEST_F(HostAsyncTest, BlockEndsBeforeTheWait) {
  auto program = [](void *const *args) {
    setUp();
    start(args);
  };
  expectFaultInBothLandings(program,
                            "the block ends before its async copy of 128 bytes was waited for; "
                            "thread 0 of block (0, 0), at op4");
}

TEST_F(HostAsyncTest, CopyOfBytesThatAnotherBlockWrites) {
  blocks = 2;
  auto program = [](void *const *args) {
    if (blockX() == 0) {
      storeGlobal(pointerArg<float>(args, 0) + tid(), 1.0f, 6);
      return;
    }
    setUp();
    start(args);
    rssm_host_mbar_wait(mbarAddress(), 0, 5);
  };
  expectFaultInBothLandings(program,
                            "global load of 128 bytes at offset 0 of 'in' (1024 bytes) races "
                            "with a store by thread 0 of block (0, 0) (op6); thread 0 of block "
                            "(1, 0), at op4");
}
