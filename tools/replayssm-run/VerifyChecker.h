//===- VerifyChecker.h - The life cycle of a window set ---------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Verify.h"

namespace replayssm::run {

class VerifyChecker {
public:
  VerifyChecker(Device &device, VerifyKernels &kernels, const KernelSpec &spec,
                const CheckOptions &options, Case created)
      : device(device), kernels(kernels), spec(spec), options(options), c(std::move(created)),
        windows(c), before(mirror(c)), rec(spec) {}

  Result<CheckReport> run();

private:
  // Verify.cpp
  Status window();
  void growRings(double rate);
  Status verify();
  void compareWindow(int64_t row, int64_t hv);
  void allowWindow(int64_t row);
  Status compareOtherWindows();
  Status compareDecode();
  void compareKept(const Windows &then, const Case &result, const Windows &now,
                   const std::vector<std::vector<int64_t>> &kept, const std::vector<Case::Field> &fields,
                   const char *what);
  // VerifyCommit.cpp
  Status reset();
  Status compact();
  Status advance();
  void expectInteger(int64_t row, const char *name, int64_t index, int64_t value);
  void expectCursors(int64_t row);
  void expectRowLengths(int64_t row);
  void advanceTrajectory(int64_t row, int64_t hv);
  Status fold();
  void compareFolds();
  std::vector<double> folded(const Case &from, int64_t row, int64_t hv, std::vector<double> state,
                             const std::vector<int64_t> &positions) const;
  void poisonOthers(int64_t row);
  bool foldsPath() const { return spec.window == Window::Tree && !kernels.compact; }
  std::vector<int64_t> foldedPositions(int64_t row, int64_t count) const;
  void compareFold(int64_t row, int64_t hv, int64_t slot, const std::vector<int64_t> &positions,
                   const std::vector<std::vector<double>> &exact);
  void moveToTarget(int64_t row);

  Status launch(Kernel &kernel);
  /// NaN in every record that is none: at `valid` of a row and behind.
  template <typename F> void poisonRings(F valid) {
    for (int64_t row = 0; row < options.rows; ++row)
      if (c.live(row))
        poisonRecords(c, row, valid(row));
  }
  int32_t &integer(const char *name, int64_t i) {
    return *reinterpret_cast<int32_t *>(c.arrays.at(name).at(0, i));
  }
  /// One (layer, row, head) in a list of all.
  int64_t headIndex(int64_t row, int64_t hv) const {
    return (c.layer() * options.rows + row) * spec.HV + hv;
  }
  void select(int64_t layer) {
    c.select(layer);
    before.select(layer);
    rec.select(layer);
  }
  /// Runs `body` with each layer selected in turn.
  template <typename F> void forEachLayer(F body) {
    for (int64_t layer = 0; layer < c.layers(); ++layer) {
      select(layer);
      body();
    }
    selectNone();
  }
  /// What comes is about no layer in particular.
  void selectNone() {
    select(0);
    rec.select(-1);
  }
  /// How many records of a row the launch of `folds` reads.
  int64_t foldLength(int64_t row) { return std::max(integer("fold_len", row), 0); }
  bool isTracked(int64_t row) { return spec.track && integer("track_pos", row) >= 0; }
  bool chance(double rate) { return std::uniform_real_distribution<double>(0, 1)(c.rng) < rate; }
  template <typename F> void forEachHead(F body) {
    parallelFor(options.rows * spec.HV, [&](int64_t i) {
      if (c.live(i / spec.HV))
        body(i / spec.HV, i % spec.HV);
    });
  }

  Device &device;
  VerifyKernels &kernels;
  KernelSpec spec;
  CheckOptions options;
  Case c;          ///< Buffers after the launch.
  Windows windows;
  Case before;     ///< Host mirrors before it (no device buffers).
  std::vector<uint8_t> unfolded; ///< The states before the launch of verify.
  std::vector<std::vector<double>> trajectory; ///< [headIndex] fp64 state of all that was accepted.
  std::vector<std::vector<double>> tracked;    ///< The one behind the tracked token.
  std::vector<std::vector<std::vector<double>>> gates; ///< [headIndex][token], as stored.
  std::vector<Rms> deltaRms, stateRms;
  Recorder rec;
};

} // namespace replayssm::run
