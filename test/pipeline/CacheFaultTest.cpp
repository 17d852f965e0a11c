//===- CacheFaultTest.cpp - Damaged entries, folders that are none --------===//
#include "CacheFixture.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace replayssm;

namespace {

/// Any wrong byte anywhere: compiled again, and mended.
TEST_F(Cache, DamagedEntries) {
  expect(0, 1);
  fs::path entry = files().at(0);
  const std::string good = read(entry);
  std::vector<std::string> damaged = {"", good + '\0', good.substr(0, 8), good.substr(0, 30), good.substr(0, 60),
                                      good.substr(0, good.size() / 2), good.substr(0, good.size() - 1)};
  for (size_t at : {size_t(0), size_t(19), size_t(20), size_t(51), size_t(52), size_t(60), size_t(92),
                    good.size() / 2, good.size() - 1}) {
    damaged.push_back(good);
    damaged.back().at(at) ^= 1;
  }
  for (const std::string &bytes : damaged) {
    write(entry, bytes);
    expect(0, 1);
    EXPECT_EQ(read(entry), good);
  }
  expect(1, 0);
}

/// A whole entry under the name of another one.
TEST_F(Cache, ForeignEntry) {
  expect(0, 1);
  fs::path entry = files().at(0);
  ASSERT_TRUE(compile(options, "other.mlir"));
  for (const fs::path &path : files())
    if (path != entry)
      fs::rename(path, entry);
  ASSERT_EQ(files().size(), 1u);
  expect(0, 1);
  expect(1, 0);
}

/// What cannot be replaced is compiled each time, and leaves no other file.
TEST_F(Cache, FolderInPlaceOfAnEntry) {
  expect(0, 1);
  fs::path entry = files().at(0);
  fs::remove(entry);
  fs::create_directories(entry / "full");
  expect(0, 1);
  expect(0, 1);
  EXPECT_EQ(files().size(), 1u);
}

/// A pipe without a writer is not waited for, a link to nowhere does not stay.
TEST_F(Cache, NoFileInPlaceOfAnEntry) {
  expect(0, 1);
  fs::path entry = files().at(0);
  auto isMended = [&] {
    expect(0, 1);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(entry)));
    EXPECT_EQ(files().size(), 1u);
    expect(1, 0);
  };
  fs::remove(entry);
  ASSERT_EQ(mkfifo(entry.c_str(), 0666), 0);
  isMended();
  fs::remove(entry);
  fs::create_symlink(root / "nowhere", entry);
  isMended();
  EXPECT_FALSE(fs::exists(root / "nowhere"));
}

/// Whoever reads the old file goes on reading it: entries are replaced, not written to.
TEST_F(Cache, OpenedEntry) {
  expect(0, 1);
  fs::path entry = files().at(0);
  write(entry, "damaged");
  fs::create_hard_link(entry, root / "opened");
  expect(0, 1);
  EXPECT_EQ(read(root / "opened"), "damaged");
  expect(1, 0);
}

TEST_F(Cache, LinkToAnEntry) {
  expect(0, 1);
  fs::path entry = files().at(0);
  fs::rename(entry, root / "elsewhere");
  fs::create_symlink(root / "elsewhere", entry);
  expect(1, 0);
}

TEST_F(Cache, NoSpace) {
  auto module = compileOnFullDisk();
  ASSERT_TRUE(module) << module.status().str();
  EXPECT_TRUE(files().empty());
  expect(0, 1);
  expect(1, 0);
}

/// What it leaves is in nobody's way: not read, and no writer takes its name.
TEST_F(Cache, WriterThatIsKilled) {
  auto write = [&] {
    rlimit noCore = {0, 0};
    setrlimit(RLIMIT_CORE, &noCore);
    limitFiles(64);
    (void)compile(options);
    std::_Exit(0);
  };
  EXPECT_EXIT(write(), testing::KilledBySignal(SIGXFSZ), "");
  ASSERT_EQ(files().size(), 1u);
  fs::path rest = files().at(0);
  const std::string bytes = read(rest);
  EXPECT_EQ(bytes.size(), 64u);
  expect(0, 1);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(read(rest), bytes);
  expect(1, 0);
}

TEST_F(Cache, EmptiedFolder) {
  expect(0, 1);
  fs::remove_all(options.cacheDir);
  expect(0, 1);
}

TEST_F(Cache, NoFolder) {
  fs::path file = root / "file";
  write(file, "text");
  source = "nonsense"; // Nothing is compiled before.
  for (const fs::path &path : {file, file / "below"}) {
    options.cacheDir = path;
    EXPECT_EQ(compile(options).status().str(),
              "invalid argument: expected a folder for the cache of compiled kernels but got '" + path.string() +
                  "': Not a directory");
  }
  EXPECT_EQ(read(file), "text");
  fs::path link = root / "link";
  fs::create_symlink(root / "nowhere", link);
  options.cacheDir = link;
  EXPECT_EQ(compile(options).status().str(),
            "invalid argument: expected a folder for the cache of compiled kernels but got '" + link.string() +
                "': Not a directory");
  EXPECT_FALSE(fs::exists(root / "nowhere"));
}

/// Permissions mean nothing to root, so that it is somebody else for a while.
class ReadOnly : public Cache {
protected:
  void SetUp() override {
    Cache::SetUp();
    mask = umask(022);
    fs::permissions(root, fs::perms(0755));
  }
  void TearDown() override {
    umask(mask);
    Cache::TearDown();
  }
  void lock(const fs::path &folder) {
    fs::permissions(folder, fs::perms(0555));
    if (isRoot)
      ASSERT_EQ(seteuid(65534), 0);
  }
  void unlock(const fs::path &folder) {
    if (isRoot)
      ASSERT_EQ(seteuid(0), 0);
    fs::permissions(folder, fs::perms(0755));
  }
  const bool isRoot = geteuid() == 0;
  mode_t mask = 0;
};

TEST_F(ReadOnly, IsRead) {
  expect(0, 1);
  std::string file = source;
  lock(options.cacheDir);
  expect(1, 0);
  source += "// Another source.\n";
  expect(0, 1);
  expect(0, 1);
  EXPECT_EQ(files().size(), 1u);
  source = file;
  expect(1, 0);
  unlock(options.cacheDir);
}

TEST_F(ReadOnly, FolderBelow) {
  options.cacheDir = root / "a" / "b";
  lock(root);
  EXPECT_EQ(compile(options).status().str(),
            "invalid argument: expected a folder for the cache of compiled kernels but got '" + options.cacheDir +
                "': Permission denied");
  unlock(root);
}

} // namespace
