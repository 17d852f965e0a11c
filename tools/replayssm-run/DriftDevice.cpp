//===- DriftDevice.cpp - The kernels and buffers of a drift run -----------===//
#include "tools/replayssm-run/DriftDevice.h"
#include "tools/replayssm-run/Compare.h"
#include "tools/replayssm-run/HostMemory.h"

#include "replayssm/KernelABI.h"

#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

/// Buffers that hold one part for every step of a block.
static bool isPerStep(std::string_view name) {
  return name == "query_start_loc" || name == "accept_len" || name == "force_flush";
}

Status DriftDevice::add(const std::string &name, int64_t count, int64_t inner, int64_t width) {
  totalBytes += isCounting ? count * inner * width : 0;
  if (isCounting)
    return Status::ok();
  Block &block = blocks[name];
  block.inner = inner;
  block.width = width;
  block.host.assign(std::max<int64_t>(count * inner * width, 16), 0xff);
  auto buffer = device->allocate(block.host.size());
  if (!buffer)
    return buffer.status();
  block.device = buffer.take();
  return block.device.copyIn(block.host.data(), block.host.size());
}

Status DriftDevice::addRings() {
  int64_t slots = options.rows + 2, io = byteWidth(spec.io);
  RSSM_RETURN_IF_ERROR(add("d_ring", slots, spec.HV * spec.L * spec.V, 4));
  RSSM_RETURN_IF_ERROR(add("k_ring", slots, spec.H * spec.L * spec.K, 4));
  RSSM_RETURN_IF_ERROR(add("g_ring", slots, spec.HV * spec.L * spec.gateDim(), 4));
  if (!spec.storesRaw())
    return Status::ok();
  RSSM_RETURN_IF_ERROR(add("raw_v_ring", slots, spec.HV * spec.L * spec.V, io));
  RSSM_RETURN_IF_ERROR(add("raw_k_ring", slots, spec.H * spec.L * spec.K, io));
  return add("beta_ring", slots, spec.HV * spec.L, 4);
}

Status DriftDevice::load(Phase phase) {
  KernelSpec one = spec;
  one.phase = phase;
  auto kernel = jitSpec(*device, one, options.compile);
  if (!kernel)
    return kernel.status();
  kernels.push_back(kernel.take());
  for (const KernelArg &arg : kernels.back().manifest().args)
    if (auto value = argument(arg, 0); !value)
      return value.status();
  return Status::ok();
}

Status DriftDevice::addBlocks() {
  int64_t B = options.rows, slots = B + 2, tokens = blockSteps * B * spec.T, io = byteWidth(spec.io);
  RSSM_RETURN_IF_ERROR(add("state", slots, spec.HV * spec.V * spec.K, 4));
  RSSM_RETURN_IF_ERROR(addRings());
  RSSM_RETURN_IF_ERROR(add("mixed_qkv", tokens, 2 * spec.H * spec.K + spec.HV * spec.V, io));
  RSSM_RETURN_IF_ERROR(add("a", tokens, spec.HV * spec.gateDim(), io));
  RSSM_RETURN_IF_ERROR(add("b", tokens, spec.HV, io));
  RSSM_RETURN_IF_ERROR(add("out", tokens, spec.HV * spec.V, io));
  RSSM_RETURN_IF_ERROR(add("query_start_loc", blockSteps, B + 1, 4));
  RSSM_RETURN_IF_ERROR(add("accept_len", blockSteps, B, 4));
  RSSM_RETURN_IF_ERROR(add("force_flush", blockSteps, B, 1));
  return add("fold_len", 1, B, 4);
}

