//===- HostRunTest.cpp - Correct programs on the host device --------------===//
//
// Results are right, and the same under every schedule and landing.
//
//===----------------------------------------------------------------------===//

#include "HostFixture.h"

#include <cmath>
#include <limits>
#include <vector>

#include <thread>

using namespace replayssm;
using namespace replayssm::rt;

namespace {

constexpr uint32_t kThreads = 128;

/// Copies a row of floats in two bulk copies over two phases, transposes it
/// through shared memory, reduces and scales: every marker is used.
void everything(void *const *args) {
  constexpr uint32_t data = 0, mbar = 2048, swap = 1024;
  uint32_t t = tid(), block = blockY() * rssm_host_sreg(RSSM_SREG_NCTAID_X) + blockX();
  auto *in = pointerArg<float>(args, 0) + block * kThreads;
  auto *out = pointerArg<float>(args, 1) + block * kThreads;
  if (t == 0) {
    rssm_host_mbar_init(rssm_host_shared(mbar), 1, 0);
    rssm_host_mbar_init_fence(0);
  }
  rssm_host_barrier(1);
  float sum = 0;
  for (uint32_t phase = 0; phase < 3; ++phase) {
    if (t == 0) {
      uint32_t half = kThreads * sizeof(float) / 2;
      rssm_host_mbar_expect(rssm_host_shared(mbar), 2 * half, 2);
      for (uint32_t i = 0; i < 2; ++i)
        rssm_host_copy_bulk(rssm_host_shared(data + i * half), in + i * kThreads / 2, half,
                            rssm_host_shared(mbar), 3);
    }
    rssm_host_mbar_wait(rssm_host_shared(mbar), phase & 1, 4);
    float x = loadShared<float>(data + (t ^ 5) * sizeof(float), 5);
    storeShared(swap + (t * 17 % kThreads) * sizeof(float), x, 6);
    rssm_host_barrier(7);
    sum += loadShared<float>(swap + t * sizeof(float), 8);
    rssm_host_barrier(8);
  }
  for (uint32_t mask = 1; mask < 32; mask *= 2)
    sum += rssm_host_shfl_bfly(sum, mask, 9);
  float tail = rssm_host_shfl_down(sum + static_cast<float>(t), 3, 8, 10);
  storeGlobal(out + t, tail * rssm_host_approx(RSSM_EX2, -0.37f), 11);
}

} // namespace

TEST_F(HostTest, ResultsDoNotDependOnScheduleOrLanding) {
  threads = kThreads;
  blocks = 3;
  rows = 4;
  sharedBytes = 2048 + 8;
  const uint32_t count = kThreads * blocks * rows;
  std::vector<float> input(count), first(count), result(count);
  for (uint32_t i = 0; i < count; ++i)
    input[i] = std::sin(static_cast<float>(i));
  uint64_t in = buffer(count * sizeof(float)), out = buffer(count * sizeof(float));
  ASSERT_TRUE(backend->copyIn(in, input.data(), count * sizeof(float)));

  std::vector<float> expected(count);
  for (uint32_t base = 0; base < count; base += kThreads) {
    for (uint32_t warp = 0; warp < kThreads; warp += 32) {
      float lanes[32];
      for (uint32_t i = 0; i < 32; ++i) {
        uint32_t source = 0;
        while (source * 17 % kThreads != warp + i)
          ++source;
        float x = input[base + (source ^ 5)];
        lanes[i] = x + x + x;
      }
      for (uint32_t mask = 1; mask < 32; mask *= 2) {
        float next[32];
        for (uint32_t i = 0; i < 32; ++i)
          next[i] = lanes[i] + lanes[i ^ mask];
        std::memcpy(lanes, next, sizeof(next));
      }
      for (uint32_t i = 0; i < 32; ++i) {
        uint32_t source = i % 8 + 3 < 8 ? i + 3 : i;
        expected[base + warp + i] = (lanes[source] + static_cast<float>(warp + source)) *
                                    static_cast<float>(std::exp2(double(-0.37f)));
      }
    }
  }

  for (uint64_t seed = 0; seed < 12; ++seed)
    for (auto landing : {HostOptions::Landing::AtIssue, HostOptions::Landing::AtWait}) {
      options.scheduleSeed = seed;
      options.landing = landing;
      Status status = run(everything, in, out);
      ASSERT_TRUE(status) << status.message();
      ASSERT_TRUE(backend->copyOut(result.data(), out, count * sizeof(float)));
      ASSERT_EQ(0, std::memcmp(result.data(), expected.data(), count * sizeof(float)))
          << "seed " << seed;
    }

  options.checkBounds = options.checkRaces = options.poisonShared = false;
  ASSERT_TRUE(run(everything, in, out));
  ASSERT_TRUE(backend->copyOut(result.data(), out, count * sizeof(float)));
  EXPECT_EQ(result, expected);
}

