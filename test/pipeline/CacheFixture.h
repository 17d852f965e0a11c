//===- CacheFixture.h - Compilations with a folder of their own -*- C++ -*-===//
#pragma once

#include "replayssm/Compiler.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>

namespace fs = std::filesystem;

class Cache : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "replayssm-cache-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    root = name;
    options.cacheDir = root / "cache";
    options.cacheCounts = &counts;
    auto spec = replayssm::parseKernelSpec("rule=gdn,phase=cursors,H=1,HV=1,K=8,V=8,gate=softplus,beta=sigmoid_f32,"
                                           "qk_norm=l2_rsqrt,null=lt0");
    ASSERT_TRUE(spec);
    auto text = replayssm::importSpec(*spec);
    ASSERT_TRUE(text);
    source = text.take();
  }
  void TearDown() override { fs::remove_all(root); }

  replayssm::Result<replayssm::CompiledModule> compile(const replayssm::CompileOptions &options,
                                                       const std::string &fileName = "cursors.mlir") {
    return replayssm::compileSource(source, fileName, options);
  }
  /// Compiles, or not: the code is that of a compilation without the cache.
  void expect(uint64_t found, uint64_t compiled) {
    counts.found = counts.compiled = 0;
    replayssm::CompileOptions without = options;
    without.cacheDir.clear();
    auto expected = compile(without), module = compile(options);
    ASSERT_TRUE(expected && module) << module.status().str();
    EXPECT_EQ(module->code, expected->code);
    EXPECT_EQ(module->target, expected->target);
    EXPECT_EQ(module->kernels, expected->kernels);
    EXPECT_EQ(counts.found, found);
    EXPECT_EQ(counts.compiled, compiled);
  }
  /// Files end after `bytes`; the limit that was.
  static rlim_t limitFiles(rlim_t bytes) {
    rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    std::swap(limit.rlim_cur, bytes);
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return bytes;
  }
  /// Compiles where no file holds more than a few bytes.
  replayssm::Result<replayssm::CompiledModule> compileOnFullDisk() {
    auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlim_t limit = limitFiles(64);
    auto module = compile(options);
    limitFiles(limit);
    std::signal(SIGXFSZ, handler);
    return module;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> paths;
    for (const auto &file : fs::directory_iterator(options.cacheDir))
      paths.push_back(file.path());
    return paths;
  }
  static std::string read(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
  static void write(const fs::path &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  fs::path root;
  std::string source;
  replayssm::CacheCounts counts;
  replayssm::CompileOptions options;
};
