//===- Verify.cpp - Verify, cursors and fold against the oracle -----------===//
//
// Each launch is checked on its own, from the buffers that the kernels stored
// before it: windows against the recurrence run token by token, cursors against
// their rule, folds against the records. For f32 states an fp64 trajectory of
// the accepted tokens runs along. What nobody may read holds NaN.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Verify.h"

#include <chrono>
#include <cmath>
#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

namespace {

class VerifyChecker {
public:
  VerifyChecker(Device &device, VerifyKernels &kernels, const KernelSpec &spec,
                const CheckOptions &options, Case created)
      : device(device), kernels(kernels), spec(spec), options(options), c(std::move(created)),
        windows(c), before(mirror(c)), rec(spec) {}

  Result<CheckReport> run();

private:
  void growRings(double rate);
  Status verify();
  void compareWindow(int64_t row, int64_t hv);
  Status compareOtherWindows();
  Status compareDecode();
  void compareKept(const Windows &then, const Case &result, const Windows &now,
                   const std::vector<std::vector<int64_t>> &kept, const std::vector<Case::Field> &fields,
                   const char *what);
  Status compact();
  Status advance();
  Status fold();
  void compareFold(int64_t row, int64_t hv);
  std::vector<double> folded(const Case &from, int64_t row, int64_t hv, std::vector<double> state,
                             int64_t first, int64_t end) const;

  Status launch(Kernel &kernel);
  Status upload();
  void restore(const Case &from);
  /// NaN in every record that is none: at `valid` of a row and behind.
  template <typename F> void poisonRings(F valid);
  int32_t &integer(const char *name, int64_t i) {
    return *reinterpret_cast<int32_t *>(c.arrays.at(name).at(0, i));
  }
  template <typename F> void forEachHead(F body) {
    parallelFor(options.rows * spec.HV, [&](int64_t i) {
      if (c.live(i / spec.HV))
        body(i / spec.HV, i % spec.HV);
    });
  }

  Device &device;
  VerifyKernels &kernels;
  KernelSpec spec;
  CheckOptions options;
  Case c;          ///< Buffers after the launch.
  Windows windows;
  Case before;     ///< Host mirrors before it (no device buffers).
  std::vector<std::vector<double>> trajectory;         ///< [row * HV + hv] fp64 state.
  std::vector<std::vector<std::vector<double>>> gates; ///< [row * HV + hv][token], as stored.
  std::vector<Rms> deltaRms, stateRms;
  Recorder rec;
};

Result<CheckReport> VerifyChecker::run() {
  size_t heads = options.rows * spec.HV;
  deltaRms.resize(heads);
  stateRms.resize(heads);
  gates.resize(heads);
  if (spec.state == DType::F32) {
    trajectory.resize(heads);
    forEachHead([&](int64_t row, int64_t hv) { trajectory[row * spec.HV + hv] = c.state(row, hv); });
  }
  // About four folds of every row.
  int64_t steps = options.steps ? options.steps : 4 * spec.L / (spec.T + 1) + 4;
  for (int64_t i = 0; i < steps; ++i) {
    rec.stepIndex = i;
    growRings(i == 0 ? 0.7 : 0.1);
    RSSM_RETURN_IF_ERROR(verify());
    rec.digest(c.arrays["out"]);
    RSSM_RETURN_IF_ERROR(compareOtherWindows());
    RSSM_RETURN_IF_ERROR(compareDecode());
    RSSM_RETURN_IF_ERROR(compact());
    RSSM_RETURN_IF_ERROR(advance());
    RSSM_RETURN_IF_ERROR(fold());
  }
  rec.summarise(deltaRms, rec.report.deltaRms, 6e-7 * rec.growth);
  if (spec.state == DType::F32)
    rec.summarise(stateRms, rec.report.stateRms, 6e-7);
  rec.report.steps = steps;
  if (auto resources = kernels.verify.resources())
    rec.report.resources = *resources;
  rec.digest(c.arrays["state"]);
  return std::move(rec.report);
}

/// Gives some rows records that no window wrote, some of them more than a commit
/// leaves behind: what a stale cursor would say.
void VerifyChecker::growRings(double rate) {
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row) || uniform(c.rng) >= rate)
      continue;
    bool isStale = uniform(c.rng) < 0.5;
    int64_t from = c.wp(row), fits = spec.L - spec.T;
    int64_t low = isStale ? std::max(from, fits + 1) : from, high = isStale ? spec.L : std::max(from, fits);
    int64_t to = std::uniform_int_distribution<int64_t>(low, high)(c.rng);
    growRing(c, row, to);
    for (int64_t hv = 0; hv < spec.HV && spec.state == DType::F32; ++hv) {
      std::vector<double> &state = trajectory[row * spec.HV + hv];
      state = folded(c, row, hv, std::move(state), from, to);
    }
  }
}