TEST_F(HostTest, FalsePredicateLoadsZeroAndTouchesNothing) {
  uint64_t out = buffer(32 * sizeof(float));
  Status status = run(
      [](void *const *args) {
        float global = loadGlobal<float>(nullptr, 0, false);
        float shared = loadShared<float>(1u << 30, 1, false);
        storeGlobal<float>(nullptr, 1, 2, false);
        storeShared<float>(1u << 30, 1, 3, false);
        storeGlobal(pointerArg<float>(args, 1) + tid(), global + shared, 4);
      },
      0, out);
  ASSERT_TRUE(status) << status.message();
  std::vector<float> result(32, 1);
  ASSERT_TRUE(backend->copyOut(result.data(), out, 32 * sizeof(float)));
  EXPECT_EQ(result, std::vector<float>(32, 0));
}

TEST_F(HostTest, NarrowNeighboursOfOtherThreadsAreNoRace) {
  threads = 64;
  blocks = 2;
  uint64_t out = buffer(128 * 2 + 128);
  auto program = [](void *const *args) {
    uint32_t t = tid(), i = blockX() * 64 + t;
    storeShared<uint8_t>(t, t, 0);
    storeShared<uint16_t>(64 + 2 * t, t, 1);
    auto *out = pointerArg<uint16_t>(args, 1);
    storeGlobal<uint16_t>(out + i, i, 2);
    storeGlobal<uint8_t>(reinterpret_cast<uint8_t *>(out + 128) + i, i, 3);
    rssm_host_barrier(4);
    uint16_t sum = loadShared<uint8_t>(t ^ 1, 5) + loadShared<uint16_t>(64 + 2 * (t ^ 3), 6);
    storeGlobal<uint16_t>(out + i, sum, 7);
  };
  for (uint64_t seed : {0, 7}) {
    options.scheduleSeed = seed;
    Status status = run(program, 0, out);
    EXPECT_TRUE(status) << status.message();
  }
}

TEST_F(HostTest, LaterLaunchesMayTouchWhatEarlierOnesDid) {
  uint64_t out = buffer(32 * sizeof(float));
  auto program = [](void *const *args) {
    auto *out = pointerArg<float>(args, 1);
    storeGlobal(out + tid(), 1.0f, 0);
    rssm_host_barrier(1);
    storeGlobal(out + 31 - tid(), loadGlobal(out + 31 - tid(), 2) + 1, 3);
  };
  for (unsigned i = 0; i < 3; ++i) {
    Status status = run(program, 0, out);
    EXPECT_TRUE(status) << status.message();
  }
}

TEST_F(HostTest, OneThreadMayOverwriteAUniformLoadOfItsBlock) {
  blocks = 4;
  uint64_t out = buffer(4 * sizeof(int32_t));
  auto program = [](void *const *args) {
    int32_t *word = pointerArg<int32_t>(args, 1) + blockX();
    int32_t value = loadGlobal(word, 0);
    storeGlobal(word, value + 1, 1, tid() == 0);
  };
  Status status = run(program, 0, out);
  EXPECT_TRUE(status) << status.message();
}

