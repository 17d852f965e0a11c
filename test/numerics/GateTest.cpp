//===- GateTest.cpp - Gates, beta and norms of compiled kernels -----------===//
//
// Numbers that a kernel has stored against their exact values: on the host
// device, also with moved approximations, and on a GPU where there is one.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Reference.h"
#include "test/numerics/GateContract.h"
#include "test/numerics/KernelInputs.h"

#include <cstdint>
#include <optional>

using namespace replayssm;

namespace {
const float nan_ = std::numeric_limits<float>::quiet_NaN();

std::vector<int32_t> upTo(int32_t count, int32_t step = 1) {
  std::vector<int32_t> values(count);
  for (int32_t i = 0; i < count; ++i)
    values[i] = i * step;
  return values;
}

Result<Kernel> compile(Device &device, const std::string &text) {
  auto spec = parseKernelSpec(text);
  return spec ? jitSpec(device, *spec) : spec.status();
}

/// Runs every test on the host device as it is and with moved approximations, and on a GPU.
enum class Where { Host, Perturbed, Cuda };
class OnDevice : public testing::TestWithParam<Where> {
protected:
  void SetUp() override {
    if (GetParam() == Where::Cuda) {
      auto cuda = Device::openCuda();
      if (!cuda)
        GTEST_SKIP() << cuda.status().message();
      device.emplace(cuda.take());
      return;
    }
    device.emplace(Device::openHost());
    device->hostOptions().perturbSeed = GetParam() == Where::Perturbed ? 3 : 0;
  }
  std::optional<Device> device;
};
INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, testing::Values(Where::Host, Where::Perturbed, Where::Cuda),
                         [](const auto &info) {
                           return info.param == Where::Host ? "Host" : info.param == Where::Cuda ? "Cuda" : "Perturbed";
                         });

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

/// Gates of replay decode, a row for each of `a`: A_log and dt_bias are given for every head.
/// Channels of KDA hold `biases` in turn, those of GDN are heads.
struct GateRun {
  std::string rule;
  float bound; ///< 0: softplus.
  std::vector<float> aLogs, biases, as;

  int64_t channels() const { return rule == "kda" ? 8 : 1; }
  int64_t heads() const { return int64_t(aLogs.size()) * ((int64_t(biases.size()) + channels() - 1) / channels()); }
  gates::Inputs at(int64_t row, int64_t head, int64_t channel) const {
    int64_t bias = head / int64_t(aLogs.size()) * channels() + channel;
    return {aLogs[head % aLogs.size()], as[row], biases[bias % biases.size()], bound};
  }

  void run(Device &device) const {
    int64_t HV = heads(), GK = channels(), B = int64_t(as.size()), K = 8, V = 8, L = 4;
    std::string text = "rule=" + rule + ",phase=replay,H=1,HV=" + std::to_string(HV) +
                       ",K=8,V=8,L=4,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,io=f32,gate=" +
                       (bound == 0 ? "softplus" : "safe,lower_bound=" + std::to_string(bound));
    auto kernel = compile(device, text);
    ASSERT_TRUE(kernel) << kernel.status().message();
    std::vector<float> aLog(HV), bias(HV * GK), a(B * HV * GK);
    for (int64_t head = 0; head < HV; ++head)
      for (int64_t c = 0; c < GK; ++c) {
        aLog[head] = at(0, head, c).aLog;
        bias[head * GK + c] = at(0, head, c).bias;
        for (int64_t row = 0; row < B; ++row)
          a[(row * HV + head) * GK + c] = at(row, head, c).a;
      }
    inputs::Buffers buffers(device);
    buffers.set("A_log", aLog);
    buffers.set("dt_bias", bias);
    buffers.set("a", a, HV * GK);
    buffers.set("b", std::vector<float>(B * HV), HV);
    buffers.set("mixed_qkv", std::vector<float>(B * (2 * K + HV * V), 0.5f), 2 * K + HV * V);
    buffers.set("out", std::vector<float>(B * HV * V), HV * V);
    buffers.set("state", std::vector<float>(B * HV * V * K, 1.0f), HV * V * K);
    buffers.set("state_idx", upTo(B));
    buffers.set("ring_idx", upTo(B));
    buffers.set("wp", std::vector<int32_t>(B));
    buffers.set("force_flush", std::vector<int8_t>(B));
    buffers.set("d_ring", std::vector<float>(B * HV * L * V), HV * L * V);
    buffers.set("k_ring", std::vector<float>(B * L * K), L * K);
    buffers.set("g_ring", std::vector<float>(B * HV * L * GK, 1.0f), HV * L * GK);
    buffers.launch(*kernel, uint32_t(B));
    std::vector<float> g = buffers.get<float>("g_ring"), out = buffers.get<float>("out");
    int64_t faults = 0;
    for (int64_t row = 0; row < B; ++row)
      for (int64_t head = 0; head < HV; ++head) {
        bool isDefined = true;
        for (int64_t c = 0; c < GK; ++c) {
          gates::Inputs in = at(row, head, c);
          std::string fault = gates::fault(in, g[(row * HV + head) * L * GK + c]);
          if (!fault.empty() && ++faults <= 5)
            ADD_FAILURE() << text << ": " << fault;
          isDefined &= !std::isnan(gates::exact(in));
        }
        for (int64_t v = 0; v < V && isDefined; ++v)
          if (!std::isfinite(out[(row * HV + head) * V + v]) && ++faults <= 5)
            ADD_FAILURE() << text << ": output " << v << " of row " << row << ", head " << head;
      }
    EXPECT_EQ(faults, 0) << text;
  }
};

