//===- Handles.h - Move-only owners of driver objects -----------*- C++ -*-===//
//
// Destruction needs the context to be current (CudaBackend sees to it) and
// ignores errors: there is nobody left to tell.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/cuda/Driver.h"

#include <utility>

namespace replayssm::rt::cuda {

template <typename T, CuResult (*Driver::*Destroy)(T)>
class Handle {
public:
  Handle() = default;
  Handle(const Driver &driver, T value) : driver(&driver), value(value) {}
  Handle(Handle &&other) noexcept
      : driver(other.driver), value(std::exchange(other.value, nullptr)) {}
  Handle &operator=(Handle &&other) noexcept {
    Handle old(std::move(other));
    std::swap(driver, old.driver);
    std::swap(value, old.value);
    return *this;
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() {
    if (value)
      (void)(driver->*Destroy)(value);
  }

  T get() const { return value; }
  explicit operator bool() const { return value; }

private:
  const Driver *driver = nullptr;
  T value = nullptr;
};

using StreamHandle = Handle<CuStream, &Driver::cuStreamDestroy>;
using ModuleHandle = Handle<CuModule, &Driver::cuModuleUnload>;
using GraphHandle = Handle<CuGraph, &Driver::cuGraphDestroy>;
using GraphExecHandle = Handle<CuGraphExec, &Driver::cuGraphExecDestroy>;
using EventHandle = Handle<CuEvent, &Driver::cuEventDestroy>;

/// Makes a context current on this thread for a scope; whatever was current
/// before (another library's context) is current again after it.
class Current {
public:
  Current(const Driver &driver, CuContext context)
      : driver(driver), result(driver.cuCtxPushCurrent(context)) {}
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  ~Current() {
    CuContext previous;
    if (result == CuSuccess)
      (void)driver.cuCtxPopCurrent(&previous);
  }
  Status status() const { return driver.check("cuCtxPushCurrent", result); }

private:
  const Driver &driver;
  CuResult result;
};

} // namespace replayssm::rt::cuda
