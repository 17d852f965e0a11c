//===- CursorRangeTest.cpp - Cursors, lengths and positions of any value ---===//
//
// A number that a row is given and that is out of its range reaches nothing but
// that row's own slots and tokens, on the host device and on a GPU where there is
// one; and the host device reports it.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

using namespace replayssm;

namespace {

constexpr int64_t H = 1, HV = 2, K = 16, V = 8, L = 8, T = 4, rows = 3, layers = 2;
constexpr int64_t stateSlots = 16, ringSlots = 7, gap = 16; ///< Elements between slots.
/// The row that is given the number: its ring and state lie between those of others.
constexpr int64_t bad = 2;

int64_t ringSlot(int64_t row) { return 2 * row + 1; }

/// One number: element `element` of `buffer`, what a report calls it and its range.
struct Number {
  std::string kernel; ///< Keys of its spec.
  std::string buffer;
  int64_t element;
  int64_t low, high; ///< high < low: whatever it says is in order.
  std::string name = buffer;
};

void PrintTo(const Number &number, std::ostream *os) {
  *os << number.kernel << ": " << number.buffer << "[" << number.element << "]";
}

/// Tokens of each row: as many as the kernel takes.
int64_t lengthOf(const Number &number) { return number.kernel.find(",T=3,") == std::string::npos ? T : 3; }

std::vector<int64_t> valuesOf(const Number &number) {
  int64_t first = bad * lengthOf(number);
  std::vector<int64_t> values;
  if (number.buffer == "is_flush")
    values = {-1, 2, INT8_MIN, INT8_MAX};
  else if (number.buffer == "query_start_loc") // the length is what counts
    values = {INT_MIN, first - 1, first + T, first + T + 1, first + L, first + L + 1, INT_MAX};
  else
    values = {-1, INT_MIN, INT_MAX, T, L, L + 1, 1 << 20, -(1 << 20)};
  return values;
}

struct Array {
  int64_t width = 0, slots = 1, inner = 1, stride = 1;
  std::string dtype;
  bool isLayered = false;
  std::vector<uint8_t> host;
  Buffer device;

  int64_t size() const { return slots * stride + gap; } ///< Elements, of one layer.
  void set(int64_t i, int64_t value) { std::memcpy(&host[i * width], &value, width); }
};

/// The buffers of one kernel, each with neighbours on both sides of every slot.
class Memory {
public:
  Memory(Device &device, const Kernel &kernel, int64_t length = T)
      : device(device), manifest(kernel.manifest()), length(length) {
    for (const KernelArg &arg : manifest.args)
      if (arg.kind != KernelArg::Kind::Stride)
        add(arg);
  }

  Array &at(const std::string &name) { return arrays.at(name); }
  Status launch(Kernel &kernel) {
    std::vector<uint64_t> args;
    for (auto &[name, array] : arrays)
      RSSM_RETURN_IF_ERROR(array.device.copyIn(array.host.data(), array.host.size()));
    for (const KernelArg &arg : manifest.args) {
      std::string name = arg.name;
      if (name.ends_with("_layer_stride"))
        args.push_back(arrays.at(name.substr(0, name.size() - 13)).size());
      else if (arg.kind == KernelArg::Kind::Stride)
        args.push_back(arrays.at(name.substr(0, name.size() - 7)).stride);
      else
        args.push_back(arrays.at(name).device.address());
    }
    Status status = kernel.launch(args, rows, manifest.isLayered() ? layers : 1);
    if (Status done = device.synchronize(); status)
      status = done;
    for (auto &[name, array] : arrays)
      RSSM_RETURN_IF_ERROR(array.device.copyOut(array.host.data(), array.host.size()));
    return status;
  }

