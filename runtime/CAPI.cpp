//===- CAPI.cpp - C interface of the runtime ------------------------------===//
//
// Handles own the C++ objects; nothing is decided here but that no handle and no
// place for an output is null.
//
//===----------------------------------------------------------------------===//
#include "replayssm-c/Runtime.h"
#include "replayssm/KernelABI.h"
#include "replayssm/Runtime.h"
#include "runtime/LaunchArgs.h"

using namespace replayssm;

struct rssm_status {
  Status status;
};
struct rssm_device {
  Device device;
  std::string name, target;
};
struct rssm_buffer {
  Buffer buffer;
};
struct rssm_kernel {
  Kernel kernel;
  std::vector<uint64_t> args; ///< Scratch: a launch does not allocate.
};
struct rssm_graph {
  Graph graph;
};

static_assert(RSSM_OK == static_cast<int>(StatusCode::Ok) &&
              RSSM_INVALID_ARGUMENT == static_cast<int>(StatusCode::InvalidArgument) &&
              RSSM_UNSUPPORTED == static_cast<int>(StatusCode::Unsupported) &&
              RSSM_UNAVAILABLE == static_cast<int>(StatusCode::Unavailable) &&
              RSSM_INCOMPATIBLE == static_cast<int>(StatusCode::Incompatible) &&
              RSSM_EXHAUSTED == static_cast<int>(StatusCode::Exhausted) &&
              RSSM_INTERNAL == static_cast<int>(StatusCode::Internal));

static rssm_status *wrap(Status status) {
  return status.isOk() ? nullptr : new rssm_status{std::move(status)};
}

namespace {
struct Argument {
  const void *pointer;
  const char *what;
};
} // namespace

/// An error that names the first of `arguments` that is null.
static rssm_status *expectAll(std::initializer_list<Argument> arguments) {
  for (const Argument &argument : arguments)
    if (!argument.pointer)
      return wrap(Status(StatusCode::InvalidArgument, std::string("expected ") + argument.what + " but got null"));
  return nullptr;
}

#define RETURN_IF_NULL(...)                                                                        \
  if (rssm_status *missing = expectAll({__VA_ARGS__}))                                             \
  return missing

static rssm_device *wrap(Device device) {
  std::string name = device.name(), target = device.target();
  return new rssm_device{std::move(device), std::move(name), std::move(target)};
}

