//===- CudaTest.cpp - The CUDA device on a fake driver --------------------===//
#include "FakeDevice.h"

#include <thread>

using namespace replayssm;

namespace {

class Cuda : public FakeDevice {};

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

TEST_F(Cuda, Open) {
  Device device = open();
  EXPECT_FALSE(device.isHost());
  EXPECT_EQ(device.name(), "Fake GPU");
  EXPECT_EQ(device.target(), "sm_90a");
  EXPECT_EQ(device.l2Bytes(), uint64_t{50} << 20);
  EXPECT_EQ(device.multiprocessors(), 132u);
  EXPECT_EQ(fake->live["pushed context"], 0);
  ASSERT_OK(device.synchronize());
}

TEST_F(Cuda, Targets) {
  for (auto [major, minor, target] : {std::tuple(9, 0, "sm_90a"), std::tuple(10, 0, "sm_100a"),
                                      std::tuple(10, 3, "sm_100f")}) { // code of a family
    fake->major = major;
    fake->minor = minor;
    EXPECT_EQ(open().target(), target);
  }
  // 10.1 has the major of 10.0 and is of another family.
  for (auto [major, minor, text] : {std::tuple(8, 0, "8.0"), std::tuple(9, 1, "9.1"),
                                    std::tuple(10, 1, "10.1"), std::tuple(12, 0, "12.0")}) {
    fake->major = major;
    fake->minor = minor;
    EXPECT_STATUS(Device::openCuda().status(),
                  std::string("unsupported: CUDA device 0 (Fake GPU): expected compute capability "
                              "9.0, 10.0 or 10.3 but got ") +
                      text);
  }
}

TEST_F(Cuda, NoDriver) {
  setenv("REPLAYSSM_LIBCUDA", "libreplayssm-no-such-driver.so", 1);
  Result<Device> device = Device::openCuda();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.status().code(), StatusCode::Unavailable);
  EXPECT_EQ(device.status().message().find("no CUDA driver: libreplayssm-no-such-driver.so"), 0u)
      << device.status().str();
  std::string fix = " (install NVIDIA's driver or name its library in REPLAYSSM_LIBCUDA; the host device needs none)";
  EXPECT_NE(device.status().message().find(fix), std::string::npos) << device.status().str();

  // A library, but not a driver.
  setenv("REPLAYSSM_LIBCUDA", "libm.so.6", 1);
  EXPECT_STATUS(Device::openCuda().status(),
                "unavailable: no CUDA driver: expected a driver of CUDA 12.0 or later but "
                "libm.so.6 has no cuGetProcAddress_v2");
}

TEST_F(Cuda, OldDriver) {
  fake->missing = "cuGraphUpload";
  EXPECT_STATUS(Device::openCuda().status(), std::string("unavailable: no CUDA driver: ") +
                                                 FAKE_CUDA_PATH +
                                                 " has no cuGraphUpload (driver error 500)");
}

TEST_F(Cuda, NoDevice) {
  EXPECT_STATUS(Device::openCuda(1).status(),
                "unavailable: no CUDA device 1: the driver has 1");
  EXPECT_STATUS(Device::openCuda(-1).status(),
                "invalid argument: expected a device ordinal of at least 0 but got -1");
  fake->deviceCount = 0;
  EXPECT_STATUS(Device::openCuda().status(),
                "unavailable: cuInit: CUDA_ERROR_NO_DEVICE: text of 100");
}

/// Every call that opening makes, failing: the error names it, nothing leaks.
TEST_F(Cuda, EveryFailureWhileOpening) {
  { open(); }
  std::vector<std::string> calls = fake->calls;
  std::map<std::string, int> counts;
  int tried = 0;
  for (const std::string &call : calls) {
    std::string nth = call + "@" + std::to_string(++counts[call]);
    bool closing = call.find("Destroy") != std::string::npos || call == "cuCtxPopCurrent" ||
                   call == "cuDevicePrimaryCtxRelease" ||
                   (call == "cuCtxPushCurrent" && counts[call] > 1);
    if (closing)
      continue;
    *fake = {};
    fail((nth + "=2").c_str());
    Status status = Device::openCuda().status();
    EXPECT_EQ(status.message(), call + ": CUDA_ERROR_OUT_OF_MEMORY: text of 2") << nth;
    EXPECT_EQ(status.code(), call == "cuInit" || call == "cuDeviceGetCount"
                                 ? StatusCode::Unavailable
                                 : StatusCode::Exhausted);
    for (auto &[kind, count] : fake->live)
      EXPECT_EQ(count, 0) << nth << ": live objects of kind " << kind;
    ++tried;
  }
  EXPECT_EQ(tried, 14);
}

