//===- VerifyCheckTest.cpp - The check of a commit set finds faults -------===//
//
// Kernels written in C++ stand in for compiled ones: right, they pass; with any
// one fault the check reports it.
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
  // Verify.
  LongWindow, ShortHistory, LongHistory, LaterToken, RowLength, NoZeros, EarlyRecord, WrappedRecord,
  MovesCursor, WritesState, ReadsRejected, RoundedGate,
  // Cursors.
  UnclampedAccept, LateFold, EarlyFold, IgnoresForce, KeepsCursor, SkipsNullRow, StaleFoldLen,
  // Fold.
  ShortFold, LongFold, FoldsByCursor, OtherSlot, Last = OtherSlot,
  // Of trees alone: verify, then compact.
  TakesChain, UncheckedParent, ReadsSibling, WindowOrderSums,
  NoMoves, MovesRejected, UnclampedPath, LeavesKeys, LeavesGates, FirstHeadOnly, TreeLast = FirstHeadOnly
};

/// What the entries, plain functions, work on.
struct Model {
  KernelSpec spec;
  Fault fault = Fault::None;
  std::map<std::string, std::pair<size_t, size_t>> args; ///< Pointer and stride of each name.
} model;

/// The arguments of one launch.
struct Launch {
  void *const *args;
  template <typename T> T &at(const char *name, int64_t slot, int64_t index) const {
    auto [pointer, stride] = model.args.at(name);
    uint64_t base = *static_cast<uint64_t *>(args[pointer]);
    int64_t step = stride ? *static_cast<int64_t *>(args[stride]) : 0;
    return reinterpret_cast<T *>(base)[slot * step + index];
  }
  int32_t &integer(const char *name, int64_t i) const { return at<int32_t>(name, 0, i); }
  double number(const char *name, DType dtype, int64_t slot, int64_t index) const {
    return dtype == DType::F32 ? at<float>(name, slot, index)
                               : toDouble(reinterpret_cast<uint8_t *>(&at<uint16_t>(name, slot, index)), dtype);
  }
  void put(const char *name, DType dtype, int64_t slot, int64_t index, double value) const {
    uint8_t *data = dtype == DType::F32 ? reinterpret_cast<uint8_t *>(&at<float>(name, slot, index))
                                        : reinterpret_cast<uint8_t *>(&at<uint16_t>(name, slot, index));
    fromDouble(data, dtype, value);
  }
};

bool has(Fault fault) { return model.fault == fault; }

struct Rows {
  explicit Rows(void *const *args) : launch{args}, row(rssm_host_sreg(RSSM_SREG_CTAID_Y)) {
    state = launch.integer("state_idx", row);
    ring = launch.integer("ring_idx", row);
    live = state >= 0;
  }
  Launch launch;
  int64_t row, state, ring;
  bool live;

  int64_t length() const {
    int64_t given = launch.integer("query_start_loc", row + 1) - launch.integer("query_start_loc", row);
    return has(Fault::LongWindow) ? given : std::min(given, model.spec.T);
  }
  std::vector<double> loadState(int64_t hv) const {
    int64_t n = model.spec.V * model.spec.K;
    std::vector<double> values(n);
    for (int64_t i = 0; i < n; ++i)
      values[i] = launch.number("state", model.spec.state, state, hv * n + i);
    return values;
  }
  std::vector<int64_t> parents(int64_t length) const {
    std::vector<int64_t> parents;
    bool isTree = model.spec.window == Window::Tree && !has(Fault::TakesChain);
    for (int64_t s = 0; s < length; ++s) {
      int64_t given = isTree ? launch.integer("parent", row * model.spec.Tmax + s) : s - 1;
      bool isEarlier = given >= 0 && given < s;
      parents.push_back(isEarlier ? given : has(Fault::UncheckedParent) ? s - 1 : -1);
    }
    return parents;
  }
  Case::OwnedRecords records(int64_t hv, int64_t count) const {
    const KernelSpec &spec = model.spec;
    int64_t h = hv / (spec.HV / spec.H);
    Case::OwnedRecords records;
    records.wp = std::clamp<int64_t>(count, 0, spec.L);
    auto take = [&](const char *name, int64_t head, int64_t n) {
      std::vector<float> values;
      for (int64_t i = 0; i < records.wp * n; ++i)
        values.push_back(launch.at<float>(name, ring, head * spec.L * n + i));
      return values;
    };
    records.d = take("d_ring", hv, spec.V);
    records.k = take("k_ring", h, spec.K);
    records.g = take("g_ring", hv, spec.gateDim());
    return records;
  }
};

