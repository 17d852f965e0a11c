//===- Bitwise.cpp - The same tokens, the same bits, by every kernel ------===//
//
// Packed decode token by token is the reference; replay with a ring of one record,
// the snapshot behind each token, input replay of the first m tokens and folds of
// m raw records, in one piece or in two, have to leave the same state. A 16-bit state
// is rounded by decode at every step, by the others where they store it.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Bitwise.h"

#include <cstring>
#include <numeric>

using namespace replayssm;
using namespace replayssm::run;

namespace {

using Bits = std::vector<uint8_t>;

class Comparison {
public:
  Comparison(Device &device, const KernelSpec &spec, const Options &options, int64_t rows, BitwiseReport &report)
      : device(device), spec(spec), options(options), rows(rows), n(spec.T), report(report) {}
  Status run();

private:
  Result<Kernel> jit(const KernelSpec &of);
  Result<Case> make(const KernelSpec &of);
  Status launch(Case &c, Kernel &kernel);
  void place(Case &c, const std::vector<int64_t> &tokens, bool oneEach);
  void compare(const Case &c, const char *buffer, int64_t slot, int64_t first, const Bits &expected,
               const std::string &what);
  void compareStates(const Case &c, int64_t tokens, const std::string &what);
  Bits bits(const Case &c, const char *buffer, int64_t slot, int64_t first, int64_t count) const;

  Status decode(KernelSpec of, bool isReference);
  Status snapshots();
  Status inputReplay();
  Status folds(FlushAt flushAt);
  Status foldGroup(Case &c, Kernel &verify, Kernel &fold, int64_t first, int64_t count);