template <typename F> void VerifyChecker::poisonRings(F valid) {
  for (int64_t row = 0; row < options.rows; ++row)
    if (c.live(row))
      poisonRecords(c, c.ringSlot(row), valid(row));
}

Status VerifyChecker::upload() {
  for (auto &[name, array] : c.arrays)
    if (!array.host.empty())
      RSSM_RETURN_IF_ERROR(array.upload());
  return Status::ok();
}

void VerifyChecker::restore(const Case &from) {
  for (auto &[name, array] : c.arrays)
    array.host = from.arrays.at(name).host;
}

/// Uploads everything, launches, downloads everything.
Status VerifyChecker::launch(Kernel &kernel) {
  RSSM_RETURN_IF_ERROR(upload());
  before = mirror(c);
  auto args = c.args(kernel.manifest());
  if (!args)
    return args.status();
  auto start = std::chrono::steady_clock::now();
  RSSM_RETURN_IF_ERROR(kernel.launch(*args, uint32_t(options.rows)));
  RSSM_RETURN_IF_ERROR(device.synchronize());
  rec.report.launchSeconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (auto &[name, array] : c.arrays)
    if (!array.host.empty())
      RSSM_RETURN_IF_ERROR(array.download());
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

Status VerifyChecker::verify() {
  poisonRings([&](int64_t row) { return c.wp(row); });
  windows.fill();
  RSSM_RETURN_IF_ERROR(launch(kernels.verify));
  forEachHead([&](int64_t row, int64_t hv) { compareWindow(row, hv); });
  for (int64_t row = 0; row < options.rows; ++row)
    for (int64_t s = 0; s < windows.length(row); ++s) {
      int64_t token = windows.first(row) + s;
      if (!c.live(row))
        rec.compareZero(c.arrays["out"], token, "null row " + std::to_string(row));
      allow(c, before, "out", token, 0, c.arrays["out"].inner);
      if (c.live(row) && c.wp(row) + s < spec.L)
        allowRecord(c, before, c.ringSlot(row), c.wp(row) + s);
    }
  rec.compareBytes(c, before);
  return Status::ok();
}

void VerifyChecker::compareWindow(int64_t row, int64_t hv) {
  int64_t index = row * spec.HV + hv, wp = before.wp(row);
  std::vector<reference::Token> tokens = windows.tokens(row, hv, windows.all(row));
  std::vector<reference::Step> steps = reference::tree(
      spec, before.state(row, hv), before.records(row, hv, wp).view(), tokens, windows.parents(row));
  gates[index].assign(tokens.size(), {});
  for (size_t s = 0; s < tokens.size(); ++s) {
    std::string where = place(row, hv) + ", token " + std::to_string(s);
    rec.compareOutput(c.arrays.at("out"), windows.first(row) + s, hv, steps[s].o, norm(tokens[s].v),
                      where);
    if (wp + int64_t(s) < spec.L)
      deltaRms[index].add(rec.compareRecord(c, c.ringSlot(row), hv, wp + s, steps[s], tokens[s],
                                            gates[index][s], where));
    if (wp + int64_t(s) < spec.L && spec.storesRaw())
      rec.compareRaw(c, c.ringSlot(row), hv, wp + s, tokens[s], where);
  }
}

/// The tokens that both windows have kept have the same outputs and records.
void VerifyChecker::compareKept(const Windows &then, const Case &result, const Windows &now,
                                const std::vector<std::vector<int64_t>> &kept,
                                const std::vector<Case::Field> &fields, const char *what) {
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row))
      continue;
    for (int64_t s : kept[row]) {
      std::string where = "row " + std::to_string(row) + ", token " + std::to_string(s);
      const Array &a = c.arrays.at("out"), &b = result.arrays.at("out");
      if (std::memcmp(a.at(now.first(row) + s), b.at(then.first(row) + s), a.inner * a.width) != 0)
        rec.fail(where + ": expected the bits of its output to be those " + what);
      if (c.wp(row) + s >= spec.L)
        continue;
      for (const Case::Field &field : fields)
        for (int64_t head = 0; head < field.heads; ++head) {
          const Array &array = c.arrays.at(field.name);
          int64_t slot = c.ringSlot(row), at = (head * spec.L + c.wp(row) + s) * field.width;
          if (std::memcmp(array.at(slot, at), result.arrays.at(field.name).at(slot, at), field.width * array.width)) {
            rec.fail(where + ": expected the bits of '" + field.name + "' to be those " + what);
            break;
          }
        }
    }
  }
}