reference::Token token(const Launch &launch, int64_t index, int64_t hv) {
  const KernelSpec &spec = model.spec;
  int64_t K = spec.K, V = spec.V, GK = spec.gateDim(), h = hv / (spec.HV / spec.H);
  auto take = [&](const char *name, DType dtype, int64_t slot, int64_t first, int64_t n) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(launch.number(name, dtype, slot, first + i));
    return values;
  };
  reference::Token token;
  token.q = take("mixed_qkv", spec.io, index, h * K, K);
  token.k = take("mixed_qkv", spec.io, index, (spec.H + h) * K, K);
  token.v = take("mixed_qkv", spec.io, index, 2 * spec.H * K + hv * V, V);
  token.a = take("a", spec.io, index, hv * GK, GK);
  token.b = take("b", spec.io, index, hv, 1)[0];
  token.aLog = take("A_log", DType::F32, 0, hv, 1)[0];
  token.dtBias = take("dt_bias", DType::F32, 0, hv * GK, GK);
  return token;
}

void verifyEntry(void *const *args) {
  if (rssm_host_sreg(RSSM_SREG_TID_X) != 0)
    return;
  Rows rows(args);
  const KernelSpec &spec = model.spec;
  const Launch &launch = rows.launch;
  int64_t first = launch.integer("query_start_loc", rows.row), length = rows.length();
  int64_t L = spec.L, GK = spec.gateDim();
  if (!rows.live) {
    for (int64_t i = 0; i < length * spec.HV * spec.V && !has(Fault::NoZeros); ++i)
      launch.put("out", spec.io, first + i / (spec.HV * spec.V), i % (spec.HV * spec.V), 0);
    return;
  }
  int64_t wp = launch.integer("wp", rows.ring);
  for (int64_t hv = 0; hv < spec.HV; ++hv) {
    std::vector<reference::Token> tokens;
    for (int64_t s = 0; s < length; ++s)
      tokens.push_back(token(launch, first + s, hv));
    if (has(Fault::LaterToken) && length > 1)
      tokens[0].b += 1e-3 * tokens[length - 1].b;
    if (has(Fault::RowLength) && length > 1)
      tokens[0].b += 1e-4 * double(length);
    int64_t history = wp + (has(Fault::LongHistory) ? 1 : has(Fault::ShortHistory) ? -1 : 0);
    std::vector<int64_t> parents = rows.parents(length);
    if (has(Fault::ReadsSibling) && length > 2 && parents[2] != 1)
      tokens[2].b += 1e-3 * tokens[1].b;
    std::vector<std::vector<double>> gates;
    if (has(Fault::WindowOrderSums)) // The gates of all earlier tokens, on the path or not.
      for (int64_t s = 0; s < length; ++s) {
        gates.push_back(reference::window(spec, rows.loadState(hv), {}, {tokens[s]})[0].g);
        for (int64_t j = parents[s] + 1; j < s; ++j)
          for (int64_t i = 0; i < GK; ++i)
            gates[s][i] += reference::gate(spec, tokens[j].a[i], tokens[j].aLog, tokens[j].dtBias[i]);
      }
    std::vector<reference::Step> steps = reference::tree(
        spec, rows.loadState(hv), rows.records(hv, history).view(), tokens, parents, gates.empty() ? nullptr : &gates);
    double rejected = has(Fault::ReadsRejected) ? launch.at<float>("d_ring", rows.ring, (hv * L + L - 1) * spec.V) : 0;
    for (int64_t s = 0; s < length; ++s) {
      for (int64_t v = 0; v < spec.V; ++v)
        launch.put("out", spec.io, first + s, hv * spec.V + v, steps[s].o[v] + 0 * rejected);
      int64_t at = wp + s - (has(Fault::EarlyRecord) && s > 0 ? 1 : 0);
      if (at >= L && has(Fault::WrappedRecord))
        at -= L;
      if (at >= L)
        continue;
      for (int64_t v = 0; v < spec.V; ++v)
        launch.put("d_ring", DType::F32, rows.ring, (hv * L + at) * spec.V + v, steps[s].d[v]);
      for (int64_t i = 0; i < GK; ++i)
        launch.put("g_ring", DType::F32, rows.ring, (hv * L + at) * GK + i,
                   steps[s].g[i] * (has(Fault::RoundedGate) ? 1 + 1e-6 : 1));
      for (int64_t i = 0; i < spec.K; ++i)
        launch.put("k_ring", DType::F32, rows.ring, (hv / (spec.HV / spec.H) * L + at) * spec.K + i, steps[s].k[i]);
    }
  }
  if (has(Fault::MovesCursor))
    launch.integer("wp", rows.ring) = int32_t(wp + 1);
  if (has(Fault::WritesState))
    launch.put("state", spec.state, rows.state, 0, 0.25);
}

