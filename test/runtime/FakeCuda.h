//===- FakeCuda.h - A CUDA driver over host memory --------------*- C++ -*-===//
//
// What a test sees of the fake libcuda. Two environment variables steer it:
//   FAKE_CUDA_FAIL  call=error or call@n=error (the n-th call only), separated
//                   by commas, for example cuEventCreate@2=2
//   FAKE_CUDA_LOG   the error log of a failing cuModuleLoadDataEx
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fakecuda {

struct Launch {
  std::string kernel;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  std::vector<uint64_t> params;
};

/// Everything that the fake knows; a test resets it by assignment.
struct State {
  // The machine.
  int deviceCount = 1;
  int major = 9, minor = 0;
  int driverVersion = 12090;
  std::string missing; ///< A function that the driver does not have.
  int maxThreads = 1024, staticSharedBytes = 0, registers = 40, localBytes = 0;

  // What has happened.
  std::vector<std::string> calls;
  std::map<std::string, int> counts; ///< Calls by name.
  std::vector<Launch> launches;      ///< Executed, recorded ones at each replay.
  std::map<int, int> functionAttributes; ///< Set on any function.
  unsigned captureMode = ~0u;

  // Live objects by kind: "context", "stream", "event", "memory", ...
  std::map<std::string, int> live;
};

/// Exported by the fake under this name.
using StateFn = State *(*)();
constexpr const char *stateSymbol = "fakeCudaState";

} // namespace fakecuda
