//===- Engine.cpp - Kernels and buffers of all layers, and one forward ----===//
#include "Engine.h"

#include <cstring>

using namespace lifecycle;
using replayssm::Result;
using replayssm::Status;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Every byte starts as 0xff: floats are NaN, cursors -1. Nothing is cleared.
Status Engine::add(Arrays &to, const std::string &name, uint64_t slots, uint64_t slotSize, uint64_t width) {
  auto buffer = device.allocate(slots * slotSize * width);
  if (!buffer)
    return buffer.status();
  std::vector<uint8_t> garbage(slots * slotSize * width, 0xff);
  RSSM_RETURN_IF_ERROR(buffer->copyIn(garbage.data(), garbage.size()));
  to[name] = {buffer.take(), slotSize, width};
  return Status::ok();
}

template <typename T> Status Engine::write(Array &array, const std::vector<T> &values, uint64_t slot) {
  return array.buffer.copyIn(values.data(), values.size() * sizeof(T), slot * array.slotSize * array.width);
}

Status Engine::addLayer(int layer, const Params &params) {
  Arrays &to = ofLayer[layer];
  RSSM_RETURN_IF_ERROR(add(to, "state", stateSlots, stateSize));
  RSSM_RETURN_IF_ERROR(add(to, "d_ring", ringSlots, HV * ringLength * V));
  RSSM_RETURN_IF_ERROR(add(to, "k_ring", ringSlots, H * ringLength * K));
  RSSM_RETURN_IF_ERROR(add(to, "g_ring", ringSlots, HV * ringLength * gates(layer)));
  RSSM_RETURN_IF_ERROR(add(to, "mixed_qkv", rows * window, tokenSize));
  RSSM_RETURN_IF_ERROR(add(to, "a", rows * window, HV * gates(layer)));
  RSSM_RETURN_IF_ERROR(add(to, "b", rows * window, HV));
  RSSM_RETURN_IF_ERROR(add(to, "out", rows * window, HV * V));
  RSSM_RETURN_IF_ERROR(add(to, "A_log", 1, HV));
  RSSM_RETURN_IF_ERROR(add(to, "dt_bias", 1, HV * gates(layer)));
  RSSM_RETURN_IF_ERROR(write(to["A_log"], params.aLog));
  return write(to["dt_bias"], params.dtBias);
}

Status Engine::prefill(int layer, int64_t slot, const std::vector<float> &state) {
  return write(ofLayer[layer]["state"], state, slot);
}