TEST_F(Cuda, ErrorCodes) {
  Device device = open();
  auto failing = [&](const char *what) {
    fail(what);
    Status status = device.allocate(64).status();
    succeed();
    return status.str();
  };
  EXPECT_EQ(failing("cuMemAlloc=2"),
            "exhausted: cuMemAlloc of 64 bytes: CUDA_ERROR_OUT_OF_MEMORY: text of 2");
  EXPECT_EQ(failing("cuMemAlloc=719"),
            "internal: cuMemAlloc of 64 bytes: CUDA_ERROR_LAUNCH_FAILED: text of 719");
  EXPECT_EQ(failing("cuMemAlloc=46"),
            "unavailable: cuMemAlloc of 64 bytes: driver error 46: text of 46");
  EXPECT_EQ(failing("cuMemAlloc=801"),
            "unsupported: cuMemAlloc of 64 bytes: driver error 801: text of 801");
  EXPECT_EQ(failing("cuMemAlloc=999"), "internal: cuMemAlloc of 64 bytes: driver error 999");
  EXPECT_EQ(failing("cuCtxPushCurrent=201"),
            "internal: cuCtxPushCurrent: CUDA_ERROR_INVALID_CONTEXT: text of 201");
}

TEST_F(Cuda, CopyAndSynchronizeFailures) {
  Device device = open();
  Buffer buffer = device.allocate(64).take();
  char bytes[64] = {};
  fail("cuMemcpyHtoDAsync=700,cuMemcpyDtoHAsync=700");
  EXPECT_STATUS(buffer.copyIn(bytes, 64),
                "internal: cuMemcpyHtoDAsync: CUDA_ERROR_ILLEGAL_ADDRESS: text of 700");
  EXPECT_STATUS(buffer.copyOut(bytes, 64),
                "internal: cuMemcpyDtoHAsync: CUDA_ERROR_ILLEGAL_ADDRESS: text of 700");
  fail("cuStreamSynchronize=719");
  std::string expected = "internal: cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED: text of 719";
  EXPECT_STATUS(buffer.copyIn(bytes, 64), expected);
  EXPECT_STATUS(buffer.copyOut(bytes, 64), expected);
  EXPECT_STATUS(device.synchronize(), expected);
  succeed();
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

TEST_F(Cuda, LaunchMarshalsArguments) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  Kernel kernel = device.loadKernel(examplePtx(manifest), manifest).take();
  EXPECT_EQ(kernel.manifest(), manifest);
  std::vector<uint64_t> args = exampleArgs();
  args[2] = 0x7f1234567890;                   // Addresses are 64-bit,
  args[7] = static_cast<uint64_t>(-(8 << 20)); // strides signed.
  ASSERT_OK(kernel.launch(args, 65535));
  ASSERT_EQ(fake->launches.size(), 1u);
  const fakecuda::Launch &launch = fake->launches[0];
  EXPECT_EQ(launch.kernel, "gdn_replay");
  EXPECT_EQ(std::tuple(launch.gridX, launch.gridY, launch.gridZ), std::tuple(64u, 65535u, 1u));
  EXPECT_EQ(std::tuple(launch.blockX, launch.blockY, launch.blockZ), std::tuple(128u, 1u, 1u));
  EXPECT_EQ(launch.sharedBytes, 4096u);
  EXPECT_EQ(launch.params, args);
  EXPECT_EQ(fake->live["pushed context"], 0);
  fail("cuLaunchKernelEx=719");
  EXPECT_STATUS(kernel.launch(args, 1),
                "internal: cuLaunchKernelEx of 'gdn_replay': CUDA_ERROR_LAUNCH_FAILED: text of "
                "719");
}

/// One thread at a time, but any: each call makes the context current itself.
TEST_F(Cuda, AnyThread) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  Kernel kernel = device.loadKernel(examplePtx(manifest), manifest).take();
  Status status;
  std::thread([&] { status = kernel.launch(exampleArgs(), 1); }).join();
  EXPECT_STATUS(status, "ok");
}

/// Kernels may still run when the last handle goes.
TEST_F(Cuda, ReleaseWaitsForTheStream) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  auto order = [&](const char *release) {
    auto last = std::find(fake->calls.rbegin(), fake->calls.rend(), release);
    return last != fake->calls.rend() && last + 1 != fake->calls.rend()
               ? *(last + 1)
               : std::string();
  };
  {
    Buffer buffer = device.allocate(16).take();
    Kernel kernel = device.loadKernel(examplePtx(manifest), manifest).take();
    ASSERT_OK(kernel.launch(exampleArgs(), 1));
  }
  EXPECT_EQ(order("cuMemFree"), "cuStreamSynchronize");
  EXPECT_EQ(order("cuModuleUnload"), "cuStreamSynchronize");
}

} // namespace
