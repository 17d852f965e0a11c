//===- CudaLoadTest.cpp - Code into the CUDA device, on a fake driver -----===//
#include "FakeDevice.h"

#include <optional>

using namespace replayssm;

namespace {

class CudaLoad : public FakeDevice {
protected:
  Status load(Device &device, const KernelManifest &manifest, const std::string &ptx) {
    return device.loadKernel(ptx, manifest).status();
  }
};

/// Of one module.
std::pair<KernelManifest, KernelManifest> twoManifests() {
  KernelManifest first = exampleManifest(), second = first;
  second.name = "gdn_cursors";
  return {first, second};
}

TEST_F(CudaLoad, PtxLog) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  setenv("FAKE_CUDA_LOG", "ptxas application ptx input, line 4; fatal   : Parsing error\n", 1);
  fail("cuModuleLoadDataEx=218");
  EXPECT_STATUS(load(device, manifest, "bad"),
                "invalid argument: cuModuleLoadDataEx of 'gdn_replay': CUDA_ERROR_INVALID_PTX: "
                "text of 218\nptxas application ptx input, line 4; fatal   : Parsing error");
  unsetenv("FAKE_CUDA_LOG");
  fail("cuModuleLoadDataEx=222");
  EXPECT_STATUS(load(device, manifest, "bad"),
                "unsupported: cuModuleLoadDataEx of 'gdn_replay': "
                "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: text of 222");
  setenv("FAKE_CUDA_LOG", std::string(100000, 'x').c_str(), 1);
  Status status = load(device, manifest, "bad");
  EXPECT_LT(status.message().size(), 20000u); // Cut, not overrun.
}

TEST_F(CudaLoad, NoSuchKernel) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  std::string ptx = examplePtx(manifest);
  manifest.name = "kda_replay";
  EXPECT_STATUS(load(device, manifest, ptx),
                "invalid argument: cuModuleGetFunction of 'kda_replay': CUDA_ERROR_NOT_FOUND: "
                "text of 500");
  EXPECT_EQ(fake->live["module"], 0);
}

/// One module for all kernels of a code; it goes with the last of them.
TEST_F(CudaLoad, KernelsShareTheirModule) {
  Device device = open();
  auto [first, second] = twoManifests();
  std::string ptx = examplePtx(first) + examplePtx(second);
  std::optional<std::vector<Kernel>> kernels = device.loadKernels(ptx, {first, second}).take();
  ASSERT_EQ(kernels->size(), 2u);
  EXPECT_EQ(fake->counts["cuModuleLoadDataEx"], 1);
  for (Kernel &kernel : *kernels)
    ASSERT_OK(kernel.launch(exampleArgs(), 1));
  ASSERT_EQ(fake->launches.size(), 2u);
  EXPECT_EQ(fake->launches[0].kernel, "gdn_replay");
  EXPECT_EQ(fake->launches[1].kernel, "gdn_cursors");
  std::optional<Kernel> last = std::move(kernels->back());
  kernels.reset();
  EXPECT_EQ(fake->live["module"], 1);
  ASSERT_OK(last->launch(exampleArgs(), 1));
  last.reset();
  EXPECT_EQ(fake->live["module"], 0);
}

/// A graph keeps the module of the one kernel that it recorded, without the kernels.
TEST_F(CudaLoad, GraphOfASharedModule) {
  Device device = open();
  auto [first, second] = twoManifests();
  std::optional<std::vector<Kernel>> kernels =
      device.loadKernels(examplePtx(first) + examplePtx(second), {first, second}).take();
  ASSERT_OK(device.beginCapture());
  ASSERT_OK(kernels->back().launch(exampleArgs(), 1));
  kernels.reset();
  std::optional<Graph> graph = device.endCapture().take();
  EXPECT_EQ(fake->live["module"], 1);
  ASSERT_OK(graph->replay());
  graph.reset();
  EXPECT_EQ(fake->live["module"], 0);
}

/// The driver has one function of a name in a module: the second would take the
/// first one's shared memory away.
TEST_F(CudaLoad, KernelNamedTwice) {
  Device device = open();
  KernelManifest large = exampleManifest(), small = large;
  large.sharedBytes = 100 * 1024;
  small.sharedBytes = 50 * 1024;
  EXPECT_STATUS(device.loadKernels(examplePtx(large), {large, small}).status(),
                "invalid argument: manifest of 'gdn_replay': expected distinct names of kernels but "
                "got this one twice");
  EXPECT_EQ(fake->counts["cuModuleLoadDataEx"], 0);
}

TEST_F(CudaLoad, OneKernelOfManyFails) {
  Device device = open();
  auto [first, second] = twoManifests();
  EXPECT_STATUS(device.loadKernels(examplePtx(first), {first, second}).status(),
                "invalid argument: cuModuleGetFunction of 'gdn_cursors': CUDA_ERROR_NOT_FOUND: "
                "text of 500");
  EXPECT_EQ(fake->live["module"], 0);
  fail("cuModuleLoadDataEx=218");
  EXPECT_STATUS(device.loadKernels("bad", {first, second}).status(),
                "invalid argument: cuModuleLoadDataEx of 'gdn_replay', 'gdn_cursors': "
                "CUDA_ERROR_INVALID_PTX: text of 218");
  second.threads = 0;
  EXPECT_STATUS(device.loadKernels("bad", {first, second}).status(),
                "invalid argument: manifest of 'gdn_cursors': expected 1 to 1024 threads but got 0");
  EXPECT_STATUS(device.loadKernels("bad", {}).status(),
                "invalid argument: expected the manifest of at least one kernel but got none");
}

