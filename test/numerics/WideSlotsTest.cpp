//===- WideSlotsTest.cpp - Slots beyond 2^32 elements ---------------------===//
//
// The same rows in a pool whose slots lie 2^30 elements apart, of which memory
// holds the touched pages alone, and in a small one: the same bytes.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

using namespace replayssm;

namespace {

constexpr int64_t slots = 6, placeBytes = 1 << 20; ///< Each buffer begins at a place of its own.

int64_t widthOf(const std::string &dtype) { return dtype == "f32" || dtype == "i32" ? 4 : dtype == "i8" ? 1 : 2; }

constexpr int64_t nearLayers = 32 * placeBytes; ///< Elements from one layer of a buffer to the next.

/// Buffers of one kernel in one pool, every stride `stride`; the layers of states `layerStride`
/// elements apart, those of all else near: 2^31 states of two bytes are 4 GiB.
struct Pool {
  Buffer buffer;
  int64_t stride, layers = 1, layerStride = nearLayers;

  int64_t layerStrideOf(const std::string &name) const { return name.starts_with("state") ? layerStride : nearLayers; }
  int64_t at(size_t arg, int64_t width, int64_t slot, int64_t layerOffset = 0) const {
    return arg * placeBytes + (slot * stride + layerOffset) * width;
  }
};

constexpr int64_t inner = 512; ///< At least what a slot of any buffer holds.

/// Runs the kernel; the bytes that its slots then hold.
void run(Kernel &kernel, Pool &pool, std::map<std::string, std::vector<uint8_t>> &result) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal(0, 1);
  const std::vector<KernelArg> &all = kernel.manifest().args;
  auto isStrided = [&](const std::string &name) {
    return std::any_of(all.begin(), all.end(), [&](const KernelArg &arg) { return arg.name == name + "_stride"; });
  };
  std::vector<uint64_t> args;
  for (size_t i = 0; i < all.size(); ++i) {
    const KernelArg &arg = all[i];
    if (arg.kind == KernelArg::Kind::Stride) {
      args.push_back(arg.name.ends_with("_layer_stride") ? pool.layerStrideOf(arg.name) : pool.stride);
      continue;
    }
    args.push_back(pool.buffer.address() + i * placeBytes);
    int64_t width = widthOf(arg.dtype);
    for (int64_t place = 0; place < (isStrided(arg.name) ? slots * pool.layers : 1); ++place) {
      int64_t slot = place % slots, layer = place / slots * pool.layerStrideOf(arg.name);
      std::vector<uint8_t> bytes(inner * width);
      for (int64_t e = 0; e < inner; ++e) {
        float value = 0.3f * normal(rng);
        if (arg.name == "g_ring")
          value = -std::fabs(value);
        int32_t number = arg.name == "state_idx" ? 5 - 2 * e : arg.name == "ring_idx" ? 3 + 2 * e : arg.name == "wp" || arg.name == "fold_len" ? 2 : 0;
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        bits = arg.dtype[0] == 'i' ? number : width == 2 ? bits >> 16 : bits;
        std::memcpy(&bytes[e * width], &bits, width);
      }
      ASSERT_TRUE(pool.buffer.copyIn(bytes.data(), bytes.size(), pool.at(i, width, slot, layer)));
    }
  }
  Status status = kernel.launch(args, 2, pool.layers);
  ASSERT_TRUE(status) << status.str();
  for (size_t i = 0; i < all.size(); ++i)
    for (int64_t place = 0; isStrided(all[i].name) && place < slots * pool.layers; ++place) {
      int64_t slot = place % slots, layer = place / slots * pool.layerStrideOf(all[i].name), width = widthOf(all[i].dtype);
      std::vector<uint8_t> bytes(inner * width);
      ASSERT_TRUE(pool.buffer.copyOut(bytes.data(), bytes.size(), pool.at(i, width, slot, layer)));
      result[all[i].name + " " + std::to_string(place)] = bytes;
    }
}

TEST(WideSlots, HoldTheSameBytes) {
  Device device = Device::openHost();
  device.hostOptions().checkRaces = false; // its shadow is larger than the pool
  for (const char *phase : {"packed", "replay,L=8"}) {
    auto spec = parseKernelSpec(std::string("rule=gdn,H=1,HV=2,K=16,V=8,gate=softplus,beta=sigmoid_f32,"
                                            "qk_norm=l2_rsqrt,null=lt0,io=f32,phase=") + phase);
    ASSERT_TRUE(spec) << spec.status().str();
    auto kernel = jitSpec(device, *spec);
    ASSERT_TRUE(kernel) << kernel.status().str();
    int64_t places = kernel->manifest().args.size() * placeBytes;
    std::map<std::string, std::vector<uint8_t>> small, wide;
    for (bool isWide : {false, true}) {
      int64_t stride = isWide ? int64_t(1) << 30 : 2048;
      auto buffer = device.allocate(places + slots * stride * 4);
      if (!buffer && isWide)
        GTEST_SKIP() << buffer.status().message();
      ASSERT_TRUE(buffer) << buffer.status().str();
      Pool pool{buffer.take(), stride};
      run(*kernel, pool, isWide ? wide : small);
    }
    EXPECT_TRUE(small == wide) << phase;
  }
}

/// The same of the layers of one launch.
TEST(WideSlots, LayersHoldTheSameBytes) {
  Device device = Device::openHost();
  device.hostOptions().checkRaces = false;
  auto spec = parseKernelSpec("rule=gdn,H=1,HV=2,K=16,V=8,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,io=f32,state=bf16,"
                              "phase=fold,L=8,T_max=2,flush_at=commit,fold=records,layers=stride");
  ASSERT_TRUE(spec) << spec.status().str();
  auto kernel = jitSpec(device, *spec);
  ASSERT_TRUE(kernel) << kernel.status().str();
  constexpr int64_t layers = 2, stride = 2048;
  int64_t places = kernel->manifest().args.size() * placeBytes + slots * stride * 4;
  std::map<std::string, std::vector<uint8_t>> small, wide;
  for (bool isWide : {false, true}) {
    int64_t layerStride = isWide ? int64_t(1) << 31 : nearLayers;
    auto buffer = device.allocate(places + layerStride * 2 + nearLayers * 4);
    if (!buffer && isWide)
      GTEST_SKIP() << buffer.status().message();
    ASSERT_TRUE(buffer) << buffer.status().str();
    Pool pool{buffer.take(), stride, layers, layerStride};
    run(*kernel, pool, isWide ? wide : small);
  }
  EXPECT_TRUE(small == wide);
}

} // namespace