/// Runs other windows that share a path: what the other tokens hold, and how many
/// there are, makes no difference to it.
Status VerifyChecker::compareOtherWindows() {
  Case result = mirror(c);
  Windows then = windows;
  std::vector<std::vector<int64_t>> kept;
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < options.rows; ++row) {
    kept.push_back(windows.somePath(row));
    int64_t least = kept.back().empty() ? 0 : kept.back().back() + 1;
    lengths.push_back(std::uniform_int_distribution<int64_t>(least, spec.T)(c.rng));
  }
  poisonRings([&](int64_t row) { return c.wp(row); });
  windows.regrow(kept, lengths, /*firstToken=*/1);
  RSSM_RETURN_IF_ERROR(launch(kernels.verify));
  compareKept(then, result, windows, kept, c.fields(), "of the same token in another window");
  windows.assign(then);
  restore(result);
  return Status::ok();
}

/// A window of one token is a step of replay decode, where that does not flush.
Status VerifyChecker::compareDecode() {
  if (!kernels.decode)
    return Status::ok();
  Case result = mirror(c);
  Windows then = windows;
  std::vector<std::vector<int64_t>> kept(options.rows);
  std::vector<int64_t> ones(options.rows, 1);
  for (int64_t row = 0; row < options.rows; ++row)
    if (c.live(row) && c.wp(row) < spec.L - 1)
      kept[row] = windows.all(row);
  poisonRings([&](int64_t row) { return c.wp(row); });
  windows.regrow(kept, ones, /*firstToken=*/0);
  std::fill(c.arrays["force_flush"].host.begin(), c.arrays["force_flush"].host.end(), uint8_t(0));
  RSSM_RETURN_IF_ERROR(launch(*kernels.decode));
  std::vector<Case::Field> fields = c.fields();
  fields.resize(3); // Decode stores d, k and g alone.
  compareKept(then, result, windows, kept, fields, "of replay decode");
  windows.assign(then);
  restore(result);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Cursors and fold
//===----------------------------------------------------------------------===//

/// The accepted records of a tree come to stand one behind the other.
Status VerifyChecker::compact() {
  if (!kernels.compact)
    return Status::ok();
  RSSM_RETURN_IF_ERROR(launch(*kernels.compact));
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row))
      continue;
    int64_t wp = c.wp(row), to = wp;
    for (int64_t s : windows.path(row))
      moveRecord(before, c.ringSlot(row), wp + s, to++);
  }
  rec.compareBytes(c, before);
  return Status::ok();
}

