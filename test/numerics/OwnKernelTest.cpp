//===- OwnKernelTest.cpp - Kernels that only their IR describes -----------===//
//
// An elementwise op, a field of records and a third read that no derived kernel has:
// compiled from IR alone, and run beside the same sums in double.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

using namespace replayssm;

namespace {

constexpr int K = 16, V = 8, HV = 2, L = 4, rows = 3, wp = 2;

/// o = S q + gain_0 (S k) + S copysign(k, q), and a record with gain = floor(8 b).
constexpr const char *source = R"(
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>, <"gain", f32, value, one>]>
replay.kernel @own shape <H = 1, HV = 2, K = 16, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 2> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring most(3)
  %q = replay.load_token "q" : tensor<1x16xf32>
  %k = replay.load_token "k" : tensor<1x16xf32>
  %v = replay.load_token "v" : tensor<1x8xf32>
  %a = replay.load_token "a" : tensor<1x1xf32>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %c0 = arith.constant 0 : index
  %gain0 = replay.load_record "gain" %ring, %c0 : tensor<1x1xf32>
  %signed = math.copysign %k, %q : tensor<1x16xf32>
  %y:3 = replay.read %S, %q, %k, %signed : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
      -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
  %gains = tile.broadcast %gain0 : tensor<1x1xf32> -> tensor<1x8xf32>
  %scaled = math.fma %gains, %y#1, %y#0 : tensor<1x8xf32>
  %o = arith.addf %scaled, %y#2 : tensor<1x8xf32>
  replay.store_out %o as f32 : tensor<1x8xf32>
  %eight = arith.constant dense<8.0> : tensor<1x1xf32>
  %b8 = arith.mulf %b, %eight : tensor<1x1xf32>
  %gain = math.floor %b8 : tensor<1x1xf32>
  replay.append %ring, %wp ["d", "k", "g", "gain"] %v, %k, %a, %gain : tensor<1x8xf32>, tensor<1x16xf32>, tensor<1x1xf32>, tensor<1x1xf32>
}
)";

/// The numbers of one buffer, and what one slot, token or ring takes of them.
struct Data {
  Buffer buffer;
  std::vector<float> numbers;
  int64_t stride = 0;
};

int64_t extentOf(const std::string &name) {
  if (name == "state")
    return HV * V * K;
  if (name == "mixed_qkv")
    return 2 * K + HV * V;
  if (name == "out")
    return HV * V;
  if (name == "d_ring")
    return HV * L * V;
  if (name == "k_ring")
    return L * K;
  return name == "a" || name == "b" ? HV : HV * L; // gains and gates
}

TEST(OwnKernel, RunsFromItsTextAlone) {
  Device device = Device::openHost();
  auto kernels = jitSource(device, source, "own.mlir");
  ASSERT_TRUE(kernels) << kernels.status().str();
  Kernel &kernel = kernels->front();
  std::mt19937 rng(1);
  std::normal_distribution<float> normal(0, 1);
  std::map<std::string, Data> all;
  std::vector<uint64_t> args;
  for (const KernelArg &arg : kernel.manifest().args) {
    if (arg.kind == KernelArg::Kind::Stride) {
      args.push_back(extentOf(arg.name.substr(0, arg.name.size() - 7)));
      continue;
    }
    Data &data = all[arg.name];
    bool isNumber = arg.dtype == "f32";
    data.stride = isNumber ? extentOf(arg.name) : 1;
    data.numbers.resize(rows * data.stride);
    for (float &number : data.numbers)
      number = arg.name == "g_ring" ? -std::fabs(normal(rng)) : normal(rng);
    std::vector<int32_t> indices(rows);
    for (int32_t row = 0; row < rows; ++row)
      indices[row] = arg.name == "wp" ? wp : row;
    auto buffer = device.allocate(data.numbers.size() * 4);
    ASSERT_TRUE(buffer) << buffer.status().str();
    data.buffer = buffer.take();
    const void *bytes = isNumber ? static_cast<const void *>(data.numbers.data()) : indices.data();
    ASSERT_TRUE(data.buffer.copyIn(bytes, isNumber ? data.numbers.size() * 4 : rows * 4, 0));
    args.push_back(data.buffer.address());
  }
  Status status = kernel.launch(args, rows);
  ASSERT_TRUE(status) << status.str();

  std::vector<float> out(rows * HV * V), gain(rows * HV * L);
  ASSERT_TRUE(all["out"].buffer.copyOut(out.data(), out.size() * 4, 0));
  ASSERT_TRUE(all["gain_ring"].buffer.copyOut(gain.data(), gain.size() * 4, 0));
  for (int row = 0; row < rows; ++row)
    for (int h = 0; h < HV; ++h) {
      const float *q = &all["mixed_qkv"].numbers[row * (2 * K + HV * V)], *k = q + K;
      double gain0 = all["gain_ring"].numbers[(row * HV + h) * L];
      for (int v = 0; v < V; ++v) {
        const float *S = &all["state"].numbers[((row * HV + h) * V + v) * K];
        double o = 0;
        for (int c = 0; c < K; ++c)
          o += S[c] * (q[c] + gain0 * k[c] + std::copysign(double(k[c]), double(q[c])));
        EXPECT_NEAR(out[(row * HV + h) * V + v], o, 2e-5) << row << " " << h << " " << v;
      }
      for (int j = 0; j < L; ++j) {
        float before = all["gain_ring"].numbers[(row * HV + h) * L + j];
        float expected = j == wp ? std::floor(8 * all["b"].numbers[row * HV + h]) : before;
        EXPECT_EQ(gain[(row * HV + h) * L + j], expected) << row << " " << h << " " << j;
      }
    }
}

} // namespace
