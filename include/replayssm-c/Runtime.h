/*===- Runtime.h - C interface of the runtime -----------------------*- C -*-===
 *
 * Devices, buffers, kernels and graphs for other languages; the functions do
 * what those of replayssm/Runtime.h do. It does not compile: kernels come from
 * `replayssm-opt --emit=ptx --manifest=...`, for a GPU. Every function that can fail returns a
 * status: null is success, anything else is freed by the caller and leaves the
 * outputs untouched. Handles are freed by the caller, in any order; an object
 * and its device are used from one thread at a time. Freeing null is allowed;
 * any other null handle or output is RSSM_INVALID_ARGUMENT, before anything is
 * done, and "" or 0 from what returns no status.
 *===----------------------------------------------------------------------===*/
#ifndef REPLAYSSM_C_RUNTIME_H
#define REPLAYSSM_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define RSSM_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rssm_status rssm_status;
typedef struct rssm_device rssm_device;
typedef struct rssm_buffer rssm_buffer;
typedef struct rssm_kernel rssm_kernel;
typedef struct rssm_graph rssm_graph;

typedef enum rssm_code {
  RSSM_OK = 0,
  RSSM_INVALID_ARGUMENT = 1,
  RSSM_UNSUPPORTED = 2,
  RSSM_UNAVAILABLE = 3,
  RSSM_INCOMPATIBLE = 4,
  RSSM_EXHAUSTED = 5,
  RSSM_INTERNAL = 6
} rssm_code;

/* RSSM_ABI_VERSION (replayssm/KernelABI.h) of the library: of manifests, rings and cursors. */
RSSM_C_API uint32_t rssm_abi_version(void);

/* A null status is RSSM_OK with the message "". */
RSSM_C_API rssm_code rssm_status_code(const rssm_status *status);
RSSM_C_API const char *rssm_status_message(const rssm_status *status);
RSSM_C_API void rssm_status_free(rssm_status *status);

RSSM_C_API rssm_status *rssm_device_open_cuda(int ordinal, rssm_device **device);
/* Has buffers and graphs, but no kernels: rssm_kernel_load is RSSM_UNSUPPORTED there. */
RSSM_C_API rssm_status *rssm_device_open_host(rssm_device **device);
RSSM_C_API void rssm_device_free(rssm_device *device);
/* Strings live as long as the handle. */
RSSM_C_API const char *rssm_device_name(const rssm_device *device);
RSSM_C_API const char *rssm_device_target(const rssm_device *device);
RSSM_C_API uint64_t rssm_device_l2_bytes(const rssm_device *device);
RSSM_C_API uint32_t rssm_device_multiprocessors(const rssm_device *device);
RSSM_C_API rssm_status *rssm_device_synchronize(rssm_device *device);

RSSM_C_API rssm_status *rssm_buffer_allocate(rssm_device *device, uint64_t bytes,
                                             rssm_buffer **buffer);
RSSM_C_API void rssm_buffer_free(rssm_buffer *buffer);
RSSM_C_API uint64_t rssm_buffer_address(const rssm_buffer *buffer);
RSSM_C_API uint64_t rssm_buffer_bytes(const rssm_buffer *buffer);
RSSM_C_API rssm_status *rssm_buffer_copy_in(rssm_buffer *buffer, const void *host, uint64_t bytes,
                                            uint64_t offset);
RSSM_C_API rssm_status *rssm_buffer_copy_out(const rssm_buffer *buffer, void *host,
                                             uint64_t bytes, uint64_t offset);

typedef struct rssm_kernel_resources {
  int32_t registers;
  int32_t local_bytes;
  int32_t shared_bytes;
  int32_t blocks_per_multiprocessor;
} rssm_kernel_resources;

/* `code` is PTX text or a cubin of `code_bytes` bytes, `manifest` null-terminated
 * JSON: one element of the array that the compiler writes, one for each kernel of
 * the module. Both may go when the call returns. */
RSSM_C_API rssm_status *rssm_kernel_load(rssm_device *device, const void *code, size_t code_bytes,
                                         const char *manifest, rssm_kernel **kernel);
RSSM_C_API void rssm_kernel_free(rssm_kernel *kernel);
RSSM_C_API rssm_status *rssm_kernel_get_resources(const rssm_kernel *kernel,
                                                  rssm_kernel_resources *resources);
/* `args[i]` is the eight-byte value of argument i of the manifest: a device address or a
 * stride in elements. `num_args` is the manifest's number of them; null or misaligned addresses
 * and strides below their min_elements are RSSM_INVALID_ARGUMENT. Up to 65535 rows (0 = nothing).
 * Asynchronous; `args` may go when the call returns. */
RSSM_C_API rssm_status *rssm_kernel_launch(rssm_kernel *kernel, const uint64_t *args,
                                           size_t num_args, uint32_t rows);
/* One launch for `layers` layers: of a kernel compiled with layers=stride or layers=table. */
RSSM_C_API rssm_status *rssm_kernel_launch_layers(rssm_kernel *kernel, const uint64_t *args,
                                                  size_t num_args, uint32_t rows, uint32_t layers);

RSSM_C_API rssm_status *rssm_device_begin_capture(rssm_device *device);
RSSM_C_API rssm_status *rssm_device_end_capture(rssm_device *device, rssm_graph **graph);
RSSM_C_API void rssm_graph_free(rssm_graph *graph);
RSSM_C_API rssm_status *rssm_graph_replay(rssm_graph *graph);
/* Milliseconds of one replay. */
RSSM_C_API rssm_status *rssm_device_time_graph(rssm_device *device, rssm_graph *graph,
                                               double *milliseconds);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
