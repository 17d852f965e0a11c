//===- CubinTest.cpp - Kernels in a folder by assemblers that pretend -----===//
#include "CacheFixture.h"

#include <cstdlib>
#include <optional>
#include <unistd.h>

using namespace replayssm;

namespace {

/// PATH and TMPDIR hold nothing, CUDA_HOME a toolkit; all as before behind the test.
class Cubin : public Cache {
protected:
  void SetUp() override {
    Cache::SetUp();
    options.emit = Emit::Cubin;
    for (const char *name : {"PATH", "TMPDIR", "CUDA_HOME"}) {
      const char *value = std::getenv(name);
      before.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
    }
    for (const char *folder : {"bin", "tmp"})
      fs::create_directories(root / folder);
    setenv("PATH", (root / "bin").c_str(), 1);
    setenv("TMPDIR", (root / "tmp").c_str(), 1);
    use(toolkit("first", "echo assembler 1"));
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(root / "tmp")); // Whatever happened.
    for (const auto &[name, value] : before)
      value ? setenv(name, value->c_str(), 1) : unsetenv(name);
    Cache::TearDown();
  }
  /// A toolkit whose assembler signs what it makes, unless `assemble` says otherwise.
  fs::path toolkit(const std::string &name, const std::string &version, const std::string &assemble = "") {
    fs::path folder = root / name / "bin";
    fs::create_directories(folder);
    write(folder / "ptxas", "#!/bin/sh\nif [ \"$1\" = --version ]; then " + version + "; exit; fi\n" +
                                "while [ \"$1\" != -o ]; do shift; done\n" +
                                (assemble.empty() ? "echo cubin by " + name + " > \"$2\"\n" : assemble + "\n"));
    fs::permissions(folder / "ptxas", fs::perms(0755));
    return root / name;
  }
  void use(const fs::path &toolkit) { setenv("CUDA_HOME", toolkit.c_str(), 1); }

  std::vector<std::pair<const char *, std::optional<std::string>>> before;
};

/// The assembler that would run is the one that counts, wherever it is found.
TEST_F(Cubin, OfTheAssemblerThatIsFound) {
  expect(0, 1);
  expect(1, 0);
  use(toolkit("second", "echo assembler 2"));
  expect(0, 1);
  EXPECT_EQ(files().size(), 2u);
  use(root / "first");
  expect(1, 0);
  toolkit(".", "echo assembler 3"); // In PATH.
  expect(0, 1);
  EXPECT_EQ(files().size(), 3u);
  options.emit = Emit::PTX;
  expect(0, 1);
}

TEST_F(Cubin, AssemblerWithoutAVersion) {
  use(toolkit("silent", ":"));
  EXPECT_EQ(compile(options).status().str(), "internal: expected '" + (root / "silent/bin/ptxas").string() +
                                                 " --version' to say a version but it said nothing");
  EXPECT_TRUE(files().empty());
}

TEST_F(Cubin, ErrorsAreNotStored) {
  use(toolkit("broken", "echo assembler 1", "echo no registers; exit 3"));
  EXPECT_EQ(compile(options).status().str(), "internal: ptxas failed with code 3: no registers");
  EXPECT_TRUE(files().empty());
  use(toolkit("lazy", "echo assembler 1", ":"));
  EXPECT_EQ(compile(options).status().str(), "internal: ptxas wrote no cubin");
  EXPECT_TRUE(files().empty());
}

TEST_F(Cubin, NoTemporaryFolder) {
  fs::path folder = root / "missing";
  setenv("TMPDIR", folder.c_str(), 1);
  for (const char *cache : {"", "cache"}) {
    options.cacheDir = *cache ? root / cache : "";
    EXPECT_EQ(compile(options).status().str(), "exhausted: expected a folder for the temporary files of ptxas (TMPDIR) "
                                               "but got '" + folder.string() + "': No such file or directory");
  }
}

TEST_F(Cubin, NoSpace) {
  std::string message = compileOnFullDisk().status().str();
  EXPECT_TRUE(message.starts_with("exhausted: cannot write the input of ptxas '" + (root / "tmp/replayssm-").string())) << message;
  EXPECT_TRUE(message.ends_with(".ptx' (TMPDIR): File too large")) << message;
  EXPECT_TRUE(files().empty());
}

/// The process's timer is not the library's.
TEST_F(Cubin, AlarmsStay) {
  alarm(1000);
  auto module = compile(options);
  EXPECT_GT(alarm(0), 0u);
  EXPECT_TRUE(module) << module.status().str();
}

} // namespace
