//===- RuntimeTest.cpp - Handles and the checks before a launch -----------===//
#include "FakeDevice.h"
#include "runtime/LaunchArgs.h"

#include <numeric>

using namespace replayssm;

namespace {

class Runtime : public FakeDevice {};

TEST(Status, Names) {
  EXPECT_STATUS(Status::ok(), "ok");
  EXPECT_STATUS(Status(StatusCode::InvalidArgument, "a"), "invalid argument: a");
  EXPECT_STATUS(Status(StatusCode::Unsupported, "a"), "unsupported: a");
  EXPECT_STATUS(Status(StatusCode::Unavailable, "a"), "unavailable: a");
  EXPECT_STATUS(Status(StatusCode::Incompatible, "a"), "incompatible: a");
  EXPECT_STATUS(Status(StatusCode::Exhausted, "a"), "exhausted: a");
  EXPECT_STATUS(Status(StatusCode::Internal, "a"), "internal: a");
  EXPECT_STREQ(statusCodeName(StatusCode::Ok), "ok");
}

TEST_F(Runtime, CopiesThereAndBack) {
  Device device = open();
  Result<Buffer> buffer = device.allocate(64);
  ASSERT_TRUE(buffer) << buffer.status().str();
  EXPECT_EQ(buffer->bytes(), 64u);
  std::vector<uint8_t> in(64), out(64);
  std::iota(in.begin(), in.end(), 1);
  ASSERT_OK(buffer->copyIn(in.data(), 64));
  ASSERT_OK(buffer->copyIn(in.data(), 4, 60));
  ASSERT_OK(buffer->copyOut(out.data(), 64));
  std::copy_n(in.begin(), 4, in.begin() + 60);
  EXPECT_EQ(in, out);
  ASSERT_OK(buffer->copyOut(out.data(), 2, 62));
  EXPECT_EQ(out[0], 3);
  ASSERT_OK(buffer->copyIn(nullptr, 0, 64));
}

TEST_F(Runtime, CopyErrors) {
  Device device = open();
  Buffer buffer = device.allocate(64).take();
  uint8_t bytes[64];
  EXPECT_STATUS(buffer.copyIn(bytes, 64, 1), "invalid argument: copy into a buffer of 64 bytes at "
                                             "offset 1: expected it inside the buffer of 64 bytes");
  EXPECT_STATUS(buffer.copyOut(bytes, ~uint64_t{0}, 8),
                "invalid argument: copy out of a buffer of 18446744073709551615 bytes at offset 8: "
                "expected it inside the buffer of 64 bytes");
  EXPECT_STATUS(buffer.copyIn(nullptr, 1), "invalid argument: copy into a buffer of 1 bytes: "
                                           "expected a host address but got null");
  EXPECT_STATUS(buffer.copyIn(bytes, 1, ~uint64_t{0}),
                "invalid argument: copy into a buffer of 1 bytes at offset 18446744073709551615: "
                "expected it inside the buffer of 64 bytes");
  Buffer moved = std::move(buffer);
  std::string empty = ": expected a buffer of Device::allocate but got one that is empty or was moved from";
  EXPECT_STATUS(Buffer().copyIn(bytes, 1), "invalid argument: copy into a buffer" + empty);
  EXPECT_STATUS(Buffer().copyOut(bytes, 0), "invalid argument: copy out of a buffer" + empty);
  EXPECT_STATUS(buffer.copyIn(bytes, 1), "invalid argument: copy into a buffer" + empty); // NOLINT: that is the test.
  EXPECT_STATUS(buffer.copyOut(bytes, 0), "invalid argument: copy out of a buffer" + empty);
  EXPECT_EQ(buffer.address(), 0u);
  EXPECT_EQ(buffer.bytes(), 0u);
  EXPECT_STATUS(device.allocate(0).status(),
                "invalid argument: expected a buffer of at least 1 byte but got 0");
}

TEST_F(Runtime, MovesOwnAndReleaseOnce) {
  Buffer outlives;
  {
    Device device = open();
    Buffer a = device.allocate(16).take(), b = device.allocate(16).take();
    uint64_t address = b.address();
    EXPECT_EQ(fake->live["memory"], 2);
    a = std::move(b);
    EXPECT_EQ(fake->live["memory"], 1);
    EXPECT_EQ(a.address(), address);
    Buffer &alias = a;
    a = std::move(alias);
    EXPECT_EQ(a.address(), address);
    outlives = std::move(a);
  }
  EXPECT_EQ(fake->live["memory"], 1);
  EXPECT_EQ(fake->live["context"], 1); // The buffer keeps its device.
  outlives = Buffer();
  EXPECT_EQ(fake->live["context"], 0);
}

TEST_F(Runtime, KernelOutlivesItsDeviceHandle) {
  KernelManifest manifest = exampleManifest();
  Kernel kernel = open().loadKernel(examplePtx(manifest), manifest).take();
  EXPECT_EQ(fake->live["context"], 1);
  kernel = open().loadKernel(examplePtx(manifest), manifest).take();
  EXPECT_EQ(fake->live["module"], 1);
  EXPECT_EQ(fake->live["context"], 1);
  ASSERT_OK(kernel.launch(exampleArgs(), 1));
  Kernel moved = std::move(kernel);
  EXPECT_STATUS(kernel.launch(exampleArgs(), 1), // NOLINT: that is the test.
                "invalid argument: expected a kernel but got one that was moved from");
  EXPECT_STATUS(kernel.resources().status(),
                "invalid argument: expected a kernel but got one that was moved from");
  EXPECT_EQ(kernel.manifest(), KernelManifest());
  EXPECT_EQ(moved.manifest(), manifest);
}

/// Of a handle without a device, moved from or made so.
TEST_F(Runtime, MovedFromDevice) {
  Device live = open();
  ASSERT_OK(live.beginCapture());
  Graph graph = live.endCapture().take();
  Device moved = std::move(live);
  std::string expected = "invalid argument: expected a device but got one that was moved from";
  KernelManifest manifest = exampleManifest();
  Device made(nullptr);
  for (Device *device : {&live, &made}) {
    EXPECT_FALSE(device->isHost());
    EXPECT_EQ(device->name(), "");
    EXPECT_EQ(device->target(), "");
    EXPECT_EQ(device->l2Bytes(), 0u);
    EXPECT_EQ(device->multiprocessors(), 0u);
    EXPECT_EQ(device->sharedBackend(), nullptr);
    device->hostOptions().scheduleSeed = 7;
    EXPECT_STATUS(device->allocate(16).status(), expected);
    EXPECT_STATUS(device->loadKernel(examplePtx(manifest), manifest).status(), expected);
    EXPECT_STATUS(device->loadKernels(examplePtx(manifest), {manifest}).status(), expected);
    EXPECT_STATUS(device->synchronize(), expected);
    EXPECT_STATUS(device->beginCapture(), expected);
    EXPECT_STATUS(device->endCapture().status(), expected);
    EXPECT_STATUS(device->timeGraph(graph).status(), expected);
  }
  ASSERT_OK(moved.synchronize());
  live = moved; // A handle can be used again.
  ASSERT_OK(live.synchronize());
}

TEST(Result, HasAValueOrAnError) {
  std::string expected = "internal: expected an error of a result without a value";
  EXPECT_STATUS(Result<int>(Status::ok()).status(), expected);
  EXPECT_STATUS(Result<int>(StatusCode::Ok, "a").status(), expected);
  EXPECT_STATUS(Result<int>(StatusCode::Exhausted, "a").status(), "exhausted: a");
  EXPECT_FALSE(Result<int>(Status::ok()));
  EXPECT_STATUS(Result<int>(1).status(), "ok");
  EXPECT_STREQ(statusCodeName(static_cast<StatusCode>(99)), "unknown");
}

//===----------------------------------------------------------------------===//
// Manifests
//===----------------------------------------------------------------------===//

TEST_F(Runtime, ManifestErrors) {
  Device device = open();
  auto load = [&](auto change) {
    KernelManifest manifest = exampleManifest();
    change(manifest);
    return device.loadKernel(examplePtx(manifest), manifest).status();
  };
  using Kind = KernelArg::Kind;
  EXPECT_STATUS(load([](auto &m) { m.name = ""; }),
                "invalid argument: manifest: expected a kernel name");
  std::string where = "invalid argument: manifest of 'gdn_replay': ";
  EXPECT_STATUS(load([](auto &m) { m.threads = 0; }),
                where + "expected 1 to 1024 threads but got 0");
  EXPECT_STATUS(load([](auto &m) { m.threads = 1025; }),
                where + "expected 1 to 1024 threads but got 1025");
  EXPECT_STATUS(load([](auto &m) { m.blocksPerRow = 0; }),
                where + "expected 1 to 2147483647 blocks per row but got 0");
  EXPECT_STATUS(load([](auto &m) { m.args[1].name = "state_idx"; }),
                where + "argument 'state_idx': expected distinct names but got this one twice");
  EXPECT_STATUS(load([](auto &m) { m.args[2].dtype = "f64"; }),
                where + "argument 'state': expected dtype f32, bf16, f16, i64, i32 or i8 but got "
                        "'f64'");
  EXPECT_STATUS(load([](auto &m) { m.args[7].dtype = "i32"; }),
                where + "argument 'state_stride': expected dtype i64 of a stride but got 'i32'");
  EXPECT_STATUS(load([](auto &m) { m.args[7].name = "pool_stride"; }),
                where + "argument 'pool_stride': expected the name of a pointer argument followed "
                        "by '_stride'");
  EXPECT_STATUS(load([](auto &m) { m.args[7].minElements = 0; }),
                where + "argument 'state_stride': expected a stride of at least 1 element but got 0");
  for (int kind : {-1, 3})
    EXPECT_STATUS(load([&](auto &m) { m.args[2].kind = static_cast<Kind>(kind); }),
                  where + "argument 'state': expected kind pointer, stride or table but got " + std::to_string(kind));
  EXPECT_STATUS(load([](auto &m) { m.args.push_back({"b", Kind::Pointer, "bf16"}); }),
                where + "argument 'b': expected all pointers before all strides");
  EXPECT_STATUS(device.loadKernel("", exampleManifest()).status(),
                "invalid argument: expected code for kernel 'gdn_replay' but got none");
  EXPECT_EQ(fake->counts["cuModuleLoadDataEx"], 0);
}

//===----------------------------------------------------------------------===//
// Launch arguments
//===----------------------------------------------------------------------===//

TEST_F(Runtime, LaunchChecks) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  Kernel kernel = device.loadKernel(examplePtx(manifest), manifest).take();
  std::string where = "invalid argument: launch of 'gdn_replay': ";
  auto with = [&](const std::string &name, uint64_t value) {
    std::vector<uint64_t> args = exampleArgs();
    for (size_t i = 0; i < args.size(); ++i)
      if (manifest.args[i].name == name)
        args[i] = value;
    return kernel.launch(args, 3);
  };