  /// Whether element `i` of a layer may be written for the row under test.
  bool isOwn(const std::string &name, int64_t i) const {
    const Array &array = arrays.at(name);
    int64_t slot = i / array.stride;
    if (i % array.stride >= array.inner)
      return false;
    if (name == "state")
      return slot == 2 * bad + 1 || slot == ringSlots + 1 + bad || slot == ringSlots + 1 + rows + bad;
    if (name.ends_with("_ring") || name == "snapshots" || name == "wp" || name == "base" || name == "is_flush")
      return slot == ringSlot(bad);
    if (name == "out")
      return arrays.count("query_start_loc") ? slot >= bad * length : slot == bad;
    return (name == "fold_len" || name == "track_pos") && i == bad;
  }

  /// The first element that is another one than in `expected` and not the row's own.
  std::string difference(Memory &expected) {
    for (auto &[name, array] : arrays) {
      Array &other = expected.at(name);
      for (size_t i = 0; i * array.width < array.host.size(); ++i)
        if (!isOwn(name, i % array.size()) &&
            std::memcmp(&array.host[i * array.width], &other.host[i * array.width], array.width))
          return name + "[" + std::to_string(i) + "]";
    }
    return "";
  }

private:
  void add(const KernelArg &arg) {
    static const std::map<std::string, std::pair<int64_t, int64_t>> shapes = {
        {"state", {stateSlots, HV * V * K}}, {"snapshots", {ringSlots, T * HV * V * K}},
        {"d_ring", {ringSlots, HV * L * V}}, {"k_ring", {ringSlots, H * L * K}}, {"g_ring", {ringSlots, HV * L}},
        {"raw_v_ring", {ringSlots, HV * L * V}}, {"raw_k_ring", {ringSlots, H * L * K}},
        {"beta_ring", {ringSlots, HV * L}}, {"mixed_qkv", {rows * T, 2 * H * K + HV * V}}, {"a", {rows * T, HV}},
        {"b", {rows * T, HV}}, {"out", {rows * T, HV * V}}};
    static const std::string layered[] = {"state", "mixed_qkv", "a", "b", "A_log", "dt_bias"};
    Array &array = arrays[arg.name];
    const std::string &name = arg.name;
    array.dtype = arg.dtype;
    array.width = arg.dtype == "f32" || arg.dtype == "i32" ? 4 : arg.dtype == "i8" ? 1 : 2;
    if (auto known = shapes.find(name); known != shapes.end()) {
      std::tie(array.slots, array.inner) = known->second;
      array.stride = array.inner + gap;
    } else {
      array.slots = std::max({rows * T, ringSlots, rows + 1});
    }
    bool isOfLayer = name.ends_with("_ring") || std::find(std::begin(layered), std::end(layered), name) != std::end(layered);
    array.isLayered = manifest.isLayered() && isOfLayer;
    array.host.resize(array.size() * array.width * (array.isLayered ? layers : 1));
    fill(name, array);
    auto buffer = device.allocate(array.host.size());
    ASSERT_TRUE(buffer) << buffer.status().str();
    array.device = buffer.take();
  }

  /// Everything in its range.
  void fill(const std::string &name, Array &array) {
    std::mt19937 rng(7);
    std::normal_distribution<float> normal(0, 1);
    for (int64_t i = 0; i * array.width < int64_t(array.host.size()); ++i) {
      if (array.dtype == "i32" || array.dtype == "i8") {
        array.set(i, name == "state_idx"         ? 2 * i + 1
                     : name == "ring_idx"        ? ringSlot(i)
                     : name == "query_start_loc" ? i * length
                     : name == "force_flush"     ? 0
                     : name == "accept_len" || name == "fold_len" ? T - 1
                     : name == "accept_idx"      ? i % T
                     : name == "parent"          ? i % T - 1
                     : name == "dst_idx"         ? ringSlots + 1 + i
                     : name == "track_idx"       ? ringSlots + 1 + rows + i
                     : name == "wp"              ? 3
                     : name == "base"            ? 5
                                                 : 1);
        continue;
      }
      float value = 0.3f * normal(rng);
      if (name == "g_ring")
        value = -std::fabs(value);
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      array.set(i, array.width == 2 ? bits >> 16 : bits); // bf16
    }
  }