Result<DriftDevice> DriftDevice::create(Device &device, const KernelSpec &spec,
                                        const DriftOptions &options) {
  DriftDevice d;
  d.device = &device;
  d.spec = spec;
  d.options = options;
  int64_t B = options.rows, slots = B + 2;
  d.isCounting = true;
  RSSM_RETURN_IF_ERROR(d.addBlocks());
  d.isCounting = false;
  std::string what = "drift: buffers of " + std::to_string(B) + " rows";
  // The mirror, the models of every head in double, and what the folds of a block leave.
  RSSM_RETURN_IF_ERROR(expectHostMemory(what, double(d.totalBytes) * (6 + device.isHost())));
  if (Status status = d.addBlocks(); !status)
    return noDeviceMemory(what, d.totalBytes, status);

  std::mt19937_64 rng(options.seed * 0x9e3779b97f4a7c15ull + 3);
  std::normal_distribution<float> normal(0, 1);
  auto put = [&](const char *name, const auto &values) {
    if (!d.blocks.count(name))
      RSSM_RETURN_IF_ERROR(d.add(name, 1, int64_t(values.size()), 4));
    return d.blocks[name].device.copyIn(values.data(), values.size() * 4);
  };
  std::vector<float> state(slots * spec.HV * spec.V * spec.K);
  for (float &x : state)
    x = 0.1f * normal(rng);
  std::vector<int32_t> stateSlots, ringSlots;
  for (int64_t row = 0; row < B; ++row) {
    stateSlots.push_back(int32_t(d.stateSlot(row)));
    ringSlots.push_back(int32_t(d.ringSlot(row)));
  }
  RSSM_RETURN_IF_ERROR(put("state", state));
  RSSM_RETURN_IF_ERROR(put("state_idx", stateSlots));
  RSSM_RETURN_IF_ERROR(put("ring_idx", ringSlots));
  RSSM_RETURN_IF_ERROR(put("wp", std::vector<int32_t>(slots, 0)));
  RSSM_RETURN_IF_ERROR(put("A_log", std::vector<float>(spec.HV, float(driftLogA()))));
  RSSM_RETURN_IF_ERROR(put("dt_bias", std::vector<float>(spec.HV * spec.gateDim(), float(driftBias(options)))));

  RSSM_RETURN_IF_ERROR(d.load(spec.phase));
  RSSM_RETURN_IF_ERROR(d.load(Phase::Cursors));
  if (spec.phase == Phase::Verify)
    RSSM_RETURN_IF_ERROR(d.load(Phase::Fold));
  return d;
}

Result<uint64_t> DriftDevice::argument(const KernelArg &arg, int64_t step) const {
  bool isStride = arg.kind == KernelArg::Kind::Stride;
  auto it = blocks.find(isStride ? arg.name.substr(0, arg.name.size() - 7) : arg.name);
  if (it == blocks.end())
    return Status(StatusCode::Unsupported, "drift: expected arguments of a replay or verify set but got '" + arg.name + "'");
  const Block &block = it->second;
  if (isStride)
    return uint64_t(block.inner);
  // Tokens of a window are found by query_start_loc; those of decode are the rows.
  const KernelBuffer *known = findKernelBuffer(arg.name);
  bool isToken = known && known->entry == KernelBuffer::Entry::Token;
  int64_t parts = isPerStep(arg.name)                            ? step
                  : isToken && spec.phase == Phase::Replay ? step * options.rows
                                                                 : 0;
  return block.device.address() + uint64_t(parts * block.inner * block.width);
}

Status DriftDevice::launch(size_t kernel, int64_t step) {
  std::vector<uint64_t> args;
  for (const KernelArg &arg : kernels[kernel].manifest().args)
    args.push_back(*argument(arg, step));
  return kernels[kernel].launch(args, uint32_t(options.rows));
}

/// Inputs of a block: rows in parallel, tokens of a step behind each other.
Status DriftDevice::fill(const DriftWindow *windows, int64_t steps, std::vector<DriftInputs> &inputs) {
  int64_t B = options.rows, at = 0;
  first.clear();
  auto integer = [&](const char *name, int64_t step, int64_t i) -> int32_t & {
    Block &block = blocks[name];
    return reinterpret_cast<int32_t *>(block.host.data())[step * block.inner + i];
  };
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t row = 0; row < B; ++row) {
      const DriftWindow &w = windows[step * B + row];
      first.push_back(at);
      integer("query_start_loc", step, row) = int32_t(at);
      integer("accept_len", step, row) = w.accepted;
      blocks["force_flush"].host[step * B + row] = w.forced;
      at += w.length;
    }
    integer("query_start_loc", step, B) = int32_t(at);
  }
  Block &qkv = blocks["mixed_qkv"], &a = blocks["a"], &b = blocks["b"], &out = blocks["out"];
  parallelFor(B, [&](int64_t row) {
    auto place = [&](Block &block, int64_t token) { return block.host.data() + token * block.inner * block.width; };
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t t = 0; t < windows[step * B + row].length; ++t) {
        int64_t token = firstToken(step, row) + t;
        inputs[row].next(place(qkv, token), place(a, token), place(b, token));
      }
  }, /*least=*/2);
  std::fill(out.host.begin(), out.host.end(), uint8_t(0xff));
  for (const char *name : {"mixed_qkv", "a", "b", "out"}) {
    Block &block = blocks[name];
    RSSM_RETURN_IF_ERROR(block.device.copyIn(block.host.data(), at * block.inner * block.width));
  }
  for (const char *name : {"query_start_loc", "accept_len", "force_flush"})
    RSSM_RETURN_IF_ERROR(blocks[name].device.copyIn(blocks[name].host.data(), blocks[name].host.size()));
  return Status::ok();
}

