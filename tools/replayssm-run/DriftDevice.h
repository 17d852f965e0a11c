//===- DriftDevice.h - The kernels and buffers of a drift run ---*- C++ -*-===//
//
// Steps run in blocks: the inputs of a block are copied at once, its outputs come
// back at once, and in between the device only has to stop where a ring was
// folded. Cursors stay on the device; what they have to be is known.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/replayssm-run/DriftTrace.h"

#include <map>
#include <optional>

namespace replayssm::run {

/// State and ring of one row after a step, as stored.
struct DriftSnapshot {
  int64_t step = 0, row = 0;
  std::vector<float> state, d, k, g; ///< [HV, V, K], [HV, L, V], [H, L, K], [HV, L, GK]
};

class DriftDevice {
public:
  static Result<DriftDevice> create(Device &device, const KernelSpec &spec, const DriftOptions &options);

  /// Runs `steps` steps of all rows; `windows` begins with the first of them.
  /// Returns what every fold left behind.
  Result<std::vector<DriftSnapshot>> run(const DriftWindow *windows, int64_t steps,
                                         std::vector<DriftInputs> &inputs);
  Result<DriftSnapshot> snapshot(int64_t step, int64_t row);
  Result<int32_t> cursor(int64_t row);

  /// Of the block that ran last: the first token of a row's step, a token of one
  /// value head, and its output.
  int64_t firstToken(int64_t step, int64_t row) const { return first[step * options.rows + row]; }
  reference::Token token(int64_t index, int64_t hv) const;
  std::vector<double> output(int64_t index, int64_t hv) const;

  static constexpr int64_t blockSteps = 256;

private:
  struct Block {
    int64_t inner = 0, width = 4; ///< Of one slot or token.
    std::vector<uint8_t> host;    ///< What a block of steps is copied from or to.
    Buffer device;
  };
  Status add(const std::string &name, int64_t count, int64_t inner, int64_t width);
  Status addBlocks();
  Status addRings();
  Status load(Phase phase);
  Status fill(const DriftWindow *windows, int64_t steps, std::vector<DriftInputs> &inputs);
  Status launch(size_t kernel, int64_t step);
  Result<uint64_t> argument(const KernelArg &arg, int64_t step) const;
  Status read(const char *name, int64_t slot, std::vector<float> &into);
  /// No row uses the slot of its own number, or one slot for both.
  int64_t stateSlot(int64_t row) const { return row + 1; }
  int64_t ringSlot(int64_t row) const { return row + 2; }

  Device *device = nullptr;
  KernelSpec spec;
  DriftOptions options;
  bool isCounting = false; ///< Nothing is allocated: `totalBytes` alone.
  uint64_t totalBytes = 0;
  std::map<std::string, Block> blocks;
  std::vector<Kernel> kernels; ///< In the order of a step.
  std::vector<int64_t> first;
};

} // namespace replayssm::run
