//===- CursorModelTest.cpp - Commit cursors against lists of tokens -------===//
//
// The compiled cursor kernel on the host device drives checkpoints and rings of
// token numbers; a model only appends what was accepted. Both must agree.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

using namespace replayssm;

namespace {

using Tokens = std::vector<int64_t>;

/// One request: what its slot holds, and what it should hold.
struct Request {
  Tokens checkpoint; ///< Tokens folded into the state.
  Tokens ring;       ///< Token at each position; -1 = never written since the reset.
  Tokens accepted;   ///< The model.
};

class Batch {
public:
  Batch(int64_t L, int64_t T, uint64_t seed) : L(L), T(T), rng(seed) {}

  testing::AssertionResult build();
  testing::AssertionResult step(int64_t index);
  int64_t folds = 0, stale = 0;

private:
  struct Ints {
    std::vector<int32_t> host;
    Buffer device;
  };
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n)(rng); }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(rng) < p; }
  int64_t wpOf(int64_t request) { return ints["wp"].host[request]; }
  testing::AssertionResult check(const Request &request, int64_t slot);
  Status launch();

  static constexpr int64_t rows = 7, requests = 10;
  int64_t L, T, next = 0;
  std::mt19937_64 rng;
  Device device = Device::openHost();
  std::optional<Kernel> kernel;
  std::map<std::string, Ints> ints;
  std::vector<uint8_t> forced = std::vector<uint8_t>(rows);
  Buffer forcedBuffer;
  std::vector<Request> all = std::vector<Request>(requests);
};

testing::AssertionResult Batch::build() {
  auto spec = parseKernelSpec("rule=gdn,phase=cursors,H=1,HV=1,K=8,V=8,L=" + std::to_string(L) +
                              ",T_max=" + std::to_string(T) +
                              ",gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,"
                              "flush_at=commit,fold=records");
  if (!spec)
    return testing::AssertionFailure() << spec.status().str();
  auto built = jitSpec(device, *spec);
  if (!built)
    return testing::AssertionFailure() << built.status().str();
  kernel.emplace(built.take());
  for (auto [name, size] : {std::pair("state_idx", rows), {"ring_idx", rows}, {"wp", requests},
                            {"query_start_loc", rows + 1}, {"accept_len", rows}, {"fold_len", rows}}) {
    ints[name].host.assign(size, 0);
    auto buffer = device.allocate(size * 4);
    if (!buffer)
      return testing::AssertionFailure() << buffer.status().str();
    ints[name].device = buffer.take();
  }
  auto buffer = device.allocate(rows);
  if (!buffer)
    return testing::AssertionFailure() << buffer.status().str();
  forcedBuffer = buffer.take();
  for (Request &request : all)
    request.ring.assign(L, -1);
  return testing::AssertionSuccess();
}

Status Batch::launch() {
  std::vector<uint64_t> args;
  for (const KernelArg &arg : kernel->manifest().args) {
    if (arg.name != "force_flush" && !ints.count(arg.name))
      return Status(StatusCode::Unsupported, "unknown argument '" + arg.name + "'");
    args.push_back(arg.name == "force_flush" ? forcedBuffer.address() : ints[arg.name].device.address());
  }
  for (auto &[name, array] : ints)
    RSSM_RETURN_IF_ERROR(array.device.copyIn(array.host.data(), array.host.size() * 4));
  RSSM_RETURN_IF_ERROR(forcedBuffer.copyIn(forced.data(), forced.size()));
  RSSM_RETURN_IF_ERROR(kernel->launch(args, rows));
  for (auto &[name, array] : ints)
    RSSM_RETURN_IF_ERROR(array.device.copyOut(array.host.data(), array.host.size() * 4));
  return Status::ok();
}

testing::AssertionResult Batch::check(const Request &request, int64_t slot) {
  Tokens held = request.checkpoint;
  held.insert(held.end(), request.ring.begin(), request.ring.begin() + wpOf(slot));
  if (held != request.accepted)
    return testing::AssertionFailure() << "request " << slot << ": checkpoint of " << request.checkpoint.size()
                                       << " and ring of " << wpOf(slot) << " tokens differ from the model's "
                                       << request.accepted.size();
  if (wpOf(slot) + T > L)
    return testing::AssertionFailure() << "request " << slot << ": a window of " << T
                                       << " does not fit behind wp = " << wpOf(slot);
  return testing::AssertionSuccess();
}