TEST_F(CudaLoad, CodeNeedsNoNullByte) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  std::string text = examplePtx(manifest) + ".entry other(garbage";
  size_t size = text.find(".entry other");
  Result<Kernel> kernel = device.loadKernel(std::string_view(text).substr(0, size), manifest);
  ASSERT_TRUE(kernel) << kernel.status().str();
}

TEST_F(CudaLoad, ParametersOfTheCode) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  std::string ptx = examplePtx(manifest);
  KernelManifest fewer = manifest, more = manifest;
  fewer.args.pop_back();
  more.args.push_back({"state_idx_stride", KernelArg::Kind::Stride, "i64", 1});
  EXPECT_STATUS(load(device, fewer, ptx),
                "invalid argument: kernel 'gdn_replay': expected 11 parameters, as in its "
                "manifest, but the code has more");
  EXPECT_STATUS(load(device, more, ptx),
                "invalid argument: kernel 'gdn_replay': expected 13 parameters, as in its "
                "manifest, but the code has 12");
  std::string narrow = ptx;
  narrow.replace(narrow.find(".u64 p2,"), 4, ".u32");
  EXPECT_STATUS(load(device, manifest, narrow),
                "invalid argument: kernel 'gdn_replay': expected 8 bytes at offset 16 for "
                "parameter 'state' but the code has 4 at offset 16");
  fail("cuFuncGetParamInfo=719");
  EXPECT_STATUS(load(device, manifest, ptx),
                "internal: cuFuncGetParamInfo of 'gdn_replay': CUDA_ERROR_LAUNCH_FAILED: text of "
                "719");
}

TEST_F(CudaLoad, DriverBefore12_4CannotTellParameters) {
  fake->driverVersion = 12000;
  Device device = open();
  KernelManifest manifest = exampleManifest();
  Result<Kernel> kernel = device.loadKernel(examplePtx(manifest), manifest);
  ASSERT_TRUE(kernel) << kernel.status().str();
  EXPECT_EQ(fake->counts["cuFuncGetParamInfo"], 0);
}

TEST_F(CudaLoad, SharedMemory) {
  constexpr int dynamicAttribute = 8;
  Device device = open();
  KernelManifest manifest = exampleManifest();
  std::string ptx = examplePtx(manifest);
  manifest.sharedBytes = 48 * 1024;
  ASSERT_OK(load(device, manifest, ptx));
  EXPECT_EQ(fake->functionAttributes.count(dynamicAttribute), 0u);
  manifest.sharedBytes = 48 * 1024 + 16;
  ASSERT_OK(load(device, manifest, ptx));
  EXPECT_EQ(fake->functionAttributes[dynamicAttribute], 48 * 1024 + 16);
  manifest.sharedBytes = 227 * 1024;
  ASSERT_OK(load(device, manifest, ptx));
  EXPECT_EQ(fake->functionAttributes[dynamicAttribute], 227 * 1024);
  fake->staticSharedBytes = 16;
  EXPECT_STATUS(load(device, manifest, ptx),
                "unsupported: kernel 'gdn_replay' needs 232464 bytes of shared memory per block "
                "but Fake GPU has 232448");
  manifest.sharedBytes = 48 * 1024;
  fail("cuFuncSetAttribute=1");
  EXPECT_STATUS(load(device, manifest, ptx),
                "internal: cuFuncSetAttribute of 'gdn_replay': CUDA_ERROR_INVALID_VALUE: text of "
                "1");
}

TEST_F(CudaLoad, ThreadsPerBlock) {
  fake->maxThreads = 96;
  Device device = open();
  KernelManifest manifest = exampleManifest();
  EXPECT_STATUS(load(device, manifest, examplePtx(manifest)),
                "unsupported: kernel 'gdn_replay' has blocks of 128 threads but its registers "
                "allow 96");
}

TEST_F(CudaLoad, Resources) {
  fake->registers = 77;
  fake->localBytes = 24;
  Device device = open();
  KernelManifest manifest = exampleManifest();
  manifest.sharedBytes = 100 * 1024;
  Kernel kernel = device.loadKernel(examplePtx(manifest), manifest).take();
  Result<KernelResources> resources = kernel.resources();
  ASSERT_TRUE(resources) << resources.status().str();
  EXPECT_EQ(resources->registers, 77);
  EXPECT_EQ(resources->localBytes, 24);
  EXPECT_EQ(resources->sharedBytes, 100 * 1024);
  EXPECT_EQ(resources->blocksPerMultiprocessor, 2);
  fail("cuFuncGetAttribute=1");
  EXPECT_STATUS(kernel.resources().status(),
                "internal: cuFuncGetAttribute of 'gdn_replay': CUDA_ERROR_INVALID_VALUE: text of "
                "1");
  fail("cuOccupancyMaxActiveBlocksPerMultiprocessor=1");
  EXPECT_STATUS(kernel.resources().status(),
                "internal: cuOccupancyMaxActiveBlocksPerMultiprocessor of 'gdn_replay': "
                "CUDA_ERROR_INVALID_VALUE: text of 1");
}

} // namespace
