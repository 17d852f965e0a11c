//===- DriverTypes.h - The driver's types, declared here --------*- C++ -*-===//
//
// The part of the CUDA driver's binary interface that Driver.def uses, so that
// no CUDA toolkit is needed to build.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace replayssm::rt::cuda {

using CuResult = int;
using CuDevice = int;
using CuDevicePtr = uint64_t;
using CuContext = struct CuContextTag *;
using CuStream = struct CuStreamTag *;
using CuModule = struct CuModuleTag *;
using CuFunction = struct CuFunctionTag *;
using CuGraph = struct CuGraphTag *;
using CuGraphExec = struct CuGraphExecTag *;
using CuEvent = struct CuEventTag *;

struct CuLaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  CuStream stream;
  void *attributes;
  unsigned numAttributes;
};

/// Only errors whose meaning changes the StatusCode; the driver names the rest.
enum : CuResult {
  CuSuccess = 0,
  CuErrorInvalidValue = 1,
  CuErrorOutOfMemory = 2,
  CuErrorNotInitialized = 3,
  CuErrorStubLibrary = 34,
  CuErrorDeviceUnavailable = 46,
  CuErrorNoDevice = 100,
  CuErrorInvalidImage = 200,
  CuErrorNoBinaryForGpu = 209,
  CuErrorInvalidPtx = 218,
  CuErrorJitCompilerNotFound = 221,
  CuErrorUnsupportedPtxVersion = 222,
  CuErrorNotFound = 500,
  CuErrorLaunchOutOfResources = 701,
  CuErrorNotSupported = 801,
  CuErrorSystemNotReady = 802,
  CuErrorSystemDriverMismatch = 803,
  CuErrorCompatNotSupported = 804,
  CuErrorStreamCaptureWrongThread = 908,
};

enum CuDeviceAttribute {
  CuDeviceMultiprocessorCount = 16,
  CuDeviceL2CacheSize = 38,
  CuDeviceComputeCapabilityMajor = 75,
  CuDeviceComputeCapabilityMinor = 76,
  CuDeviceMaxSharedPerBlockOptin = 97,
};

enum CuFunctionAttribute {
  CuFuncMaxThreadsPerBlock = 0,
  CuFuncSharedSizeBytes = 1,
  CuFuncLocalSizeBytes = 3,
  CuFuncNumRegs = 4,
  CuFuncMaxDynamicSharedSizeBytes = 8,
};

enum CuJitOption { CuJitErrorLogBuffer = 5, CuJitErrorLogBufferSizeBytes = 6 };

constexpr unsigned CuStreamNonBlocking = 1;
constexpr int CuCaptureModeThreadLocal = 1;

using CuGetProcAddress = CuResult (*)(const char *symbol, void **function, int version,
                                      uint64_t flags, int *found);

} // namespace replayssm::rt::cuda