std::vector<float> rates() { return {std::begin(gates::rates), std::end(gates::rates)}; }

TEST_P(OnDevice, GatesOfAnyNumbers) {
  std::vector<float> sums(std::begin(gates::sums), std::end(gates::sums));
  std::vector<float> biases{0, -4.3f, 1e-45f, -80, 100, 1e30f, -2e38f, 2e38f, -1e30f, 88.73f, -gates::infinite};
  for (float bound : {0.0f, -5.0f}) {
    GateRun{"gdn", bound, rates(), {0, -2e38f, 2e38f}, sums}.run(*device);
    GateRun{"kda", bound, rates(), biases, sums}.run(*device);
  }
  GateRun{"kda", -3e38f, rates(), {0, 0.3f}, sums}.run(*device);
}

// A_log + x, or the product of the rate and x, is of ordinary size.
TEST_P(OnDevice, GatesWhereFactorsMeet) {
  for (float aLog : {80.01f, 88.73f, 95.0f, 103.5f, 1e6f, 1e30f, FLT_MAX}) {
    std::vector<float> as;
    for (float shift = -17; shift < 4; shift += 1.37f)
      as.push_back(shift - aLog);
    for (const char *rule : {"gdn", "kda"})
      GateRun{rule, 0, {aLog}, {0, 0.7f, -1.1f}, as}.run(*device);
  }
  for (float aLog : {-101.0f, -88.0f, -80.5f, -79.5f, 79.5f, 80.5f, 88.9f, 95.0f}) {
    std::vector<float> as;
    for (float z = -19; z < 6; z += 1.37f)
      as.push_back(z * std::exp(-aLog / 2) * std::exp(-aLog / 2));
    for (const char *rule : {"gdn", "kda"})
      GateRun{rule, -5, {aLog}, {0}, as}.run(*device);
  }
}

// Each with the number that it is.
TEST(GateContract, ExactValues) {
  using gates::exact, gates::Inputs, gates::infinite;
  struct Known {
    Inputs in;
    double g;
  };
  const Known known[] = {
      {{100, -200, 0}, -3.720075976020836e-44},
      {{88.73f, -87.3f, 0}, -4.178698},
      {{0, -infinite, 0}, 0},
      {{0, infinite, 0}, -infinite},
      {{0, -2e38f, -2e38f}, 0},
      {{0, 2e38f, 2e38f}, -4e38},
      {{1e30f, -1e30f, -1}, -0.36787944117144233},
      {{-100, 3e38f, 3e38f}, -2.2320455856e-05},
      {{-1e30f, infinite, 0}, -infinite},
      {{100, -200, 0, -5}, 0},
      {{0, -infinite, 0, -5}, 0},
      {{0, infinite, 0, -5}, -5},
      {{0, -2e38f, -2e38f, -5}, 0},
      {{-80, 1e36f, 0, -5}, -4.9999999281586},
      {{80, -1e-35f, 0, -5}, -1.8246316},
      {{-88, -2e38f, -2e38f, -5}, -0.40761163},
      {{-1e30f, 3e38f, 3e38f, -5}, -2.5},
  };
  for (const Known &k : known) {
    double g = static_cast<double>(exact(k.in));
    EXPECT_TRUE(std::isinf(k.g) ? g == k.g : std::fabs(g - k.g) <= 2e-5 * std::fabs(k.g) + 1e-300)
        << "A_log " << k.in.aLog << ", a " << k.in.a << ", lower_bound " << k.in.bound << ": " << g;
  }
  EXPECT_FALSE(gates::fault({100, -200, 0}, nan_).empty());
  EXPECT_FALSE(gates::fault({88.73f, -87.3f, 0}, -infinite).empty());
  EXPECT_FALSE(gates::fault({0, 1, 0}, 1e-30f).empty());
  EXPECT_FALSE(gates::fault({0, 1, 0}, -1.31326f).empty());
  EXPECT_TRUE(gates::fault({0, 1, 0}, -1.3132616f).empty());
}

