//===- CaseOracle.cpp - What the oracle is given of a run -----------------===//
#include "tools/replayssm-run/Case.h"

#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

reference::Token Case::token(int64_t index, int64_t hv) const {
  int64_t K = spec.K, V = spec.V, GK = spec.gateDim(), h = hv / (spec.HV / spec.H);
  reference::Token token;
  auto take = [&](const Array &array, int64_t slot, int64_t offset, int64_t n) {
    std::vector<double> values(n);
    for (int64_t i = 0; i < n; ++i)
      values[i] = toDouble(array.at(slot, offset + i), array.dtype);
    return values;
  };
  const Array &qkv = arrays.at("mixed_qkv");
  token.q = take(qkv, index, h * K, K);
  token.k = take(qkv, index, (spec.H + h) * K, K);
  token.v = take(qkv, index, 2 * spec.H * K + hv * V, V);
  token.a = take(arrays.at("a"), index, hv * GK, GK);
  token.b = take(arrays.at("b"), index, hv, 1)[0];
  token.aLog = take(arrays.at("A_log"), 0, hv, 1)[0];
  token.dtBias = take(arrays.at("dt_bias"), 0, hv * GK, GK);
  return token;
}

std::vector<double> Case::state(int64_t row, int64_t hv) const {
  return stateOf("state", stateSlot(row), hv);
}

std::vector<double> Case::stateOf(const char *buffer, int64_t slot, int64_t hv, int64_t first) const {
  const Array &state = arrays.at(buffer);
  int64_t n = spec.V * spec.K;
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i)
    values[i] = toDouble(state.at(slot, first + hv * n + i), spec.state);
  return values;
}

std::vector<Case::Field> Case::fields() const {
  if (spec.phase == Phase::Packed || !spec.hasRing())
    return {};
  std::vector<Field> fields;
  if (spec.storesDelta())
    fields = {{"d_ring", spec.HV, spec.V}, {"k_ring", spec.H, spec.K}};
  fields.push_back({"g_ring", spec.HV, spec.gateDim()});
  if (spec.storesRaw())
    fields.insert(fields.end(), {{"raw_v_ring", spec.HV, spec.V}, {"raw_k_ring", spec.H, spec.K}, {"beta_ring", spec.HV, 1}});
  return fields;
}

KernelSpec Case::rawSpec() const {
  KernelSpec raw = spec;
  raw.beta = Beta::Precomputed;
  raw.betaFactor = 1;
  return raw;
}

reference::Token Case::rawToken(int64_t row, int64_t hv, int64_t position, std::vector<double> &gates) const {
  auto take = [&](const char *name, int64_t head, int64_t n) {
    const Array &array = arrays.at(name);
    std::vector<double> values(n);
    for (int64_t i = 0; i < n; ++i)
      values[i] = toDouble(array.at(ringSlot(row), (head * spec.L + position) * n + i), array.dtype);
    return values;
  };
  reference::Token token;
  token.q.assign(spec.K, 0);
  token.k = take("raw_k_ring", hv / (spec.HV / spec.H), spec.K);
  token.v = take("raw_v_ring", hv, spec.V);
  token.b = take("beta_ring", hv, 1)[0];
  gates = take("g_ring", hv, spec.gateDim());
  token.a = token.dtBias = std::vector<double>(spec.gateDim(), 0.0);
  return token;
}

Case::OwnedRecords Case::records(int64_t row, int64_t hv) const {
  if (spec.phase == Phase::Packed || spec.L == 1)
    return {};
  return records(row, hv, wp(row));
}

std::vector<int64_t> Case::positions(int64_t row, int64_t first, int64_t end) const {
  std::vector<int64_t> positions;
  for (int64_t j = first; j < end; ++j)
    positions.push_back(position(row, j));
  return positions;
}

Case::OwnedRecords Case::recordsAt(int64_t row, int64_t hv, const std::vector<int64_t> &positions) const {
  OwnedRecords records;
  records.wp = int64_t(positions.size());
  int64_t h = hv / (spec.HV / spec.H), GK = spec.gateDim();
  auto take = [&](const char *name, int64_t head, int64_t n) {
    std::vector<float> values(records.wp * n);
    for (int64_t j = 0; j < records.wp; ++j)
      std::memcpy(values.data() + j * n,
                  arrays.at(name).at(ringSlot(row), (head * spec.L + positions[j]) * n), n * 4);
    return values;
  };
  records.d = take("d_ring", hv, spec.V);
  records.k = take("k_ring", h, spec.K);
  records.g = take("g_ring", hv, GK);
  return records;
}

reference::Records Case::OwnedRecords::view() const {
  return {d.data(), k.data(), g.data(), wp};
}
