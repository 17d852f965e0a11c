//===- HostMbarrierTest.cpp - Seeded faults of mbarriers ------------------===//
//
// Each program breaks one rule of initialisation, arrival or phase.
//
//===----------------------------------------------------------------------===//

#include "HostAsyncFixture.h"

using namespace replayssm;
using namespace replayssm::rt;

TEST_F(HostAsyncTest, CopyWithoutInitFence) {
  auto program = [](void *const *args) {
    setUp(/*fence=*/false);
    start(args);
  };
  expectFaultInBothLandings(program,
                            "async copy uses an mbarrier with no init fence after its "
                            "initialisation; thread 0 of block (0, 0), at op4");
}

TEST_F(HostAsyncTest, InitWithoutBarrier) {
  auto program = [](void *const *args) {
    if (tid() == 0) {
      rssm_host_mbar_init(mbarAddress(), 1, 0);
      rssm_host_mbar_init_fence(1);
    }
    start(args);
    rssm_host_mbar_wait(mbarAddress(), 0, 5);
  };
  expectFaultInBothLandings(program,
                            "mbarrier wait races with the mbarrier's initialisation by thread 0: "
                            "no barrier between them; thread 1 of block (0, 0), at op5");
}

TEST_F(HostAsyncTest, MbarrierThatWasNeverInitialised) {
  expectFaultInBothLandings([](void *const *) { rssm_host_mbar_wait(mbarAddress(), 0, 5); },
                            "mbarrier wait uses shared offset 512, where no mbarrier was "
                            "initialised; thread 0 of block (0, 0), at op5");
}

TEST_F(HostAsyncTest, MbarrierInitialisedTwice) {
  auto program = [](void *const *) {
    setUp();
    if (tid() == 0)
      rssm_host_mbar_init(mbarAddress(), 1, 6);
  };
  expectFaultInBothLandings(program, "mbarrier at offset 512 is initialised twice; "
                                     "thread 0 of block (0, 0), at op6");
}

TEST_F(HostAsyncTest, MbarrierCountAndPlace) {
  expectFaultInBothLandings([](void *const *) { setUp(true, 0); },
                            "mbarrier at offset 512 expects no arrival; "
                            "thread 0 of block (0, 0), at op0");
  expectFaultInBothLandings(
      [](void *const *) { rssm_host_mbar_init(rssm_host_shared(1020), 1, 0); },
      "expected an mbarrier at a multiple of 8 inside the block's 1024 bytes of shared memory but "
      "got offset 1020; thread 0 of block (0, 0), at op0");
}

TEST_F(HostAsyncTest, OrdinaryAccessToAnMbarrier) {
  auto program = [](void *const *) {
    setUp();
    if (tid() == 0)
      loadShared<float>(mbar + 4, 6);
  };
  expectFaultInBothLandings(program, "shared load of 4 bytes at offset 516 touches an mbarrier; "
                                     "thread 0 of block (0, 0), at op6");
}

TEST_F(HostAsyncTest, FewerBytesThanExpected) {
  auto program = [](void *const *args) {
    setUp();
    start(args, 2 * bytes);
    rssm_host_mbar_wait(mbarAddress(), 0, 5);
  };
  expectFaultInBothLandings(program,
                            "deadlock: thread 0 waits at an mbarrier (op5); the mbarrier at offset "
                            "512 has 1 of 1 arrivals, expected 256 bytes but got 128; "
                            "thread 0 of block (0, 0), at op5");
}

TEST_F(HostAsyncTest, MoreBytesThanExpected) {
  auto program = [](void *const *args) {
    setUp();
    start(args, bytes / 2);
  };
  expectFaultInBothLandings(program,
                            "mbarrier at offset 512 has 1 of 1 arrivals, expected 64 bytes but got "
                            "128; thread 0 of block (0, 0), at op4");
}

TEST_F(HostAsyncTest, TooManyArrivals) {
  auto program = [](void *const *) {
    setUp();
    if (tid() == 0) {
      rssm_host_mbar_expect(mbarAddress(), bytes, 3);
      rssm_host_mbar_expect(mbarAddress(), bytes, 6);
    }
  };
  expectFaultInBothLandings(program, "arrival at an mbarrier that has all 1 arrivals of its phase; "
                                     "thread 0 of block (0, 0), at op6");
}

TEST_F(HostAsyncTest, MissingArrival) {
  auto program = [](void *const *args) {
    setUp(true, 2);
    start(args);
    rssm_host_mbar_wait(mbarAddress(), 0, 5);
  };
  expectFaultInBothLandings(program,
                            "deadlock: thread 0 waits at an mbarrier (op5); the mbarrier at offset "
                            "512 has 1 of 2 arrivals, expected 128 bytes but got 128; "
                            "thread 0 of block (0, 0), at op5");
}

TEST_F(HostAsyncTest, WrongParityNeverCompletes) {
  auto program = [](void *const *args) {
    setUp();
    start(args);
    rssm_host_mbar_wait(mbarAddress(), 0, 5);
    rssm_host_mbar_wait(mbarAddress(), 1, 6); // of a phase that has not begun
  };
  expectFaultInBothLandings(program,
                            "deadlock: thread 0 waits at an mbarrier (op6); the mbarrier at offset "
                            "512 has 0 of 1 arrivals, expected 0 bytes but got 0; "
                            "thread 0 of block (0, 0), at op6");
}

TEST_F(HostAsyncTest, CopyOverAnMbarrier) {
  auto program = [](void *const *args) {
    setUp();
    if (tid() == 0)
      copyRow(args, 528);
  };
  expectFaultInBothLandings(program, "async copy overwrites an mbarrier; "
                                     "thread 0 of block (0, 0), at op4");
}

TEST_F(HostAsyncTest, BlockEndsInAnIncompletePhase) {
  auto program = [](void *const *) {
    setUp();
    if (tid() == 0)
      rssm_host_mbar_expect(mbarAddress(), bytes, 3);
  };
  expectFaultInBothLandings(program,
                            "the block ends in an incomplete phase: mbarrier at offset 512 has 1 "
                            "of 1 arrivals, expected 128 bytes but got 0; "
                            "thread 0 of block (0, 0)");
}