// The oracle of every other check.
TEST(GateContract, Reference) {
  for (float bound : {0.0f, -5.0f, -3e38f})
    for (float aLog : gates::rates)
      for (float a : gates::sums)
        for (float bias : gates::sums)
          for (float near : {a, -bias - aLog - 1}) {
            KernelSpec spec;
            spec.gate = bound == 0 ? Gate::Softplus : Gate::Safe;
            spec.lowerBound = bound;
            gates::Inputs in{aLog, near, bias, bound};
            double want = static_cast<double>(gates::exact(in)), got = reference::gate(spec, near, aLog, bias);
            if (std::isnan(want))
              continue;
            ASSERT_TRUE(got == want || std::fabs(got - want) <= 1e-9 * std::fabs(want) + 1e-200)
                << "A_log " << aLog << ", a " << near << ", dt_bias " << bias << ", lower_bound " << bound << ": expected "
                << want << " but got " << got;
          }
}

//===----------------------------------------------------------------------===//
// Beta and norms
//===----------------------------------------------------------------------===//

float bf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
float f16(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float size = exponent == 0 ? std::ldexp(float(mantissa), -24) : std::ldexp(float(1024 + mantissa), exponent - 25);
  return bits >> 15 ? -size : size;
}

/// beta of every finite b of a 16-bit type, from the raw ring of a window of 16 tokens.
struct SigmoidIo {
  int64_t wrong = 0, worse = 0; ///< Not the nearest; not even a neighbour of it that is all but as near.

  void run(Device &device, const char *io) {
    bool isHalf = io == std::string("f16");
    std::vector<uint16_t> bits;
    for (int i = 0; i < 65536; ++i)
      if ((i & (isHalf ? 0x7c00 : 0x7f80)) != (isHalf ? 0x7c00 : 0x7f80))
        bits.push_back(uint16_t(i));
    int64_t T = 16, HV = 16, B = int64_t(bits.size()) / (T * HV), K = 8, V = 8, L = 16;
    ASSERT_EQ(bits.size(), size_t(B * T * HV));
    auto kernel = compile(device, std::string("rule=gdn,phase=verify,H=1,HV=16,K=8,V=8,L=16,T_max=16,flush_at=every_commit,"
                                              "fold=replay,gate=softplus,beta=sigmoid_io,qk_norm=l2_rsqrt,null=lt0,io=") + io);
    ASSERT_TRUE(kernel) << kernel.status().message();
    inputs::Buffers buffers(device);
    buffers.set("A_log", std::vector<float>(HV));
    buffers.set("dt_bias", std::vector<float>(HV));
    buffers.set("a", std::vector<uint16_t>(bits.size()), HV);
    buffers.set("b", bits, HV);
    buffers.set("mixed_qkv", std::vector<uint16_t>(B * T * (2 * K + HV * V)), 2 * K + HV * V);
    buffers.set("out", std::vector<uint16_t>(B * T * HV * V), HV * V);
    buffers.set("state", std::vector<float>(B * HV * V * K), HV * V * K);
    buffers.set("state_idx", upTo(B));
    buffers.set("ring_idx", upTo(B));
    buffers.set("query_start_loc", upTo(B + 1, T));
    buffers.set("raw_v_ring", std::vector<uint16_t>(B * HV * L * V), HV * L * V);
    buffers.set("raw_k_ring", std::vector<uint16_t>(B * L * K), L * K);
    buffers.set("g_ring", std::vector<float>(B * HV * L), HV * L);
    buffers.set("beta_ring", std::vector<float>(B * HV * L, nan_), HV * L);
    buffers.launch(*kernel, uint32_t(B));
    std::vector<float> beta = buffers.get<float>("beta_ring");
    for (int64_t row = 0; row < B; ++row)
      for (int64_t t = 0; t < T; ++t)
        for (int64_t head = 0; head < HV; ++head) {
          uint16_t b = bits[(row * T + t) * HV + head];
          double exact = 1 / (1 + std::exp(-double(isHalf ? f16(b) : bf16(b))));
          double got = beta[(row * HV + head) * L + t];
          int least = isHalf ? -14 : -126, mantissa = isHalf ? 10 : 7;
          double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), least) - mantissa);
          double nearest = std::nearbyint(exact / ulp) * ulp;
          // f32 arithmetic gives the sigmoid within 4 of its ulp, and 0 below 2^-126.
          double slack = exact < 0x1p-125 ? 0x1p-125 : 4 * std::ldexp(exact, -23);
          wrong += got != nearest && exact >= 0x1p-125;
          worse += !(std::fabs(got - exact) <= ulp / 2 + slack);
        }
  }
};

