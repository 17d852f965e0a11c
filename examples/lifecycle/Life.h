//===- Life.h - Requests, forwards, and what has to come out ---------------===//
#pragma once

#include "Engine.h"

namespace lifecycle {

struct Request {
  std::vector<Sequence> layers;
  int64_t stateSlot, ringSlot;
  int64_t wp = 0;
  bool isNew = true;
};

/// One row of one forward.
struct Row {
  Request *request = nullptr; ///< Null: nobody's, though it may have tokens.
  int32_t length = 0, accepted = 0;
  bool force = false;
  int32_t trackStep = -1; ///< The state behind this accepted token is kept ...
  int32_t trackSlot = -1; ///< ... here.
};

/// What has happened; a run that misses one of these has tested nothing.
struct Events {
  int forwards = 0, full = 0, partial = 0, none = 0, natural = 0, forced = 0, snapshots = 0, reused = 0;
};

/// Runs two engines on the same inputs: every output, folded state, snapshot and
/// cursor of the first is checked, and every byte of the second is that of the first.
class Life {
public:
  Life(Engine &direct, Engine &graphs, const std::vector<Params> &params, uint64_t seed)
      : engines{&direct, &graphs}, params(params), rng(seed) {}

  /// A new request with a prefilled state, in slots that hold what was left there.
  replayssm::Result<Request> begin(int64_t stateSlot, int64_t ringSlot);
  /// A new request that goes on from the snapshot in `stateSlot`.
  replayssm::Result<Request> beginFromSnapshot(int64_t stateSlot, int64_t ringSlot);
  replayssm::Status forward(const std::vector<Row> &plan);
  Row randomRow(Request &request);

  Events events;
  double outError = 0, stateError = 0;

private:
  Batch batchOf(const std::vector<Row> &plan);
  replayssm::Status compareOutputs(const std::vector<Row> &plan, const Batch &batch);
  replayssm::Status commitRow(const Row &row, const Batch &batch, size_t firstToken);
  replayssm::Status compareState(int layer, int64_t slot, const std::vector<double> &expected);
  void count(const Row &row);

  Engine *engines[2];
  const std::vector<Params> &params;
  std::mt19937_64 rng;
  std::vector<Sequence> snapshot;
};

} // namespace lifecycle
