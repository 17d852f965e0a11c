//===- Driver.h - The CUDA driver, opened at run time -----------*- C++ -*-===//
//
// One table of function pointers out of libcuda.so.1. The library itself is
// never closed: the driver does not support it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Status.h"
#include "runtime/cuda/DriverTypes.h"

#include <string_view>

namespace replayssm::rt::cuda {

struct Driver {
#define RSSM_DRIVER(name, version, params) CuResult(*name) params = nullptr;
#include "runtime/cuda/Driver.def"

  /// Unavailable when there is no library, or one that is too old.
  /// REPLAYSSM_LIBCUDA names another library than libcuda.so.1.
  static Result<Driver> open();

  /// "<call>: CUDA_ERROR_X: the driver's text", then `log` if there is one.
  Status error(std::string_view call, CuResult result, std::string_view log = {}) const;
  Status check(std::string_view call, CuResult result) const {
    return result == CuSuccess ? Status::ok() : error(call, result);
  }
};

} // namespace replayssm::rt::cuda

/// Calls `driver.fn(...)` and returns its error, named, from this function.
#define RSSM_CU(driver, fn, ...)                                               \
  RSSM_RETURN_IF_ERROR((driver).check(#fn, (driver).fn(__VA_ARGS__)))
