//===- EdgeTest.cpp - The edges of the compiler and of Jit.h --------------===//
//
// What a program may hand to compileSource, jitSource and their kin. GPUs are
// the fake driver's.
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

} // namespace
