//===- HostFaultTest.cpp - Seeded faults of memory and control ------------===//
//
// One wrong program per checker, and the sentence that it is reported with.
//
//===----------------------------------------------------------------------===//

#include "HostFixture.h"

using namespace replayssm;
using namespace replayssm::rt;

//===----------------------------------------------------------------------===//
// Bounds and alignment
//===----------------------------------------------------------------------===//

TEST_F(HostTest, GlobalLoadPastTheEnd) {
  uint64_t in = buffer(32 * 4), out = buffer(128);
  auto program = [](void *const *args) { loadGlobal(pointerArg<float>(args, 0) + tid() + 1, 3); };
  expectFault(run(program, in, out),
              "global load of 4 bytes is outside every live buffer: at offset 128 from 'in' "
              "(128 bytes); thread 31 of block (0, 0), at op3");
}

TEST_F(HostTest, GlobalStoreThatStraddlesTheEnd) {
  uint64_t in = buffer(128), out = buffer(100);
  blocks = 2;
  rows = 3;
  auto program = [](void *const *args) {
    struct alignas(16) Quad {
      float f[4];
    };
    if (blockX() == 1 && blockY() == 2 && tid() == 9)
      storeGlobal(pointerArg<Quad>(args, 1) + 6, Quad(), 4);
  };
  expectFault(run(program, in, out),
              "global store of 16 bytes is outside every live buffer: at offset 96 from 'out' "
              "(100 bytes); thread 9 of block (1, 2), at op4");
}

TEST_F(HostTest, FreedBuffer) {
  uint64_t in = buffer(128);
  auto program = [](void *const *args) { loadGlobal(pointerArg<float>(args, 0), 0); };
  ASSERT_TRUE(run(program, in));
  backend->free(in);
  expectFault(run(program, in), "global load of 4 bytes: no buffer is live; "
                                "thread 0 of block (0, 0), at op0");
}

TEST_F(HostTest, MisalignedGlobalAccess) {
  uint64_t in = buffer(128);
  auto program = [](void *const *args) {
    loadGlobal(reinterpret_cast<uint64_t *>(pointerArg<char>(args, 0) + 4), 2);
  };
  expectFault(run(program, in),
              "global load of 8 bytes at offset 4 of 'in' (128 bytes), not naturally aligned; "
              "thread 0 of block (0, 0), at op2");
}

TEST_F(HostTest, SharedBoundsAndAlignment) {
  expectFault(run([](void *const *) { storeShared<float>(1024, 0, 1); }),
              "shared store of 4 bytes at offset 1024 is outside the block's 1024 bytes; "
              "thread 0 of block (0, 0), at op1");
  expectFault(run([](void *const *) { loadShared<float>(UINT32_MAX - 7, 1); }),
              "shared load of 4 bytes at offset 4294967288 is outside the block's 1024 bytes; "
              "thread 0 of block (0, 0), at op1");
  expectFault(run([](void *const *) { loadShared<float>(6, 1); }),
              "shared load of 4 bytes at offset 6 is not naturally aligned; "
              "thread 0 of block (0, 0), at op1");
}