  std::vector<uint64_t> args = exampleArgs();
  EXPECT_STATUS(kernel.launch(args, 65536), where + "expected at most 65535 rows but got 65536");
  args.pop_back();
  EXPECT_STATUS(kernel.launch(args, 1), where + "expected 12 arguments but got 11");
  EXPECT_STATUS(kernel.launch(args, 0), where + "expected 12 arguments but got 11");

  EXPECT_STATUS(with("g_ring", 0),
                where + "expected a device address for argument 'g_ring' but got null");
  EXPECT_STATUS(with("state", 0x3008),
                where + "expected argument 'state' to be a multiple of 16 bytes but got 0x3008");
  EXPECT_STATUS(with("k_ring", 0x4004),
                where + "expected argument 'k_ring' to be a multiple of 16 bytes but got 0x4004");
  EXPECT_STATUS(with("mixed_qkv", 0x6002),
                where + "expected argument 'mixed_qkv' to be a multiple of 16 bytes but got "
                        "0x6002");
  EXPECT_STATUS(with("state_idx", 0x1002),
                where + "expected argument 'state_idx' to be a multiple of 4 bytes but got 0x1002");
  EXPECT_STATUS(with("out", 0x7001),
                where + "expected argument 'out' to be a multiple of 2 bytes but got 0x7001");
  EXPECT_STATUS(with("state_stride", 12),
                where + "expected argument 'state_stride' to be a multiple of 8 elements (16 "
                        "bytes) but got 12");
  EXPECT_STATUS(with("k_ring_stride", 6),
                where + "expected argument 'k_ring_stride' to be a multiple of 4 elements (16 "
                        "bytes) but got 6");
  EXPECT_STATUS(with("mixed_qkv_stride", static_cast<uint64_t>(-4)),
                where + "expected argument 'mixed_qkv_stride' to be a multiple of 8 elements (16 "
                        "bytes) but got -4");
  auto least = [&](const std::string &name, const std::string &elements, const std::string &got) {
    return where + "expected argument '" + name + "' to be at least " + elements + " elements, or at most -" +
           elements + ", but got " + got + ": what it leads over would overlap";
  };
  EXPECT_STATUS(with("state_stride", 56), least("state_stride", "64", "56"));
  EXPECT_STATUS(with("state_stride", 0), least("state_stride", "64", "0"));
  EXPECT_STATUS(with("state_stride", static_cast<uint64_t>(-56)), least("state_stride", "64", "-56"));
  EXPECT_STATUS(with("k_ring_stride", 24), least("k_ring_stride", "28", "24"));
  EXPECT_STATUS(with("g_ring_stride", 2), least("g_ring_stride", "3", "2"));
  EXPECT_STATUS(with("mixed_qkv_stride", 0), least("mixed_qkv_stride", "8", "0"));
  EXPECT_STATUS(with("out_stride", 4), least("out_stride", "5", "4"));
  EXPECT_EQ(fake->counts["cuLaunchKernelEx"], 0);

