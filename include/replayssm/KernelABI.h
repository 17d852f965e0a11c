/*===- KernelABI.h - Ring format and cursors, shared with device code -*- C -*-===
 *
 * Plain C. Version 1: a linear ring of L records per ring slot. Changing
 * anything here bumps RSSM_ABI_VERSION in the same commit.
 *
 *   wp          int32 [ring slots]   records held, 0..L
 *   force_flush int8  [rows]         != 0: this row folds its ring now
 *   state_idx   int32 [rows]         state slot; null per the kernel's `null`
 *   ring_idx    int32 [rows]         ring slot
 *   d ring      [slots, HV, L, V]  f32
 *   k ring      [slots, H,  L, K]  f32, normalised
 *   g ring      [slots, HV, L] (GDN) or [slots, HV, L, K] (KDA)  f32
 *
 * Inner dimensions are packed; the slot stride of every buffer is an argument.
 *===----------------------------------------------------------------------===*/
#ifndef REPLAYSSM_KERNELABI_H
#define REPLAYSSM_KERNELABI_H

#include <stdint.h>

#define RSSM_ABI_VERSION 1

typedef int32_t rssm_index;  /* state_idx, ring_idx, wp */
typedef int8_t rssm_flag;    /* force_flush */

#endif