TEST_F(HostTest, UnknownSiteKeepsItsNumber) {
  expectFault(run([](void *const *) { loadShared<float>(6, 77); }),
              "shared load of 4 bytes at offset 6 is not naturally aligned; "
              "thread 0 of block (0, 0), at site 77");
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

TEST_F(HostTest, UninitialisedSharedRead) {
  auto program = [](void *const *) {
    if (tid() < 31)
      storeShared<float>(4 * tid(), 1, 0);
    rssm_host_barrier(1);
    loadShared<float>(4 * (31 - tid()), 2);
  };
  expectFault(run(program), "shared load of 4 bytes at offset 124 reads shared memory that "
                            "nothing has written; thread 0 of block (0, 0), at op2");
  options.poisonShared = false;
  EXPECT_TRUE(run(program));
}

TEST_F(HostTest, SharedContentsEndWithTheBlock) {
  blocks = 2;
  auto program = [](void *const *) {
    if (blockX() == 0)
      storeShared<float>(4 * tid(), 1, 0);
    else
      loadShared<float>(4 * tid(), 1);
  };
  expectFault(run(program), "shared load of 4 bytes at offset 0 reads shared memory that "
                            "nothing has written; thread 0 of block (1, 0), at op1");
}

TEST_F(HostTest, PartlyWrittenWord) {
  auto program = [](void *const *) {
    storeShared<uint16_t>(4 * tid(), 1, 0);
    loadShared<float>(4 * tid(), 1);
  };
  expectFault(run(program), "shared load of 4 bytes at offset 0 reads shared memory that nothing "
                            "has written (at byte 2); thread 0 of block (0, 0), at op1");
}

TEST_F(HostTest, SharedReadAfterWriteRace) {
  threads = 64;
  auto program = [](void *const *) {
    storeShared<float>(4 * tid(), 1, 0);
    loadShared<float>(4 * (tid() ^ 32), 1);
  };
  options.poisonShared = false;
  expectFault(run(program), "shared store of 4 bytes at offset 128 races with a load by thread 0 "
                            "(op1): no barrier between them; thread 32 of block (0, 0), at op0");
  options.checkRaces = false;
  EXPECT_TRUE(run(program));
}

TEST_F(HostTest, SharedRaceIsFoundUnderEverySchedule) {
  threads = 128;
  auto program = [](void *const *) {
    storeShared<float>(4 * tid(), 1, 0);
    rssm_host_barrier(1);
    loadShared<float>(4 * (tid() ^ 33), 2);
    storeShared<float>(4 * tid(), 2, 3); // no barrier after the load
  };
  for (options.scheduleSeed = 0; options.scheduleSeed < 10; ++options.scheduleSeed) {
    Status status = run(program);
    ASSERT_EQ(status.code(), StatusCode::Internal);
    EXPECT_NE(status.message().find(" races with a "), std::string::npos) << status.message();
  }
}

TEST_F(HostTest, SharedWriteWriteRace) {
  auto program = [](void *const *) { storeShared<float>(8, 1, 5); };
  expectFault(run(program), "shared store of 4 bytes at offset 8 races with a store by thread 0 "
                            "(op5): no barrier between them; thread 1 of block (0, 0), at op5");
}

TEST_F(HostTest, SharedWriteAfterManyReadsRace) {
  auto program = [](void *const *) {
    if (tid() == 0)
      storeShared<float>(0, 1, 0);
    rssm_host_barrier(1);
    loadShared<float>(0, 2);
    rssm_host_shfl_bfly(1, 1, 3); // orders no memory
    if (tid() == 31)
      storeShared<float>(0, 1, 4);
  };
  expectFault(run(program),
              "shared store of 4 bytes at offset 0 races with a load by other threads (op2): no "
              "barrier between them; thread 31 of block (0, 0), at op4");
}

TEST_F(HostTest, CheckersSurviveAMillionBarriers) {
  // More than the shadow has epochs: they start anew, and nothing is forgotten.
  auto program = [](void *const *) {
    storeShared<float>(4 * tid(), 1, 0);
    for (unsigned i = 0; i < (1u << 20) + 5; ++i)
      rssm_host_barrier(1);
    loadShared<float>(4 * (tid() ^ 1), 2);
    rssm_host_barrier(3);
    storeShared<float>(4 * tid(), 1, 4);
    if (tid() == 30)
      loadShared<float>(128, 5);
  };
  expectFault(run(program), "shared load of 4 bytes at offset 128 reads shared memory that "
                            "nothing has written; thread 30 of block (0, 0), at op5");
}

//===----------------------------------------------------------------------===//
// Global races
//===----------------------------------------------------------------------===//

TEST_F(HostTest, BlocksWriteTheSameBytes) {
  blocks = 3;
  uint64_t out = buffer(512);
  auto program = [](void *const *args) {
    // Blocks 1 and 2 share their last and first word.
    uint32_t first = blockX() == 2 ? 63 : blockX() * 32;
    storeGlobal(pointerArg<float>(args, 1) + first + tid(), 1.0f, 6);
  };
  expectFault(run(program, 0, out),
              "global store of 4 bytes at offset 252 of 'out' (512 bytes) races with a store by "
              "thread 31 of block (1, 0) (op6); thread 0 of block (2, 0), at op6");
  options.checkRaces = false;
  EXPECT_TRUE(run(program, 0, out));
}

TEST_F(HostTest, OneBlockReadsWhatAnotherWrites) {
  blocks = 2;
  rows = 2;
  uint64_t out = buffer(512);
  auto program = [](void *const *args) {
    float *out = pointerArg<float>(args, 1);
    loadGlobal(out + 5, 0);
    if (blockX() == 1 && blockY() == 1 && tid() == 3)
      storeGlobal(out + 5, 1.0f, 1);
  };
  expectFault(run(program, 0, out),
              "global store of 4 bytes at offset 20 of 'out' (512 bytes) races with a load by "
              "other blocks of the launch (op0); thread 3 of block (1, 1), at op1");
  for (options.scheduleSeed = 1; options.scheduleSeed < 10; ++options.scheduleSeed)
    EXPECT_EQ(run(program, 0, out).code(), StatusCode::Internal);
}

TEST_F(HostTest, RaceOfNarrowStoresInOneWord) {
  blocks = 2;
  uint64_t out = buffer(128);
  auto program = [](void *const *args) {
    auto *out = pointerArg<uint16_t>(args, 1);
    loadGlobal(reinterpret_cast<uint64_t *>(out + 32), 0); // wide granules first
    if (tid() < 2)
      storeGlobal<uint16_t>(out + 2 * tid() + blockX(), 1, 1); // halves of words: fine
    if (blockX() == 1 && tid() == 0)
      storeGlobal<uint16_t>(out + 2, 1, 2);
  };
  expectFault(run(program, 0, out),
              "global store of 2 bytes at offset 4 of 'out' (128 bytes) races with a store by "
              "thread 1 of block (0, 0) (op1); thread 0 of block (1, 0), at op2");
}

//===----------------------------------------------------------------------===//
// Divergence and deadlock
//===----------------------------------------------------------------------===//

TEST_F(HostTest, ThreadsWaitAtDifferentBarriers) {
  threads = 64;
  expectFault(run([](void *const *) { rssm_host_barrier(tid() < 32 ? 1 : 2); }),
              "barrier divergence: other threads wait at another barrier (op1); "
              "thread 32 of block (0, 0), at op2");
}

TEST_F(HostTest, BarrierAfterThreadsFinished) {
  auto program = [](void *const *) {
    if (tid() >= 4)
      rssm_host_barrier(1);
  };
  expectFault(run(program),
              "barrier divergence: the thread waits at a barrier after 4 threads of the block "
              "have finished; thread 4 of block (0, 0), at op1");
}

TEST_F(HostTest, ThreadsFinishWhileOthersWait) {
  auto program = [](void *const *) {
    if (tid() < 4)
      rssm_host_barrier(1);
  };
  expectFault(run(program), "deadlock: thread 0 waits at a barrier (op1), thread 4 has finished; "
                            "thread 0 of block (0, 0), at op1");
}

TEST_F(HostTest, HalfAWarpAtABarrierHalfAtAShuffle) {
  auto program = [](void *const *) {
    if (tid() % 2)
      rssm_host_barrier(1);
    else
      rssm_host_shfl_bfly(1, 1, 2);
  };
  expectFault(run(program), "deadlock: thread 0 waits at a shuffle (op2), thread 1 waits at a "
                            "barrier (op1); thread 0 of block (0, 0), at op2");
}

TEST_F(HostTest, LanesAtDifferentShuffles) {
  expectFault(run([](void *const *) { rssm_host_shfl_bfly(1, 1, tid() < 5 ? 2 : 3); }),
              "warp divergence: other lanes of the warp wait at another shuffle (op2); "
              "thread 5 of block (0, 0), at op3");
  expectFault(run([](void *const *) {
                if (tid() < 5)
                  rssm_host_shfl_bfly(1, 1, 2);
                else
                  rssm_host_shfl_down(1, 1, 32, 2);
              }),
              "warp divergence: other lanes of the warp wait at another shuffle (op2); "
              "thread 5 of block (0, 0), at op2");
}

TEST_F(HostTest, ShuffleAfterLanesFinished) {
  auto program = [](void *const *) {
    if (tid() >= 4)
      rssm_host_shfl_bfly(1, 1, 2);
  };
  expectFault(run(program), "warp divergence: the lane waits at a shuffle after other lanes of its "
                            "warp have finished; thread 4 of block (0, 0), at op2");
}

TEST_F(HostTest, ShuffleWidthIsAPowerOfTwo) {
  expectFault(run([](void *const *) { rssm_host_shfl_down(1, 1, 12, 2); }),
              "expected a shuffle width that is a power of two up to 32 but got 12; "
              "thread 0 of block (0, 0), at op2");
}

TEST_F(HostTest, TheDeviceIsUsableAfterAFault) {
  threads = 64;
  for (unsigned i = 0; i < 50; ++i) {
    EXPECT_FALSE(run([](void *const *) { rssm_host_barrier(tid() < 32 ? 1 : 2); }));
    EXPECT_TRUE(run([](void *const *) { rssm_host_barrier(1); }));
  }
}

TEST_F(HostTest, NumberOutOfRange) {
  rows = 2;
  auto program = [](void *const *) { rssm_host_expect(blockY() ? -1 : 4, 0, 4, 1, 2); };
  expectFault(run(program), "expected 'op1' of row 1 to be 0 .. 4 but got -1; thread 0 of block (0, 1), at op2");
  expectFault(run([](void *const *) { rssm_host_expect(5, 0, 4, 1, 2); }),
              "expected 'op1' of row 0 to be 0 .. 4 but got 5; thread 0 of block (0, 0), at op2");
  options.checkRanges = false;
  EXPECT_TRUE(run(program));
}

// As in a pool of states: only what is touched takes memory.
TEST_F(HostTest, LargeBuffersAreSparse) {
  constexpr uint64_t bytes = uint64_t(1) << 36;
  auto large = backend->allocate(bytes);
  if (!large)
    GTEST_SKIP() << large.status().message();
  float value = 3, read = 0;
  ASSERT_TRUE(backend->copyIn(*large + bytes - 4, &value, 4));
  ASSERT_TRUE(backend->copyOut(&read, *large + bytes - 4, 4));
  EXPECT_EQ(read, 3);
  ASSERT_TRUE(backend->copyOut(&read, *large + bytes / 2, 4));
  EXPECT_EQ(read, 0);
  backend->free(*large);
}
