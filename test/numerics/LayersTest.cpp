//===- LayersTest.cpp - One launch for many layers ------------------------===//
//
// Kernels of layers=stride and layers=table leave the bytes that one launch per
// layer leaves, on the host device and on a GPU where there is one.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

using namespace replayssm;

namespace {

constexpr uint32_t layers = 3, rows = 4;
constexpr int64_t H = 2, HV = 4, K = 32, V = 16, L = 8, T = 4, slots = 6, gap = 32;

struct Shape {
  int64_t count, inner; ///< Slots (or tokens, rows), and elements of each.
};

Shape shapeOf(const std::string &name, int64_t gateDim) {
  static const std::map<std::string, Shape> fixed = {
      {"state", {slots, HV * V * K}}, {"d_ring", {slots, HV * L * V}},
      {"k_ring", {slots, H * L * K}}, {"raw_v_ring", {slots, HV * L * V}},
      {"raw_k_ring", {slots, H * L * K}}, {"beta_ring", {slots, HV * L}},
      {"mixed_qkv", {rows * T, 2 * H * K + HV * V}}, {"b", {rows * T, HV}}, {"A_log", {1, HV}},
      {"accept_idx", {rows, T}}, {"query_start_loc", {rows + 1, 1}}};
  if (name == "g_ring")
    return {slots, HV * L * gateDim};
  if (name == "a")
    return {rows * T, HV * gateDim};
  if (name == "dt_bias")
    return {1, HV * gateDim};
  auto known = fixed.find(name);
  return known == fixed.end() ? Shape{std::max<int64_t>(rows, slots), 1} : known->second;
}

bool isOfLayer(const std::string &name) {
  return name == "state" || name.ends_with("_ring") || name == "mixed_qkv" || name == "a" || name == "b" ||
         name == "A_log" || name == "dt_bias";
}

int64_t widthOf(const std::string &dtype) {
  return dtype == "i64" ? 8 : dtype == "f32" || dtype == "i32" ? 4 : dtype == "i8" ? 1 : 2;
}

/// Numbers that a kernel may meet there.
void fill(std::vector<uint8_t> &bytes, const std::string &name, const std::string &dtype, std::mt19937 &rng) {
  size_t width = widthOf(dtype);
  std::normal_distribution<float> normal(0, 1);
  for (size_t i = 0; i * width < bytes.size(); ++i) {
    if (dtype == "i32" || dtype == "i8") {
      int32_t value = name == "query_start_loc" ? int32_t(i * T)
                      : name == "accept_idx"    ? int32_t(i % T == 0 ? 0 : std::min<int64_t>(i % T + 1, T - 1))
                      : name == "accept_len"    ? int32_t(i % (T + 1))
                      : name == "fold_len"      ? int32_t((3 * i + 1) % (L + 1))
                      : name == "state_idx"     ? (i == 1 ? -1 : int32_t(slots - 1 - i))
                      : name == "track_pos"     ? int32_t(i) - 1
                      : name == "track_idx"     ? 0
                                                : int32_t(i % 3);
      if (name == "ring_idx" || name == "dst_idx")
        value = int32_t(i);
      std::memcpy(&bytes[i * width], &value, width);
      continue;
    }
    float value = 0.3f * normal(rng);
    if (name == "g_ring")
      value = -std::fabs(value);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (width == 2)
      bits >>= 16; // bf16
    std::memcpy(&bytes[i * width], &bits, width);
  }
}

/// Buffers of every layer, side by side with gaps between them.
class Memory {
public:
  explicit Memory(Device &device) : device(device) {}

  void add(const KernelManifest &manifest, int64_t gateDim) {
    std::mt19937 rng(7);
    for (const KernelArg &arg : manifest.args) {
      if (arg.kind == KernelArg::Kind::Stride)
        continue;
      Shape shape = shapeOf(arg.name, gateDim);
      int64_t size = shape.count * shape.inner, width = widthOf(arg.dtype);
      int64_t copies = isOfLayer(arg.name) ? layers : 1;
      std::vector<uint8_t> bytes((size + gap) * copies * width);
      fill(bytes, arg.name, arg.dtype, rng);
      auto buffer = device.allocate(bytes.size());
      ASSERT_TRUE(buffer) << buffer.status().message();
      ASSERT_TRUE(buffer->copyIn(bytes.data(), bytes.size()));
      strides[arg.name] = shape.inner;
      layerStrides[arg.name] = size + gap;
      widths[arg.name] = width;
      buffers[arg.name] = buffer.take();
    }
  }

  std::vector<uint64_t> args(const KernelManifest &manifest, int64_t layer) {
    std::vector<uint64_t> values;
    for (const KernelArg &arg : manifest.args) {
      std::string name = arg.name;
      if (arg.kind == KernelArg::Kind::Table) {
        values.push_back(table(name));
      } else if (arg.kind == KernelArg::Kind::Pointer) {
        values.push_back(buffers[name].address() + (isOfLayer(name) ? layer * layerStrides[name] * widths[name] : 0));
      } else if (name.ends_with("_layer_stride")) {
        name.resize(name.size() - 13);
        values.push_back(layerStrides[name]);
        EXPECT_EQ(arg.minElements, uint64_t(strides[name])) << arg.name; // One slot, at the least.
      } else {
        values.push_back(strides[name.substr(0, name.size() - 7)]);
        EXPECT_EQ(arg.minElements, values.back()) << arg.name;
      }
    }
    return values;
  }

