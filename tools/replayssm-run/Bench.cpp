//===- Bench.cpp - Timings of one kernel ----------------------------------===//
//
// Graph replay, slots rotating over a pool several times the L2, the mean over
// a whole ring cycle, beside the card's own streams of the same bytes in the
// same run. Ratios are what counts; absolutes vary between cards.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Bench.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace replayssm;
using namespace replayssm::run;

Status Bench::fill(const std::string &name, DType dtype, uint64_t elements, double scale,
                   double shift) {
  uint64_t width = byteWidth(dtype), chunk = std::min<uint64_t>(elements, 1 << 20);
  std::vector<uint8_t> block(chunk * width);
  std::normal_distribution<double> normal(0, 1);
  for (uint64_t i = 0; i < chunk; ++i)
    fromDouble(block.data() + i * width, dtype, shift + scale * normal(rng));
  auto buffer = device->allocate(elements * width);
  if (!buffer)
    return buffer.status();
  for (uint64_t at = 0; at < elements; at += chunk)
    RSSM_RETURN_IF_ERROR(buffer->copyIn(block.data(), std::min(chunk, elements - at) * width, at * width));
  buffers[name] = buffer.take();
  return Status::ok();
}

Status Bench::put(const std::string &name, const std::vector<int32_t> &values) {
  auto buffer = device->allocate(std::max<size_t>(values.size() * 4, 16));
  if (!buffer)
    return buffer.status();
  RSSM_RETURN_IF_ERROR(buffer->copyIn(values.data(), values.size() * 4));
  buffers[name] = buffer.take();
  return Status::ok();
}

Result<Bench> Bench::create(Device &device, const KernelSpec &spec, int64_t rows, Buffer &pool) {
  Bench b;
  b.device = &device;
  b.pool = &pool;
  b.spec = spec;
  b.rows = rows;
  int64_t GK = spec.gateDim(), L = spec.L;
  uint64_t stateElements = spec.HV * spec.V * spec.K;
  uint64_t setBytes = rows * stateElements * byteWidth(spec.state);
  b.sets = std::clamp<int64_t>((4 * std::max<uint64_t>(device.l2Bytes(), 1 << 20) + setBytes - 1) / setBytes, 2, 128);
  int64_t slots = b.sets * rows;
  double kScale = 1.0 / std::sqrt(double(spec.K));

  auto add = [&](const std::string &name, DType dtype, uint64_t count, uint64_t inner, double scale,
                 double shift) {
    b.strides[name] = inner;
    b.perSetBytes[name] = 0;
    return b.fill(name, dtype, count * inner, scale, shift);
  };
  RSSM_RETURN_IF_ERROR(add("state", spec.state, slots, stateElements, 0.1, 0));
  if (spec.phase != Phase::Packed) {
    RSSM_RETURN_IF_ERROR(add("d_ring", DType::F32, slots, spec.HV * L * spec.V, 0.1, 0));
    RSSM_RETURN_IF_ERROR(add("k_ring", DType::F32, slots, spec.H * L * spec.K, kScale, 0));
    RSSM_RETURN_IF_ERROR(add("g_ring", DType::F32, slots, spec.HV * L * GK, 0.01, -0.1));
  }
  auto addTokens = [&](const std::string &name, DType dtype, uint64_t inner, double scale, double shift = 0) {
    RSSM_RETURN_IF_ERROR(add(name, dtype, slots * spec.T, inner, scale, shift));
    b.perSetBytes[name] = rows * spec.T * inner * byteWidth(dtype);
    return Status::ok();
  };
  bool givenGate = spec.gate == Gate::Precomputed, givenBeta = spec.beta == Beta::Precomputed;
  RSSM_RETURN_IF_ERROR(addTokens("mixed_qkv", spec.io, 2 * spec.H * spec.K + spec.HV * spec.V, 1));
  RSSM_RETURN_IF_ERROR(addTokens("a", spec.aType(), spec.HV * GK, givenGate ? 0.01 : 1, givenGate ? -0.1 : 0));
  RSSM_RETURN_IF_ERROR(addTokens("b", spec.bType(), spec.HV, givenBeta ? 0.1 : 1, givenBeta ? 0.5 : 0));
  RSSM_RETURN_IF_ERROR(addTokens("out", spec.io, spec.HV * spec.V, 0));
  RSSM_RETURN_IF_ERROR(add("A_log", DType::F32, 1, spec.HV, 0.1, 0));
  RSSM_RETURN_IF_ERROR(add("dt_bias", DType::F32, 1, spec.HV * GK, 0.5, -4));

  std::vector<int32_t> order(slots), flags((rows + 3) / 4 + 4, 0);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), b.rng);
  RSSM_RETURN_IF_ERROR(b.put("state_idx", order));
  std::shuffle(order.begin(), order.end(), b.rng);
  RSSM_RETURN_IF_ERROR(b.put("ring_idx", order));
  b.perSetBytes["state_idx"] = b.perSetBytes["ring_idx"] = rows * 4;
  RSSM_RETURN_IF_ERROR(b.put("force_flush", flags));
  b.perSetBytes["force_flush"] = 0;
  std::vector<int32_t> starts(rows + 1);
  for (int64_t row = 0; row <= rows; ++row)
    starts[row] = int32_t(row * spec.T);
  RSSM_RETURN_IF_ERROR(b.put("query_start_loc", starts));
  std::vector<int32_t> parents(rows * spec.T); // each token has two drafts
  for (size_t i = 0; i < parents.size(); ++i)
    parents[i] = (int32_t(i % spec.T) + 1) / 2 - 1;
  RSSM_RETURN_IF_ERROR(b.put("parent", parents));
  b.perSetBytes["query_start_loc"] = b.perSetBytes["parent"] = 0;
  // Cursors, or lengths of folds: the same for all.
  if (spec.phase != Phase::Packed)
    for (int64_t p : b.positions())
      RSSM_RETURN_IF_ERROR(b.put("wp" + std::to_string(p), std::vector<int32_t>(slots, int32_t(p))));
  return b;
}

