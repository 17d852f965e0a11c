//===- Verify.h - Kernels of windows against the oracle ---------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Compare.h"

#include <algorithm>

namespace replayssm::run {

/// The kernels of one window set.
struct VerifyKernels {
  Kernel verify, cursors;
  std::optional<Kernel> fold = {};  ///< Where verify does not fold.
  std::optional<Kernel> reset = {}; ///< Where cursors move.
  /// Replay decode with the same ring, where windows are of one token: its
  /// outputs have the same bits.
  std::optional<Kernel> decode = {};
  std::optional<Kernel> compact = {}; ///< Of trees.
};

/// Life cycles verify -> cursors -> fold over ragged windows and random accepts.
/// `spec` is that of verify; its `track` and `dst` are those of the kernels that fold.
Result<CheckReport> checkVerify(Device &device, VerifyKernels &kernels, const KernelSpec &spec,
                                const CheckOptions &options);

/// The kernels of the window set that `kernel` belongs to, verify or a fold.
Result<VerifyKernels> jitVerifySet(Device &device, Kernel kernel, const KernelSpec &spec,
                                   const Options &options);

/// Snapshots behind every token of a window, or the accepted ones run again.
Result<CheckReport> checkRecurrent(Device &device, Kernel &kernel, const KernelSpec &spec,
                                   const CheckOptions &options);

/// One batch of windows on the buffers of a case: where each row's tokens are,
/// how many there are, and how many will be accepted.
class Windows {
public:
  explicit Windows(Case &c) : c(c), rows_(c.options.rows) {}

  /// Random lengths, inputs and accepts; of every other batch in their ranges. Tokens that
  /// no live row has hold NaN.
  void fill();
  int64_t first(int64_t row) const { return rows_[row].first; }
  /// As a kernel sees it: clamped to T.
  int64_t length(int64_t row) const { return std::min(rows_[row].given, c.spec.T); }
  /// As accept_len says; it may be outside 0 .. length.
  int64_t given(int64_t row) const { return rows_[row].accepted; }
  int64_t accepted(int64_t row) const {
    return std::clamp<int64_t>(rows_[row].accepted, 0, length(row));
  }
  std::vector<reference::Token> tokens(int64_t row, int64_t hv, const std::vector<int64_t> &which) const;
  /// All of a row's tokens.
  std::vector<int64_t> all(int64_t row) const;
  /// The token before each, -1 the committed state.
  const std::vector<int64_t> &parents(int64_t row) const { return rows_[row].parents; }
  /// The tokens that will be accepted, in order: of a chain the first so many.
  std::vector<int64_t> path(int64_t row) const;
  /// The path from a root to some token, of a chain some first tokens; it may be empty.
  std::vector<int64_t> somePath(int64_t row) const;
  /// Other windows with the same tokens in some places, `kept` of each row; of the
  /// given lengths. Inputs of the selected layer move, the others are new. Outputs are poisoned.
  void regrow(const std::vector<std::vector<int64_t>> &kept, const std::vector<int64_t> &lengths,
              int64_t firstToken);
  void assign(const Windows &other) { rows_ = other.rows_; }

private:
  struct Row {
    int64_t first = 0, given = 0, accepted = 0;
    std::vector<int64_t> parents, path; ///< path: from a root to the last that could be accepted.
  };
  void place(int64_t firstToken);
  int64_t given() const;
  bool isTree() const { return c.spec.window == Window::Tree; }
  std::vector<int64_t> pathTo(int64_t row, int64_t token) const;
  void choosePath(int64_t row);
  void growTree(int64_t row, const std::vector<int64_t> &kept);
  void writeTree(int64_t row);
  Case &c;
  std::vector<Row> rows_;
  int64_t batches = 0;
};

/// Puts random records behind those of a live row, in every layer, up to `wp`, and
/// moves its cursor there (host mirrors only).
void growRing(Case &c, int64_t row, int64_t wp);
/// NaN in the records from `first` on of one row and layer (host mirrors only).
void poisonRecords(Case &c, int64_t row, int64_t first);

} // namespace replayssm::run
