//===- FakeDriver.h - Inside the fake CUDA driver ---------------*- C++ -*-===//
//
// Strict where the real driver is: calls need a current context, a capturing
// stream refuses what cannot be recorded, launches need loaded code.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "FakeCuda.h"
#include "runtime/cuda/DriverTypes.h"

#include <memory>
#include <set>
#include <thread>

namespace replayssm::rt::cuda {
struct CuContextTag {};
struct CuModuleTag {
  std::map<std::string, std::unique_ptr<CuFunctionTag>> functions;
};
struct CuFunctionTag {
  std::string name;
  std::vector<size_t> paramBytes;
};
struct Recorded {
  CuFunction function;
  fakecuda::Launch launch;
};
struct CuGraphTag {
  std::vector<Recorded> nodes;
};
struct CuGraphExecTag {
  std::vector<Recorded> nodes;
};
struct CuStreamTag {
  bool capturing = false, invalid = false;
  std::thread::id thread;
  std::vector<Recorded> nodes;
};
struct CuEventTag {
  float at = -1;
};
} // namespace replayssm::rt::cuda

namespace fake {

using namespace replayssm::rt::cuda;

enum : CuResult {
  invalidContext = 201,
  illegalAddress = 700,
  captureUnsupported = 900,
  captureInvalidated = 901,
  captureUnmatched = 903,
  invalidHandle = 400,
};

extern fakecuda::State state;
extern CuContextTag primary;
extern std::set<CuFunction> functions; ///< Of loaded modules.
extern CuStream capturing;
extern float clockMs; ///< Every launch takes half a millisecond.

/// Records the call; its error if the environment asks for one.
CuResult enter(const char *name);
bool current();
/// Calls that a thread may not make while it captures invalidate the capture.
bool breaksCapture();

template <typename T>
CuResult create(T **out, const char *kind) {
  ++state.live[kind];
  *out = new T();
  return CuSuccess;
}
template <typename T>
CuResult destroy(T *object, const char *kind) {
  --state.live[kind];
  delete object;
  return CuSuccess;
}

#define ENTER(name)                                                            \
  if (CuResult failure = enter(#name))                                         \
  return failure
#define ENTER_CONTEXT(name)                                                    \
  ENTER(name);                                                                 \
  if (!current())                                                              \
  return invalidContext
#define ENTER_NO_CAPTURE(name)                                                 \
  ENTER_CONTEXT(name);                                                         \
  if (breaksCapture())                                                         \
  return captureUnsupported

#define RSSM_DRIVER(name, since, params) CuResult name params;
#include "runtime/cuda/Driver.def"

} // namespace fake