void compactEntry(void *const *args) {
  if (rssm_host_sreg(RSSM_SREG_TID_X) != 0)
    return;
  Rows rows(args);
  const KernelSpec &spec = model.spec;
  const Launch &launch = rows.launch;
  if (!rows.live || has(Fault::NoMoves))
    return;
  int64_t n = std::clamp<int64_t>(launch.integer("accept_len", rows.row), 0, rows.length());
  if (has(Fault::MovesRejected) && n < rows.length())
    ++n;
  int64_t wp = launch.integer("wp", rows.ring);
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = launch.integer("accept_idx", rows.row * spec.Tmax + i);
    at = has(Fault::UnclampedPath) ? std::clamp<int64_t>(at, 0, i) : std::clamp<int64_t>(at, i, spec.Tmax - 1);
    if (wp + at >= spec.L)
      continue;
    auto move = [&](const char *name, int64_t heads, int64_t width) {
      for (int64_t head = 0; head < (has(Fault::FirstHeadOnly) ? 1 : heads); ++head)
        for (int64_t c = 0; c < width; ++c) {
          int64_t first = head * spec.L * width + c;
          launch.at<int32_t>(name, rows.ring, first + (wp + i) * width) =
              launch.at<int32_t>(name, rows.ring, first + (wp + at) * width);
        }
    };
    move("d_ring", spec.HV, spec.V);
    if (!has(Fault::LeavesKeys))
      move("k_ring", spec.H, spec.K);
    if (!has(Fault::LeavesGates))
      move("g_ring", spec.HV, spec.gateDim());
  }
}

void cursorsEntry(void *const *args) {
  if (rssm_host_sreg(RSSM_SREG_TID_X) != 0)
    return;
  Rows rows(args);
  const KernelSpec &spec = model.spec;
  const Launch &launch = rows.launch;
  if (!rows.live) {
    if (!has(Fault::SkipsNullRow))
      launch.integer("fold_len", rows.row) = 0;
    return;
  }
  int64_t n = launch.integer("accept_len", rows.row);
  if (!has(Fault::UnclampedAccept))
    n = std::clamp<int64_t>(n, 0, rows.length());
  int64_t total = launch.integer("wp", rows.ring) + n;
  int64_t room = spec.L - spec.Tmax + (has(Fault::LateFold) ? 1 : has(Fault::EarlyFold) ? -1 : 0);
  bool folds = total > room || (launch.at<uint8_t>("force_flush", 0, rows.row) && !has(Fault::IgnoresForce));
  if (folds || !has(Fault::StaleFoldLen))
    launch.integer("fold_len", rows.row) = folds ? int32_t(total) : 0;
  if (!(folds && has(Fault::KeepsCursor)))
    launch.integer("wp", rows.ring) = folds ? 0 : int32_t(total);
}

void foldEntry(void *const *args) {
  if (rssm_host_sreg(RSSM_SREG_TID_X) != 0)
    return;
  Rows rows(args);
  const KernelSpec &spec = model.spec;
  int64_t count = rows.launch.integer("fold_len", rows.row);
  if (!rows.live || count <= 0)
    return;
  if (has(Fault::FoldsByCursor))
    count = rows.launch.integer("wp", rows.ring);
  count += has(Fault::ShortFold) ? -1 : has(Fault::LongFold) ? 1 : 0;
  for (int64_t hv = 0; hv < spec.HV; ++hv) {
    std::vector<double> state = reference::materialise(spec, rows.loadState(hv), rows.records(hv, count).view());
    for (size_t i = 0; i < state.size(); ++i)
      rows.launch.put("state", spec.state, has(Fault::OtherSlot) ? rows.ring : rows.state,
                      hv * int64_t(state.size()) + int64_t(i), state[i]);
  }
}

