//===- Bitwise.h - What has to be the same to the bit -----------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Compare.h"

namespace replayssm::run {

/// What was compared, and what differed.
struct BitwiseReport {
  int64_t compared = 0, violations = 0;
  std::vector<std::string> messages;
  uint64_t digest = 0xcbf29ce484222325ull;

  /// `bytes` of a result and what they have to be.
  void compare(const uint8_t *got, const uint8_t *expected, size_t bytes, const std::string &what);
  /// Every buffer of a case.
  void compare(const Case &got, const Case &expected, const std::string &what);
};

/// Packed decode, replay, snapshots, input replay and folds by replay leave the same
/// states behind the same tokens; `spec` is that of snapshots of a chain.
Status compareKernels(Device &device, const KernelSpec &spec, const Options &options, int64_t rows,
                      BitwiseReport &report);

/// What a row gets depends neither on how many rows are launched with it nor on its
/// place among them; what a token of a window gets not on the T of its kernel.
/// `named` is the kernel of `spec`, where it is not to be compiled from it.
Status compareBatches(Device &device, const KernelSpec &spec, const Options &options, int64_t rows,
                      BitwiseReport &report, Kernel *named = nullptr);

} // namespace replayssm::run
