//===- BenchBuffers.cpp - The buffers of one timing -----------------------===//
#include "tools/replayssm-run/Bench.h"
#include "tools/replayssm-run/HostMemory.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace replayssm;
using namespace replayssm::run;

Status Bench::add(const std::string &name, uint64_t count, uint64_t inner, uint64_t width, uint64_t perSet,
                  uint64_t copies) {
  // Layers begin at multiples of 16 bytes.
  uint64_t layerStride = (count * inner * width + 15) / 16 * 16 / width, bytes = copies * layerStride * width;
  if (isCounting) {
    totalBytes += bytes;
    return Status::ok();
  }
  auto buffer = device->allocate(bytes);
  if (!buffer)
    return buffer.status();
  data[name] = {buffer.take(), inner, layerStride, width, perSet};
  return Status::ok();
}

Status Bench::fill(const std::string &name, DType dtype, uint64_t count, uint64_t inner, double scale,
                   double shift, uint64_t perSet) {
  uint64_t width = byteWidth(dtype);
  RSSM_RETURN_IF_ERROR(add(name, count, inner, width, perSet, layers));
  if (isCounting)
    return Status::ok();
  uint64_t elements = data[name].buffer.bytes() / width, chunk = std::min<uint64_t>(elements, 1 << 20);
  std::vector<uint8_t> block(chunk * width);
  std::normal_distribution<double> normal(0, 1);
  for (uint64_t i = 0; i < chunk; ++i)
    fromDouble(block.data() + i * width, dtype, shift + scale * normal(rng));
  for (uint64_t at = 0; at < elements; at += chunk)
    RSSM_RETURN_IF_ERROR(data[name].buffer.copyIn(block.data(), std::min(chunk, elements - at) * width, at * width));
  return Status::ok();
}

template <typename T>
Status Bench::put(const std::string &name, const std::vector<T> &values, uint64_t perSet) {
  RSSM_RETURN_IF_ERROR(add(name, 1, values.size(), sizeof(T), perSet));
  if (isCounting)
    return Status::ok();
  return data[name].buffer.copyIn(values.data(), values.size() * sizeof(T));
}

Status Bench::addStates() {
  uint64_t inner = spec.HV * spec.V * spec.K;
  RSSM_RETURN_IF_ERROR(fill("state", spec.state, slots + 1, inner, 0.1, 0));
  // Written before anything reads it.
  return spec.phase == Phase::Snapshots ? add("snapshots", slots, spec.Tmax * inner, byteWidth(spec.state)) : Status::ok();
}

Status Bench::addRings() {
  if (!spec.hasRing())
    return Status::ok();
  int64_t L = spec.L;
  double kScale = 1.0 / std::sqrt(double(spec.K));
  RSSM_RETURN_IF_ERROR(fill("g_ring", DType::F32, slots, spec.HV * L * spec.gateDim(), 0.01, -0.1));
  if (spec.storesDelta()) {
    RSSM_RETURN_IF_ERROR(fill("d_ring", DType::F32, slots, spec.HV * L * spec.V, 0.1, 0));
    RSSM_RETURN_IF_ERROR(fill("k_ring", DType::F32, slots, spec.H * L * spec.K, kScale, 0));
  }
  if (!spec.storesRaw())
    return Status::ok();
  RSSM_RETURN_IF_ERROR(fill("raw_v_ring", spec.io, slots, spec.HV * L * spec.V, 1, 0));
  RSSM_RETURN_IF_ERROR(fill("raw_k_ring", spec.io, slots, spec.H * L * spec.K, 1, 0));
  return fill("beta_ring", DType::F32, slots, spec.HV * L, 0.1, 0.5);
}

Status Bench::addTokens() {
  auto tokens = [&](const char *name, DType dtype, uint64_t inner, double scale, double shift) {
    return fill(name, dtype, slots * spec.T, inner, scale, shift, rows * spec.T * inner * byteWidth(dtype));
  };
  bool givenGate = spec.gate == Gate::Precomputed, givenBeta = spec.beta == Beta::Precomputed;
  int64_t GK = spec.gateDim();
  RSSM_RETURN_IF_ERROR(tokens("mixed_qkv", spec.io, 2 * spec.H * spec.K + spec.HV * spec.V, 1, 0));
  RSSM_RETURN_IF_ERROR(tokens("a", spec.aType(), spec.HV * GK, givenGate ? 0.01 : 1, givenGate ? -0.1 : 0));
  RSSM_RETURN_IF_ERROR(tokens("b", spec.bType(), spec.HV, givenBeta ? 0.1 : 1, givenBeta ? 0.5 : 0));
  RSSM_RETURN_IF_ERROR(tokens("out", spec.io, spec.HV * spec.V, 0, 0));
  RSSM_RETURN_IF_ERROR(fill("A_log", DType::F32, 1, spec.HV, 0.1, 0));
  return fill("dt_bias", DType::F32, 1, spec.HV * GK, 0.5, -4);
}

