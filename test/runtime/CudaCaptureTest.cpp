//===- CudaCaptureTest.cpp - Graphs of the CUDA device --------------------===//
#include "FakeDevice.h"

#include <thread>

using namespace replayssm;

namespace {

class Capture : public FakeDevice {
protected:
  Kernel load(Device &device) {
    KernelManifest manifest = exampleManifest();
    return device.loadKernel(examplePtx(manifest), manifest).take();
  }
};

TEST_F(Capture, ReplaysWhatWasRecorded) {
  Device device = open();
  Kernel kernel = load(device);
  std::vector<uint64_t> args = exampleArgs();
  ASSERT_OK(device.beginCapture());
  EXPECT_EQ(fake->captureMode, 1u); // Thread-local.
  ASSERT_OK(kernel.launch(args, 2));
  args[11] = 9;
  ASSERT_OK(kernel.launch(args, 3));
  EXPECT_TRUE(fake->launches.empty());
  Result<Graph> graph = device.endCapture();
  ASSERT_TRUE(graph) << graph.status().str();
  EXPECT_TRUE(fake->launches.empty());
  args[11] = 1; // Values were recorded, not references.
  ASSERT_OK(graph->replay());
  ASSERT_OK(graph->replay());
  ASSERT_EQ(fake->launches.size(), 4u);
  EXPECT_EQ(fake->launches[0].gridY, 2u);
  EXPECT_EQ(fake->launches[1].gridY, 3u);
  EXPECT_EQ(fake->launches[3].params[11], 9u);
  EXPECT_EQ(fake->live["graph"], 0); // Only the executable graph stays.
  EXPECT_EQ(fake->live["exec"], 1);
}

TEST_F(Capture, TimesOneReplay) {
  Device device = open();
  Kernel kernel = load(device);
  ASSERT_OK(device.beginCapture());
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(kernel.launch(exampleArgs(), 1));
  Graph graph = device.endCapture().take();
  Result<double> milliseconds = device.timeGraph(graph);
  ASSERT_TRUE(milliseconds) << milliseconds.status().str();
  EXPECT_EQ(*milliseconds, 1.5);
  EXPECT_EQ(fake->launches.size(), 3u);
}

TEST_F(Capture, GraphKeepsItsCode) {
  Device device = open();
  std::optional<Kernel> kernel = load(device);
  ASSERT_OK(device.beginCapture());
  ASSERT_OK(kernel->launch(exampleArgs(), 1));
  {
    Graph graph = device.endCapture().take();
    kernel.reset();
    EXPECT_EQ(fake->live["module"], 1);
    ASSERT_OK(graph.replay());
  }
  EXPECT_EQ(fake->live["module"], 0);
  EXPECT_EQ(fake->launches.size(), 1u);
}

TEST_F(Capture, ReleasesWaitForItsEnd) {
  Device device = open();
  Kernel recorded = load(device);
  std::optional<Kernel> kernel = load(device);
  std::optional<Buffer> buffer = device.allocate(64).take();
  ASSERT_OK(device.beginCapture());
  std::optional<Graph> old = device.endCapture().take();
  ASSERT_OK(device.beginCapture());
  ASSERT_OK(recorded.launch(exampleArgs(), 1));
  kernel.reset();
  buffer.reset();
  old.reset();
  EXPECT_EQ(fake->live["module"], 2);
  EXPECT_EQ(fake->live["memory"], 1);
  EXPECT_EQ(fake->live["exec"], 1);
  Result<Graph> graph = device.endCapture();
  ASSERT_TRUE(graph) << graph.status().str();
  EXPECT_EQ(fake->live["module"], 1);
  EXPECT_EQ(fake->live["memory"], 0);
  EXPECT_EQ(fake->live["exec"], 1);
}

TEST_F(Capture, RefusesWhatCannotBeRecorded) {
  Device device = open();
  Kernel kernel = load(device);
  Buffer buffer = device.allocate(64).take();
  ASSERT_OK(device.beginCapture());
  Graph graph = device.endCapture().take();
  ASSERT_OK(device.beginCapture());
  char bytes[64];
  auto expected = [](const char *what) {
    return std::string("invalid argument: ") + what + ": expected no open capture on this device";
  };
  KernelManifest manifest = exampleManifest();
  EXPECT_STATUS(device.beginCapture(), expected("begin of a capture"));
  EXPECT_STATUS(device.allocate(64).status(), expected("allocate"));
  EXPECT_STATUS(buffer.copyIn(bytes, 64), expected("copy into a buffer"));
  EXPECT_STATUS(buffer.copyOut(bytes, 64), expected("copy out of a buffer"));
  EXPECT_STATUS(device.loadKernel("x", manifest).status(), expected("load of a kernel"));
  EXPECT_STATUS(device.synchronize(), expected("synchronize"));
  EXPECT_STATUS(graph.replay(), expected("replay of a graph"));
  EXPECT_STATUS(device.timeGraph(graph).status(), expected("timing of a graph"));
  ASSERT_OK(kernel.launch(exampleArgs(), 1)); // None of it hurt the capture.
  Result<Graph> second = device.endCapture();
  ASSERT_TRUE(second) << second.status().str();
  ASSERT_OK(second->replay());
  EXPECT_EQ(fake->launches.size(), 1u);
}

TEST_F(Capture, EndWithoutBegin) {
  Device device = open();
  EXPECT_STATUS(device.endCapture().status(), "invalid argument: end of a capture: expected an "
                                              "open capture on this device but there is none");
}

TEST_F(Capture, EndsOnItsThread) {
  Device device = open();
  ASSERT_OK(device.beginCapture());
  Status status;
  std::thread([&] { status = device.endCapture().status(); }).join();
  EXPECT_STATUS(status, "invalid argument: cuStreamEndCapture: "
                        "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: text of 908");
  Result<Graph> graph = device.endCapture(); // Still open here.
  EXPECT_TRUE(graph) << graph.status().str();
}

TEST_F(Capture, DriverFailures) {
  Device device = open();
  Kernel kernel = load(device);
  fail("cuStreamBeginCapture=1");
  EXPECT_STATUS(device.beginCapture(),
                "internal: cuStreamBeginCapture: CUDA_ERROR_INVALID_VALUE: text of 1");
  for (const char *call : {"cuGraphInstantiateWithFlags", "cuGraphUpload"}) {
    succeed();
    ASSERT_OK(device.beginCapture());
    ASSERT_OK(kernel.launch(exampleArgs(), 1));
    fail((std::string(call) + "=2").c_str());
    EXPECT_STATUS(device.endCapture().status(),
                  std::string("exhausted: ") + call + ": CUDA_ERROR_OUT_OF_MEMORY: text of 2");
  }
  succeed();
  EXPECT_EQ(fake->live["graph"], 0);
  EXPECT_EQ(fake->live["exec"], 0);
  ASSERT_OK(device.beginCapture());
  Graph graph = device.endCapture().take();
  fail("cuGraphLaunch=719");
  EXPECT_STATUS(graph.replay(),
                "internal: cuGraphLaunch: CUDA_ERROR_LAUNCH_FAILED: text of 719");
  for (const char *call : {"cuEventRecord", "cuGraphLaunch", "cuEventSynchronize",
                           "cuEventElapsedTime"}) {
    fail((std::string(call) + "=719").c_str());
    EXPECT_STATUS(device.timeGraph(graph).status(),
                  std::string("internal: ") + call + ": CUDA_ERROR_LAUNCH_FAILED: text of 719");
  }
  succeed();
}

TEST_F(Capture, InvalidatedCapture) {
  Device device = open();
  ASSERT_OK(device.beginCapture());
  fail("cuStreamEndCapture@1=901");
  EXPECT_STATUS(device.endCapture().status(),
                "internal: cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: text of 901");
}

TEST_F(Capture, DeviceGoesWithAnOpenCapture) {
  Device device = open();
  Kernel kernel = load(device);
  ASSERT_OK(device.beginCapture());
  ASSERT_OK(kernel.launch(exampleArgs(), 1));
}

TEST_F(Capture, GraphsOfOtherDevicesAndMovedOnes) {
  Device device = open(), other = open();
  ASSERT_OK(device.beginCapture());
  Graph graph = device.endCapture().take();
  EXPECT_STATUS(other.timeGraph(graph).status(), "invalid argument: expected a graph captured on "
                                                 "this device but got another device's");
  Graph moved = std::move(graph);
  EXPECT_STATUS(graph.replay(), // NOLINT: that is the test.
                "invalid argument: expected a graph but got one that was moved from");
  EXPECT_STATUS(device.timeGraph(graph).status(),
                "invalid argument: expected a graph but got one that was moved from");
  ASSERT_OK(moved.replay());
}

} // namespace