Kernel kernel(Device &device, rssm_host_entry entry) {
  KernelManifest manifest;
  manifest.name = "model";
  manifest.threads = 32; // One of them works.
  manifest.blocksPerRow = 1;
  manifest.sites = {"model"};
  model.args.clear();
  struct { const char *name, *dtype; bool strided; } const args[] = {
      {"query_start_loc", "i32", false}, {"state_idx", "i32", false}, {"ring_idx", "i32", false},
      {"wp", "i32", false}, {"accept_len", "i32", false}, {"accept_idx", "i32", false}, {"parent", "i32", false}, {"force_flush", "i8", false},
      {"fold_len", "i32", false}, {"state", name(model.spec.state), true}, {"d_ring", "f32", true},
      {"k_ring", "f32", true}, {"g_ring", "f32", true}, {"mixed_qkv", name(model.spec.io), true},
      {"a", name(model.spec.io), true}, {"b", name(model.spec.io), true}, {"A_log", "f32", false},
      {"dt_bias", "f32", false}, {"out", name(model.spec.io), true}};
  for (auto &arg : args) {
    model.args[arg.name] = {manifest.args.size(), 0};
    manifest.args.push_back({arg.name, KernelArg::Kind::Pointer, arg.dtype});
  }
  for (auto &arg : args)
    if (arg.strided) {
      model.args[arg.name].second = manifest.args.size();
      manifest.args.push_back({std::string(arg.name) + "_stride", KernelArg::Kind::Stride, "i64"});
    }
  return Kernel(device.sharedBackend(), rt::makeHostKernel(entry, manifest, nullptr));
}

/// Violations of a set with one fault.
CheckReport check(const std::string &variant, Fault fault) {
  auto spec = parseKernelSpec(variant + ",phase=verify,K=16,V=8,gate=softplus,beta=sigmoid_f32,"
                                        "qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records");
  EXPECT_TRUE(spec) << spec.status().str();
  model.spec = *spec;
  model.fault = fault;
  Device device = Device::openHost();
  VerifyKernels kernels{kernel(device, verifyEntry), kernel(device, cursorsEntry), kernel(device, foldEntry)};
  if (spec->window == Window::Tree)
    kernels.compact.emplace(kernel(device, compactEntry));
  CheckOptions options;
  options.rows = 5;
  options.steps = 30;
  auto report = checkVerify(device, kernels, *spec, options);
  EXPECT_TRUE(report) << report.status().str();
  return report ? *report : CheckReport();
}

class VerifyCheck : public testing::TestWithParam<const char *> {};

TEST_P(VerifyCheck, FindsEveryFault) {
  CheckReport right = check(GetParam(), Fault::None);
  EXPECT_EQ(right.violations, 0) << testing::PrintToString(right.firstViolations);
  EXPECT_GT(right.out.count, 50);
  EXPECT_GT(right.state.count, 5);
  for (int fault = 1; fault <= int(Fault::Last); ++fault)
    EXPECT_GT(check(GetParam(), Fault(fault)).violations, 0) << "fault " << fault;
  if (model.spec.window == Window::Tree)
    for (int fault = int(Fault::Last) + 1; fault <= int(Fault::TreeLast); ++fault)
      EXPECT_GT(check(GetParam(), Fault(fault)).violations, 0) << "fault of trees " << fault - int(Fault::Last);
}

INSTANTIATE_TEST_SUITE_P(Variants, VerifyCheck,
                         testing::Values("rule=gdn,H=1,HV=3,L=8,T_max=3",
                                         "rule=kda,H=2,HV=2,L=16,T_max=5,state=bf16",
                                         "rule=gdn,H=1,HV=2,L=7,T_max=4,io=f32",
                                         "rule=gdn,H=1,HV=2,L=16,T_max=5,window=tree",
                                         "rule=kda,H=2,HV=2,L=9,T_max=4,io=f32,window=tree"));

TEST(Reference, RoundsBelowTheLeastNormalNumber) {
  using reference::roundTo;
  double f16Step = 0x1p-24;
  EXPECT_EQ(roundTo(DType::F16, 503.4 * f16Step), 503 * f16Step);
  EXPECT_EQ(roundTo(DType::F16, 0.4 * f16Step), 0);
  EXPECT_EQ(roundTo(DType::F16, 0x1p-14 + 0.6 * f16Step), 0x1p-14 + f16Step);
  EXPECT_EQ(roundTo(DType::BF16, 2.5 * 0x1p-133), 2 * 0x1p-133);
  EXPECT_EQ(roundTo(DType::F32, 1.5 * 0x1p-149), 2 * 0x1p-149);
}

} // namespace
