//===- EdgeTest.cpp - The edges of the compiler and of Jit.h --------------===//
//
// What a program may hand to compileSource, jitSource and their kin, and the
// manifests that come back. GPUs are the fake driver's.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"
#include "test/runtime/FakeDevice.h"

#include <filesystem>

using namespace replayssm;

namespace {

class Edge : public FakeDevice {
protected:
  KernelSpec spec = parseKernelSpec("rule=gdn,phase=packed,H=1,HV=1,K=8,V=8,gate=softplus,beta=sigmoid_f32,"
                                    "qk_norm=l2_rsqrt,null=lt0,io=f32").take();
};

TEST_F(Edge, EmitOutOfRange) {
  std::string source = importSpec(spec).take();
  for (int emit : {-1, 4, 1000}) {
    CompileOptions options;
    options.emit = static_cast<Emit>(emit);
    std::string expected = "invalid argument: expected CompileOptions::emit to be Emit::MLIR, LLVM, PTX or Cubin but got " +
                           std::to_string(emit);
    EXPECT_STATUS(compileSpec(spec, options).status(), expected);
    EXPECT_STATUS(compileSource(source, "a.mlir", options).status(), expected);
    options.stopAfter = "gpu";
    EXPECT_STATUS(compileSource(source, "a.mlir", options).status(), expected);
    options.stopAfter.clear();
    options.cacheDir = testing::TempDir() + "replayssm-edge-no-cache";
    EXPECT_STATUS(compileSource(source, "a.mlir", options).status(), expected);
    EXPECT_FALSE(std::filesystem::exists(options.cacheDir));
    // Jit.h ignores it.
    Device host = Device::openHost();
    options.cacheDir.clear();
    EXPECT_STATUS(jitSpec(host, spec, options).status(), "ok");
  }
}

TEST_F(Edge, NothingToCompile) {
  EXPECT_STATUS(compileSource({}, {}, {}).status(), "invalid argument: expected at least one kernel in ");
  // A view ends where it ends, in the middle of a text too.
  std::string text = "module {}\nnot a module";
  EXPECT_STATUS(compileSource(std::string_view(text).substr(0, 9), "a.mlir", {}).status(),
                "invalid argument: expected at least one kernel in a.mlir");
  Device host = Device::openHost();
  EXPECT_STATUS(jitSource(host, {}, "a.mlir").status(), "invalid argument: expected one gpu.module but got 0");
  KernelSpec none;
  EXPECT_STATUS(compileSpec(none, {}).status(), "invalid argument: spec: expected 'H' to be an integer in 1..65535 but "
                                                "got '0'");
  none.phase = static_cast<Phase>(77);
  EXPECT_STATUS(jitSpec(host, none).status(), "invalid argument: spec: expected 'phase' to be one of its enum's "
                                              "values but got 77");
}

/// Before anything is compiled: what cannot be compiled is not looked at.
TEST_F(Edge, JitInACapture) {
  Device host = Device::openHost(), gpu = open();
  CacheCounts counts;
  CompileOptions options;
  options.cacheDir = testing::TempDir() + "replayssm-edge-cache";
  options.cacheCounts = &counts;
  std::filesystem::remove_all(options.cacheDir);
  std::string expected = "invalid argument: load of a kernel: expected no open capture on this device";
  for (Device *device : {&host, &gpu}) {
    ASSERT_OK(device->beginCapture());
    EXPECT_STATUS(jitSpec(*device, spec, options).status(), expected);
    EXPECT_STATUS(jitSource(*device, "not a module", "a.mlir", options).status(), expected);
    EXPECT_FALSE(std::filesystem::exists(options.cacheDir));
    EXPECT_EQ(counts.compiled, 0u);
    EXPECT_EQ(fake->counts["cuModuleLoadDataEx"], 0);
    // The capture goes on.
    Result<Graph> graph = device->endCapture();
    ASSERT_TRUE(graph) << graph.status().str();
    ASSERT_OK(graph->replay());
    Result<Kernel> kernel = jitSpec(*device, spec);
    ASSERT_TRUE(kernel) << kernel.status().str();
  }
  EXPECT_EQ(fake->counts["cuModuleLoadDataEx"], 1);
}

TEST_F(Edge, JitOnAMovedFromDevice) {
  Device device = Device::openHost(), moved = std::move(device);
  std::string expected = "invalid argument: expected a device but got one that was moved from";
  EXPECT_STATUS(jitSpec(device, spec).status(), expected); // NOLINT: that is the test.
  EXPECT_STATUS(jitSource(device, "", "a.mlir").status(), expected);
}

//===----------------------------------------------------------------------===//
// Least strides
//===----------------------------------------------------------------------===//

/// Of a slot, a token or a layer's parameters, by docs/abi.md.
uint64_t sizeOf(const KernelSpec &spec, const std::string &buffer) {
  int64_t H = spec.H, HV = spec.HV, K = spec.K, V = spec.V, L = spec.L;
  std::map<std::string, int64_t> sizes = {
      {"state", HV * V * K},   {"snapshots", spec.Tmax * HV * V * K}, {"d_ring", HV * L * V},
      {"k_ring", H * L * K},   {"g_ring", HV * L * spec.gateDim()},   {"raw_v_ring", HV * L * V},
      {"raw_k_ring", H * L * K}, {"beta_ring", HV * L},               {"mixed_qkv", 2 * H * K + HV * V},
      {"a", HV * spec.gateDim()}, {"b", HV},                          {"A_log", HV},
      {"dt_bias", HV * spec.gateDim()}, {"out", HV * V}};
  auto known = sizes.find(buffer);
  return known == sizes.end() ? 0 : known->second;
}

TEST_F(Edge, LeastStrides) {
  std::map<std::string, int> seen;
  for (std::string rule : {"gdn", "kda"})
    for (const char *phase : {"packed", "replay", "cursors", "reset", "verify,T_max=3,flush_at=verify,fold=records",
                              "verify,T=2,T_max=3,flush_at=every_commit,fold=replay",
                              "verify,T_max=3,flush_at=commit,fold=replay,window=tree",
                              "fold,T_max=3,flush_at=commit,fold=records,layers=stride",
                              "fold,T_max=3,flush_at=every_commit,fold=replay,layers=table",
                              "compact,T_max=3,flush_at=commit,fold=replay,window=tree,layers=stride",
                              "input_replay,T_max=3,layers=stride", "snapshots,T=2,T_max=3"}) {
      std::string text = "rule=" + rule + ",phase=" + phase + ",H=2,HV=6,K=32,V=16,gate=softplus,beta=sigmoid_f32,"
                                                              "qk_norm=l2_rsqrt,null=lt0";
      Result<KernelSpec> spec = parseKernelSpec(text);
      ASSERT_TRUE(spec) << text << ": " << spec.status().str();
      CompileOptions options;
      options.emit = Emit::LLVM;
      Result<CompiledModule> module = compileSpec(*spec, options);
      ASSERT_TRUE(module) << text << ": " << module.status().str();
      for (const KernelArg &arg : module->kernels.front().args) {
        std::string name = arg.name;
        for (std::string suffix : {"_stride", "_layer"})
          if (arg.kind == KernelArg::Kind::Stride && name.ends_with(suffix))
            name.resize(name.size() - suffix.size());
        if (arg.kind == KernelArg::Kind::Stride) {
          EXPECT_EQ(arg.minElements, sizeOf(*spec, name)) << text << ": " << arg.name;
          ++seen[arg.name];
        } else {
          EXPECT_EQ(arg.minElements, 0u) << text << ": " << arg.name;
        }
      }
    }
  // Every stride that there is: 12 of slots and tokens, 12 of layers.
  EXPECT_EQ(seen.size(), 24u);
}

} // namespace