Status Bench::addIndices() {
  std::vector<int32_t> order(slots), starts(rows + 1), parents(rows * spec.Tmax), path(rows * spec.Tmax);
  std::iota(order.begin(), order.end(), spec.null == NullRow::LE0 ? 1 : 0);
  uint64_t perSet = rows * 4;
  std::shuffle(order.begin(), order.end(), rng);
  RSSM_RETURN_IF_ERROR(put("state_idx", order, perSet));
  RSSM_RETURN_IF_ERROR(put("dst_idx", order, perSet));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  RSSM_RETURN_IF_ERROR(put("ring_idx", order, perSet));
  for (int64_t row = 0; row <= rows; ++row)
    starts[row] = int32_t(row * spec.T);
  RSSM_RETURN_IF_ERROR(put("query_start_loc", starts));
  for (size_t i = 0; i < parents.size(); ++i) {
    int64_t t = int64_t(i) % spec.Tmax;
    parents[i] = int32_t((t + 1) / 2 - 1);                   // each token has two drafts
    path[i] = int32_t(std::min(2 * t + 1, spec.T - 1)); // every other token
  }
  RSSM_RETURN_IF_ERROR(put("parent", parents));
  RSSM_RETURN_IF_ERROR(put("accept_idx", path));
  std::vector<int32_t> none(rows, -1);
  for (const char *name : {"track_step", "track_pos", "track_idx"})
    RSSM_RETURN_IF_ERROR(put(name, none));
  RSSM_RETURN_IF_ERROR(put("force_flush", std::vector<int8_t>(rows, 0)));
  return put("reset_mask", std::vector<int8_t>(rows, 1));
}

/// One copy for every moment: a launch of one does not change what another finds.
Status Bench::addMoments() {
  for (size_t i = 0; i < plan.moments.size(); ++i) {
    const BenchMoment &m = plan.moments[i];
    std::string at = "@" + std::to_string(i);
    RSSM_RETURN_IF_ERROR(put("wp" + at, m.wp));
    RSSM_RETURN_IF_ERROR(put("base" + at, m.base));
    RSSM_RETURN_IF_ERROR(put("is_flush" + at, m.isFlush));
    RSSM_RETURN_IF_ERROR(put("fold_len" + at, m.foldLen, rows * 4));
    RSSM_RETURN_IF_ERROR(put("accept_len" + at, m.accepted, rows * 4));
  }
  return Status::ok();
}

Result<Bench> Bench::create(Device &device, const KernelSpec &spec, int64_t rows) {
  Bench b;
  b.device = &device;
  b.spec = spec;
  b.rows = rows;
  b.layers = layerCount(spec);
  uint64_t setBytes = b.layers * rows * spec.HV * spec.V * spec.K * byteWidth(spec.state);
  uint64_t several = 4 * std::max<uint64_t>(device.l2Bytes(), 1 << 20);
  b.sets = std::clamp<int64_t>((several + setBytes - 1) / setBytes, 2, 128);
  b.slots = b.sets * rows;
  b.plan = benchPlan(spec, b.slots);
  b.isCounting = true;
  RSSM_RETURN_IF_ERROR(b.addAll());
  b.isCounting = false;
  std::string what = "bench: buffers of " + std::to_string(rows) + " rows";
  if (device.isHost())
    RSSM_RETURN_IF_ERROR(expectHostMemory(what, double(b.totalBytes)));
  b.rng.seed(7);
  if (Status status = b.addAll(); !status)
    return noDeviceMemory(what, b.totalBytes, status);
  return b;
}

Status Bench::addAll() {
  RSSM_RETURN_IF_ERROR(addStates());
  RSSM_RETURN_IF_ERROR(addRings());
  RSSM_RETURN_IF_ERROR(addTokens());
  RSSM_RETURN_IF_ERROR(addIndices());
  return addMoments();
}

/// Where each layer's part of a buffer begins.
Result<uint64_t> Bench::table(const std::string &name, uint64_t at) {
  auto known = tables.find({name, at});
  if (known != tables.end())
    return known->second.address();
  const Data &of = data.at(name);
  std::vector<uint64_t> addresses;
  for (int64_t layer = 0; layer < layers; ++layer)
    addresses.push_back(of.buffer.address() + at + layer * of.layerStride * of.width);
  auto table = device->allocate(addresses.size() * 8);
  if (!table)
    return table.status();
  RSSM_RETURN_IF_ERROR(table->copyIn(addresses.data(), addresses.size() * 8));
  uint64_t address = table->address();
  tables.emplace(std::pair(name, at), table.take());
  return address;
}

Result<uint64_t> Bench::launchArg(const KernelArg &arg, int64_t set, size_t moment) {
  BufferArg of = bufferArg(arg);
  auto it = data.find(of.name);
  if (it == data.end())
    it = data.find(of.name + "@" + std::to_string(moment));
  if (it == data.end())
    return Status(StatusCode::Unsupported, "bench: expected arguments that the spec explains but got '" + arg.name + "'");
  const Data &buffer = it->second;
  if (arg.kind == KernelArg::Kind::Table)
    return table(of.name, set * buffer.perSet);
  if (arg.kind == KernelArg::Kind::Stride)
    return of.isLayerStride ? buffer.layerStride : buffer.stride;
  return buffer.buffer.address() + set * buffer.perSet;
}

Result<std::vector<std::vector<uint64_t>>> Bench::launchArgs(const Kernel &kernel, size_t moment) {
  std::vector<std::vector<uint64_t>> args(sets);
  for (int64_t set = 0; set < sets; ++set)
    for (const KernelArg &arg : kernel.manifest().args) {
      auto value = launchArg(arg, set, moment);
      if (!value)
        return value.status();
      args[set].push_back(*value);
    }
  return args;
}
