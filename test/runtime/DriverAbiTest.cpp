//===- DriverAbiTest.cpp - Our driver declarations against cuda.h ---------===//
//
// Built only where a CUDA toolkit is installed; everything is checked while
// compiling.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/Driver.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

using namespace replayssm::rt::cuda;

namespace {

/// Same number of parameters, each of the same size and both pointers or both
/// not: our opaque types differ from cuda.h's in name only.
template <typename Ours, typename Theirs>
struct SameCall;
template <typename R, typename... A, typename S, typename... B>
struct SameCall<R (*)(A...), S (*)(B...)> {
  static constexpr bool value() {
    if constexpr (sizeof...(A) == sizeof...(B))
      return sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B)) && ...) &&
             ((std::is_pointer_v<A> == std::is_pointer_v<B>) && ...);
    else
      return false;
  }
};

#define RSSM_DRIVER(name, version, params)                                     \
  static_assert(SameCall<CuResult(*) params, PFN_##name##_v##version>::value(), #name);
#include "runtime/cuda/Driver.def"
static_assert(SameCall<CuGetProcAddress, PFN_cuGetProcAddress_v12000>::value());

static_assert(sizeof(CuLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(CuLaunchConfig, blockX) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(CuLaunchConfig, sharedBytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(CuLaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(CuLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(CuLaunchConfig, numAttributes) == offsetof(CUlaunchConfig, numAttrs));

#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #ours)
SAME(CuSuccess, CUDA_SUCCESS);
SAME(CuErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(CuErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CuErrorNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(CuErrorStubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(CuErrorDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(CuErrorNoDevice, CUDA_ERROR_NO_DEVICE);
SAME(CuErrorInvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(CuErrorNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(CuErrorInvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(CuErrorJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(CuErrorUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(CuErrorNotFound, CUDA_ERROR_NOT_FOUND);
SAME(CuErrorLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(CuErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(CuErrorSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(CuErrorSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(CuErrorCompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(CuErrorStreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(CuDeviceMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CuDeviceL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(CuDeviceComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CuDeviceComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CuDeviceMaxSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(CuFuncMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(CuFuncSharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(CuFuncLocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(CuFuncNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(CuFuncMaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CuJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(CuJitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(CuStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(CuCaptureModeThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

TEST(DriverAbi, MatchesTheToolkit) { SUCCEED() << "CUDA " << CUDA_VERSION; }

} // namespace
