//===- HostMmaTest.cpp - Tensor cores of the host device ------------------===//
//
// Products of matrices beside fp64, with operands in the registers of PTX, and lanes that do
// not meet.
//
//===----------------------------------------------------------------------===//

#include "HostFixture.h"
#include "runtime/host/Random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

using namespace replayssm;
using namespace replayssm::rt;

namespace {

constexpr uint32_t kTypes[] = {RSSM_MMA_TF32, RSSM_MMA_BF16, RSSM_MMA_F16};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

/// a[16, channels] b[channels, 8] + c[16, 8]; numbers that the type has.
struct Problem {
  uint32_t type = RSSM_MMA_TF32;
  double a[16][16] = {}, b[16][8] = {}, c[16][8] = {};

  uint32_t channels() const { return type == RSSM_MMA_TF32 ? 8 : 16; }
  uint32_t digits() const { return type == RSSM_MMA_BF16 ? 8 : 11; }
  void fill(const std::function<double()> &number) {
    for (uint32_t k = 0; k < channels(); ++k) {
      for (uint32_t row = 0; row < 16; ++row)
        a[row][k] = number();
      for (uint32_t col = 0; col < 8; ++col)
        b[k][col] = number();
    }
    for (auto &row : c)
      for (double &x : row)
        x = number();
  }
  double exact(uint32_t row, uint32_t col) const {
    double sum = c[row][col];
    for (uint32_t k = 0; k < channels(); ++k)
      sum += a[row][k] * b[k][col];
    return sum;
  }
  /// The last bit of the largest term.
  double bit(uint32_t row, uint32_t col) const {
    double largest = std::fabs(c[row][col]);
    for (uint32_t k = 0; k < channels(); ++k)
      largest = std::fmax(largest, std::fabs(a[row][k] * b[k][col]));
    return std::ldexp(1, std::ilogb(largest) - 23);
  }
};

struct Sums {
  float at[16][8];
  bool operator==(const Sums &other) const { return std::memcmp(at, other.at, sizeof(at)) == 0; }
};

struct Place {
  uint32_t row, col;
};

// As the PTX manual has the fragments of mma.m16n8k8 (tf32) and mma.m16n8k16, element by element.
Place placeInA(uint32_t type, uint32_t lane, uint32_t i) {
  uint32_t group = lane >> 2, thread = lane % 4;
  if (type == RSSM_MMA_TF32)
    return {i == 0 || i == 2 ? group : group + 8, i == 0 || i == 1 ? thread : thread + 4};
  return {(i < 2 || (i >= 4 && i < 6)) ? group : group + 8, i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8};
}
Place placeInB(uint32_t type, uint32_t lane, uint32_t i) {
  uint32_t group = lane >> 2, thread = lane % 4;
  if (type == RSSM_MMA_TF32)
    return {i == 0 ? thread : thread + 4, group};
  return {i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8, group};
}
Place placeInC(uint32_t lane, uint32_t i) {
  uint32_t group = lane >> 2, thread = lane % 4;
  return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

uint32_t encode(uint32_t type, double value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type != RSSM_MMA_F16)
    return type == RSSM_MMA_BF16 ? bits >> 16 : bits;
  uint32_t sign = bits >> 16 & 0x8000;
  double size = std::fabs(value);
  if (!(size <= 65504))
    return sign | (std::isnan(value) ? 0x7e00 : 0x7c00);
  if (size < std::ldexp(1, -14))
    return sign | static_cast<uint32_t>(std::ldexp(size, 24));
  int exponent = std::ilogb(size);
  return sign | static_cast<uint32_t>(exponent + 15) << 10 | (static_cast<uint32_t>(std::ldexp(size, 10 - exponent)) & 1023);
}

// What the lanes of the program below bring and get.
uint32_t type;
rssm_host_mma_operands brought[32];
float got[32][4];

class HostMmaTest : public HostTest {
protected:
  Sums multiply(const Problem &problem) {
    type = problem.type;
    uint32_t perWord = type == RSSM_MMA_TF32 ? 1 : 2;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      brought[lane] = {};
      for (uint32_t i = 0; i < 4 * perWord; ++i) {
        Place at = placeInA(type, lane, i);
        brought[lane].a[i / perWord] |= encode(type, problem.a[at.row][at.col]) << 16 * (i % perWord);
      }
      for (uint32_t i = 0; i < 2 * perWord; ++i) {
        Place at = placeInB(type, lane, i);
        brought[lane].b[i / perWord] |= encode(type, problem.b[at.row][at.col]) << 16 * (i % perWord);
      }
      for (uint32_t i = 0; i < 4; ++i) {
        Place at = placeInC(lane, i);
        brought[lane].c[i] = static_cast<float>(problem.c[at.row][at.col]);
      }
    }
    Status status = run([](void *const *) { rssm_host_mma(got[tid()], &brought[tid()], type, 2); });
    EXPECT_TRUE(status) << status.message();
    Sums sums;
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < 4; ++i) {
        Place at = placeInC(lane, i);
        sums.at[at.row][at.col] = got[lane][i];
      }
    return sums;
  }

  Random random;
  double integer() { return static_cast<double>(random.below(17)) - 8; }
  /// Of either sign, with as many digits as the type has and exponents some apart.
  double number(const Problem &problem) {
    double digits = random.below(1u << problem.digits());
    double size = std::ldexp(digits, -static_cast<int>(problem.digits() + random.below(8)) + 3);
    return random.below(2) ? size : -size;
  }
  Problem randomNumbers(uint32_t type) {
    Problem problem;
    problem.type = type;
    problem.fill([&] { return number(problem); });
    return problem;
  }
};

} // namespace

