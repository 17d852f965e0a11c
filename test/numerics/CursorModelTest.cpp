//===- CursorModelTest.cpp - Cursors of window sets against lists of tokens ===//
//
// The compiled cursor kernels on the host device drive checkpoints and rings of
// token numbers, as verify and fold would write them; a model only appends what
// was accepted. Both must agree.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Jit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

using namespace replayssm;

namespace {

using Tokens = std::vector<int64_t>;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

struct Set {
  const char *flushAt;
  bool track;
};

/// One request: what its slot holds, and what it should hold.
struct Request {
  Tokens checkpoint; ///< Tokens folded into the state.
  Tokens ring;       ///< Token at each position; -1 = never written since the reset.
  Tokens accepted;   ///< The model.
};

class Batch {
public:
  Batch(Set set, int64_t L, int64_t T, uint64_t seed)
      : set(set), isVerify(!std::strcmp(set.flushAt, "verify")), isEvery(!std::strcmp(set.flushAt, "every_commit")),
        L(L), T(T), rng(seed) {}

  AssertionResult build();
  AssertionResult step();
  int64_t folds = 0, stale = 0, tracked = 0, wrapped = 0;

private:
  struct Row {
    bool live = true;
    int64_t request = 0, length = 0, firstToken = 0;
  };
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n)(rng); }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(rng) < p; }

  /// Buffers hold 32-bit numbers or flags; either way an element is read as one.
  struct Column {
    int64_t width;
    std::vector<int32_t> host;
    Buffer device;
  };
  int32_t &at(const char *name, int64_t i) { return columns.at(name).host.at(i); }
  int64_t wp(int64_t request) { return isEvery ? 0 : at("wp", request); }
  int64_t position(int64_t request, int64_t j) { return isVerify ? (at("base", request) + j) % L : j; }
  Tokens history(int64_t request, int64_t count);

  Result<Kernel> jit(const char *phase, const char *more);
  Status launch(Kernel &kernel);
  AssertionResult resetRows();
  void fillRows();
  AssertionResult verify(const Row &row);
  AssertionResult commit(int64_t index);
  AssertionResult fold(int64_t index);
  AssertionResult check(int64_t request);

  static constexpr int64_t rows = 7, requests = 10;
  Set set;
  bool isVerify, isEvery;
  int64_t L, T, next = 0;
  std::mt19937_64 rng;
  Device device = Device::openHost();
  std::optional<Kernel> cursors, reset;
  std::map<std::string, Column> columns;
  std::vector<Row> batch = std::vector<Row>(rows);
  std::vector<Request> all = std::vector<Request>(requests);
};

Result<Kernel> Batch::jit(const char *phase, const char *more) {
  auto spec = parseKernelSpec(std::string("rule=gdn,phase=") + phase + ",H=1,HV=1,K=8,V=8,L=" + std::to_string(L) +
                              ",T_max=" + std::to_string(T) +
                              ",gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,fold=records,flush_at=" +
                              set.flushAt + more);
  return spec ? jitSpec(device, *spec) : Result<Kernel>(spec.status());
}

AssertionResult Batch::build() {
  device.hostOptions().checkRanges = false; // lengths and accepted tokens are also of any value
  auto built = jit("cursors", set.track ? ",track=yes" : "");
  if (!built)
    return AssertionFailure() << built.status().str();
  cursors.emplace(built.take());
  if (!isEvery) {
    auto other = jit("reset", "");
    if (!other)
      return AssertionFailure() << other.status().str();
    reset.emplace(other.take());
  }
  struct { const char *name; int64_t size, width; } const known[] = {
      {"state_idx", rows, 4}, {"ring_idx", rows, 4}, {"wp", requests, 4}, {"base", requests, 4},
      {"is_flush", requests, 1}, {"query_start_loc", rows + 1, 4}, {"accept_len", rows, 4}, {"fold_len", rows, 4},
      {"force_flush", rows, 1}, {"reset_mask", rows, 1}, {"track_step", rows, 4}, {"track_pos", rows, 4}};
  for (auto [name, size, width] : known) {
    auto buffer = device.allocate(size * width);
    if (!buffer)
      return AssertionFailure() << buffer.status().str();
    columns[name] = {width, std::vector<int32_t>(size), buffer.take()};
  }
  for (Request &request : all)
    request.ring.assign(L, -1);
  return AssertionSuccess();
}