Status Engine::spoil(int layer, std::optional<int64_t> state, std::optional<int64_t> ring) {
  auto fill = [&](const char *name, int64_t slot) {
    Array &array = ofLayer[layer][name];
    return write(array, std::vector<uint8_t>(array.slotSize * array.width, 0xff), slot);
  };
  if (state)
    RSSM_RETURN_IF_ERROR(fill("state", *state));
  for (const char *name : {"d_ring", "k_ring", "g_ring"})
    if (ring)
      RSSM_RETURN_IF_ERROR(fill(name, *ring));
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Status Engine::compile() {
  auto add = [&](const char *name, const char *kernel) {
    std::string text = std::string(kernel) +
                       ",H=1,HV=2,K=32,V=16,L=8,T_max=3,flush_at=commit,fold=records,io=f32,"
                       "gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0";
    auto spec = replayssm::parseKernelSpec(text);
    if (!spec)
      return spec.status();
    auto compiled = replayssm::jitSpec(device, *spec);
    if (compiled)
      kernels.emplace(name, compiled.take());
    return compiled.status();
  };
  RSSM_RETURN_IF_ERROR(add("reset", "rule=gdn,phase=reset"));
  RSSM_RETURN_IF_ERROR(add("cursors", "rule=gdn,phase=cursors,track=yes"));
  RSSM_RETURN_IF_ERROR(add("gdn verify", "rule=gdn,phase=verify"));
  RSSM_RETURN_IF_ERROR(add("gdn fold", "rule=gdn,phase=fold,track=yes"));
  RSSM_RETURN_IF_ERROR(add("kda verify", "rule=kda,phase=verify"));
  return add("kda fold", "rule=kda,phase=fold,track=yes");
}

Result<Engine> Engine::create(replayssm::Device device, const std::vector<Params> &params, bool captured) {
  Engine engine(std::move(device));
  RSSM_RETURN_IF_ERROR(engine.compile());
  Arrays &shared = engine.shared;
  for (const char *name : {"state_idx", "ring_idx", "accept_len", "fold_len", "track_step", "track_pos", "track_idx"})
    RSSM_RETURN_IF_ERROR(engine.add(shared, name, 1, rows));
  RSSM_RETURN_IF_ERROR(engine.add(shared, "query_start_loc", 1, rows + 1));
  RSSM_RETURN_IF_ERROR(engine.add(shared, "wp", ringSlots, 1));
  RSSM_RETURN_IF_ERROR(engine.add(shared, "force_flush", 1, rows, 1));
  RSSM_RETURN_IF_ERROR(engine.add(shared, "reset_mask", 1, rows, 1));
  for (int layer = 0; layer < layers; ++layer)
    RSSM_RETURN_IF_ERROR(engine.addLayer(layer, params[layer]));
  if (captured)
    RSSM_RETURN_IF_ERROR(engine.capture());
  return engine;
}

/// The manifest says which arguments, and in which order.
Status Engine::launch(replayssm::Kernel &kernel, int layer) {
  std::vector<uint64_t> args;
  for (const replayssm::KernelArg &arg : kernel.manifest().args) {
    bool isStride = arg.kind == replayssm::KernelArg::Kind::Stride;
    std::string name = isStride ? arg.name.substr(0, arg.name.size() - std::strlen("_stride")) : arg.name;
    Arrays &arrays = shared.count(name) ? shared : ofLayer[layer];
    auto it = arrays.find(name);
    if (it == arrays.end())
      return {replayssm::StatusCode::Internal, kernel.manifest().name + ": unknown argument " + arg.name};
    args.push_back(isStride ? it->second.slotSize : it->second.buffer.address());
  }
  return kernel.launch(args, rows);
}

Status Engine::launchVerify() {
  RSSM_RETURN_IF_ERROR(launch(kernels.at("reset"), 0));
  for (int layer = 0; layer < layers; ++layer)
    RSSM_RETURN_IF_ERROR(launch(kernels.at(isKda(layer) ? "kda verify" : "gdn verify"), layer));
  return Status::ok();
}

Status Engine::launchCommit() {
  RSSM_RETURN_IF_ERROR(launch(kernels.at("cursors"), 0)); // once, for all layers
  for (int layer = 0; layer < layers; ++layer)
    RSSM_RETURN_IF_ERROR(launch(kernels.at(isKda(layer) ? "kda fold" : "gdn fold"), layer));
  return Status::ok();
}

/// Which rows live, their slots, lengths and cursors are data: one capture serves
/// every forward.
Status Engine::capture() {
  for (bool isVerify : {true, false}) {
    RSSM_RETURN_IF_ERROR(device.beginCapture());
    Status launched = isVerify ? launchVerify() : launchCommit();
    auto graph = device.endCapture();
    RSSM_RETURN_IF_ERROR(launched);
    if (!graph)
      return graph.status();
    (isVerify ? verifyGraph : commitGraph).emplace(graph.take());
  }
  return Status::ok();
}

Status Engine::verify(const Batch &batch) {
  RSSM_RETURN_IF_ERROR(write(shared["state_idx"], batch.state_idx));
  RSSM_RETURN_IF_ERROR(write(shared["ring_idx"], batch.ring_idx));
  RSSM_RETURN_IF_ERROR(write(shared["query_start_loc"], batch.query_start_loc));
  RSSM_RETURN_IF_ERROR(write(shared["track_step"], batch.track_step));
  RSSM_RETURN_IF_ERROR(write(shared["track_idx"], batch.track_idx));
  RSSM_RETURN_IF_ERROR(write(shared["force_flush"], batch.force_flush));
  RSSM_RETURN_IF_ERROR(write(shared["reset_mask"], batch.reset_mask));
  for (int layer = 0; layer < layers; ++layer)
    for (size_t i = 0; i < batch.tokens[layer].size(); ++i) {
      const Token &token = batch.tokens[layer][i];
      RSSM_RETURN_IF_ERROR(write(ofLayer[layer]["mixed_qkv"], token.qkv, i));
      RSSM_RETURN_IF_ERROR(write(ofLayer[layer]["a"], token.a, i));
      RSSM_RETURN_IF_ERROR(write(ofLayer[layer]["b"], token.b, i));
    }
  return verifyGraph ? verifyGraph->replay() : launchVerify();
}

Status Engine::commit(const std::vector<int32_t> &accepted) {
  RSSM_RETURN_IF_ERROR(write(shared["accept_len"], accepted));
  return commitGraph ? commitGraph->replay() : launchCommit();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

template <typename T> static Result<std::vector<T>> contents(const replayssm::Buffer &buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  RSSM_RETURN_IF_ERROR(buffer.copyOut(values.data(), values.size() * sizeof(T)));
  return values;
}

Result<std::vector<float>> Engine::read(int layer, const std::string &name) const {
  return contents<float>(ofLayer[layer].at(name).buffer);
}
Result<std::vector<int32_t>> Engine::cursors() const { return contents<int32_t>(shared.at("wp").buffer); }

Result<std::vector<uint8_t>> Engine::bytes() const {
  std::vector<uint8_t> all;
  auto append = [&](const Arrays &arrays) {
    for (const auto &[name, array] : arrays) {
      auto bytes = contents<uint8_t>(array.buffer);
      if (!bytes)
        return bytes.status();
      all.insert(all.end(), bytes->begin(), bytes->end());
    }
    return Status::ok();
  };
  RSSM_RETURN_IF_ERROR(append(shared));
  for (const Arrays &arrays : ofLayer)
    RSSM_RETURN_IF_ERROR(append(arrays));
  return all;
}