TEST_F(HostMmaTest, IntegersAreExactUnderEverySchedule) {
  for (uint32_t type : kTypes)
    for (uint64_t seed = 0; seed < 20; ++seed) {
      options.scheduleSeed = seed;
      options.perturbSeed = seed; // what is exact stays so
      Problem problem;
      problem.type = type;
      problem.fill([&] { return integer(); });
      Sums sums = multiply(problem);
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t col = 0; col < 8; ++col)
          ASSERT_EQ(sums.at[row][col], problem.exact(row, col)) << "type " << type << " at " << row << ", " << col;
    }
}

TEST_F(HostMmaTest, OneRoundingTowardsZero) {
  bool isShort = false;
  for (uint32_t type : kTypes)
    for (unsigned i = 0; i < 50; ++i) {
      Problem problem = randomNumbers(type);
      Sums sums = multiply(problem);
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t col = 0; col < 8; ++col) {
          double exact = problem.exact(row, col), sum = sums.at[row][col];
          // A sum of many bits more than its largest term is rounded to f32.
          double error = sum - exact, half = std::ldexp(1, std::ilogb(exact) - 24);
          ASSERT_LT(std::fabs(error), problem.bit(row, col) + half) << exact;
          ASSERT_LE(error * exact, half * std::fabs(exact)) << exact;
          isShort |= std::fabs(error) > problem.bit(row, col) / 2;
        }
    }
  EXPECT_TRUE(isShort); // to nearest would not be
}

TEST_F(HostMmaTest, TermsBelowTheLastBitOfTheLargestAreCut) {
  Problem problem;
  problem.a[3][0] = std::ldexp(1, -24);
  problem.b[0][5] = 1;
  problem.c[3][5] = 1;
  EXPECT_EQ(multiply(problem).at[3][5], 1);
  problem.b[0][5] = -1; // 1 - 2^-24 in f32, but not of so many bits
  EXPECT_EQ(multiply(problem).at[3][5], 1 - std::ldexp(1, -23));
  problem.a[3][1] = std::ldexp(1, -24); // together a bit
  problem.b[1][5] = -1;
  EXPECT_EQ(multiply(problem).at[3][5], 1 - std::ldexp(1, -23));
  problem.c[3][5] = 0; // beside nothing that is larger
  EXPECT_EQ(multiply(problem).at[3][5], -std::ldexp(1, -23));
}

TEST_F(HostMmaTest, Tf32HasNoMoreDigitsThanItsTenBits) {
  Problem problem;
  problem.a[0][0] = 1 + std::ldexp(1, -10);
  problem.b[0][0] = 1;
  EXPECT_EQ(multiply(problem).at[0][0], 1 + std::ldexp(1, -10));
  problem.a[0][0] = 1 + std::ldexp(8191, -23);
  EXPECT_EQ(multiply(problem).at[0][0], 1);
  problem.a[0][0] = 1;
  problem.b[0][0] = -1 - std::ldexp(8191, -23);
  EXPECT_EQ(multiply(problem).at[0][0], -1);
}

