//===- BuildIdTest.cpp - Build ids of loaded objects ----------------------===//
#include "lib/Compiler/BuildId.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fstream>
#include <sstream>

using namespace replayssm;

namespace {

void ofThisProgram() {}

TEST(BuildId, OfTheLibrary) {
  void *symbol = dlsym(RTLD_DEFAULT, "rssm_abi_version");
  ASSERT_TRUE(symbol);
  Result<std::string> id = buildIdOf(symbol);
  ASSERT_TRUE(id) << id.status().str();
  EXPECT_EQ(id->size(), 20u); // SHA-1
  Dl_info info;
  ASSERT_TRUE(dladdr(symbol, &info));
  std::ifstream file(info.dli_fname, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  EXPECT_NE(bytes.str().find(std::string("GNU\0", 4) + *id), std::string::npos);
}

TEST(BuildId, Missing) {
  EXPECT_EQ(buildIdOf(reinterpret_cast<const void *>(&ofThisProgram)).status().str(),
            "unsupported: a cache of compiled kernels needs a build id in the program but it has none: "
            "link it with -Wl,--build-id=sha1");
  EXPECT_EQ(buildIdOf(nullptr).status().str(),
            "unsupported: a cache of compiled kernels needs a build id in the code of the library but it has "
            "none: link it with -Wl,--build-id=sha1");
}

} // namespace