Status VerifyChecker::advance() {
  for (int64_t row = 0; row < options.rows; ++row)
    integer("fold_len", row) = -7;
  RSSM_RETURN_IF_ERROR(launch(kernels.cursors));
  // What the rule says is what the buffers hold from here on.
  auto expect = [&](int64_t row, const char *name, int64_t index, int64_t value) {
    if (int64_t got = integer(name, index); got != value)
      rec.fail("row " + std::to_string(row) + ": expected '" + name + "' to be " +
               std::to_string(value) + " but got " + std::to_string(got));
    integer(name, index) = int32_t(value);
    allow(c, before, name, 0, index, 1);
  };
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row)) {
      expect(row, "fold_len", row, 0);
      continue;
    }
    int64_t total = before.wp(row) + windows.accepted(row);
    bool folds = total + spec.T > spec.L || before.forced(row);
    expect(row, "fold_len", row, folds ? total : 0);
    expect(row, "wp", c.ringSlot(row), folds ? 0 : total);
  }
  rec.compareBytes(c, before);
  if (spec.state == DType::F32)
    forEachHead([&](int64_t row, int64_t hv) {
      int64_t index = row * spec.HV + hv;
      std::vector<int64_t> path = windows.path(row);
      std::vector<std::vector<double>> stored;
      for (int64_t s : path)
        stored.push_back(gates[index][s]);
      for (const reference::Step &step :
           reference::window(spec, trajectory[index], {}, windows.tokens(row, hv, path), &stored))
        reference::advance(spec, trajectory[index], step);
    });
  return Status::ok();
}

Status VerifyChecker::fold() {
  poisonRings([&](int64_t row) {
    return integer("fold_len", row) > 0 ? integer("fold_len", row) : c.wp(row);
  });
  RSSM_RETURN_IF_ERROR(launch(kernels.fold));
  forEachHead([&](int64_t row, int64_t hv) {
    if (integer("fold_len", row) > 0)
      compareFold(row, hv);
  });
  for (int64_t row = 0; row < options.rows; ++row)
    if (c.live(row) && integer("fold_len", row) > 0)
      allow(c, before, "state", c.stateSlot(row), 0, c.arrays["state"].inner);
  rec.compareBytes(c, before);
  return Status::ok();
}

/// `state` with the records first .. end-1 of `from`: applied, or the recurrence run
/// again from the inputs that they hold.
std::vector<double> VerifyChecker::folded(const Case &from, int64_t row, int64_t hv, std::vector<double> state,
                                          int64_t first, int64_t end) const {
  if (spec.fold == Fold::Records) {
    Case::OwnedRecords all = from.records(row, hv, end);
    return reference::materialise(spec, std::move(state),
                                  {all.d.data() + first * spec.V, all.k.data() + first * spec.K,
                                   all.g.data() + first * spec.gateDim(), end - first});
  }
  KernelSpec raw = from.rawSpec();
  for (int64_t j = first; j < end; ++j) {
    std::vector<double> stored;
    reference::Token token = from.rawToken(row, hv, j, stored);
    reference::advance(spec, state, reference::step(raw, state, {}, token, &stored));
  }
  return state;
}

void VerifyChecker::compareFold(int64_t row, int64_t hv) {
  int64_t index = row * spec.HV + hv;
  std::vector<double> got = c.state(row, hv);
  std::vector<double> expected =
      folded(before, row, hv, before.state(row, hv), 0, integer("fold_len", row));
  double error = rec.compareState(got, expected, 0, place(row, hv));
  if (spec.state != DType::F32)
    return;
  stateRms[index].add(error);
  rec.record(rec.report.trajectory, relativeError(got, trajectory[index]), 2e-6 * rec.growth,
             place(row, hv));
}

} // namespace

Result<CheckReport> run::checkVerify(Device &device, VerifyKernels &kernels, const KernelSpec &spec,
                                     const CheckOptions &options) {
  CaseOptions caseOptions;
  caseOptions.rows = options.rows;
  caseOptions.seed = options.seed;
  caseOptions.nullRate = options.nullRate;
  caseOptions.flushRate = options.flushRate;
  caseOptions.gates = options.gates;
  auto created = Case::create(device, spec, caseOptions);
  if (!created)
    return created.status();
  return VerifyChecker(device, kernels, spec, options, created.take()).run();
}