TEST_P(OnDevice, SigmoidIoOfEveryHalf) {
  if (GetParam() == Where::Perturbed)
    GTEST_SKIP() << "MathTest counts them with moved approximations";
  SigmoidIo counts;
  counts.run(*device, "f16");
  EXPECT_EQ(counts.worse, 0);
  EXPECT_EQ(counts.wrong, 7) << "docs/spec.md says how many";
}

TEST_P(OnDevice, SigmoidIoOfEveryBf16) {
  if (GetParam() == Where::Perturbed)
    GTEST_SKIP() << "MathTest counts them with moved approximations";
  SigmoidIo counts;
  counts.run(*device, "bf16");
  EXPECT_EQ(counts.worse, 0);
  EXPECT_EQ(counts.wrong, 0) << "docs/spec.md says how many";
}

/// Keys (1, y, 0, ...) and, of a zero state, values 1: the records hold 1 / sqrt(1 + y^2) and beta.
struct Approximations {
  double rsqrtUlps = 0, reciprocalUlps = 0;

  void run(Device &device, Kernel &kernel) {
    int64_t H = 16, B = 64, K = 8, V = 8, L = 4;
    std::vector<float> qkv(B * H * (2 * K + V), 0.0f), b(B * H);
    for (int64_t i = 0; i < B * H; ++i) {
      // 1 + y^2 has 23 bits at most, and eps is lost beside it: the sum is exact.
      float *row = &qkv[i / H * H * (2 * K + V)], *key = row + (H + i % H) * K;
      key[0] = 1;
      key[1] = std::ldexp(float(2 * i + 1), -11);
      // 1 + exp(-b) is 2 or 1.
      b[i] = i % 2 ? 0 : 17.5f + 0.01f * i;
      std::fill_n(row + (2 * K + 0) * H + i % H * V, V, 1.0f);
    }
    inputs::Buffers buffers(device);
    buffers.set("A_log", std::vector<float>(H));
    buffers.set("dt_bias", std::vector<float>(H));
    buffers.set("a", std::vector<float>(B * H), H);
    buffers.set("b", b, H);
    buffers.set("mixed_qkv", qkv, H * (2 * K + V));
    buffers.set("out", std::vector<float>(B * H * V), H * V);
    buffers.set("state", std::vector<float>(B * H * V * K), H * V * K);
    buffers.set("state_idx", upTo(B));
    buffers.set("ring_idx", upTo(B));
    buffers.set("wp", std::vector<int32_t>(B));
    buffers.set("force_flush", std::vector<int8_t>(B));
    buffers.set("d_ring", std::vector<float>(B * H * L * V, nan_), H * L * V);
    buffers.set("k_ring", std::vector<float>(B * H * L * K, nan_), H * L * K);
    buffers.set("g_ring", std::vector<float>(B * H * L), H * L);
    buffers.launch(kernel, uint32_t(B));
    std::vector<float> k = buffers.get<float>("k_ring"), d = buffers.get<float>("d_ring");
    for (int64_t i = 0; i < B * H; ++i) {
      double y = std::ldexp(double(2 * i + 1), -11), exact = 1 / std::sqrt(1 + y * y);
      raise(rsqrtUlps, std::fabs(k[i * L * K] - exact) / std::ldexp(1.0, std::ilogb(exact) - 23));
      raise(reciprocalUlps, std::fabs(d[i * L * V] - (i % 2 ? 0.5 : 1.0)) / 0x1p-24);
    }
  }
  static void raise(double &worst, double error) { worst = std::isnan(error) ? INFINITY : std::max(worst, error); }
};

// Without its Newton step an approximation of 2 ulp stays one.
TEST_P(OnDevice, RsqrtAndReciprocal) {
  auto kernel = compile(*device, "rule=gdn,phase=replay,H=16,HV=16,K=8,V=8,L=4,gate=softplus,beta=sigmoid_f32,"
                                 "qk_norm=l2_rsqrt,eps=1e-30,null=lt0,io=f32");
  ASSERT_TRUE(kernel) << kernel.status().message();
  uint64_t seeds = GetParam() == Where::Perturbed ? 8 : 1;
  Approximations worst;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    if (device->isHost())
      device->hostOptions().perturbSeed = seeds > 1 ? seed + 1 : 0;
    worst.run(*device, *kernel);
  }
  EXPECT_LE(worst.rsqrtUlps, 1.0);
  EXPECT_EQ(worst.reciprocalUlps, 0.0);
}

} // namespace