testing::AssertionResult Batch::step(int64_t index) {
  // A request that ends leaves a stale cursor behind, which the next one resets.
  if (chance(0.05)) {
    int64_t slot = below(requests - 1);
    stale += wpOf(slot) > 0;
    ints["wp"].host[slot] = 0;
    all[slot] = Request();
    all[slot].ring.assign(L, -1);
  }
  std::vector<int32_t> order(requests);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  std::vector<int64_t> lengths(rows);
  for (int64_t row = 0; row < rows; ++row) {
    bool isNull = chance(0.15);
    ints["state_idx"].host[row] = isNull ? -1 - int32_t(below(3)) : order[row];
    ints["ring_idx"].host[row] = isNull ? INT32_MAX : order[row];
    int64_t given = chance(0.15) ? 0 : chance(0.4) ? T : chance(0.1) ? T + below(3) : below(T);
    lengths[row] = std::min(given, T);
    ints["query_start_loc"].host[row + 1] = ints["query_start_loc"].host[row] + int32_t(given);
    ints["accept_len"].host[row] =
        int32_t(chance(0.2) ? 0 : chance(0.3) ? T : chance(0.1) ? INT32_MAX : chance(0.1) ? INT32_MIN : below(T));
    ints["fold_len"].host[row] = 12345;
    forced[row] = chance(0.1) ? 1 + uint8_t(below(254)) : 0;
    // Verify: the records of the whole window, accepted or not.
    for (int64_t s = 0; s < lengths[row] && !isNull; ++s)
      all[order[row]].ring.at(wpOf(order[row]) + s) = next + s;
    next += given;
  }
  int64_t token = next - ints["query_start_loc"].host[rows];
  std::vector<int32_t> wpBefore = ints["wp"].host, accept = ints["accept_len"].host;
  if (Status status = launch(); !status)
    return testing::AssertionFailure() << status.str();
  for (int64_t row = 0; row < rows; ++row) {
    int64_t foldLen = ints["fold_len"].host[row];
    if (ints["state_idx"].host[row] < 0) {
      if (foldLen != 0)
        return testing::AssertionFailure() << "null row " << row << ": fold_len " << foldLen;
      continue;
    }
    int64_t slot = order[row], n = std::clamp<int64_t>(accept[row], 0, lengths[row]);
    Request &request = all[slot];
    for (int64_t s = 0; s < n; ++s)
      request.accepted.push_back(token + ints["query_start_loc"].host[row] + s);
    // Fold.
    if (foldLen < 0 || foldLen > L)
      return testing::AssertionFailure() << "row " << row << ": fold_len " << foldLen;
    request.checkpoint.insert(request.checkpoint.end(), request.ring.begin(), request.ring.begin() + foldLen);
    folds += foldLen > 0;
    if (forced[row] && wpOf(slot) != 0)
      return testing::AssertionFailure() << "row " << row << ": forced, but wp is " << wpOf(slot);
    if (auto result = check(request, slot); !result)
      return result << " (step " << index << ", row " << row << ")";
    wpBefore[slot] = ints["wp"].host[slot];
  }
  if (wpBefore != ints["wp"].host)
    return testing::AssertionFailure() << "step " << index << ": the cursor of a request without a row moved";
  return testing::AssertionSuccess();
}

TEST(Cursors, HoldWhatWasAccepted) {
  uint64_t seed = 1;
  int64_t folds = 0, stale = 0;
  for (int64_t L : {8, 9, 16, 31, 32, 64})
    for (int64_t T : {1, 2, 3, 4, 7, 8, 15, 16}) {
      if (T > L)
        continue;
      SCOPED_TRACE("L = " + std::to_string(L) + ", T_max = " + std::to_string(T));
      Batch batch(L, T, seed++);
      ASSERT_TRUE(batch.build());
      for (int64_t i = 0; i < 300; ++i)
        ASSERT_TRUE(batch.step(i));
      EXPECT_GT(batch.folds, 20);
      folds += batch.folds;
      stale += batch.stale;
    }
  EXPECT_GT(folds, 5000);
  EXPECT_GT(stale, 100);
}

} // namespace