  std::map<std::string, std::vector<uint8_t>> read() {
    std::map<std::string, std::vector<uint8_t>> all;
    for (auto &[name, buffer] : buffers) {
      all[name].resize(buffer.bytes());
      EXPECT_TRUE(buffer.copyOut(all[name].data(), buffer.bytes()));
    }
    return all;
  }

private:
  uint64_t table(const std::string &name) {
    std::vector<uint64_t> addresses;
    for (uint32_t layer = 0; layer < layers; ++layer)
      addresses.push_back(buffers[name].address() + layer * layerStrides[name] * widths[name]);
    tables.push_back(device.allocate(layers * 8).take());
    EXPECT_TRUE(tables.back().copyIn(addresses.data(), layers * 8));
    return tables.back().address();
  }

  Device &device;
  std::map<std::string, Buffer> buffers;
  std::vector<Buffer> tables;
  std::map<std::string, int64_t> strides, layerStrides, widths;
};

class LayersTest : public testing::TestWithParam<std::string> {};

void compare(Device device, const std::string &rule, const std::string &phase) {
  std::string text = "rule=" + rule + ",H=2,HV=4,K=32,V=16,T_max=4,gate=softplus,beta=sigmoid_f32,"
                     "qk_norm=l2_rsqrt,null=lt0," + phase;
  auto spec = parseKernelSpec(text);
  ASSERT_TRUE(spec) << spec.status().message();
  auto single = jitSpec(device, *spec);
  ASSERT_TRUE(single) << single.status().message();
  Memory expected(device);
  expected.add(single->manifest(), spec->gateDim());
  auto untouched = expected.read();
  for (uint32_t layer = 0; layer < layers; ++layer)
    ASSERT_TRUE(single->launch(expected.args(single->manifest(), layer), rows));
  ASSERT_TRUE(device.synchronize());
  auto want = expected.read();
  EXPECT_NE(want, untouched) << "the launches of single layers did nothing";
  for (Layers kind : {Layers::Stride, Layers::Table}) {
    spec->layers = kind;
    auto kernel = jitSpec(device, *spec);
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_TRUE(kernel->manifest().isLayered());
    Memory run(device);
    run.add(kernel->manifest(), spec->gateDim());
    Status status = kernel->launch(run.args(kernel->manifest(), 0), rows, layers);
    ASSERT_TRUE(status) << status.message();
    ASSERT_TRUE(device.synchronize());
    EXPECT_TRUE(run.read() == want) << text << " layers=" << name(kind);
  }
}

TEST_P(LayersTest, Host) {
  for (const char *rule : {"gdn", "kda"})
    compare(Device::openHost(), rule, GetParam());
}

TEST_P(LayersTest, Cuda) {
  auto device = Device::openCuda();
  if (!device)
    GTEST_SKIP() << device.status().message();
  for (const char *rule : {"gdn", "kda"})
    compare(*device, rule, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Phases, LayersTest,
    testing::Values("phase=fold,L=8,flush_at=commit,fold=records", "phase=fold,L=8,flush_at=commit,fold=replay",
                    "phase=compact,L=8,flush_at=commit,fold=records,window=tree", "phase=input_replay",
                    "phase=input_replay,window=tree"));

TEST(Layers, OfASingleOne) {
  Device device = Device::openHost();
  auto spec = parseKernelSpec("rule=gdn,phase=fold,H=2,HV=4,K=32,V=16,L=8,T_max=4,gate=softplus,beta=sigmoid_f32,"
                              "qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records");
  ASSERT_TRUE(spec);
  auto kernel = jitSpec(device, *spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_FALSE(kernel->manifest().isLayered());
  Memory run(device);
  run.add(kernel->manifest(), 1);
  Status status = kernel->launch(run.args(kernel->manifest(), 0), rows, 2);
  EXPECT_EQ(status.message(), "launch of 'gdn_fold': expected 1 layer but got 2; a kernel of many layers is "
                              "compiled with layers=stride or layers=table");
  status = kernel->launch(run.args(kernel->manifest(), 0), rows, 65536);
  EXPECT_EQ(status.message(), "launch of 'gdn_fold': expected at most 65535 layers but got 65536");
  status = kernel->launch(run.args(kernel->manifest(), 0), rows, 0);
  EXPECT_TRUE(status) << status.message();
}

// Layers are moved in pieces of 16 bytes, as one is.
TEST(Layers, AreAligned) {
  Device device = Device::openHost();
  auto spec = parseKernelSpec("rule=gdn,phase=fold,H=2,HV=4,K=32,V=16,L=8,T_max=4,gate=softplus,beta=sigmoid_f32,"
                              "qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records,layers=stride");
  ASSERT_TRUE(spec);
  auto kernel = jitSpec(device, *spec);
  ASSERT_TRUE(kernel) << kernel.status().message();
  Memory run(device);
  run.add(kernel->manifest(), 1);
  std::vector<uint64_t> args = run.args(kernel->manifest(), 0);
  for (size_t i = 0; i < args.size(); ++i)
    if (kernel->manifest().args[i].name == "state_layer_stride")
      args[i] = 2;
  EXPECT_EQ(kernel->launch(args, rows, layers).message(),
            "launch of 'gdn_fold': expected argument 'state_layer_stride' to be a multiple of 4 elements (16 bytes) "
            "but got 2");
  for (size_t i = 0; i < args.size(); ++i)
    if (kernel->manifest().args[i].name == "state_layer_stride")
      args[i] = HV * V * K - 4;
  EXPECT_EQ(kernel->launch(args, rows, layers).message(),
            "launch of 'gdn_fold': expected argument 'state_layer_stride' to be at least 2048 elements, or at most "
            "-2048, but got 2044: what it leads over would overlap");
}

} // namespace
