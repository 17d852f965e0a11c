//===- DriftMath.h - Loops over one head's state ----------------*- C++ -*-===//
//
// A state is kept as [K][V], so that all value rows move together. Sums over K in
// f32 have the kernels' order: lane l of eight owns four elements of every 32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace replayssm::run {

/// y[v] = sum over c of x[c] state[c][v].
void readState(const float *x, const float *state, int64_t K, int64_t V, float *y);
void readState(const double *x, const double *state, int64_t K, int64_t V, double *y);
/// state[c][v] = fma(alpha[c], state[c][v], d[v] k[c]); one alpha for all if not `perChannel`.
void updateState(float *state, const float *alpha, bool perChannel, const float *d, const float *k,
                 int64_t K, int64_t V);
void updateState(double *state, const double *alpha, bool perChannel, const double *d,
                 const double *k, int64_t K, int64_t V);
/// y[v] = sum over j of x[j] rows[j][v]: ring rows, lane j mod 8.
void readRows(const float *x, const float *rows, int64_t n, int64_t V, float *y);
/// sum over c of x[c] y[c], in the order of readState.
float dotF32(const float *x, const float *y, int64_t n);

} // namespace replayssm::run