  ASSERT_OK(with("state_stride", 64));
  ASSERT_OK(with("state_stride", static_cast<uint64_t>(-64)));
  ASSERT_OK(with("state_stride", static_cast<uint64_t>(INT64_MIN)));
  ASSERT_OK(with("k_ring_stride", 28));
  ASSERT_OK(with("g_ring_stride", 4));
  ASSERT_OK(with("out_stride", static_cast<uint64_t>(-6)));
  EXPECT_EQ(fake->counts["cuLaunchKernelEx"], 6);
}

TEST(LaunchArgs, WideBuffers) {
  KernelManifest manifest;
  const char *wide[] = {"state", "snapshots", "mixed_qkv", "d_ring", "k_ring", "raw_v_ring", "raw_k_ring"};
  const char *narrow[] = {"g_ring", "beta_ring", "parent", "accept_idx", "out"};
  for (const char *name : wide)
    manifest.args.push_back({name, KernelArg::Kind::Pointer, "bf16"});
  for (const char *name : narrow)
    manifest.args.push_back({name, KernelArg::Kind::Pointer, "bf16"});
  size_t buffers = manifest.args.size();
  for (const char *suffix : {"_stride", "_layer_stride"})
    for (size_t i = 0; i < buffers; ++i)
      manifest.args.push_back({manifest.args[i].name + suffix, KernelArg::Kind::Stride, "i64", 24});
  std::vector<rt::ArgRule> rules = rt::argRules(manifest);
  ASSERT_EQ(rules.size(), 3 * buffers);
  for (size_t i = 0; i < rules.size(); ++i)
    EXPECT_EQ(rules[i].align, i % buffers < std::size(wide) ? 16u : 2u) << manifest.args[i].name;

  // Each of them, by itself, off by less than what it has to be a multiple of.
  std::vector<uint64_t> right(buffers, 0x1000);
  right.resize(rules.size(), 24);
  manifest.name = "k";
  EXPECT_STATUS(rt::checkLaunch(manifest, rules, right, 1, 2), "ok");
  for (size_t i = 0; i < rules.size(); ++i) {
    bool isWide = i % buffers < std::size(wide), isStride = i >= buffers;
    std::vector<uint64_t> args = right;
    args[i] += isStride ? 4 : isWide ? 8 : 1;
    std::string name = "launch of 'k': expected argument '" + manifest.args[i].name + "' to be a multiple of ";
    std::string what = isStride ? "8 elements (16 bytes) but got 28"
                       : isWide ? "16 bytes but got 0x1008"
                                : "2 bytes but got 0x1001";
    EXPECT_STATUS(rt::checkLaunch(manifest, rules, args, 1, 2),
                  isStride && !isWide ? "ok" : "invalid argument: " + name + what);
    args[i] = isStride ? 16 : 0;
    EXPECT_FALSE(rt::checkLaunch(manifest, rules, args, 1, 2).isOk()) << manifest.args[i].name;
    EXPECT_STATUS(rt::checkLaunch(manifest, rules, args, 0, 2), "ok"); // No row, no launch.
  }
}

TEST_F(Runtime, NoRowsLaunchNothing) {
  Device device = open();
  KernelManifest manifest = exampleManifest();
  Kernel kernel = device.loadKernel(examplePtx(manifest), manifest).take();
  ASSERT_OK(kernel.launch(std::vector<uint64_t>(12, 0), 0));
  EXPECT_EQ(fake->counts["cuLaunchKernelEx"], 0);
}

TEST_F(Runtime, HostOptionsOfAGpuAreIgnored) {
  Device device = open();
  EXPECT_FALSE(device.isHost());
  device.hostOptions().scheduleSeed = 7;
}

} // namespace