TEST_F(HostMmaTest, SmallestNumbers) {
  Problem problem;
  problem.type = RSSM_MMA_F16;
  problem.a[2][7] = std::ldexp(1, -24);
  problem.b[7][1] = -65504;
  EXPECT_EQ(multiply(problem).at[2][1], -std::ldexp(65504, -24));
  problem.a[2][7] = std::ldexp(-1023, -24);
  EXPECT_EQ(multiply(problem).at[2][1], std::ldexp(65504.0 * 1023, -24));
  for (uint32_t type : {RSSM_MMA_BF16, RSSM_MMA_TF32}) {
    problem.type = type;
    problem.a[2][7] = std::ldexp(1, -130);
    problem.b[7][1] = 3;
    EXPECT_EQ(multiply(problem).at[2][1], std::ldexp(3, -130));
    problem.b[7][1] = std::ldexp(3, -20); // 1.5 times the smallest f32
    EXPECT_EQ(multiply(problem).at[2][1], std::numeric_limits<float>::denorm_min());
  }
}

TEST_F(HostMmaTest, AccumulatorsAdd) {
  for (uint32_t type : kTypes) {
    Problem first, second;
    first.type = second.type = type;
    first.fill([&] { return integer(); });
    second.fill([&] { return integer(); });
    Sums sums = multiply(first);
    for (uint32_t row = 0; row < 16; ++row)
      for (uint32_t col = 0; col < 8; ++col)
        second.c[row][col] = sums.at[row][col];
    sums = multiply(second);
    for (uint32_t row = 0; row < 16; ++row)
      for (uint32_t col = 0; col < 8; ++col)
        ASSERT_EQ(sums.at[row][col], second.exact(row, col));
  }
}

TEST_F(HostMmaTest, NaNStaysInItsRowAndColumn) {
  for (uint32_t type : kTypes) {
    auto expectNaN = [&](const Problem &problem, const std::function<bool(uint32_t, uint32_t)> &isNaN) {
      Sums sums = multiply(problem);
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t col = 0; col < 8; ++col)
          if (isNaN(row, col))
            ASSERT_EQ(std::bit_cast<uint32_t>(sums.at[row][col]), 0x7fffffffu) << row << ", " << col;
          else
            ASSERT_EQ(sums.at[row][col], problem.exact(row, col)) << row << ", " << col;
    };
    Problem clean;
    clean.type = type;
    clean.fill([&] { return integer(); });
    for (uint32_t k = 0; k < clean.channels(); k += 3) {
      Problem problem = clean;
      problem.a[k][k] = kNaN;
      expectNaN(problem, [&](uint32_t row, uint32_t) { return row == k; });
      problem = clean;
      problem.b[k][k % 8] = kNaN;
      expectNaN(problem, [&](uint32_t, uint32_t col) { return col == k % 8; });
      problem = clean;
      problem.c[k][k % 8] = -kNaN;
      expectNaN(problem, [&](uint32_t row, uint32_t col) { return row == k && col == k % 8; });
    }
  }
}

TEST_F(HostMmaTest, Infinities) {
  for (uint32_t type : kTypes) {
    Problem problem;
    problem.type = type;
    problem.a[9][4] = -kInf;
    for (double &x : problem.b[4])
      x = 2;
    problem.b[4][3] = 0;
    problem.c[9][2] = kInf;
    problem.c[9][1] = -kInf;
    Sums sums = multiply(problem);
    EXPECT_EQ(sums.at[9][0], -kInf);
    EXPECT_EQ(sums.at[9][1], -kInf);
    EXPECT_TRUE(std::isnan(sums.at[9][2])); // inf - inf
    EXPECT_TRUE(std::isnan(sums.at[9][3])); // inf * 0
    EXPECT_EQ(sums.at[1][0], 0);
  }
  Problem problem; // beyond f32
  problem.a[0][0] = problem.b[0][0] = std::ldexp(1, 64);
  EXPECT_EQ(multiply(problem).at[0][0], kInf);
}

//===----------------------------------------------------------------------===//
// Perturbation
//===----------------------------------------------------------------------===//

