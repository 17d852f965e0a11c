//===- main.cpp - Decode with kernels compiled inside this process --------===//
//
// Two sequences through one GDN layer: a replay kernel and the cursors behind
// it, on the GPU if there is one, else (or with the argument `host`) on the CPU.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

using namespace replayssm;

namespace {

constexpr uint32_t rows = 2, tokens = 10;
constexpr int64_t H = 2, HV = 4, K = 64, V = 64, L = 4;
constexpr const char *spec = "rule=gdn,phase=replay,H=2,HV=4,K=64,V=64,L=4,io=f32,gate=softplus,"
                             "beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0";

/// What the kernels touch, by the names of docs/abi.md. Row i has state slot i and ring slot i.
class Buffers {
public:
  explicit Buffers(Device &device) : device(device) {}

  /// `count` slots of `size` values; the bytes start as zeros.
  Status add(const std::string &name, uint64_t count, uint64_t size, uint64_t width = 4) {
    auto buffer = device.allocate(count * size * width);
    if (!buffer)
      return buffer.status();
    std::vector<uint8_t> zeros(count * size * width);
    RSSM_RETURN_IF_ERROR(buffer->copyIn(zeros.data(), zeros.size()));
    buffers[name] = buffer.take();
    strides[name + "_stride"] = size;
    return Status::ok();
  }

  template <typename T> Status write(const std::string &name, const std::vector<T> &values) {
    return buffers.at(name).copyIn(values.data(), values.size() * sizeof(T));
  }
  template <typename T> Result<std::vector<T>> read(const std::string &name) {
    std::vector<T> values(buffers.at(name).bytes() / sizeof(T));
    RSSM_RETURN_IF_ERROR(buffers.at(name).copyOut(values.data(), values.size() * sizeof(T)));
    return values;
  }

  /// The launch arguments of `kernel`: its manifest says which, and in which order.
  std::vector<uint64_t> args(const Kernel &kernel) const {
    std::vector<uint64_t> values;
    for (const KernelArg &arg : kernel.manifest().args)
      values.push_back(arg.kind == KernelArg::Kind::Stride ? strides.at(arg.name)
                                                           : buffers.at(arg.name).address());
    return values;
  }

private:
  Device &device;
  std::map<std::string, Buffer> buffers;
  std::map<std::string, uint64_t> strides;
};

constexpr uint64_t tokenSize = 2 * H * K + HV * V; // q, k and v of all heads

/// Any numbers that change from place to place.
float input(uint64_t i) { return static_cast<float>(std::sin(0.37 * static_cast<double>(i) + 0.1)); }

/// The first token meets an empty state: o = beta (k.q) v, with q, k normalised and q scaled.
double firstOutput(const std::vector<float> &qkv, int64_t head, int64_t column) {
  const float *q = &qkv[head / (HV / H) * K], *k = q + H * K, *v = &qkv[2 * H * K + head * V];
  double qq = 1e-6, kk = 1e-6, kq = 0;
  for (int64_t i = 0; i < K; ++i) {
    qq += double(q[i]) * q[i];
    kk += double(k[i]) * k[i];
    kq += double(k[i]) * q[i];
  }
  double beta = 0.5; // sigmoid(0)
  return beta * kq / std::sqrt(qq * kk * double(K)) * v[column];
}

Status decode(Device &device) {
  Result<KernelSpec> replaySpec = parseKernelSpec(spec);
  if (!replaySpec)
    return replaySpec.status();
  KernelSpec cursorSpec = *replaySpec;
  cursorSpec.phase = Phase::Cursors;
  Result<Kernel> replay = jitSpec(device, *replaySpec), cursors = jitSpec(device, cursorSpec);
  if (!replay)
    return replay.status();
  if (!cursors)
    return cursors.status();

  Buffers buffers(device);
  RSSM_RETURN_IF_ERROR(buffers.add("state_idx", rows, 1));
  RSSM_RETURN_IF_ERROR(buffers.add("ring_idx", rows, 1));
  RSSM_RETURN_IF_ERROR(buffers.add("wp", rows, 1));
  RSSM_RETURN_IF_ERROR(buffers.add("force_flush", rows, 1, 1));
  RSSM_RETURN_IF_ERROR(buffers.add("state", rows, HV * V * K));
  RSSM_RETURN_IF_ERROR(buffers.add("d_ring", rows, HV * L * V));
  RSSM_RETURN_IF_ERROR(buffers.add("k_ring", rows, H * L * K));
  RSSM_RETURN_IF_ERROR(buffers.add("g_ring", rows, HV * L));
  RSSM_RETURN_IF_ERROR(buffers.add("mixed_qkv", rows, tokenSize));
  RSSM_RETURN_IF_ERROR(buffers.add("a", rows, HV));
  RSSM_RETURN_IF_ERROR(buffers.add("b", rows, HV));
  RSSM_RETURN_IF_ERROR(buffers.add("A_log", 1, HV));
  RSSM_RETURN_IF_ERROR(buffers.add("dt_bias", 1, HV));
  RSSM_RETURN_IF_ERROR(buffers.add("out", rows, HV * V));
  RSSM_RETURN_IF_ERROR(buffers.write<int32_t>("state_idx", {0, 1}));
  RSSM_RETURN_IF_ERROR(buffers.write<int32_t>("ring_idx", {0, 1}));

  double error = 0;
  for (uint32_t token = 0; token < tokens; ++token) {
    std::vector<float> qkv(rows * tokenSize);
    for (uint64_t i = 0; i < qkv.size(); ++i)
      qkv[i] = input(i + token * qkv.size());
    RSSM_RETURN_IF_ERROR(buffers.write("mixed_qkv", qkv));
    // Every layer has a replay launch; the cursors move once, behind the last.
    RSSM_RETURN_IF_ERROR(replay->launch(buffers.args(*replay), rows));
    RSSM_RETURN_IF_ERROR(cursors->launch(buffers.args(*cursors), rows));
    auto out = buffers.read<float>("out");
    if (!out)
      return out.status();
    for (float value : *out)
      if (!std::isfinite(value))
        return {StatusCode::Internal, "expected finite outputs"};
    for (int64_t i = 0; token == 0 && i < HV * V; ++i)
      error = std::max(error, std::fabs((*out)[i] - firstOutput(qkv, i / V, i % V)));
  }

  auto wp = buffers.read<int32_t>("wp");
  if (!wp)
    return wp.status();
  std::printf("%s on %s (%s): %u tokens of %u rows, %d records in the ring, first token within %.1e\n",
              replay->manifest().name.c_str(), device.name().c_str(), device.target().c_str(), tokens,
              rows, wp->front(), error);
  if (error > 1e-6 || wp->front() != int32_t(tokens % L) || wp->back() != wp->front())
    return {StatusCode::Internal, "expected another result"};
  return Status::ok();
}

} // namespace

int main(int argc, char **argv) {
  bool wantsHost = argc > 1 && std::strcmp(argv[1], "host") == 0;
  Result<Device> device = Device::openCuda();
  if (wantsHost || device.status().code() == StatusCode::Unavailable)
    device = Device::openHost();
  Status status = device ? decode(*device) : device.status();
  if (!status)
    std::fprintf(stderr, "embed: %s\n", status.str().c_str());
  return status ? 0 : 1;
}
