//===- CApiTest.cpp - The C interface of the runtime ----------------------===//
#include "FakeDevice.h"
#include "replayssm-c/Runtime.h"
#include "replayssm/KernelABI.h"

using namespace replayssm;

namespace {

class CApi : public FakeDevice {
protected:
  void SetUp() override {
    FakeDevice::SetUp();
    ASSERT_EQ(rssm_device_open_cuda(0, &device), nullptr);
  }
  void TearDown() override {
    rssm_device_free(device);
    FakeDevice::TearDown();
  }
  /// Consumes `status`.
  static std::string str(rssm_status *status) {
    std::string text =
        std::to_string(rssm_status_code(status)) + ": " + rssm_status_message(status);
    rssm_status_free(status);
    return text;
  }
  rssm_kernel *load() {
    rssm_kernel *kernel = nullptr;
    KernelManifest manifest = exampleManifest();
    std::string ptx = examplePtx(manifest), json = toJson(manifest);
    EXPECT_EQ(str(rssm_kernel_load(device, ptx.data(), ptx.size(), json.c_str(), &kernel)), "0: ");
    return kernel;
  }
  rssm_device *device = nullptr;
};

TEST_F(CApi, Device) {
  EXPECT_EQ(rssm_abi_version(), uint32_t{RSSM_ABI_VERSION});
  EXPECT_STREQ(rssm_device_name(device), "Fake GPU");
  EXPECT_STREQ(rssm_device_target(device), "sm_90a");
  EXPECT_EQ(rssm_device_l2_bytes(device), uint64_t{50} << 20);
  EXPECT_EQ(rssm_device_multiprocessors(device), 132u);
  EXPECT_EQ(str(rssm_device_synchronize(device)), "0: ");
  rssm_device *none = nullptr;
  EXPECT_EQ(str(rssm_device_open_cuda(3, &none)), "3: no CUDA device 3: the driver has 1");
  EXPECT_EQ(none, nullptr);
  rssm_device *host = nullptr;
  EXPECT_EQ(rssm_device_open_host(&host), nullptr);
  EXPECT_STREQ(rssm_device_target(host), "host");
  rssm_device_free(host);
}

TEST_F(CApi, Buffers) {
  rssm_buffer *buffer = nullptr;
  EXPECT_EQ(str(rssm_buffer_allocate(device, 0, &buffer)),
            "1: expected a buffer of at least 1 byte but got 0");
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(str(rssm_buffer_allocate(device, 16, &buffer)), "0: ");
  EXPECT_NE(rssm_buffer_address(buffer), 0u);
  EXPECT_EQ(rssm_buffer_bytes(buffer), 16u);
  uint32_t in = 0x01020304, out = 0;
  EXPECT_EQ(str(rssm_buffer_copy_in(buffer, &in, 4, 12)), "0: ");
  EXPECT_EQ(str(rssm_buffer_copy_out(buffer, &out, 4, 12)), "0: ");
  EXPECT_EQ(in, out);
  EXPECT_EQ(str(rssm_buffer_copy_out(buffer, &out, 4, 13)),
            "1: copy out of a buffer of 4 bytes at offset 13: expected it inside the buffer of 16 "
            "bytes");
  rssm_device_free(device); // In any order.
  device = nullptr;
  rssm_buffer_free(buffer);
}

TEST_F(CApi, Kernels) {
  rssm_kernel *kernel = nullptr;
  EXPECT_EQ(str(rssm_kernel_load(device, "x", 1, "{", &kernel)),
            "1: manifest:1:2: expected a string but got the end");
  EXPECT_EQ(str(rssm_kernel_load(device, "x", 1, nullptr, &kernel)),
            "1: expected the text of a manifest but got null");
  EXPECT_EQ(str(rssm_kernel_load(device, nullptr, 1, "{}", &kernel)),
            "1: expected the code of a kernel but got null");
  std::string json = toJson(exampleManifest());
  EXPECT_EQ(str(rssm_kernel_load(device, "x", 1, json.c_str(), &kernel)),
            "1: cuModuleGetFunction of 'gdn_replay': CUDA_ERROR_NOT_FOUND: text of 500");
  EXPECT_EQ(kernel, nullptr);
  kernel = load();
  rssm_kernel_resources resources = {};
  EXPECT_EQ(str(rssm_kernel_get_resources(kernel, &resources)), "0: ");
  EXPECT_EQ(resources.registers, 40);
  EXPECT_EQ(resources.shared_bytes, 4096);
  EXPECT_EQ(resources.blocks_per_multiprocessor, 16);
  std::vector<uint64_t> args = exampleArgs();
  EXPECT_EQ(str(rssm_kernel_launch(kernel, args.data(), args.size(), 7)), "0: ");
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_EQ(fake->launches[0].params, args);
  EXPECT_EQ(str(rssm_kernel_launch(kernel, args.data(), 3, 7)),
            "1: launch of 'gdn_replay': expected 12 arguments but got 3");
  EXPECT_EQ(str(rssm_kernel_launch(kernel, nullptr, 3, 7)),
            "1: expected an array of arguments but got null");
  rssm_kernel_free(kernel);
}

TEST_F(CApi, Graphs) {
  rssm_kernel *kernel = load();
  std::vector<uint64_t> args = exampleArgs();
  EXPECT_EQ(str(rssm_device_begin_capture(device)), "0: ");
  EXPECT_EQ(str(rssm_kernel_launch(kernel, args.data(), args.size(), 1)), "0: ");
  rssm_graph *graph = nullptr;
  EXPECT_EQ(str(rssm_device_end_capture(device, &graph)), "0: ");
  double milliseconds = 0;
  EXPECT_EQ(str(rssm_device_time_graph(device, graph, &milliseconds)), "0: ");
  EXPECT_EQ(milliseconds, 0.5);
  EXPECT_EQ(str(rssm_graph_replay(graph)), "0: ");
  EXPECT_EQ(fake->launches.size(), 2u);
  fail("cuGraphLaunch=719");
  EXPECT_EQ(str(rssm_graph_replay(graph)),
            "6: cuGraphLaunch: CUDA_ERROR_LAUNCH_FAILED: text of 719");
  EXPECT_EQ(str(rssm_device_time_graph(device, graph, &milliseconds)),
            "6: cuGraphLaunch: CUDA_ERROR_LAUNCH_FAILED: text of 719");
  succeed();
  rssm_graph_free(graph);
  rssm_kernel_free(kernel);
  EXPECT_EQ(str(rssm_device_end_capture(device, &graph)),
            "1: end of a capture: expected an open capture on this device but there is none");
}

TEST(CApiNull, FreeingNullIsAllowed) {
  rssm_status_free(nullptr);
  rssm_device_free(nullptr);
  rssm_buffer_free(nullptr);
  rssm_kernel_free(nullptr);
  rssm_graph_free(nullptr);
}

/// Every function, with null for each handle and output in turn.
TEST_F(CApi, Nulls) {
  auto null = [](const char *what) { return std::string("1: expected ") + what + " but got null"; };
  EXPECT_EQ(str(rssm_device_open_cuda(0, nullptr)), null("a place for the device"));
  EXPECT_EQ(str(rssm_device_open_host(nullptr)), null("a place for the device"));
  EXPECT_STREQ(rssm_device_name(nullptr), "");
  EXPECT_STREQ(rssm_device_target(nullptr), "");
  EXPECT_EQ(rssm_device_l2_bytes(nullptr), 0u);
  EXPECT_EQ(rssm_device_multiprocessors(nullptr), 0u);
  EXPECT_EQ(str(rssm_device_synchronize(nullptr)), null("a device"));
  EXPECT_EQ(rssm_status_code(nullptr), RSSM_OK);
  EXPECT_STREQ(rssm_status_message(nullptr), "");

  rssm_buffer *buffer = nullptr;
  EXPECT_EQ(str(rssm_buffer_allocate(nullptr, 16, &buffer)), null("a device"));
  EXPECT_EQ(str(rssm_buffer_allocate(device, 16, nullptr)), null("a place for the buffer"));
  EXPECT_EQ(fake->live["memory"], 0);
  EXPECT_EQ(rssm_buffer_address(nullptr), 0u);
  EXPECT_EQ(rssm_buffer_bytes(nullptr), 0u);
  char byte = 0;
  EXPECT_EQ(str(rssm_buffer_copy_in(nullptr, &byte, 1, 0)), null("a buffer"));
  EXPECT_EQ(str(rssm_buffer_copy_out(nullptr, &byte, 1, 0)), null("a buffer"));
  EXPECT_EQ(str(rssm_buffer_allocate(device, 16, &buffer)), "0: ");
  EXPECT_EQ(str(rssm_buffer_copy_in(buffer, nullptr, 1, 0)),
            "1: copy into a buffer of 1 bytes: expected a host address but got null");
  rssm_buffer_free(buffer);

  std::string json = toJson(exampleManifest()), ptx = examplePtx(exampleManifest());
  rssm_kernel *kernel = nullptr;
  EXPECT_EQ(str(rssm_kernel_load(nullptr, ptx.data(), ptx.size(), json.c_str(), &kernel)), null("a device"));
  EXPECT_EQ(str(rssm_kernel_load(device, nullptr, 0, json.c_str(), &kernel)), null("the code of a kernel"));
  EXPECT_EQ(str(rssm_kernel_load(device, ptx.data(), ptx.size(), nullptr, &kernel)), null("the text of a manifest"));
  EXPECT_EQ(str(rssm_kernel_load(device, ptx.data(), ptx.size(), json.c_str(), nullptr)),
            null("a place for the kernel"));
  EXPECT_EQ(fake->counts["cuModuleLoadDataEx"], 0);
  kernel = load();
  rssm_kernel_resources resources = {};
  EXPECT_EQ(str(rssm_kernel_get_resources(nullptr, &resources)), null("a kernel"));
  EXPECT_EQ(str(rssm_kernel_get_resources(kernel, nullptr)), null("a place for the resources"));
  uint64_t arg = 0;
  EXPECT_EQ(str(rssm_kernel_launch(nullptr, &arg, 1, 1)), null("a kernel"));
  EXPECT_EQ(str(rssm_kernel_launch_layers(nullptr, &arg, 1, 1, 1)), null("a kernel"));
  EXPECT_EQ(str(rssm_kernel_launch(kernel, nullptr, 12, 1)), null("an array of arguments"));
  EXPECT_EQ(str(rssm_kernel_launch(kernel, nullptr, 0, 1)),
            "1: launch of 'gdn_replay': expected 12 arguments but got 0");
  // A number that cannot be is not read.
  EXPECT_EQ(str(rssm_kernel_launch(kernel, &arg, SIZE_MAX, 1)),
            "1: launch of 'gdn_replay': expected 12 arguments but got 18446744073709551615");

  rssm_graph *graph = nullptr;
  double milliseconds = 0;
  EXPECT_EQ(str(rssm_device_begin_capture(nullptr)), null("a device"));
  EXPECT_EQ(str(rssm_device_end_capture(nullptr, &graph)), null("a device"));
  EXPECT_EQ(str(rssm_graph_replay(nullptr)), null("a graph"));
  EXPECT_EQ(str(rssm_device_begin_capture(device)), "0: ");
  EXPECT_EQ(str(rssm_device_end_capture(device, nullptr)), null("a place for the graph"));
  EXPECT_EQ(str(rssm_device_end_capture(device, &graph)), "0: "); // It is still open.
  EXPECT_EQ(str(rssm_device_time_graph(nullptr, graph, &milliseconds)), null("a device"));
  EXPECT_EQ(str(rssm_device_time_graph(device, nullptr, &milliseconds)), null("a graph"));
  EXPECT_EQ(str(rssm_device_time_graph(device, graph, nullptr)), null("a place for the milliseconds"));
  rssm_graph_free(graph);
  rssm_kernel_free(kernel);
}

} // namespace
