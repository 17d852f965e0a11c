//===- Compare.h - What every check of a kernel is made of ------*- C++ -*-===//
//
// Comparisons of one (row, value head, token) with the oracle, by the bounds of
// the contract, and of whole buffers with what a launch may have written.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/replayssm-run/Case.h"
#include "tools/replayssm-run/Check.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace replayssm::run {

double norm(const std::vector<double> &x);
uint64_t hashBytes(uint64_t hash, const void *data, size_t size);
/// norm(got - expected) / norm(expected).
double relativeError(const std::vector<double> &got, const std::vector<double> &expected);
/// "row 1, head 2".
std::string place(int64_t row, int64_t hv);

/// Fewer than `least` are done in place.
template <typename F> void parallelFor(int64_t n, F body, int64_t least = 8) {
  unsigned threads = unsigned(std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::max<int64_t>(n, 1)));
  if (threads <= 1 || n < least) {
    for (int64_t i = 0; i < n; ++i)
      body(i);
    return;
  }
  std::atomic<int64_t> next{0};
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      for (int64_t i; (i = next++) < n;)
        body(i);
    });
  for (std::thread &thread : pool)
    thread.join();
}

/// Errors of one (row, head), for a root mean square over its tokens.
struct Rms {
  double squares = 0;
  int64_t count = 0;
  void add(double error) {
    squares += error * error;
    ++count;
  }
};

/// The report of one run. Thread-safe.
class Recorder {
public:
  explicit Recorder(const KernelSpec &spec);

  void record(Metric &metric, double value, double bound, const std::string &where);
  void fail(const std::string &message);
  void takeResources(const Device &device, const Kernel &kernel);
  /// The layer that what follows is about, of a kernel for many; -1 = none.
  void select(int64_t index);
  /// Root mean squares of all (row, head) with enough tokens.
  void summarise(const std::vector<Rms> &all, Metric &metric, double bound);
  void digest(const Array &array) {
    report.digest = hashBytes(report.digest, array.host.data(), array.host.size());
  }

  /// What the gates of one step may add to the relative error of a state: no ring stored them.
  double gateSlack(const reference::Token &token, const std::vector<double> &gates) const;
  /// The output row of one token of the value v; `expected` is the oracle's.
  void compareOutput(const Array &out, int64_t token, int64_t hv, const std::vector<double> &expected,
                     double vNorm, const std::string &where);
  /// The record at `position` of a ring slot; returns the error of its d and
  /// puts the stored gates into `gates`.
  double compareRecord(const Case &c, int64_t ringSlot, int64_t hv, int64_t position,
                       const reference::Step &expected, const reference::Token &token,
                       std::vector<double> &gates, const std::string &where);
  /// The raw inputs of the record at `position`: those of the token, and its beta.
  void compareRaw(const Case &c, int64_t ringSlot, int64_t hv, int64_t position,
                  const reference::Token &token, const std::string &where);
  /// A stored state against the oracle's; `slack` is what gates that no ring
  /// stored may add. Returns the relative error (f32 states).
  double compareState(const std::vector<double> &got, const std::vector<double> &expected,
                      double slack, const std::string &where);
  /// All of one slot's bytes are zero.
  void compareZero(const Array &array, int64_t slot, const std::string &where);
  /// Every byte of `c` is that of `expected`.
  void compareBytes(const Case &c, const Case &expected);

  CheckReport report;
  int64_t stepIndex = 0;
  double growth; ///< sqrt(max(1, L / 16)): of the ring form's bounds.

private:
  /// The stored gate of one channel: docs/spec.md, "Gates and beta".
  void compareGate(double got, double expected, const reference::Token &token, int64_t channel,
                   const std::string &where);
  void failLocked(const std::string &message);
  KernelSpec spec;
  std::string layer; ///< "layer 1, ".
  std::mutex mutex;
};

/// The buffers that a check runs on; packed decode has no ring to flush.
CaseOptions caseOptions(const KernelSpec &spec, const CheckOptions &options);
/// A copy of the host mirrors alone.
Case mirror(const Case &c);
/// `to` takes elements of `from`: what a launch was allowed to write.
void allow(const Case &from, Case &to, const char *name, int64_t slot, int64_t first, int64_t count);
/// `to` takes the record at `position` of every head of a ring slot.
void allowRecord(const Case &from, Case &to, int64_t ringSlot, int64_t position);
/// Every field of a record, in all heads of a ring slot, also to another position.
void moveRecord(Case &c, int64_t ringSlot, int64_t from, int64_t to);

} // namespace replayssm::run
