//===- Life.cpp - Requests, forwards, and what has to come out -------------===//
#include "Life.h"

#include <algorithm>
#include <cmath>

using namespace lifecycle;
using replayssm::Status;
using replayssm::StatusCode;

namespace {

constexpr double bound = 1e-6; // of outputs and states that went through all forwards

Status fail(const std::string &what) { return {StatusCode::Internal, what}; }

double norm(const double *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += x[i] * x[i];
  return std::sqrt(sum);
}

/// norm(got - expected); NaN and anything else that is no distance is infinite.
double distance(const float *got, const double *expected, int64_t n) {
  std::vector<double> difference(n);
  for (int64_t i = 0; i < n; ++i)
    difference[i] = got[i] - expected[i];
  double result = norm(difference.data(), n);
  return std::isfinite(result) ? result : INFINITY;
}

} // namespace

replayssm::Result<Request> Life::begin(int64_t stateSlot, int64_t ringSlot) {
  std::normal_distribution<float> normal(0, 0.3f);
  Request request{{}, stateSlot, ringSlot};
  for (int layer = 0; layer < layers; ++layer) {
    std::vector<float> state(stateSize);
    for (float &x : state)
      x = normal(rng);
    for (Engine *engine : engines) {
      RSSM_RETURN_IF_ERROR(engine->spoil(layer, stateSlot, ringSlot));
      RSSM_RETURN_IF_ERROR(engine->prefill(layer, stateSlot, state));
    }
    request.layers.emplace_back(layer, params[layer], state);
  }
  return request;
}

replayssm::Result<Request> Life::beginFromSnapshot(int64_t stateSlot, int64_t ringSlot) {
  for (int layer = 0; layer < layers; ++layer)
    for (Engine *engine : engines)
      RSSM_RETURN_IF_ERROR(engine->spoil(layer, {}, ringSlot));
  return Request{snapshot, stateSlot, ringSlot};
}

Row Life::randomRow(Request &request) {
  auto upTo = [&](int32_t n) { return std::uniform_int_distribution<int32_t>(0, n)(rng); };
  Row row{&request, upTo(window)};
  row.accepted = upTo(1) ? row.length : upTo(row.length);
  row.force = upTo(9) == 0;
  return row;
}

//===----------------------------------------------------------------------===//
// One forward
//===----------------------------------------------------------------------===//

Batch Life::batchOf(const std::vector<Row> &plan) {
  Batch batch;
  int32_t at = 0;
  for (const Row &row : plan) {
    // Nothing of a null row but its index says so.
    batch.state_idx.push_back(row.request ? int32_t(row.request->stateSlot) : -1);
    batch.ring_idx.push_back(row.request ? int32_t(row.request->ringSlot) : 12345);
    batch.reset_mask.push_back(!row.request || row.request->isNew);
    batch.force_flush.push_back(row.force);
    batch.track_step.push_back(row.trackStep);
    batch.track_idx.push_back(row.trackSlot);
    batch.query_start_loc.push_back(at);
    at += row.length;
    for (int layer = 0; layer < layers; ++layer)
      for (int32_t t = 0; t < row.length; ++t)
        batch.tokens[layer].push_back(randomToken(layer, rng));
  }
  batch.query_start_loc.push_back(at);
  return batch;
}

Status Life::compareOutputs(const std::vector<Row> &plan, const Batch &batch) {
  for (int layer = 0; layer < layers; ++layer) {
    auto out = engines[0]->read(layer, "out");
    if (!out)
      return out.status();
    for (size_t r = 0; r < plan.size(); ++r) {
      std::optional<Sequence> drafted; // goes on past what will be accepted
      if (plan[r].request)
        drafted = plan[r].request->layers[layer];
      for (int32_t t = 0; t < plan[r].length; ++t) {
        size_t index = batch.query_start_loc[r] + t;
        const Token &token = batch.tokens[layer][index];
        std::vector<double> expected = drafted ? drafted->step(token) : std::vector<double>(HV * V, 0.0);
        for (int64_t hv = 0; hv < HV; ++hv) {
          const float *got = &(*out)[(index * HV + hv) * V], *v = &token.qkv[2 * H * K + hv * V];
          std::vector<double> wide(v, v + V);
          double size = std::max(norm(&expected[hv * V], V), norm(wide.data(), V) / std::sqrt(double(K)));
          double error = distance(got, &expected[hv * V], V) / size;
          outError = std::max(outError, error);
          if (error > (drafted ? bound : 0))
            return fail("forward " + std::to_string(events.forwards) + ", layer " + std::to_string(layer) + ", row " +
                        std::to_string(r) + ", token " + std::to_string(t) + ": output off by " + std::to_string(error));
        }
      }
    }
  }
  return Status::ok();
}

