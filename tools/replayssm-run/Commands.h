//===- Commands.h - The sub-commands of replayssm-run -----------*- C++ -*-===//
#pragma once

#include "replayssm/Jit.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace replayssm::run {

/// Alternating: from token to token nothing is left of the state, or nearly all.
enum class Gates { Mixed, Strong, Mild, Alternating, Extreme };

struct Options {
  std::string command;
  std::set<std::string> given; ///< The options of the command line, without their values.
  std::string spec;      ///< --spec=...
  std::string file;      ///< or a .mlir file
  std::string kernel;    ///< which kernel of the file; empty = every one
  std::string device; ///< auto (or empty), cuda or host
  std::string tiling;
  std::string cacheDir;
  bool compileOnly = false; ///< check: compiles for `target`, without a device
  std::string target;
  std::string jsonPath;
  std::string markdownPath;
  std::string svgPath;
  std::string vectors; ///< inputs and expected outputs of one kernel
  std::vector<int64_t> rows;
  int64_t steps = 0; ///< 0 = by the command and the kernel
  int64_t cycles = 0; ///< drift: flushes of a row; 0 = by the device
  bool dryRun = false; ///< bench
  int64_t layers = 36, window = 4; ///< memory
  uint64_t seed = 1;
  double flushRate = 0.1;
  double nullRate = 0.15;
  Gates gates = Gates::Mixed;
  HostOptions host;
  std::shared_ptr<CacheCounts> cacheCounts = std::make_shared<CacheCounts>(); ///< Of every compilation.

  /// How kernels are compiled: by the tiling of the command line those that it is about.
  CompileOptions compileOptions(bool isTiled) const;
};

/// One kernel to run: its source, and the cursors that go with it.
struct Job {
  KernelSpec spec;
  Kernel kernel;
};

Result<Options> parseOptions(int argc, char **argv);
Result<Device> openDevice(const Options &options);
/// How many kernels came from the cache, as a line; empty where there is none.
std::string cacheLine(const Options &options);
/// Reads a whole file.
Result<std::string> readFile(const std::string &path);
Status writeFile(const std::string &path, const std::string &text);

int runCheck(const Options &options);
int runBench(const Options &options);
int runDrift(const Options &options);
int runMemory(const Options &options);
int runDemo(const Options &options);
int runBitwise(const Options &options);
/// How many values differ from those that options.vectors expects; prints the first.
Result<int64_t> runVectors(const Options &options, Device &device, Kernel &kernel);
int runMain(int argc, char **argv);

} // namespace replayssm::run