TEST_F(HostTest, BlockDimensionsAreChecked) {
  threads = 48;
  Status status = run([](void *const *) {});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(),
            "kernel 'test': expected threads to be a multiple of 32 up to 1024 but got 48");
  threads = 32;
  blocks = 0;
  EXPECT_EQ(run([](void *const *) {}).message(),
            "kernel 'test': expected at least one block per row but got 0");
  blocks = 1;
  sharedBytes = 1 << 20;
  EXPECT_EQ(run([](void *const *) {}).message(),
            "kernel 'test': expected at most 232448 bytes of shared memory but got 1048576");
}

//===----------------------------------------------------------------------===//
// Approximate functions
//===----------------------------------------------------------------------===//

namespace {

float approxResult[64];
float approxArgument;
uint32_t approxFunction;

void approxProgram(void *const *) {
  approxResult[tid()] = rssm_host_approx(approxFunction, approxArgument);
}

} // namespace

TEST_F(HostTest, ApproximateFunctionsFlushAndTreatSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float denormal = std::numeric_limits<float>::denorm_min();
  struct {
    uint32_t fn;
    float x, y;
  } cases[] = {{RSSM_EX2, 3, 8},
               {RSSM_EX2, -inf, 0},
               {RSSM_EX2, inf, inf},
               {RSSM_EX2, -denormal, 1},
               {RSSM_EX2, -126, std::numeric_limits<float>::min()},
               {RSSM_EX2, -127, 0},
               {RSSM_LG2, 8, 3},
               {RSSM_LG2, denormal, -inf},
               {RSSM_LG2, inf, inf},
               {RSSM_RSQRT, 4, 0.5f},
               {RSSM_RSQRT, -denormal, -inf},
               {RSSM_RSQRT, inf, 0},
               {RSSM_RCP, 4, 0.25f},
               {RSSM_RCP, -denormal, -inf},
               {RSSM_RCP, -std::numeric_limits<float>::max(), -0.0f}};
  for (auto &c : cases) {
    approxFunction = c.fn;
    approxArgument = c.x;
    ASSERT_TRUE(run(approxProgram));
    EXPECT_EQ(0, std::memcmp(&approxResult[0], &c.y, sizeof(float)))
        << c.fn << " of " << c.x << " gave " << approxResult[0];
  }
  approxFunction = RSSM_LG2;
  approxArgument = -1;
  ASSERT_TRUE(run(approxProgram));
  EXPECT_TRUE(std::isnan(approxResult[0]));
}

TEST_F(HostTest, PerturbationMovesByTwoUlpAndIsReproducible) {
  approxFunction = RSSM_RSQRT;
  uint32_t exact, moved, again;
  bool seen[5] = {};
  for (unsigned i = 0; i < 200; ++i) {
    approxArgument = 0.3f + static_cast<float>(i);
    auto bits = [&](uint64_t seed) {
      options.perturbSeed = seed;
      EXPECT_TRUE(run(approxProgram));
      uint32_t value;
      std::memcpy(&value, &approxResult[0], sizeof(value));
      return value;
    };
    exact = bits(0);
    moved = bits(5);
    again = bits(5);
    EXPECT_EQ(moved, again);
    auto step = static_cast<int32_t>(moved - exact);
    ASSERT_LE(std::abs(step), 2);
    seen[step + 2] = true;
  }
  for (bool one : seen)
    EXPECT_TRUE(one);
}

//===----------------------------------------------------------------------===//
// Backend
//===----------------------------------------------------------------------===//