uint64_t Bench::launchArg(const KernelArg &arg, int64_t set, int64_t position) const {
  if (arg.kind == KernelArg::Kind::Stride)
    return strides.at(arg.name.substr(0, arg.name.size() - 7));
  if (arg.name == "wp" || arg.name == "fold_len")
    return buffers.at("wp" + std::to_string(position)).address();
  return buffers.at(arg.name).address() + set * perSetBytes.at(arg.name);
}

/// Bytes besides the state at one ring position: tokens, output, records.
double Bench::otherBytes(int64_t position) const {
  double io = byteWidth(spec.io), GK = spec.gateDim();
  double token = io * (2 * spec.H * spec.K + 2 * spec.HV * spec.V) +
                 spec.HV * (GK * byteWidth(spec.aType()) + byteWidth(spec.bType()));
  double record = 4 * (spec.H * spec.K + spec.HV * (spec.V + GK));
  switch (spec.phase) {
  case Phase::Packed:
    return rows * token;
  case Phase::Fold:
    return rows * record * position;
  default:
    return rows * (spec.T * token + record * (position + (writesState(position) ? 0 : spec.T)));
  }
}

/// The ring positions to time: histories, or lengths of a fold.
std::vector<int64_t> Bench::positions() const {
  std::vector<int64_t> all;
  switch (spec.phase) {
  case Phase::Verify:
    all = {0, std::min(spec.L / 2, spec.L - spec.T), spec.L - spec.T};
    break;
  case Phase::Fold:
    all = {std::max<int64_t>(spec.L / 2, 1), spec.L};
    break;
  default:
    all.resize(spec.phase == Phase::Packed ? 1 : spec.L);
    std::iota(all.begin(), all.end(), 0);
  }
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool Bench::writesState(int64_t position) const {
  return spec.phase == Phase::Packed || spec.phase == Phase::Fold ||
         (spec.phase == Phase::Replay && position >= spec.L - 1);
}

Result<Timing> Bench::run(Kernel &kernel) {
  Timing timing;
  timing.spec = print(spec);
  timing.rows = rows;
  std::vector<int64_t> all = positions();
  int64_t launches = std::max<int64_t>(sets, 8);
  for (int64_t p : all) {
    std::vector<std::vector<uint64_t>> args(sets);
    for (int64_t set = 0; set < sets; ++set)
      for (const KernelArg &arg : kernel.manifest().args)
        args[set].push_back(launchArg(arg, set, p));
    auto time = timeLaunches(*device, launches, [&](int64_t i) {
      return kernel.launch(args[i % sets], uint32_t(rows));
    });
    if (!time)
      return time.status();
    timing.positions.push_back(*time);
  }
  double stateBytes = double(rows) * spec.HV * spec.V * spec.K * byteWidth(spec.state);
  double fewest = otherBytes(all.front()), most = otherBytes(all.back());
  auto readFewest = timeStream(*device, *pool, uint64_t(stateBytes + fewest), false);
  if (!readFewest)
    return readFewest.status();
  auto readMost = timeStream(*device, *pool, uint64_t(stateBytes + most), false);
  if (!readMost)
    return readMost.status();
  auto update = timeStream(*device, *pool, uint64_t(stateBytes), true);
  if (!update)
    return update.status();
  double perByte = *readFewest / (stateBytes + fewest);
  std::vector<double> floors;
  for (int64_t p : all) {
    double share = most > fewest ? (otherBytes(p) - fewest) / (most - fewest) : 0;
    floors.push_back(writesState(p) ? *update + otherBytes(p) * perByte
                                    : *readFewest + share * (*readMost - *readFewest));
  }
  auto mean = [](const std::vector<double> &x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / x.size();
  };
  auto column = [&](std::string name, size_t i) {
    timing.columns.push_back({std::move(name), timing.positions[i], floors[i]});
  };
  if (spec.phase == Phase::Packed) {
    column("us", 0);
  } else if (spec.phase == Phase::Replay) {
    timing.columns.push_back({"cycle", mean(timing.positions), mean(floors)});
    column("middle", all.size() / 2);
    column("flush", all.size() - 1);
  } else {
    for (size_t i = 0; i < all.size(); ++i)
      column((spec.phase == Phase::Fold ? "fold " : "history ") + std::to_string(all[i]), i);
  }
  return timing;
}
