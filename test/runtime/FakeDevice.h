//===- FakeDevice.h - Test fixture: a GPU behind the fake driver -*- C++ -*-===//
#pragma once

#include "FakeCuda.h"
#include "replayssm/Runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>

/// Each test starts with a fresh fake and has to leave nothing behind.
class FakeDevice : public testing::Test {
protected:
  void SetUp() override {
    setenv("REPLAYSSM_LIBCUDA", FAKE_CUDA_PATH, 1);
    unsetenv("FAKE_CUDA_FAIL");
    unsetenv("FAKE_CUDA_LOG");
    void *library = dlopen(FAKE_CUDA_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    auto get = reinterpret_cast<fakecuda::StateFn>(dlsym(library, fakecuda::stateSymbol));
    ASSERT_TRUE(get);
    fake = get();
    *fake = {};
  }
  void TearDown() override {
    for (auto &[kind, count] : fake->live)
      EXPECT_EQ(count, 0) << "live objects of kind " << kind;
  }

  static replayssm::Device open() {
    replayssm::Result<replayssm::Device> device = replayssm::Device::openCuda();
    if (!device) {
      ADD_FAILURE() << device.status().str();
      std::abort();
    }
    return device.take();
  }
  void fail(const char *what) { setenv("FAKE_CUDA_FAIL", what, 1); }
  void succeed() { unsetenv("FAKE_CUDA_FAIL"); }

  fakecuda::State *fake = nullptr;
};

/// A kernel of the shape that the compiler makes, reduced to one argument of
/// each class.
inline replayssm::KernelManifest exampleManifest() {
  using Kind = replayssm::KernelArg::Kind;
  replayssm::KernelManifest manifest;
  manifest.name = "gdn_replay";
  manifest.spec = "rule=gdn";
  manifest.threads = 128;
  manifest.blocksPerRow = 64;
  manifest.sharedBytes = 4096;
  manifest.args = {{"state_idx", Kind::Pointer, "i32"},   {"force_flush", Kind::Pointer, "i8"},
                   {"state", Kind::Pointer, "bf16"},      {"k_ring", Kind::Pointer, "f32"},
                   {"g_ring", Kind::Pointer, "f32"},      {"mixed_qkv", Kind::Pointer, "bf16"},
                   {"out", Kind::Pointer, "bf16"},        {"state_stride", Kind::Stride, "i64", 64},
                   {"k_ring_stride", Kind::Stride, "i64", 28}, {"g_ring_stride", Kind::Stride, "i64", 3},
                   {"mixed_qkv_stride", Kind::Stride, "i64", 8},
                   {"out_stride", Kind::Stride, "i64", 5}};
  manifest.sites = {"tile.load at gdn.mlir:3:5"};
  return manifest;
}

/// PTX with one entry that fits `manifest`.
inline std::string examplePtx(const replayssm::KernelManifest &manifest) {
  std::string ptx = ".version 8.0\n.target sm_90a\n.visible .entry " + manifest.name + "(\n";
  for (size_t i = 0; i < manifest.args.size(); ++i)
    ptx += (i ? ",\n" : "") + std::string(".param .u64 p") + std::to_string(i);
  return ptx + ")\n{\nret;\n}\n";
}

/// Arguments that every check accepts.
inline std::vector<uint64_t> exampleArgs() {
  return {0x1004, 0x2001, 0x3000, 0x4010, 0x5004, 0x6020, 0x7002, 64, 32, 3, 8, 5};
}

#define EXPECT_STATUS(status, expected) EXPECT_EQ((status).str(), expected)
#define ASSERT_OK(expr)                                                        \
  do {                                                                         \
    replayssm::Status status_ = (expr);                                        \
    ASSERT_TRUE(status_.isOk()) << status_.str();                              \
  } while (0)