TEST_F(HostTest, BuffersAreAlignedPoisonedAndBoundsChecked) {
  uint64_t address = buffer(100);
  EXPECT_EQ(address % 256, 0u);
  std::vector<uint8_t> bytes(100);
  ASSERT_TRUE(backend->copyOut(bytes.data(), address, 100));
  EXPECT_EQ(bytes, std::vector<uint8_t>(100, 0xFF));
  Status past = backend->copyIn(address + 1, bytes.data(), 100);
  EXPECT_EQ(past.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(past.message(),
            "copy to the device of 100 bytes does not lie inside one live buffer");
  backend->free(address);
  EXPECT_EQ(backend->copyOut(bytes.data(), address, 1).message(),
            "copy from the device of 1 bytes does not lie inside one live buffer");
  auto refused = backend->allocate(UINT64_MAX / 4);
  EXPECT_EQ(refused.status().code(), StatusCode::Exhausted);
  EXPECT_EQ(refused.status().message(), "no memory for a buffer of 4611686018427387903 bytes");
}

TEST_F(HostTest, GraphsReplayTheRecordedLaunches) {
  uint64_t out = buffer(32 * sizeof(int32_t));
  std::vector<int32_t> values(32, 0);
  ASSERT_TRUE(backend->copyIn(out, values.data(), 128));
  EXPECT_EQ(backend->endCapture().status().message(),
            "end of a capture: expected an open capture on this device but there is none");
  ASSERT_TRUE(backend->beginCapture());
  // What a GPU refuses while it records.
  for (auto [status, what] : {std::pair(backend->beginCapture(), "begin of a capture"),
                              std::pair(backend->copyIn(out, values.data(), 128), "copy into a buffer"),
                              std::pair(backend->copyOut(values.data(), out, 128), "copy out of a buffer"),
                              std::pair(backend->allocate(16).status(), "allocate"),
                              std::pair(backend->replay(nullptr), "replay of a graph"),
                              std::pair(backend->loadKernels("text", {{}}).status(), "load of a kernel"),
                              std::pair(backend->synchronize(), "synchronize")})
    EXPECT_EQ(status.message(), std::string(what) + ": expected no open capture on this device");
  auto increment = [](void *const *args) {
    auto *out = pointerArg<int32_t>(args, 1);
    storeGlobal(out + tid(), loadGlobal(out + tid()) + 1);
  };
  ASSERT_TRUE(run(increment, 0, out));
  ASSERT_TRUE(run(increment, 0, out));
  Status elsewhere;
  std::thread([&] { elsewhere = backend->endCapture().status(); }).join();
  EXPECT_EQ(elsewhere.str(), "invalid argument: end of a capture: expected the thread that began it");
  auto graph = backend->endCapture();
  ASSERT_TRUE(graph);
  ASSERT_TRUE(backend->copyOut(values.data(), out, 128));
  EXPECT_EQ(values[7], 0); // recorded only
  for (unsigned i = 0; i < 3; ++i)
    ASSERT_TRUE(backend->replay(*graph));
  ASSERT_TRUE(backend->copyOut(values.data(), out, 128));
  EXPECT_EQ(values, std::vector<int32_t>(32, 6));
  EXPECT_EQ(backend->timeGraph(*graph).status().message(),
            "the host device does not time graphs");
  backend->destroyGraph(*graph);
}

TEST_F(HostTest, OptionsOutOfRange) {
  for (int landing : {-1, 2}) {
    options.landing = static_cast<HostOptions::Landing>(landing);
    EXPECT_EQ(run([](void *const *) {}).str(), "invalid argument: launch of 'test': expected HostOptions::landing to "
                                               "be AtIssue or AtWait but got " + std::to_string(landing));
  }
  options.landing = HostOptions::Landing::AtWait;
  options.scheduleSeed = 1;
  blocks = INT32_MAX;
  rows = 65535;
  EXPECT_EQ(run([](void *const *) {}).str(),
            "exhausted: no memory to permute the 140735340806145 blocks of kernel 'test'");
}

TEST_F(HostTest, CodeTextIsRefused) {
  auto loaded = backend->loadKernels("text", {{}});
  EXPECT_EQ(loaded.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(loaded.status().message(),
            "the host device runs JIT-compiled kernels: use replayssm::jitSource");
  auto resources = backend->resources(*kernel(nullptr));
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->sharedBytes, 1024);
  EXPECT_EQ(resources->registers, 0);
}
