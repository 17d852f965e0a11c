//===- RecurrentCheckTest.cpp - The check of snapshots finds faults -------===//
//
// Snapshots and input replay written in C++ stand in for compiled kernels: right,
// they pass; with any one fault the check reports it.
//
//===----------------------------------------------------------------------===//
#include "runtime/Backend.h"
#include "tools/replayssm-run/Verify.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

namespace {

enum class Fault {
  None,
  LongWindow, NoZeros, StateBefore, NextSlot, WritesState, SkipsLast, LaterToken, WrongGate, LastSnapshot = WrongGate,
  TakesChain, UncheckedParent, LastTree = UncheckedParent,
  RoundedChain, LastRounding = RoundedChain,
  UnclampedAccept, ShortReplay, LongReplay, OwnSlot, WritesRejected, LastReplay = WritesRejected,
  FirstTokens, LastPath = FirstTokens
};

struct Model {
  KernelSpec spec;
  Fault fault = Fault::None;
  std::map<std::string, std::pair<size_t, size_t>> args; ///< Pointer and stride of each name.
} model;

bool has(Fault fault) { return model.fault == fault; }

/// One row of a launch.
struct Row {
  void *const *args;
  int64_t row = rssm_host_sreg(RSSM_SREG_CTAID_Y);
  uint8_t *at(const char *name, int64_t width, int64_t slot, int64_t index) const {
    auto [pointer, stride] = model.args.at(name);
    int64_t step = stride ? *static_cast<int64_t *>(args[stride]) : 0;
    return reinterpret_cast<uint8_t *>(*static_cast<uint64_t *>(args[pointer])) + (slot * step + index) * width;
  }
  int32_t integer(const char *name, int64_t i) const {
    int32_t value;
    std::memcpy(&value, at(name, 4, 0, i), 4);
    return value;
  }
  std::vector<double> take(const char *name, DType dtype, int64_t slot, int64_t first, int64_t n) const {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(toDouble(at(name, byteWidth(dtype), slot, first + i), dtype));
    return values;
  }
  void put(const char *name, DType dtype, int64_t slot, int64_t first, const std::vector<double> &values) const {
    for (size_t i = 0; i < values.size(); ++i)
      fromDouble(at(name, byteWidth(dtype), slot, first + int64_t(i)), dtype, values[i]);
  }
  int64_t state() const { return integer("state_idx", row); }
  int64_t first() const { return integer("query_start_loc", row); }
  int64_t length() const {
    int64_t given = integer("query_start_loc", row + 1) - first();
    return has(Fault::LongWindow) ? given : std::min(given, model.spec.T);
  }
  reference::Token token(int64_t t, int64_t hv) const {
    const KernelSpec &spec = model.spec;
    int64_t K = spec.K, GK = spec.gateDim(), h = hv / (spec.HV / spec.H), index = first() + t;
    reference::Token token;
    token.q = take("mixed_qkv", spec.io, index, h * K, K);
    token.k = take("mixed_qkv", spec.io, index, (spec.H + h) * K, K);
    token.v = take("mixed_qkv", spec.io, index, 2 * spec.H * K + hv * spec.V, spec.V);
    token.a = take("a", spec.io, index, hv * GK, GK);
    token.b = take("b", spec.io, index, hv, 1)[0];
    token.aLog = take("A_log", DType::F32, 0, hv, 1)[0];
    token.dtBias = take("dt_bias", DType::F32, 0, hv * GK, GK);
    if (has(Fault::WrongGate))
      token.dtBias[0] += 1e-2;
    return token;
  }
};

void snapshotsEntry(void *const *args) {
  if (rssm_host_sreg(RSSM_SREG_TID_X) != 0)
    return;
  Row row{args};
  const KernelSpec &spec = model.spec;
  int64_t n = spec.V * spec.K, length = row.length(), ring = row.integer("ring_idx", row.row);
  bool isTree = spec.window == Window::Tree && !has(Fault::TakesChain);
  for (int64_t hv = 0; hv < spec.HV; ++hv) {
    std::vector<double> before;
    for (int64_t t = 0; t < length; ++t) {
      if (row.state() < 0) {
        if (!has(Fault::NoZeros))
          row.put("out", spec.io, row.first() + t, hv * spec.V, std::vector<double>(spec.V, 0.0));
        continue;
      }
      int64_t parent = isTree ? row.integer("parent", row.row * spec.Tmax + t) : t - 1;
      if (parent >= t || parent < 0)
        parent = has(Fault::UncheckedParent) ? t - 1 : -1;
      if (parent < 0)
        before = row.take("state", spec.state, row.state(), hv * n, n);
      else if (parent != t - 1 || has(Fault::RoundedChain))
        before = row.take("snapshots", spec.state, ring, (parent * spec.HV + hv) * n, n);
      reference::Token token = row.token(t, hv);
      if (has(Fault::LaterToken) && t == 0 && length > 1)
        token.b += 1e-2 * row.token(length - 1, hv).b;
      reference::Step step = reference::step(spec, before, {}, token);
      row.put("out", spec.io, row.first() + t, hv * spec.V, step.o);
      std::vector<double> after = before;
      reference::advance(spec, after, step);
      if (!(has(Fault::SkipsLast) && t == length - 1))
        row.put("snapshots", spec.state, has(Fault::NextSlot) ? row.state() : ring, (t * spec.HV + hv) * n,
                has(Fault::StateBefore) ? before : after);
      before = after;
    }
    if (row.state() >= 0 && length > 0 && has(Fault::WritesState))
      row.put("state", spec.state, row.state(), hv * n, before);
  }
}

void replayEntry(void *const *args) {
  if (rssm_host_sreg(RSSM_SREG_TID_X) != 0)
    return;
  Row row{args};
  const KernelSpec &spec = model.spec;
  if (row.state() < 0)
    return;
  int64_t accepted = row.integer("accept_len", row.row), n = spec.V * spec.K;
  accepted = std::clamp<int64_t>(accepted, 0, has(Fault::UnclampedAccept) ? spec.T + 1 : row.length());
  if (has(Fault::LongReplay) && accepted > 0 && accepted < row.length())
    ++accepted;
  for (int64_t hv = 0; hv < spec.HV && (accepted > 0 || has(Fault::WritesRejected)); ++hv) {
    std::vector<double> state = row.take("state", spec.state, row.state(), hv * n, n);
    for (int64_t i = 0; i < accepted - has(Fault::ShortReplay); ++i) {
      int64_t t = i;
      if (spec.window == Window::Tree && !has(Fault::FirstTokens))
        t = std::clamp<int64_t>(row.integer("accept_idx", row.row * spec.Tmax + i), i, row.length() - 1);
      reference::advance(spec, state, reference::step(spec, state, {}, row.token(t, hv)));
    }
    int64_t target = spec.dst && !has(Fault::OwnSlot) ? row.integer("dst_idx", row.row) : row.state();
    row.put("state", spec.state, target, hv * n, state);
  }
}

Kernel kernel(Device &device) {
  const KernelSpec &spec = model.spec;
  KernelManifest manifest;
  manifest.name = "model";
  manifest.threads = 32; // One of them works.
  manifest.blocksPerRow = 1;
  manifest.sites = {"model"};
  model.args.clear();
  struct { const char *name, *dtype; bool strided; } const args[] = {
      {"query_start_loc", "i32", false}, {"state_idx", "i32", false}, {"ring_idx", "i32", false},
      {"accept_len", "i32", false}, {"accept_idx", "i32", false}, {"parent", "i32", false},
      {"dst_idx", "i32", false}, {"state", name(spec.state), true}, {"snapshots", name(spec.state), true},
      {"mixed_qkv", name(spec.io), true}, {"a", name(spec.io), true}, {"b", name(spec.io), true},
      {"A_log", "f32", false}, {"dt_bias", "f32", false}, {"out", name(spec.io), true}};
  auto applies = [&](std::string_view name) {
    return (name != "dst_idx" || spec.dst) && (name != "snapshots" || spec.phase == Phase::Snapshots);
  };
  for (auto &arg : args)
    if (applies(arg.name)) {
      model.args[arg.name] = {manifest.args.size(), 0};
      manifest.args.push_back({arg.name, KernelArg::Kind::Pointer, arg.dtype});
    }
  for (auto &arg : args)
    if (arg.strided && applies(arg.name)) {
      model.args[arg.name].second = manifest.args.size();
      manifest.args.push_back({std::string(arg.name) + "_stride", KernelArg::Kind::Stride, "i64"});
    }
  auto entry = spec.phase == Phase::Snapshots ? snapshotsEntry : replayEntry;
  return Kernel(device.sharedBackend(), rt::makeHostKernel(entry, manifest, nullptr));
}

CheckReport check(const std::string &variant, Fault fault) {
  auto spec = parseKernelSpec(variant + ",K=16,V=8,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0");
  EXPECT_TRUE(spec) << spec.status().str();
  model.spec = *spec;
  model.fault = fault;
  Device device = Device::openHost();
  Kernel stand = kernel(device);
  CheckOptions options;
  options.rows = 5;
  options.steps = 60; // Only some are out of range.
  auto report = checkRecurrent(device, stand, *spec, options);
  EXPECT_TRUE(report) << report.status().str();
  return report ? *report : CheckReport();
}

void findAll(const char *variant, std::initializer_list<std::pair<Fault, Fault>> ranges) {
  CheckReport right = check(variant, Fault::None);
  EXPECT_EQ(right.violations, 0) << testing::PrintToString(right.firstViolations);
  EXPECT_GT(right.state.count, 50);
  for (auto [low, high] : ranges)
    for (int fault = int(low); fault <= int(high); ++fault)
      EXPECT_GT(check(variant, Fault(fault)).violations, 0) << variant << ": fault " << fault;
}

constexpr std::pair ofSnapshots{Fault::LongWindow, Fault::LastSnapshot}, ofTrees{Fault::TakesChain, Fault::LastTree},
    ofRounding{Fault::RoundedChain, Fault::LastRounding}, ofReplay{Fault::UnclampedAccept, Fault::LastReplay},
    ofPaths{Fault::FirstTokens, Fault::LastPath}, ofGates{Fault::WrongGate, Fault::WrongGate};

TEST(RecurrentCheck, FindsFaultsOfSnapshots) {
  findAll("rule=gdn,phase=snapshots,H=1,HV=3,T_max=3", {ofSnapshots});
  findAll("rule=kda,phase=snapshots,H=2,HV=2,T_max=5,io=f32,window=tree", {ofSnapshots, ofTrees});
  findAll("rule=gdn,phase=snapshots,H=1,HV=2,T_max=6,state=bf16,window=tree", {ofSnapshots, ofTrees, ofRounding});
}

TEST(RecurrentCheck, FindsFaultsOfInputReplay) {
  findAll("rule=gdn,phase=input_replay,H=1,HV=3,T_max=3,dst=yes", {ofReplay, ofGates});
  findAll("rule=kda,phase=input_replay,H=2,HV=2,T_max=5,io=f32,state=bf16,window=tree,dst=yes", {ofReplay, ofPaths, ofGates});
}

} // namespace