  Device &device;
  const KernelManifest &manifest;
  int64_t length;
  std::map<std::string, Array> arrays;
};

Result<Kernel> jit(Device &device, const std::string &keys) {
  auto spec = parseKernelSpec("rule=gdn,H=1,HV=2,K=16,V=8,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,io=f32," + keys);
  return spec ? jitSpec(device, *spec) : Result<Kernel>(spec.status());
}

class CursorRange : public testing::TestWithParam<Number> {};

void reachesNobody(Device device, const Number &number) {
  auto kernel = jit(device, number.kernel);
  ASSERT_TRUE(kernel) << kernel.status().str();
  device.hostOptions().checkRanges = false;
  Memory expected(device, *kernel, lengthOf(number));
  Status status = expected.launch(*kernel);
  ASSERT_TRUE(status) << status.str();
  for (int64_t value : valuesOf(number)) {
    Memory run(device, *kernel, lengthOf(number));
    run.at(number.buffer).set(number.element, value);
    expected.at(number.buffer).set(number.element, value);
    status = run.launch(*kernel);
    EXPECT_TRUE(status) << value << ": " << status.str();
    EXPECT_EQ(run.difference(expected), "") << value;
  }
}

TEST_P(CursorRange, ReachesNobodyOnTheHost) { reachesNobody(Device::openHost(), GetParam()); }

TEST_P(CursorRange, ReachesNobodyOnAGpu) {
  auto device = Device::openCuda();
  if (!device)
    GTEST_SKIP() << device.status().message();
  reachesNobody(*device, GetParam());
}

TEST_P(CursorRange, IsReported) {
  const Number &number = GetParam();
  Device device = Device::openHost();
  auto kernel = jit(device, number.kernel);
  ASSERT_TRUE(kernel) << kernel.status().str();
  Memory valid(device, *kernel, lengthOf(number));
  Status status = valid.launch(*kernel);
  ASSERT_TRUE(status) << status.str();
  for (int64_t value : valuesOf(number)) {
    // Of a row's tokens their number counts, as the kernel sees it.
    int64_t got = number.buffer == "query_start_loc" ? int32_t(uint32_t(value) - uint32_t(bad * lengthOf(number))) : value;
    Memory run(device, *kernel, lengthOf(number));
    run.at(number.buffer).set(number.element, value);
    status = run.launch(*kernel);
    if (number.high < number.low || (got >= number.low && got <= number.high)) {
      EXPECT_TRUE(status) << value << ": " << status.str();
      continue;
    }
    std::string text = "kernel '" + kernel->manifest().name + "': expected '" + number.name + "' of row " +
                       std::to_string(bad) + " to be " + std::to_string(number.low) + " .. " +
                       std::to_string(number.high) + " but got " + std::to_string(got) + "; ";
    EXPECT_EQ(status.code(), StatusCode::Internal) << value;
    EXPECT_EQ(status.message().substr(0, text.size()), text) << value;
  }
}

std::vector<Number> numbers() {
  std::vector<Number> all;
  const std::string length = "query_start_loc[row + 1] - query_start_loc[row]", L8 = ",L=8", T4 = ",T_max=4";
  auto add = [&](const std::string &kernel, const std::string &buffer, int64_t element, int64_t low, int64_t high) {
    all.push_back({kernel, buffer, element, low, high});
  };
  auto addLength = [&](const std::string &kernel, int64_t most = T) {
    all.push_back({kernel, "query_start_loc", bad + 1, 0, most, length});
  };
  int64_t slot = ringSlot(bad);
  for (const char *phase : {"replay", "cursors"})
    add(std::string("phase=") + phase + L8, "wp", slot, 0, L - 1);
  for (const char *fold : {"records", "replay"}) {
    std::string circular = "flush_at=verify,fold=" + std::string(fold) + L8 + T4;
    add("phase=verify," + circular, "wp", slot, 0, L);
    add("phase=verify," + circular, "base", slot, 0, L - 1);
    add("phase=verify," + circular, "is_flush", slot, 0, 1);
  }
  std::string verify = "flush_at=verify,fold=records" + L8 + T4, commit = "flush_at=commit,fold=records" + L8 + T4;
  for (const char *name : {"wp", "base", "is_flush"})
    add("phase=cursors," + verify, name, slot, 0, name == std::string("wp") ? L : name == std::string("base") ? L - 1 : 1);
  add("phase=verify," + commit, "wp", slot, 0, L);
  addLength("phase=verify," + commit);
  addLength("phase=verify,T=3," + commit, 3);
  add("phase=verify,window=tree," + commit, "parent", bad * T + 2, -1, 1);
  for (const char *track : {"", ",track=yes"}) {
    add("phase=cursors," + commit + track, "wp", slot, 0, L);
    add("phase=cursors," + commit + track, "accept_len", bad, 0, T);
    addLength("phase=cursors," + commit + track);
  }
  add("phase=cursors,track=yes," + commit, "track_step", bad, 0, -1);
  for (const std::string &set : {commit, verify})
    for (const char *name : {"wp", "accept_len"})
      add("phase=compact,window=tree," + set, name, name == std::string("wp") ? slot : bad, 0,
          name == std::string("wp") ? L : T);
  add("phase=compact,window=tree," + verify, "base", slot, 0, L - 1);
  add("phase=compact,window=tree," + commit, "accept_idx", bad * T + 1, 1, T - 1);
  add("phase=compact,window=tree,layers=stride," + commit, "wp", slot, 0, L);
  addLength("phase=compact,window=tree," + commit);
  for (const char *fold : {"records", "replay"}) {
    std::string folds = "phase=fold,track=yes,dst=yes,fold=" + std::string(fold) + L8 + T4;
    add(folds + ",flush_at=commit", "fold_len", bad, 0, L);
    add(folds + ",flush_at=commit", "track_pos", bad, -1, L - 1);
    add(folds + ",flush_at=every_commit,window=tree", "fold_len", bad, 0, T);
    add(folds + ",flush_at=every_commit,window=tree", "accept_idx", bad * T + 1, 1, T - 1);
  }
  add("phase=fold,layers=stride," + commit, "fold_len", bad, 0, L);
  std::string tree = ",window=tree" + T4;
  add("phase=input_replay" + tree, "accept_len", bad, 0, T);
  add("phase=input_replay" + tree, "accept_idx", bad * T + 1, 1, T - 1);
  addLength("phase=input_replay" + tree);
  add("phase=snapshots" + tree, "parent", bad * T + 2, -1, 1);
  addLength("phase=snapshots" + tree);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CursorRange, testing::ValuesIn(numbers()),
                         [](const testing::TestParamInfo<Number> &info) {
                           std::string name = std::to_string(info.index) + "_" + info.param.buffer;
                           return name;
                         });

//===----------------------------------------------------------------------===//
// Whose numbers count
//===----------------------------------------------------------------------===//

// What a null row is given is nobody's, and neither is what lies behind the accepted tokens.
TEST(Cursors, OfNobodyAreNotReported) {
  Device device = Device::openHost();
  auto kernel = jit(device, "phase=compact,window=tree,flush_at=verify,fold=records,L=8,T_max=4");
  ASSERT_TRUE(kernel) << kernel.status().str();
  Memory run(device, *kernel);
  run.at("accept_idx").set(bad * T + T - 1, INT_MIN);
  run.at("wp").set(ringSlot(bad) + 1, -1);
  Status status = run.launch(*kernel);
  EXPECT_TRUE(status) << status.str();
  run.at("state_idx").set(bad, -1);
  for (const char *name : {"wp", "base"})
    run.at(name).set(ringSlot(bad), INT_MIN);
  run.at("accept_len").set(bad, INT_MAX);
  status = run.launch(*kernel);
  EXPECT_TRUE(status) << status.str();
}

} // namespace