TEST_F(HostMmaTest, PerturbationMovesByOneBitAndIsReproducible) {
  for (uint32_t type : kTypes) {
    std::set<double> steps;
    for (unsigned i = 0; i < 20; ++i) {
      Problem problem = randomNumbers(type);
      for (auto &row : problem.c)
        std::fill(row, row + 8, 1); // operands alone tell sums apart
      options.perturbSeed = 0;
      Sums plain = multiply(problem);
      options.perturbSeed = 5;
      Sums moved = multiply(problem);
      EXPECT_EQ(moved, multiply(problem));
      options.perturbSeed = 6;
      EXPECT_NE(moved, multiply(problem));
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t col = 0; col < 8; ++col) {
          double step = double(moved.at[row][col]) - plain.at[row][col];
          // Sums of more bits than their largest term are rounded behind it.
          double half = std::ldexp(1, std::ilogb(problem.exact(row, col)) - 24);
          ASSERT_LE(std::fabs(step), problem.bit(row, col) + 2 * half);
          steps.insert(step == 0 ? 0 : std::copysign(1, step));
        }
    }
    EXPECT_EQ(steps, (std::set<double>{-1, 0, 1}));
  }
}

TEST_F(HostMmaTest, PerturbationDoesNotDependOnThePlace) {
  for (uint32_t type : kTypes) {
    bool isMoved = false;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      options.perturbSeed = seed;
      options.scheduleSeed = seed;
      Problem problem = randomNumbers(type), elsewhere = problem;
      auto rowOf = [](uint32_t row) { return (5 * row + 3) % 16; };
      auto colOf = [](uint32_t col) { return (3 * col + 1) % 8; };
      for (uint32_t row = 0; row < 16; ++row)
        std::copy(problem.a[row], problem.a[row] + 16, elsewhere.a[rowOf(row)]);
      for (uint32_t col = 0; col < 8; ++col) {
        for (uint32_t k = 0; k < 16; ++k)
          elsewhere.b[k][colOf(col)] = problem.b[k][col];
        for (uint32_t row = 0; row < 16; ++row)
          elsewhere.c[rowOf(row)][colOf(col)] = problem.c[row][col];
      }
      Sums here = multiply(problem), there = multiply(elsewhere);
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t col = 0; col < 8; ++col)
          ASSERT_EQ(std::bit_cast<uint32_t>(here.at[row][col]),
                    std::bit_cast<uint32_t>(there.at[rowOf(row)][colOf(col)]))
              << "seed " << seed;
      options.perturbSeed = 0;
      isMoved |= here != multiply(problem);
    }
    EXPECT_TRUE(isMoved);
  }
}

//===----------------------------------------------------------------------===//
// Warps and lanes
//===----------------------------------------------------------------------===//

namespace {

float sumsOfTurns[64][4];

/// Many in a row, with shuffles between: no lane reads what another turn or warp brought.
void turns(void *const *) {
  uint32_t warp = tid() / 32, lane = tid() % 32;
  float *sums = sumsOfTurns[tid()];
  std::fill(sums, sums + 4, 0.0f);
  for (uint32_t turn = 0; turn < 20; ++turn) {
    rssm_host_mma_operands own = {};
    for (uint32_t i = 0; i < 4; ++i) {
      own.a[i] = std::bit_cast<uint32_t>(static_cast<float>(placeInA(RSSM_MMA_TF32, lane, i).row + 20 * turn + 1000 * warp));
      own.c[i] = sums[i];
    }
    for (uint32_t i = 0; i < 2; ++i)
      own.b[i] = std::bit_cast<uint32_t>(1.0f + static_cast<float>(turn % 3 == 0));
    rssm_host_mma(sums, &own, RSSM_MMA_TF32, 1);
    if (turn % 4 == 0)
      sums[0] += rssm_host_shfl_bfly(static_cast<float>(turn), 1, 2);
  }
}

} // namespace

