//===- FakeCuda.cpp - The fake driver: devices, contexts, memory ----------===//
#include "FakeDriver.h"

#include <cstdlib>
#include <cstring>

using namespace fake;

fakecuda::State fake::state;
CuContextTag fake::primary;
std::set<CuFunction> fake::functions;
CuStream fake::capturing = nullptr;
float fake::clockMs = 0;

static thread_local std::vector<CuContext> contexts;
static std::map<CuDevicePtr, size_t> memory;

CuResult fake::enter(const char *name) {
  state.calls.push_back(name);
  int count = ++state.counts[name];
  const char *text = std::getenv("FAKE_CUDA_FAIL");
  for (std::string rest = text ? text : ""; !rest.empty();) {
    std::string entry = rest.substr(0, rest.find(','));
    rest.erase(0, entry.size() + 1);
    size_t equal = entry.find('='), at = entry.find('@');
    if (equal == std::string::npos || entry.substr(0, std::min(at, equal)) != name)
      continue;
    if (at == std::string::npos || std::atoi(entry.c_str() + at + 1) == count)
      return std::atoi(entry.c_str() + equal + 1);
  }
  return CuSuccess;
}

bool fake::current() { return !contexts.empty() && contexts.back() == &primary; }

bool fake::breaksCapture() {
  if (capturing && capturing->thread == std::this_thread::get_id())
    capturing->invalid = true;
  return capturing && capturing->invalid;
}

static bool inside(CuDevicePtr address, size_t bytes) {
  auto it = memory.upper_bound(address);
  if (it == memory.begin())
    return false;
  --it;
  return address + bytes <= it->first + it->second;
}

CuResult fake::cuInit(unsigned) {
  ENTER(cuInit);
  return state.deviceCount ? CuSuccess : CuErrorNoDevice;
}
CuResult fake::cuGetErrorName(CuResult error, const char **name) {
  static const std::map<CuResult, const char *> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},     {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},       {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {218, "CUDA_ERROR_INVALID_PTX"},     {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {500, "CUDA_ERROR_NOT_FOUND"},       {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"},   {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
      {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}};
  auto it = names.find(error);
  *name = it == names.end() ? nullptr : it->second;
  return *name ? CuSuccess : CuErrorInvalidValue;
}
CuResult fake::cuGetErrorString(CuResult error, const char **text) {
  static std::string last;
  last = "text of " + std::to_string(error);
  *text = error < 999 ? last.c_str() : nullptr;
  return *text ? CuSuccess : CuErrorInvalidValue;
}

CuResult fake::cuDeviceGetCount(int *count) {
  ENTER(cuDeviceGetCount);
  *count = state.deviceCount;
  return CuSuccess;
}
CuResult fake::cuDeviceGet(CuDevice *device, int ordinal) {
  ENTER(cuDeviceGet);
  *device = ordinal;
  return CuSuccess;
}
CuResult fake::cuDeviceGetName(char *name, int length, CuDevice) {
  ENTER(cuDeviceGetName);
  std::strncpy(name, "Fake GPU", length);
  return CuSuccess;
}
CuResult fake::cuDeviceGetAttribute(int *value, int attribute, CuDevice) {
  ENTER(cuDeviceGetAttribute);
  std::map<int, int> values = {{CuDeviceMultiprocessorCount, 132},
                               {CuDeviceL2CacheSize, 50 << 20},
                               {CuDeviceComputeCapabilityMajor, state.major},
                               {CuDeviceComputeCapabilityMinor, state.minor},
                               {CuDeviceMaxSharedPerBlockOptin, 227 * 1024}};
  auto it = values.find(attribute);
  if (it == values.end())
    return CuErrorInvalidValue;
  *value = it->second;
  return CuSuccess;
}
CuResult fake::cuDevicePrimaryCtxRetain(CuContext *context, CuDevice) {
  ENTER(cuDevicePrimaryCtxRetain);
  ++state.live["context"];
  *context = &primary;
  return CuSuccess;
}
CuResult fake::cuDevicePrimaryCtxRelease(CuDevice) {
  ENTER(cuDevicePrimaryCtxRelease);
  --state.live["context"];
  return CuSuccess;
}
CuResult fake::cuCtxPushCurrent(CuContext context) {
  ENTER(cuCtxPushCurrent);
  contexts.push_back(context);
  ++state.live["pushed context"];
  return CuSuccess;
}
CuResult fake::cuCtxPopCurrent(CuContext *context) {
  ENTER(cuCtxPopCurrent);
  if (contexts.empty())
    return invalidContext;
  *context = contexts.back();
  contexts.pop_back();
  --state.live["pushed context"];
  return CuSuccess;
}

CuResult fake::cuStreamCreate(CuStream *stream, unsigned flags) {
  ENTER_CONTEXT(cuStreamCreate);
  return flags == CuStreamNonBlocking ? create(stream, "stream") : CuErrorInvalidValue;
}
CuResult fake::cuStreamDestroy(CuStream stream) {
  ENTER_CONTEXT(cuStreamDestroy);
  if (capturing == stream)
    capturing = nullptr;
  return destroy(stream, "stream");
}
CuResult fake::cuStreamSynchronize(CuStream) {
  ENTER_NO_CAPTURE(cuStreamSynchronize);
  return CuSuccess;
}

CuResult fake::cuMemAlloc(CuDevicePtr *address, size_t bytes) {
  ENTER_NO_CAPTURE(cuMemAlloc);
  if (bytes == 0 || bytes > (uint64_t{1} << 32))
    return bytes ? CuErrorOutOfMemory : CuErrorInvalidValue;
  void *host = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *address = reinterpret_cast<CuDevicePtr>(host);
  memory[*address] = bytes;
  ++state.live["memory"];
  return CuSuccess;
}
CuResult fake::cuMemFree(CuDevicePtr address) {
  ENTER_NO_CAPTURE(cuMemFree);
  if (!memory.erase(address))
    return CuErrorInvalidValue;
  std::free(reinterpret_cast<void *>(address));
  --state.live["memory"];
  return CuSuccess;
}
CuResult fake::cuMemcpyHtoDAsync(CuDevicePtr destination, const void *source, size_t bytes, CuStream) {
  ENTER_NO_CAPTURE(cuMemcpyHtoDAsync);
  if (!inside(destination, bytes))
    return CuErrorInvalidValue;
  std::memcpy(reinterpret_cast<void *>(destination), source, bytes);
  return CuSuccess;
}
CuResult fake::cuMemcpyDtoHAsync(void *destination, CuDevicePtr source, size_t bytes, CuStream) {
  ENTER_NO_CAPTURE(cuMemcpyDtoHAsync);
  if (!inside(source, bytes))
    return CuErrorInvalidValue;
  std::memcpy(destination, reinterpret_cast<void *>(source), bytes);
  return CuSuccess;
}

extern "C" __attribute__((visibility("default"))) fakecuda::State *fakeCudaState() {
  return &state;
}

extern "C" __attribute__((visibility("default"))) CuResult
cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t, int *) {
  *function = nullptr;
  if (state.missing == symbol || version > state.driverVersion)
    return CuErrorNotFound;
#define RSSM_DRIVER(name, since, params)                                       \
  if (!std::strcmp(symbol, #name) && version >= since)                         \
    *function = reinterpret_cast<void *>(static_cast<CuResult(*) params>(fake::name));
#include "runtime/cuda/Driver.def"
  return *function ? CuSuccess : CuErrorNotFound;
}
