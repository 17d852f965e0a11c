//===- BarrierTest.cpp - Rows that overlap from iteration to iteration -----===//
//
// A tile program whose loop stores to bytes that another thread stored to in the
// iteration before: without a barrier the host device finds a race.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace replayssm;

namespace {

constexpr int64_t trips = 4, width = 64;

/// Iteration i stores 64 numbers from element i * step on; then all of them are read.
std::string program(int64_t step) {
  auto num = [](int64_t n) { return std::to_string(n); };
  int64_t all = 256;
  return R"(
gpu.module @kernels {
  gpu.func @overlap(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) kernel attributes {
      known_block_size = array<i32: 64, 1, 1>,
      replay.manifest = {name = "overlap", spec = "", threads = 64 : i64, blocksPerRow = 1 : i64, sharedBytes = 0 : i64,
        args = [["in", "pointer", "f32"], ["out", "pointer", "f32"]]}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %trips = arith.constant )" + num(trips) + R"( : index
    %zero = arith.constant 0 : i64
    %width = arith.constant )" + num(width) + R"( : i64
    %step = arith.constant )" + num(step) + R"( : i64
    %m = tile.alloc : <1, )" + num(all) + R"(, f32>
    scf.for %i = %c0 to %trips step %c1 {
      %n = arith.index_cast %i : index to i64
      %from = arith.muli %n, %width : i64
      %to = arith.muli %n, %step : i64
      %x = tile.load %in[%from] strides [64, 1] : !llvm.ptr<1> -> tensor<1x64xf32, #tile.layout<[r1:1], [w2:1, l32:1]>>
      tile.store %x, %m[%to] strides [64, 1] : tensor<1x64xf32, #tile.layout<[r1:1], [w2:1, l32:1]>>, !tile.smem<1, )" +
         num(all) + R"(, f32>
    }
    %y = tile.load %m[%zero] strides [64, 1] : !tile.smem<1, )" + num(all) + R"(, f32> -> tensor<1x64xf32, #tile.layout<[r1:1], [r2:1, l32:1]>>
    tile.store %y, %out[%zero] strides [64, 1] : tensor<1x64xf32, #tile.layout<[r1:1], [r2:1, l32:1]>>, !llvm.ptr<1>
    gpu.return
  }
}
)";
}

TEST(Barriers, BetweenIterationsThatOverlap) {
  // 16 and 48: the next iteration meets elements of other threads; 64: of none.
  for (int64_t step : {1, 16, 48, 64}) {
    SCOPED_TRACE(step);
    for (uint64_t seed : {0, 1, 2}) {
      HostOptions options;
      options.scheduleSeed = seed;
      Device device = Device::openHost(options);
      auto kernels = jitSource(device, program(step), "overlap.mlir");
      ASSERT_TRUE(kernels) << kernels.status().str();
      std::vector<float> in(trips * width), out(width);
      for (size_t i = 0; i < in.size(); ++i)
        in[i] = float(i);
      auto source = device.allocate(in.size() * 4), result = device.allocate(out.size() * 4);
      ASSERT_TRUE(source && result);
      ASSERT_TRUE(source->copyIn(in.data(), in.size() * 4));
      Status status = kernels->front().launch({source->address(), result->address()}, 1);
      ASSERT_TRUE(status) << status.str();
      ASSERT_TRUE(result->copyOut(out.data(), out.size() * 4));
      for (int64_t e = 0; e < width; ++e) {
        int64_t last = std::min(e / step, trips - 1); // that stored element e
        EXPECT_EQ(out[e], float(last * width + e - last * step)) << "element " << e;
      }
    }
  }
}

} // namespace