Status Batch::launch(Kernel &kernel) {
  std::vector<uint64_t> args;
  std::map<std::string, std::vector<uint8_t>> bytes;
  for (auto &[name, column] : columns) {
    for (int32_t value : column.host)
      bytes[name].insert(bytes[name].end(), reinterpret_cast<uint8_t *>(&value),
                         reinterpret_cast<uint8_t *>(&value) + column.width);
    RSSM_RETURN_IF_ERROR(column.device.copyIn(bytes[name].data(), bytes[name].size()));
  }
  for (const KernelArg &arg : kernel.manifest().args) {
    if (!columns.count(arg.name))
      return Status(StatusCode::Unsupported, "unknown argument '" + arg.name + "'");
    args.push_back(columns[arg.name].device.address());
  }
  RSSM_RETURN_IF_ERROR(kernel.launch(args, rows));
  for (auto &[name, column] : columns) {
    RSSM_RETURN_IF_ERROR(column.device.copyOut(bytes[name].data(), bytes[name].size()));
    for (size_t i = 0; i < column.host.size(); ++i)
      column.host[i] = column.width == 1 ? bytes[name][i]
                                         : reinterpret_cast<const int32_t *>(bytes[name].data())[i];
  }
  return Status::ok();
}

/// The first `count` records of a request's ring.
Tokens Batch::history(int64_t request, int64_t count) {
  Tokens tokens;
  for (int64_t j = 0; j < count; ++j)
    tokens.push_back(all[request].ring.at(position(request, j)));
  return tokens;
}

//===----------------------------------------------------------------------===//
// One forward
//===----------------------------------------------------------------------===//

/// Requests, windows and what is accepted of them.
void Batch::fillRows() {
  std::vector<int32_t> order(requests);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  at("query_start_loc", 0) = int32_t(below(2));
  for (int64_t i = 0; i < rows; ++i) {
    Row &row = batch[i];
    row.live = !chance(0.15);
    row.request = order[i];
    at("state_idx", i) = row.live ? order[i] : -1 - int32_t(below(3));
    at("ring_idx", i) = row.live ? order[i] : INT32_MAX;
    int64_t given = chance(0.15) ? 0 : chance(0.4) ? T : chance(0.1) ? T + below(3) : below(T);
    row.length = std::min(given, T);
    row.firstToken = next;
    next += given;
    at("query_start_loc", i + 1) = at("query_start_loc", i) + int32_t(given);
    at("accept_len", i) = int32_t(chance(0.2)   ? 0
                                  : chance(0.3) ? T
                                  : chance(0.1) ? INT32_MAX
                                  : chance(0.1) ? INT32_MIN
                                                : below(T));
    at("force_flush", i) = chance(0.1) ? 1 + int32_t(below(254)) : 0;
    at("reset_mask", i) = chance(0.05) ? 1 + int32_t(below(254)) : 0;
    at("track_step", i) = int32_t(chance(0.5) ? -1 : chance(0.1) ? INT32_MAX : chance(0.1) ? INT32_MIN : below(T));
    at("fold_len", i) = at("track_pos", i) = 12345;
  }
}

/// A request that ends leaves its cursors behind, which the next one resets.
AssertionResult Batch::resetRows() {
  if (!reset)
    return AssertionSuccess();
  std::map<std::string, std::vector<int32_t>> expected;
  for (const char *name : {"wp", "base", "is_flush"})
    expected[name] = columns[name].host;
  for (int64_t i = 0; i < rows; ++i) {
    if (!batch[i].live || !at("reset_mask", i))
      continue;
    int64_t request = batch[i].request;
    stale += wp(request) > 0;
    all[request] = Request();
    all[request].ring.assign(L, -1);
    for (auto &[name, values] : expected)
      values[request] = 0;
  }
  if (Status status = launch(*reset); !status)
    return AssertionFailure() << status.str();
  for (auto &[name, values] : expected)
    if (values != columns[name].host)
      return AssertionFailure() << "reset: '" << name << "' differs from the model";
  return AssertionSuccess();
}

/// Folds where its ring says so, then writes the whole window, accepted or not.
AssertionResult Batch::verify(const Row &row) {
  Request &request = all[row.request];
  int64_t begin = wp(row.request);
  Tokens readable = history(row.request, begin);
  if (isVerify && at("is_flush", row.request)) {
    request.checkpoint.insert(request.checkpoint.end(), readable.begin(), readable.end());
    ++folds;
  }
  for (int64_t s = 0; s < row.length; ++s) {
    if (begin + s >= L)
      return AssertionFailure() << "token " << s << " of a window does not fit behind wp = " << begin;
    int64_t where = position(row.request, begin + s);
    wrapped += where != begin + s;
    request.ring.at(where) = row.firstToken + s;
  }
  if (readable != history(row.request, begin))
    return AssertionFailure() << "a window overwrites records that are read";
  return AssertionSuccess();
}