Result<std::vector<DriftSnapshot>> DriftDevice::run(const DriftWindow *windows, int64_t steps,
                                                    std::vector<DriftInputs> &inputs) {
  RSSM_RETURN_IF_ERROR(fill(windows, steps, inputs));
  std::vector<DriftSnapshot> snapshots;
  for (int64_t step = 0; step < steps; ++step) {
    const DriftWindow *now = windows + step * options.rows;
    bool anyFolds = std::any_of(now, now + options.rows, [](const DriftWindow &w) { return w.folds > 0; });
    RSSM_RETURN_IF_ERROR(launch(0, step));
    RSSM_RETURN_IF_ERROR(launch(1, step));
    if (anyFolds && kernels.size() > 2)
      RSSM_RETURN_IF_ERROR(launch(2, step));
    for (int64_t row = 0; anyFolds && row < options.rows; ++row) {
      if (!now[row].folds)
        continue;
      auto taken = snapshot(step, row);
      if (!taken)
        return taken.status();
      snapshots.push_back(taken.take());
    }
  }
  Block &out = blocks["out"];
  const DriftWindow &last = windows[steps * options.rows - 1];
  RSSM_RETURN_IF_ERROR(out.device.copyOut(out.host.data(), (first.back() + last.length) * out.inner * out.width));
  return snapshots;
}

Status DriftDevice::read(const char *name, int64_t slot, std::vector<float> &into) {
  const Block &block = blocks.at(name);
  into.resize(block.inner);
  return block.device.copyOut(into.data(), block.inner * 4, slot * block.inner * 4);
}

Result<DriftSnapshot> DriftDevice::snapshot(int64_t step, int64_t row) {
  DriftSnapshot s;
  s.step = step;
  s.row = row;
  RSSM_RETURN_IF_ERROR(read("state", stateSlot(row), s.state));
  RSSM_RETURN_IF_ERROR(read("d_ring", ringSlot(row), s.d));
  RSSM_RETURN_IF_ERROR(read("k_ring", ringSlot(row), s.k));
  RSSM_RETURN_IF_ERROR(read("g_ring", ringSlot(row), s.g));
  return s;
}

Result<int32_t> DriftDevice::cursor(int64_t row) {
  int32_t wp;
  RSSM_RETURN_IF_ERROR(blocks.at("wp").device.copyOut(&wp, 4, ringSlot(row) * 4));
  return wp;
}

reference::Token DriftDevice::token(int64_t index, int64_t hv) const {
  int64_t K = spec.K, V = spec.V, GK = spec.gateDim(), h = hv / (spec.HV / spec.H);
  auto take = [&](const char *name, int64_t offset, int64_t n) {
    const Block &block = blocks.at(name);
    std::vector<double> values(n);
    for (int64_t i = 0; i < n; ++i)
      values[i] = toDouble(block.host.data() + (index * block.inner + offset + i) * block.width, spec.io);
    return values;
  };
  reference::Token token;
  token.q = take("mixed_qkv", h * K, K);
  token.k = take("mixed_qkv", (spec.H + h) * K, K);
  token.v = take("mixed_qkv", 2 * spec.H * K + hv * V, V);
  token.a = take("a", hv * GK, GK);
  token.b = take("b", hv, 1)[0];
  token.aLog = float(driftLogA());
  token.dtBias.assign(GK, float(driftBias(options)));
  return token;
}

std::vector<double> DriftDevice::output(int64_t index, int64_t hv) const {
  const Block &out = blocks.at("out");
  std::vector<double> values(spec.V);
  for (int64_t v = 0; v < spec.V; ++v)
    values[v] = toDouble(out.host.data() + (index * out.inner + hv * spec.V + v) * out.width, spec.io);
  return values;
}
