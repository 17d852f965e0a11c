//===- CacheTest.cpp - Compiled kernels in a folder -----------------------===//
#include "CacheFixture.h"

#include "replayssm/Jit.h"

#include <thread>

using namespace replayssm;

namespace {

TEST_F(Cache, FoundAsCompiled) {
  expect(0, 1);
  ASSERT_EQ(files().size(), 1u);
  expect(1, 0);
  EXPECT_EQ(files().size(), 1u);
}

/// Everything that the result may depend on, the text of sites too.
TEST_F(Cache, OtherRequestsAreNotFound) {
  expect(0, 1);
  size_t count = 1;
  auto isNew = [&](const CompileOptions &other, const std::string &fileName) {
    counts.compiled = 0;
    auto module = compile(other, fileName);
    ASSERT_TRUE(module) << module.status().str();
    EXPECT_EQ(counts.compiled, 1u);
    EXPECT_EQ(files().size(), ++count);
  };
  CompileOptions other = options;
  other.target = "sm_100a";
  isNew(other, "cursors.mlir");
  other = options;
  other.verifyEach = true;
  isNew(other, "cursors.mlir");
  isNew(options, "other.mlir");
  std::string mine = source;
  source += "// The same kernel.\n";
  isNew(options, "cursors.mlir");
  source = mine;
  expect(1, 0);
}

TEST_F(Cache, TilingsAreApart) {
  auto spec = parseKernelSpec("rule=gdn,phase=packed,H=1,HV=1,K=16,V=16,gate=softplus,beta=sigmoid_f32,"
                              "qk_norm=l2_rsqrt,null=lt0");
  ASSERT_TRUE(spec);
  std::vector<std::string> codes;
  for (const char *tiling : {"bv=8,warps=1", "bv=16,warps=1", "bv=8,warps=1"}) {
    options.tiling = tiling;
    auto module = compileSpec(*spec, options);
    ASSERT_TRUE(module) << module.status().str();
    codes.push_back(module->code);
  }
  EXPECT_NE(codes[0], codes[1]);
  EXPECT_EQ(codes[0], codes[2]);
  EXPECT_EQ(counts.found, 1u);
  EXPECT_EQ(counts.compiled, 2u);
}

TEST_F(Cache, PlacesAreApart) {
  ASSERT_TRUE(compile(options, "cursors"));
  options.places = "gates=regs";
  ASSERT_TRUE(compile(options, "cursors"));
  EXPECT_EQ(files().size(), 2u);
}

/// Bytes may not move from one field of a key to the next.
TEST_F(Cache, FieldsHaveLengths) {
  ASSERT_TRUE(compile(options, "cursors\n"));
  source = "\n" + source;
  ASSERT_TRUE(compile(options, "cursors"));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(Cache, AllKernelsOfASource) {
  std::string twice = source;
  size_t name = source.find("@gdn_cursors"), kernel = source.rfind("replay.kernel", name);
  ASSERT_NE(name, std::string::npos);
  twice += "\n" + source.substr(kernel).replace(name - kernel, 12, "@second");
  source = twice;
  expect(0, 2);
  expect(2, 0);
}

TEST_F(Cache, ErrorsAreNotStored) {
  source = "nonsense";
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(compile(options).status().code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(counts.found + counts.compiled, 0u);
}

/// Results that are only looked at, and the code of the host device.
TEST_F(Cache, OthersIgnoreIt) {
  for (Emit emit : {Emit::MLIR, Emit::LLVM}) {
    options.emit = emit;
    ASSERT_TRUE(compile(options));
  }
  Device host = Device::openHost();
  ASSERT_TRUE(jitSource(host, source, "cursors.mlir", options));
  EXPECT_FALSE(fs::exists(options.cacheDir));
  EXPECT_EQ(counts.found + counts.compiled, 0u);
}

TEST_F(Cache, FoldersAreMade) {
  options.cacheDir = root / "50%%%" / "b";
  expect(0, 1);
  expect(1, 0);
}

/// Threads that write the same entries and read them; nothing else is left.
TEST_F(Cache, Threads) {
  CompileOptions without = options;
  without.cacheDir.clear();
  auto expected = compile(without);
  ASSERT_TRUE(expected);
  std::vector<std::string> codes(16);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < codes.size(); ++i)
    threads.emplace_back([&, i] {
      for (int again = 0; again < 4; ++again)
        if (auto module = compile(options, i % 2 ? "cursors.mlir" : "other.mlir"))
          codes[i] = module->code;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &code : codes)
    EXPECT_EQ(code, expected->code);
  EXPECT_EQ(counts.found + counts.compiled, 64u);
  EXPECT_GE(counts.found, 32u);
  EXPECT_EQ(files().size(), 2u);
}

} // namespace
