/*===- HostABI.h - What host-retargeted device code calls -------------*- C -*-===
 *
 * Called by JIT-compiled device code on the fiber of one device thread. Vector
 * values travel through memory, so no vector calling convention is involved.
 * docs/abi.md gives the meaning of each marker.
 *===----------------------------------------------------------------------===*/
#ifndef REPLAYSSM_RUNTIME_HOST_HOSTABI_H
#define REPLAYSSM_RUNTIME_HOST_HOSTABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rssm_host_sreg_id {
  RSSM_SREG_TID_X, RSSM_SREG_TID_Y, RSSM_SREG_CTAID_X, RSSM_SREG_CTAID_Y,
  RSSM_SREG_NCTAID_X, RSSM_SREG_NCTAID_Y, RSSM_SREG_CTAID_Z
};
enum rssm_host_space { RSSM_GLOBAL = 1, RSSM_SHARED = 3 };
enum rssm_host_approx_fn { RSSM_EX2, RSSM_LG2, RSSM_RSQRT, RSSM_RCP };
enum rssm_host_mma_type { RSSM_MMA_TF32, RSSM_MMA_BF16, RSSM_MMA_F16 };
/* What one lane brings to an mma, as PTX has it in registers: of a four, of b two. */
typedef struct {
  uint32_t a[4], b[4]; /* the last two of b are unused */
  float c[4];
} rssm_host_mma_operands;

uint32_t rssm_host_sreg(uint32_t id);
void *rssm_host_shared(uint32_t byteOffset);
void rssm_host_ld(void *result, const void *address, uint32_t bytes, uint32_t space, uint32_t pred, uint32_t site);
void rssm_host_st(void *address, const void *value, uint32_t bytes, uint32_t space, uint32_t pred, uint32_t site);
void rssm_host_barrier(uint32_t site);
float rssm_host_shfl_bfly(float value, uint32_t mask, uint32_t site);
float rssm_host_shfl_down(float value, uint32_t delta, uint32_t width, uint32_t site);
void rssm_host_mma(float *sums, const rssm_host_mma_operands *operands, uint32_t type, uint32_t site);
void rssm_host_mbar_init(void *mbar, uint32_t count, uint32_t site);
void rssm_host_mbar_init_fence(uint32_t site);
void rssm_host_mbar_expect(void *mbar, uint32_t bytes, uint32_t site);
void rssm_host_copy_bulk(void *dst, const void *src, uint32_t bytes, void *mbar, uint32_t site);
void rssm_host_mbar_wait(void *mbar, uint32_t parity, uint32_t site);
float rssm_host_approx(uint32_t fn, float x);
void rssm_host_expect(int32_t value, int32_t low, int32_t high, uint32_t name, uint32_t site);

/* The entry of a retargeted kernel: one call per thread; args[i] points to the
 * eight bytes of parameter i. */
typedef void (*rssm_host_entry)(void *const *args);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