extern "C" {

uint32_t rssm_abi_version(void) { return RSSM_ABI_VERSION; }

rssm_code rssm_status_code(const rssm_status *status) {
  return status ? static_cast<rssm_code>(status->status.code()) : RSSM_OK;
}
const char *rssm_status_message(const rssm_status *status) {
  return status ? status->status.message().c_str() : "";
}
void rssm_status_free(rssm_status *status) { delete status; }

//===----------------------------------------------------------------------===//
// Devices and buffers
//===----------------------------------------------------------------------===//

rssm_status *rssm_device_open_cuda(int ordinal, rssm_device **device) {
  RETURN_IF_NULL({device, "a place for the device"});
  Result<Device> opened = Device::openCuda(ordinal);
  if (!opened)
    return wrap(opened.status());
  *device = wrap(opened.take());
  return nullptr;
}
rssm_status *rssm_device_open_host(rssm_device **device) {
  RETURN_IF_NULL({device, "a place for the device"});
  *device = wrap(Device::openHost());
  return nullptr;
}
void rssm_device_free(rssm_device *device) { delete device; }
const char *rssm_device_name(const rssm_device *device) { return device ? device->name.c_str() : ""; }
const char *rssm_device_target(const rssm_device *device) { return device ? device->target.c_str() : ""; }
uint64_t rssm_device_l2_bytes(const rssm_device *device) { return device ? device->device.l2Bytes() : 0; }
uint32_t rssm_device_multiprocessors(const rssm_device *device) {
  return device ? device->device.multiprocessors() : 0;
}
rssm_status *rssm_device_synchronize(rssm_device *device) {
  RETURN_IF_NULL({device, "a device"});
  return wrap(device->device.synchronize());
}

rssm_status *rssm_buffer_allocate(rssm_device *device, uint64_t bytes, rssm_buffer **buffer) {
  RETURN_IF_NULL({device, "a device"}, {buffer, "a place for the buffer"});
  Result<Buffer> allocated = device->device.allocate(bytes);
  if (!allocated)
    return wrap(allocated.status());
  *buffer = new rssm_buffer{allocated.take()};
  return nullptr;
}
void rssm_buffer_free(rssm_buffer *buffer) { delete buffer; }
uint64_t rssm_buffer_address(const rssm_buffer *buffer) { return buffer ? buffer->buffer.address() : 0; }
uint64_t rssm_buffer_bytes(const rssm_buffer *buffer) { return buffer ? buffer->buffer.bytes() : 0; }
rssm_status *rssm_buffer_copy_in(rssm_buffer *buffer, const void *host, uint64_t bytes,
                                 uint64_t offset) {
  RETURN_IF_NULL({buffer, "a buffer"});
  return wrap(buffer->buffer.copyIn(host, bytes, offset));
}
rssm_status *rssm_buffer_copy_out(const rssm_buffer *buffer, void *host, uint64_t bytes,
                                  uint64_t offset) {
  RETURN_IF_NULL({buffer, "a buffer"});
  return wrap(buffer->buffer.copyOut(host, bytes, offset));
}

//===----------------------------------------------------------------------===//
// Kernels and graphs
//===----------------------------------------------------------------------===//

rssm_status *rssm_kernel_load(rssm_device *device, const void *code, size_t code_bytes,
                              const char *manifest, rssm_kernel **kernel) {
  RETURN_IF_NULL({device, "a device"}, {manifest, "the text of a manifest"}, {code, "the code of a kernel"},
                 {kernel, "a place for the kernel"});
  Result<KernelManifest> parsed = manifestFromJson(manifest);
  if (!parsed)
    return wrap(parsed.status());
  std::string_view text(static_cast<const char *>(code), code_bytes);
  Result<Kernel> loaded = device->device.loadKernel(text, *parsed);
  if (!loaded)
    return wrap(loaded.status());
  *kernel = new rssm_kernel{loaded.take(), {}};
  (*kernel)->args.reserve(parsed->args.size());
  return nullptr;
}
void rssm_kernel_free(rssm_kernel *kernel) { delete kernel; }
rssm_status *rssm_kernel_get_resources(const rssm_kernel *kernel,
                                       rssm_kernel_resources *resources) {
  RETURN_IF_NULL({kernel, "a kernel"}, {resources, "a place for the resources"});
  Result<KernelResources> got = kernel->kernel.resources();
  if (!got)
    return wrap(got.status());
  *resources = {got->registers, got->localBytes, got->sharedBytes, got->blocksPerMultiprocessor};
  return nullptr;
}
rssm_status *rssm_kernel_launch(rssm_kernel *kernel, const uint64_t *args, size_t num_args,
                                uint32_t rows) {
  return rssm_kernel_launch_layers(kernel, args, num_args, rows, /*layers=*/1);
}
rssm_status *rssm_kernel_launch_layers(rssm_kernel *kernel, const uint64_t *args, size_t num_args,
                                       uint32_t rows, uint32_t layers) {
  RETURN_IF_NULL({kernel, "a kernel"});
  if (num_args)
    RETURN_IF_NULL({args, "an array of arguments"});
  // Before they are read: a number that is wrong may be any.
  if (Status status = rt::checkArgCount(kernel->kernel.manifest(), num_args); !status)
    return wrap(std::move(status));
  kernel->args.assign(args, args + num_args);
  return wrap(kernel->kernel.launch(kernel->args, rows, layers));
}

rssm_status *rssm_device_begin_capture(rssm_device *device) {
  RETURN_IF_NULL({device, "a device"});
  return wrap(device->device.beginCapture());
}
rssm_status *rssm_device_end_capture(rssm_device *device, rssm_graph **graph) {
  RETURN_IF_NULL({device, "a device"}, {graph, "a place for the graph"});
  Result<Graph> captured = device->device.endCapture();
  if (!captured)
    return wrap(captured.status());
  *graph = new rssm_graph{captured.take()};
  return nullptr;
}
void rssm_graph_free(rssm_graph *graph) { delete graph; }
rssm_status *rssm_graph_replay(rssm_graph *graph) {
  RETURN_IF_NULL({graph, "a graph"});
  return wrap(graph->graph.replay());
}
rssm_status *rssm_device_time_graph(rssm_device *device, rssm_graph *graph, double *milliseconds) {
  RETURN_IF_NULL({device, "a device"}, {graph, "a graph"}, {milliseconds, "a place for the milliseconds"});
  Result<double> time = device->device.timeGraph(graph->graph);
  if (!time)
    return wrap(time.status());
  *milliseconds = *time;
  return nullptr;
}

} // extern "C"