/// What the fold launch does with the numbers that the cursors left it.
AssertionResult Batch::fold(int64_t i) {
  if (isVerify)
    return AssertionSuccess();
  const Row &row = batch[i];
  int64_t length = at("fold_len", i), where = set.track ? at("track_pos", i) : -1;
  if (!row.live)
    return length == 0 && where == -1 ? AssertionSuccess()
                                      : AssertionFailure() << "null row: fold_len " << length << ", track_pos " << where;
  if (length < 0 || length > L || where < -1 || (where >= 0 && where >= length))
    return AssertionFailure() << "fold_len " << length << ", track_pos " << where;
  Request &request = all[row.request];
  int64_t n = std::clamp<int64_t>(at("accept_len", i), 0, row.length), step = at("track_step", i);
  if (set.track && (where >= 0) != (step >= 0 && step < n))
    return AssertionFailure() << "track_pos " << where << " for step " << step << " of " << n;
  auto with = [&](int64_t count) {
    Tokens tokens = request.checkpoint, added = history(row.request, count);
    tokens.insert(tokens.end(), added.begin(), added.end());
    return tokens;
  };
  if (where >= 0) {
    Tokens upTo(request.accepted.begin(), request.accepted.end() - n + step + 1);
    if (with(where + 1) != upTo)
      return AssertionFailure() << "the tracked state is not that behind token " << step;
    ++tracked;
  }
  request.checkpoint = with(length);
  folds += length > 0;
  if ((isEvery || where >= 0 || at("force_flush", i)) && wp(row.request) != 0)
    return AssertionFailure() << "folded, but wp is " << wp(row.request);
  return AssertionSuccess();
}

AssertionResult Batch::check(int64_t request) {
  int64_t count = wp(request);
  Tokens held = all[request].checkpoint, ring = history(request, count);
  held.insert(held.end(), ring.begin(), ring.end());
  if (held != all[request].accepted)
    return AssertionFailure() << "checkpoint of " << all[request].checkpoint.size() << " and ring of " << count
                              << " tokens differ from the model's " << all[request].accepted.size();
  bool folds = isVerify && at("is_flush", request);
  // The next window fits; where only the one after it folds, that one does too.
  if (count + (isVerify && !folds ? 2 * T : T) > L)
    return AssertionFailure() << "a window of " << T << " does not fit behind wp = " << count;
  return AssertionSuccess();
}

AssertionResult Batch::step() {
  fillRows();
  if (auto result = resetRows(); !result)
    return result;
  for (const Row &row : batch)
    if (AssertionResult result = row.live ? verify(row) : AssertionSuccess(); !result)
      return result << " (request " << row.request << ")";
  std::map<std::string, std::vector<int32_t>> before;
  for (const char *name : {"wp", "base", "is_flush"})
    before[name] = columns[name].host;
  if (Status status = launch(*cursors); !status)
    return AssertionFailure() << status.str();
  for (int64_t i = 0; i < rows; ++i) {
    const Row &row = batch[i];
    if (row.live) {
      int64_t n = std::clamp<int64_t>(at("accept_len", i), 0, row.length);
      for (int64_t s = 0; s < n; ++s)
        all[row.request].accepted.push_back(row.firstToken + s);
    }
    AssertionResult result = fold(i);
    if (result && row.live)
      result = check(row.request);
    if (result && row.live && isVerify && at("force_flush", i) && !at("is_flush", row.request))
      result = AssertionFailure() << "forced, but not flushed by the next window";
    if (!result)
      return result << " (row " << i << ", request " << row.request << ")";
    for (auto &[name, values] : before)
      if (row.live && !isEvery)
        values[row.request] = at(name.c_str(), row.request);
  }
  for (auto &[name, values] : before)
    if (values != columns[name].host)
      return AssertionFailure() << "'" << name << "' of a request without a row moved";
  return AssertionSuccess();
}

class Cursors : public testing::TestWithParam<Set> {};

TEST_P(Cursors, HoldWhatWasAccepted) {
  uint64_t seed = 1;
  int64_t folds = 0, stale = 0, tracked = 0, wrapped = 0;
  bool isVerify = !std::strcmp(GetParam().flushAt, "verify");
  for (int64_t L : {8, 9, 16, 31, 32, 64})
    for (int64_t T : {1, 2, 3, 4, 7, 8, 15, 16}) {
      if (T * (isVerify ? 2 : 1) > L)
        continue;
      SCOPED_TRACE("L = " + std::to_string(L) + ", T_max = " + std::to_string(T));
      Batch batch(GetParam(), L, T, seed++);
      ASSERT_TRUE(batch.build());
      for (int64_t i = 0; i < 250; ++i)
        ASSERT_TRUE(batch.step()) << "step " << i;
      EXPECT_GT(batch.folds, 20);
      folds += batch.folds;
      stale += batch.stale;
      tracked += batch.tracked;
      wrapped += batch.wrapped;
    }
  EXPECT_GT(folds, 4000);
  if (std::strcmp(GetParam().flushAt, "every_commit"))
    EXPECT_GT(stale, 100);
  if (GetParam().track)
    EXPECT_GT(tracked, 1000);
  if (isVerify)
    EXPECT_GT(wrapped, 1000);
}

INSTANTIATE_TEST_SUITE_P(Sets, Cursors,
                         testing::Values(Set{"commit", false}, Set{"commit", true}, Set{"verify", false},
                                         Set{"every_commit", false}, Set{"every_commit", true}),
                         [](const testing::TestParamInfo<Set> &info) {
                           return std::string(info.param.flushAt) + (info.param.track ? "_track" : "");
                         });

} // namespace