Status Life::compareState(int layer, int64_t slot, const std::vector<double> &expected) {
  auto states = engines[0]->read(layer, "state");
  if (!states)
    return states.status();
  double error = distance(&(*states)[slot * stateSize], expected.data(), stateSize) / norm(expected.data(), stateSize);
  stateError = std::max(stateError, error);
  return error <= bound ? Status::ok()
                        : fail("forward " + std::to_string(events.forwards) + ", layer " + std::to_string(layer) +
                               ", state slot " + std::to_string(slot) + ": off by " + std::to_string(error));
}

void Life::count(const Row &row) {
  bool isTracked = row.trackStep >= 0 && row.trackStep < row.accepted;
  int64_t total = row.request->wp + row.accepted;
  bool isFull = total + window > ringLength;
  ++(row.accepted == 0 ? events.none : row.accepted < row.length ? events.partial : events.full);
  events.natural += isFull;
  events.forced += row.force && !isFull && total > 0;
  events.snapshots += isTracked;
}

/// The accepted tokens become part of the request; checks what was folded.
Status Life::commitRow(const Row &row, const Batch &batch, size_t firstToken) {
  Request &request = *row.request;
  count(row);
  bool isTracked = row.trackStep >= 0 && row.trackStep < row.accepted;
  int64_t total = request.wp + row.accepted;
  bool folds = total + window > ringLength || row.force || isTracked;
  for (int layer = 0; layer < layers; ++layer) {
    Sequence &sequence = request.layers[layer];
    for (int32_t t = 0; t < row.accepted; ++t) {
      sequence.step(batch.tokens[layer][firstToken + t]);
      if (!isTracked || t != row.trackStep)
        continue;
      if (layer == 0)
        snapshot.clear();
      snapshot.push_back(sequence);
      RSSM_RETURN_IF_ERROR(compareState(layer, row.trackSlot, sequence.state()));
    }
    if (folds && total > 0)
      RSSM_RETURN_IF_ERROR(compareState(layer, request.stateSlot, sequence.state()));
  }
  request.wp = folds ? 0 : total;
  request.isNew = false;
  auto cursors = engines[0]->cursors();
  if (!cursors)
    return cursors.status();
  return (*cursors)[request.ringSlot] == request.wp
             ? Status::ok()
             : fail("expected wp " + std::to_string(request.wp) + " but got " +
                    std::to_string((*cursors)[request.ringSlot]));
}

Status Life::forward(const std::vector<Row> &plan) {
  Batch batch = batchOf(plan);
  std::vector<int32_t> accepted;
  for (const Row &row : plan)
    accepted.push_back(row.accepted);
  for (Engine *engine : engines)
    RSSM_RETURN_IF_ERROR(engine->verify(batch));
  RSSM_RETURN_IF_ERROR(compareOutputs(plan, batch));
  for (Engine *engine : engines)
    RSSM_RETURN_IF_ERROR(engine->commit(accepted));
  for (size_t r = 0; r < plan.size(); ++r)
    if (plan[r].request)
      RSSM_RETURN_IF_ERROR(commitRow(plan[r], batch, batch.query_start_loc[r]));
  auto direct = engines[0]->bytes(), graphs = engines[1]->bytes();
  if (!direct || !graphs)
    return direct ? graphs.status() : direct.status();
  if (*direct != *graphs)
    return fail("forward " + std::to_string(events.forwards) + ": expected the graphs to give the same bits");
  ++events.forwards;
  return Status::ok();
}
