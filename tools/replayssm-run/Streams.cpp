//===- Streams.cpp - The card's read and in-place streams -----------------===//
//
// The measure of every timing: plain kernels that only move bytes, written at
// the level of device IR and compiled by the same back end.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Streams.h"

#include <algorithm>
#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

Result<double> run::timeLaunches(Device &device, int64_t launches,
                                 const std::function<Status(int64_t)> &launch, int repeats) {
  RSSM_RETURN_IF_ERROR(device.beginCapture());
  Status failed;
  for (int64_t i = 0; i < launches && failed; ++i)
    failed = launch(i);
  auto graph = device.endCapture();
  if (!failed)
    return failed;
  if (!graph)
    return graph.status();
  double best = 0;
  for (int round = 0; round < 2; ++round) {
    std::vector<double> times;
    for (int i = 0; i < repeats + 2; ++i) {
      auto ms = device.timeGraph(*graph);
      if (!ms)
        return ms.status();
      if (i >= 2)
        times.push_back(*ms * 1e3 / launches);
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    double median = times[times.size() / 2];
    best = round == 0 ? median : std::min(best, median);
  }
  return best;
}

namespace {
constexpr int64_t threads = 256, accessBytes = 16;

/// Each thread moves `unroll` x 16 bytes; a block moves unroll x 4 KiB.
std::string streamSource(int64_t blocksPerRow, int64_t unroll, bool update) {
  std::string s;
  auto num = [](int64_t n) { return std::to_string(n); };
  s += "gpu.module @kernels {\n"
       "  llvm.func @rssm.ld.global.v4f32(!llvm.ptr<1>, i1, i32) -> vector<4xf32>\n"
       "  llvm.func @rssm.st.global.v4f32(!llvm.ptr<1>, vector<4xf32>, i1, i32)\n"
       "  gpu.func @stream(%data: !llvm.ptr<1>, %sink: !llvm.ptr<1>) kernel attributes {\n"
       "      gpu.known_block_size = array<i32: " + num(threads) + ", 1, 1>,\n"
       "      replay.manifest = {name = \"stream\", spec = \"\", threads = " + num(threads) +
       " : i64, blocksPerRow = " + num(blocksPerRow) + " : i64, sharedBytes = 0 : i64,\n"
       "        args = [[\"data\", \"pointer\", \"f32\"], [\"sink\", \"pointer\", \"f32\"]],"
       " sites = [\"stream\"]}} {\n"
       "    %true = arith.constant true\n"
       "    %site = arith.constant 0 : i32\n"
       "    %tx = gpu.thread_id x\n"
       "    %bx = gpu.block_id x\n"
       "    %by = gpu.block_id y\n"
       "    %bpr = arith.constant " + num(blocksPerRow) + " : index\n"
       "    %row = arith.muli %by, %bpr : index\n"
       "    %block = arith.addi %row, %bx : index\n"
       "    %bytes = arith.constant " + num(unroll * threads * accessBytes) + " : index\n"
       "    %width = arith.constant " + num(accessBytes) + " : index\n"
       "    %o0 = arith.muli %block, %bytes : index\n"
       "    %o1 = arith.muli %tx, %width : index\n"
       "    %o2 = arith.addi %o0, %o1 : index\n"
       "    %o = arith.index_cast %o2 : index to i64\n"
       "    %p = llvm.getelementptr %data[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8\n";
  for (int64_t u = 0; u < unroll; ++u)
    s += "    %p" + num(u) + " = llvm.getelementptr %p[" + num(u * threads * accessBytes) +
         "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n"
         "    %x" + num(u) + " = llvm.call @rssm.ld.global.v4f32(%p" + num(u) +
         ", %true, %site) : (!llvm.ptr<1>, i1, i32) -> vector<4xf32>\n";
  if (update) {
    s += "    %c = arith.constant dense<1.0009765625> : vector<4xf32>\n";
    for (int64_t u = 0; u < unroll; ++u)
      s += "    %y" + num(u) + " = arith.mulf %x" + num(u) + ", %c : vector<4xf32>\n"
           "    llvm.call @rssm.st.global.v4f32(%p" + num(u) + ", %y" + num(u) +
           ", %true, %site) : (!llvm.ptr<1>, vector<4xf32>, i1, i32) -> ()\n";
  } else {
    for (int64_t u = 1; u < unroll; ++u)
      s += "    %s" + num(u) + " = arith.addf " + (u == 1 ? "%x0" : "%s" + num(u - 1)) + ", %x" +
           num(u) + " : vector<4xf32>\n";
    std::string sum = unroll == 1 ? "%x0" : "%s" + num(unroll - 1);
    s += "    %e = vector.extract " + sum + "[0] : f32 from vector<4xf32>\n"
         "    %magic = arith.constant 1.0e+37 : f32\n"
         "    %hit = arith.cmpf oeq, %e, %magic : f32\n"
         "    llvm.call @rssm.st.global.v4f32(%sink, " + sum +
         ", %hit, %site) : (!llvm.ptr<1>, vector<4xf32>, i1, i32) -> ()\n";
  }
  s += "    gpu.return\n  }\n}\n";
  return s;
}
} // namespace

Result<double> run::timeStream(Device &device, Buffer &pool, uint64_t bytes, bool update,
                               const CompileOptions &compile) {
  auto sink = device.allocate(4096);
  if (!sink)
    return sink.status();
  double best = 0;
  for (int64_t unroll : update ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1, 4, 8}) {
    uint64_t perBlock = unroll * threads * accessBytes;
    uint64_t blocks = (bytes + perBlock - 1) / perBlock;
    uint64_t blocksPerRow = std::min<uint64_t>(blocks, 64);
    // As many as the pool has: beyond that the time grows with the bytes.
    uint64_t most = pool.bytes() / (blocksPerRow * perBlock);
    uint32_t rows = uint32_t(std::min((blocks + blocksPerRow - 1) / blocksPerRow, most));
    uint64_t span = uint64_t(rows) * blocksPerRow * perBlock;
    auto kernels = jitSource(device, streamSource(blocksPerRow, unroll, update), "stream.mlir", compile);
    if (!kernels)
      return kernels.status();
    uint64_t places = std::max<uint64_t>(1, pool.bytes() / span);
    int64_t launches = std::clamp<int64_t>(places, 8, 96);
    auto time = timeLaunches(device, launches, [&](int64_t i) {
      return kernels->front().launch({pool.address() + (i % places) * span, sink->address()}, rows);
    });
    if (!time)
      return time;
    // Scaled to the bytes that were asked for.
    double scaled = *time * double(bytes) / double(span);
    best = best == 0 ? scaled : std::min(best, scaled);
  }
  return best;
}