  Device &device;
  KernelSpec spec; ///< phase = snapshots.
  const Options &options;
  int64_t rows, n;
  BitwiseReport &report;
  std::optional<Case> inputs; ///< Token r * n + t is token t of row r.
  std::vector<std::vector<Bits>> decoded, outputs; ///< [t][row], of packed decode.
  std::vector<std::vector<Bits>> folded;           ///< [m - 1][row], rounded once.
};

Result<Kernel> Comparison::jit(const KernelSpec &of) {
  return jitSpec(device, of, options.compileOptions(/*isTiled=*/true));
}

Result<Case> Comparison::make(const KernelSpec &of) {
  CaseOptions caseOptions;
  caseOptions.rows = rows;
  caseOptions.seed = options.seed;
  caseOptions.nullRate = options.nullRate;
  caseOptions.gates = options.gates;
  caseOptions.copies += 3 * n; // States and outputs behind every token are kept.
  return Case::create(device, of, caseOptions);
}

Status Comparison::launch(Case &c, Kernel &kernel) {
  RSSM_RETURN_IF_ERROR(c.upload());
  RSSM_RETURN_IF_ERROR(c.launch(device, kernel));
  return c.download();
}

/// Gives each row these tokens of its window: as the row itself, or as a window.
void Comparison::place(Case &c, const std::vector<int64_t> &tokens, bool oneEach) {
  int64_t count = tokens.size();
  for (const char *name : {"mixed_qkv", "a", "b"}) {
    const Array &from = inputs->arrays.at(name);
    Array &to = c.arrays.at(name);
    std::fill(to.host.begin(), to.host.end(), uint8_t(0xff));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(to.at(row * count + i), from.at(row * n + tokens[i]), from.inner * from.width);
  }
  for (int64_t row = 0; row <= rows && !oneEach; ++row)
    c.setInteger("query_start_loc", row, row * count);
}

Bits Comparison::bits(const Case &c, const char *buffer, int64_t slot, int64_t first, int64_t count) const {
  const Array &array = c.arrays.at(buffer);
  return Bits(array.at(slot, first), array.at(slot, first) + count * array.width);
}

void Comparison::compare(const Case &c, const char *buffer, int64_t slot, int64_t first, const Bits &expected,
                         const std::string &what) {
  Bits got = bits(c, buffer, slot, first, expected.size() / c.arrays.at(buffer).width);
  report.digest = hashBytes(report.digest, got.data(), got.size());
  report.compare(got.data(), expected.data(), got.size(), what + ", '" + buffer + "'");
}

/// The states of all rows are those behind the first `tokens`.
void Comparison::compareStates(const Case &c, int64_t tokens, const std::string &what) {
  for (int64_t row = 0; row < rows; ++row)
    if (c.live(row))
      compare(c, "state", c.stateSlot(row), 0, folded[tokens - 1][row],
              what + ", " + std::to_string(tokens) + " tokens, row " + std::to_string(row));
}

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

Status Comparison::decode(KernelSpec of, bool isReference) {
  auto kernel = jit(of);
  if (!kernel)
    return kernel.status();
  auto c = make(of);
  if (!c)
    return c.status();
  for (int64_t t = 0; t < n; ++t) {
    place(*c, {t}, /*oneEach=*/true);
    if (Array &force = c->arrays.at("force_flush"); !force.host.empty())
      std::fill(force.host.begin(), force.host.end(), uint8_t(0));
    RSSM_RETURN_IF_ERROR(launch(*c, *kernel));
    if (isReference) {
      decoded.emplace_back(rows);
      outputs.emplace_back(rows);
    }
    for (int64_t row = 0; row < rows; ++row) {
      if (!c->live(row))
        continue;
      if (isReference) {
        decoded[t][row] = bits(*c, "state", c->stateSlot(row), 0, c->arrays["state"].inner);
        outputs[t][row] = bits(*c, "out", row, 0, c->arrays["out"].inner);
      }
      std::string what = std::string(name(of.phase)) + ", token " + std::to_string(t) + ", row " + std::to_string(row);
      compare(*c, "state", c->stateSlot(row), 0, decoded[t][row], what);
      compare(*c, "out", row, 0, outputs[t][row], what);
    }
  }
  return Status::ok();
}

static std::vector<int64_t> tokensFrom(int64_t first, int64_t count) {
  std::vector<int64_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

Status Comparison::inputReplay() {
  KernelSpec of = spec;
  of.phase = Phase::InputReplay;
  auto kernel = jit(of);
  if (!kernel)
    return kernel.status();
  for (int64_t m = 1; m <= n; ++m) {
    auto c = make(of);
    if (!c)
      return c.status();
    place(*c, tokensFrom(0, n), /*oneEach=*/false);
    for (int64_t row = 0; row < rows; ++row)
      c->setInteger("accept_len", row, m);
    RSSM_RETURN_IF_ERROR(launch(*c, *kernel));
    folded.emplace_back(rows);
    for (int64_t row = 0; row < rows; ++row)
      if (c->live(row))
        folded[m - 1][row] = spec.state == DType::F32
                                 ? decoded[m - 1][row]
                                 : bits(*c, "state", c->stateSlot(row), 0, c->arrays["state"].inner);
    compareStates(*c, m, "input_replay");
  }
  return Status::ok();
}

Status Comparison::snapshots() {
  auto kernel = jit(spec);
  if (!kernel)
    return kernel.status();
  auto c = make(spec);
  if (!c)
    return c.status();
  place(*c, tokensFrom(0, n), /*oneEach=*/false);
  RSSM_RETURN_IF_ERROR(launch(*c, *kernel));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t t = 0; t < n && c->live(row); ++t) {
      std::string what = "snapshots, token " + std::to_string(t) + ", row " + std::to_string(row);
      compare(*c, "snapshots", c->ringSlot(row), t * c->arrays["state"].inner, folded[t][row], what);
      if (spec.state == DType::F32)
        compare(*c, "out", row * n + t, 0, outputs[t][row], what);
    }
  return Status::ok();
}

/// Verifies some tokens and folds their records.
Status Comparison::foldGroup(Case &c, Kernel &verify, Kernel &fold, int64_t first, int64_t count) {
  place(c, tokensFrom(first, count), /*oneEach=*/false);
  RSSM_RETURN_IF_ERROR(launch(c, verify));
  for (int64_t row = 0; row < rows; ++row)
    c.setInteger("fold_len", row, count);
  return launch(c, fold);
}

Status Comparison::folds(FlushAt flushAt) {
  KernelSpec of = spec;
  of.flushAt = flushAt;
  of.fold = Fold::Replay;
  of.L = std::max(of.L, of.Tmax);
  of.phase = Phase::Verify;
  auto verify = jit(of);
  if (!verify)
    return verify.status();
  KernelSpec ofFold = of;
  ofFold.phase = Phase::Fold;
  ofFold.T = ofFold.Tmax;
  auto fold = jit(ofFold);
  if (!fold)
    return fold.status();
  std::string what = std::string("fold by replay, flush_at=") + name(flushAt);
  for (int64_t m = 1; m <= n; ++m) {
    auto c = make(of);
    if (!c)
      return c.status();
    RSSM_RETURN_IF_ERROR(foldGroup(*c, *verify, *fold, 0, m));
    compareStates(*c, m, what);
    // Two folds round a 16-bit state twice.
    if (m == n || spec.state != DType::F32)
      continue;
    RSSM_RETURN_IF_ERROR(foldGroup(*c, *verify, *fold, m, n - m));
    compareStates(*c, n, what + " in two");
  }
  return Status::ok();
}

Status Comparison::run() {
  auto created = make(spec);
  if (!created)
    return created.status();
  inputs.emplace(created.take());
  for (int64_t token = 0; token < rows * n; ++token)
    inputs->fillToken(token);
  KernelSpec packed = spec;
  packed.phase = Phase::Packed;
  packed.T = packed.Tmax = 1;
  RSSM_RETURN_IF_ERROR(decode(packed, /*isReference=*/true));
  KernelSpec replay = packed;
  replay.phase = Phase::Replay;
  replay.L = 1;
  RSSM_RETURN_IF_ERROR(decode(replay, /*isReference=*/false));
  RSSM_RETURN_IF_ERROR(inputReplay());
  RSSM_RETURN_IF_ERROR(snapshots());
  RSSM_RETURN_IF_ERROR(folds(FlushAt::Commit));
  return folds(FlushAt::EveryCommit);
}

} // namespace

Status run::compareKernels(Device &device, const KernelSpec &spec, const Options &options, int64_t rows,
                           BitwiseReport &report) {
  return Comparison(device, spec, options, rows, report).run();
}