TEST_F(HostMmaTest, TurnsAndWarpsDoNotMix) {
  threads = 64;
  for (options.scheduleSeed = 0; options.scheduleSeed < 12; ++options.scheduleSeed) {
    Status status = run(turns);
    ASSERT_TRUE(status) << status.message();
    for (uint32_t thread = 0; thread < 64; ++thread)
      for (uint32_t i = 0; i < 4; ++i) {
        float expected = 0;
        for (uint32_t turn = 0; turn < 20; ++turn) {
          auto x = static_cast<float>(placeInC(thread % 32, i).row + 20 * turn + 1000 * (thread / 32));
          expected += 8 * x * (turn % 3 == 0 ? 2 : 1) + static_cast<float>(i == 0 && turn % 4 == 0 ? turn : 0);
        }
        ASSERT_EQ(sumsOfTurns[thread][i], expected) << "thread " << thread << ", seed " << options.scheduleSeed;
      }
  }
}

namespace {

void mma(uint32_t type, uint32_t site) {
  rssm_host_mma_operands own = {};
  float sums[4];
  rssm_host_mma(sums, &own, type, site);
}

} // namespace

TEST_F(HostMmaTest, LanesAtAnMmaAndAtAShuffle) {
  expectFault(run([](void *const *) {
                if (tid() < 5)
                  mma(RSSM_MMA_TF32, 2);
                else
                  rssm_host_shfl_bfly(1, 1, 3);
              }),
              "warp divergence: other lanes of the warp wait at an mma (op2); thread 5 of block (0, 0), at op3");
  expectFault(run([](void *const *) {
                if (tid() < 5)
                  rssm_host_shfl_down(1, 1, 32, 2);
                else
                  mma(RSSM_MMA_BF16, 2);
              }),
              "warp divergence: other lanes of the warp wait at a shuffle (op2); thread 5 of block (0, 0), at op2");
}

TEST_F(HostMmaTest, LanesAtDifferentMmas) {
  expectFault(run([](void *const *) { mma(RSSM_MMA_TF32, tid() < 5 ? 2 : 3); }),
              "warp divergence: other lanes of the warp wait at another mma (op2); thread 5 of block (0, 0), at op3");
  expectFault(run([](void *const *) { mma(tid() < 5 ? RSSM_MMA_BF16 : RSSM_MMA_F16, 2); }),
              "warp divergence: other lanes of the warp wait at another mma (op2); thread 5 of block (0, 0), at op2");
}

TEST_F(HostMmaTest, MmaAfterLanesFinished) {
  auto program = [](void *const *) {
    if (tid() >= 4)
      mma(RSSM_MMA_F16, 2);
  };
  expectFault(run(program), "warp divergence: the lane waits at an mma after other lanes of its warp have finished; "
                            "thread 4 of block (0, 0), at op2");
}

TEST_F(HostMmaTest, LanesFinishWhileOthersWait) {
  auto program = [](void *const *) {
    if (tid() < 4)
      mma(RSSM_MMA_TF32, 2);
  };
  expectFault(run(program), "deadlock: thread 0 waits at an mma (op2), thread 4 has finished; "
                            "thread 0 of block (0, 0), at op2");
}

TEST_F(HostMmaTest, HalfAWarpAtABarrierHalfAtAnMma) {
  auto program = [](void *const *) {
    if (tid() % 2)
      rssm_host_barrier(1);
    else
      mma(RSSM_MMA_TF32, 2);
  };
  expectFault(run(program), "deadlock: thread 0 waits at an mma (op2), thread 1 waits at a barrier (op1); "
                            "thread 0 of block (0, 0), at op2");
}

// Every kind of wait at once: each is named.
TEST_F(HostMmaTest, EveryWaitIsNamed) {
  threads = 96;
  auto program = [](void *const *) {
    if (tid() == 0) {
      rssm_host_mbar_init(rssm_host_shared(0), 1, 0);
      rssm_host_mbar_init_fence(0);
    }
    rssm_host_barrier(1);
    if (tid() < 31)
      mma(RSSM_MMA_TF32, 2);
    else if (tid() > 32 && tid() < 64)
      rssm_host_shfl_bfly(1, 1, 3);
    else if (tid() > 63)
      rssm_host_mbar_wait(rssm_host_shared(0), 0, 4);
    else
      rssm_host_barrier(5);
  };
  std::string text = run(program).message();
  EXPECT_TRUE(text.starts_with("kernel 'test': deadlock: thread 0 waits at an mma (op2), thread 31 waits at a barrier "
                               "(op5), thread 33 waits at a shuffle (op3), thread 64 waits at an mbarrier (op4)"))
      << text;
}
