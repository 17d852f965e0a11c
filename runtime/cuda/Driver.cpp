//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//
#include "runtime/cuda/Driver.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace replayssm;
using namespace replayssm::rt::cuda;

Result<Driver> Driver::open() {
  const char *path = std::getenv("REPLAYSSM_LIBCUDA");
  if (!path || !*path)
    path = "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return Status(StatusCode::Unavailable,
                  std::string("no CUDA driver: ") + (why ? why : "dlopen failed") +
                      " (install NVIDIA's driver or name its library in REPLAYSSM_LIBCUDA; the host device needs none)");
  }
  auto getProcAddress =
      reinterpret_cast<CuGetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!getProcAddress)
    return Status(StatusCode::Unavailable,
                  std::string("no CUDA driver: expected a driver of CUDA 12.0 or later but ") +
                      path + " has no cuGetProcAddress_v2");

  Driver driver;
  std::string missing;
  auto find = [&](const char *name, int version, bool required) {
    void *function = nullptr;
    int found = 0;
    CuResult result = getProcAddress(name, &function, version, /*flags=*/0, &found);
    if (result != CuSuccess)
      function = nullptr;
    if (!function && required && missing.empty())
      missing = std::string(name) + " (driver error " + std::to_string(result) + ")";
    return function;
  };
#define RSSM_DRIVER(name, version, params)                                     \
  driver.name = reinterpret_cast<decltype(driver.name)>(find(#name, version, true));
#define RSSM_DRIVER_OPTIONAL(name, version, params)                            \
  driver.name = reinterpret_cast<decltype(driver.name)>(find(#name, version, false));
#include "runtime/cuda/Driver.def"
  if (!missing.empty())
    return Status(StatusCode::Unavailable,
                  std::string("no CUDA driver: ") + path + " has no " + missing);
  return driver;
}

static StatusCode codeOf(CuResult result) {
  switch (result) {
  case CuErrorOutOfMemory:
  case CuErrorLaunchOutOfResources:
    return StatusCode::Exhausted;
  case CuErrorNotInitialized:
  case CuErrorStubLibrary:
  case CuErrorDeviceUnavailable:
  case CuErrorNoDevice:
  case CuErrorJitCompilerNotFound:
  case CuErrorSystemNotReady:
  case CuErrorSystemDriverMismatch:
  case CuErrorCompatNotSupported:
    return StatusCode::Unavailable;
  case CuErrorNoBinaryForGpu:
  case CuErrorUnsupportedPtxVersion:
  case CuErrorNotSupported:
    return StatusCode::Unsupported;
  case CuErrorInvalidImage:
  case CuErrorInvalidPtx:
  case CuErrorNotFound:
  case CuErrorStreamCaptureWrongThread:
    return StatusCode::InvalidArgument;
  default:
    return StatusCode::Internal;
  }
}

Status Driver::error(std::string_view call, CuResult result, std::string_view log) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CuSuccess || !name)
    name = nullptr;
  if (cuGetErrorString(result, &text) != CuSuccess || !text)
    text = nullptr;
  std::string message(call);
  message += ": ";
  message += name ? std::string(name) : "driver error " + std::to_string(result);
  if (text)
    message += std::string(": ") + text;
  while (!log.empty() && (log.back() == '\n' || log.back() == '\0' || log.back() == ' '))
    log.remove_suffix(1);
  if (!log.empty())
    (message += '\n') += log;
  return {codeOf(result), std::move(message)};
}
