//===- Verify.cpp - Windows against the oracle ----------------------------===//
//
// Each launch is checked on its own, from the buffers that the kernels stored
// before it: windows against the recurrence run token by token, cursors against
// their rule, folds against the records. For f32 states an fp64 trajectory of
// the accepted tokens runs along. What nobody may read holds NaN.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/VerifyChecker.h"

#include <cmath>
#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

Result<CheckReport> VerifyChecker::run() {
  size_t heads = c.layers() * options.rows * spec.HV;
  deltaRms.resize(heads);
  stateRms.resize(heads);
  gates.resize(heads);
  if (spec.state == DType::F32) {
    trajectory.resize(heads);
    tracked.resize(heads);
    forEachLayer([&] {
      forEachHead([&](int64_t row, int64_t hv) { trajectory[headIndex(row, hv)] = c.state(row, hv); });
    });
  }
  // About four folds of every row.
  int64_t steps = options.steps ? options.steps : 4 * spec.L / (spec.T + 1) + 4;
  for (int64_t i = 0; i < steps; ++i) {
    rec.stepIndex = i;
    RSSM_RETURN_IF_ERROR(reset());
    growRings(i == 0 ? 0.7 : 0.1);
    RSSM_RETURN_IF_ERROR(window());
    RSSM_RETURN_IF_ERROR(compact());
    RSSM_RETURN_IF_ERROR(advance());
    if (kernels.fold)
      RSSM_RETURN_IF_ERROR(fold());
  }
  rec.summarise(deltaRms, rec.report.deltaRms, 6e-7 * rec.growth);
  if (spec.state == DType::F32)
    rec.summarise(stateRms, rec.report.stateRms, 6e-7);
  rec.report.steps = steps;
  rec.report.buffers = c.history;
  rec.takeResources(device, kernels.verify);
  rec.digest(c.arrays["state"]);
  return std::move(rec.report);
}

/// Gives some rows records that no window wrote, some of them more than a commit
/// leaves behind: what a stale cursor would say.
void VerifyChecker::growRings(double rate) {
  if (spec.flushAt == FlushAt::EveryCommit)
    return; // Nothing is kept.
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c.live(row) || uniform(c.rng) >= rate)
      continue;
    bool isStale = uniform(c.rng) < 0.5;
    int64_t from = c.wp(row), fits = spec.L - spec.Tmax;
    int64_t low = isStale ? std::max(from, fits + 1) : from, high = isStale ? spec.L : std::max(from, fits);
    int64_t to = std::uniform_int_distribution<int64_t>(low, high)(c.rng);
    growRing(c, row, to);
    forEachLayer([&] {
      for (int64_t hv = 0; hv < spec.HV && spec.state == DType::F32; ++hv) {
        std::vector<double> &state = trajectory[headIndex(row, hv)];
        state = folded(c, row, hv, std::move(state), c.positions(row, from, to));
      }
    });
  }
}

/// Uploads everything, launches, downloads everything.
Status VerifyChecker::launch(Kernel &kernel) {
  RSSM_RETURN_IF_ERROR(c.upload());
  before = mirror(c);
  RSSM_RETURN_IF_ERROR(c.launch(device, kernel, &rec.report.launchSeconds));
  return c.download();
}

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

/// The same windows in every layer, one launch for each.
Status VerifyChecker::window() {
  windows.fill();
  for (int64_t layer = 0; layer < c.layers(); ++layer) {
    select(layer);
    RSSM_RETURN_IF_ERROR(verify());
    rec.digest(c.arrays["out"]);
    RSSM_RETURN_IF_ERROR(compareOtherWindows());
    RSSM_RETURN_IF_ERROR(compareDecode());
  }
  selectNone();
  return Status::ok();
}

Status VerifyChecker::verify() {
  poisonRings([&](int64_t row) { return c.wp(row); });
  unfolded = c.arrays["state"].host;
  RSSM_RETURN_IF_ERROR(launch(kernels.verify));
  forEachHead([&](int64_t row, int64_t hv) {
    compareWindow(row, hv);
    // Whatever the window is, also none: the history alone is folded.
    if (c.flushing(row))
      compareFold(row, hv, c.targetSlot(row), before.positions(row, 0, c.wp(row)), trajectory);
  });
  for (int64_t row = 0; row < options.rows; ++row)
    allowWindow(row);
  rec.compareBytes(c, before);
  return Status::ok();
}

void VerifyChecker::allowWindow(int64_t row) {
  for (int64_t s = 0; s < windows.length(row); ++s) {
    int64_t token = windows.first(row) + s;
    if (!c.live(row))
      rec.compareZero(c.arrays["out"], token, "null row " + std::to_string(row));
    allow(c, before, "out", token, 0, c.arrays["out"].inner);
    if (c.live(row) && c.wp(row) + s < spec.L)
      allowRecord(c, before, c.ringSlot(row), c.position(row, c.wp(row) + s));
  }
  if (c.live(row) && c.flushing(row))
    allow(c, before, "state", c.targetSlot(row), 0, c.arrays["state"].inner);
}

void VerifyChecker::compareWindow(int64_t row, int64_t hv) {
  int64_t index = headIndex(row, hv), wp = before.wp(row);
  std::vector<reference::Token> tokens = windows.tokens(row, hv, windows.all(row));
  std::vector<reference::Step> steps = reference::tree(
      spec, before.state(row, hv), before.records(row, hv, wp).view(), tokens, windows.parents(row));
  gates[index].assign(tokens.size(), {});
  for (size_t s = 0; s < tokens.size(); ++s) {
    std::string where = place(row, hv) + ", token " + std::to_string(s);
    rec.compareOutput(c.arrays.at("out"), windows.first(row) + s, hv, steps[s].o, norm(tokens[s].v),
                      where);
    if (wp + int64_t(s) >= spec.L)
      continue;
    int64_t slot = c.ringSlot(row), position = c.position(row, wp + s);
    double error = rec.compareRecord(c, slot, hv, position, steps[s], tokens[s], gates[index][s], where);
    if (spec.storesDelta())
      deltaRms[index].add(error);
    if (spec.storesRaw())
      rec.compareRaw(c, slot, hv, position, tokens[s], where);
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
          int64_t slot = c.ringSlot(row), at = (head * spec.L + c.position(row, c.wp(row) + s)) * field.width;
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
  c.arrays["state"].host = unfolded;
  RSSM_RETURN_IF_ERROR(launch(kernels.verify));
  compareKept(then, result, windows, kept, c.fields(), "of the same token in another window");
  if (c.arrays["state"].host != result.arrays["state"].host)
    rec.fail("expected the bits of every folded state to be those beside another window");
  windows.assign(then);
  c.restore(result);
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
  for (int64_t row = 0; row < options.rows; ++row) {
    if (c.live(row) && c.wp(row) < spec.L - 1)
      kept[row] = windows.all(row);
    if (c.live(row))
      integer("wp", c.ringSlot(row)) = std::min<int32_t>(c.wp(row), spec.L - 1); // Decode knows no full ring.
  }
  poisonRings([&](int64_t row) { return c.wp(row); });
  windows.regrow(kept, ones, /*firstToken=*/0);
  std::fill(c.arrays["force_flush"].host.begin(), c.arrays["force_flush"].host.end(), uint8_t(0));
  RSSM_RETURN_IF_ERROR(launch(*kernels.decode));
  std::vector<Case::Field> fields = c.fields();
  fields.resize(3); // Decode stores d, k and g alone.
  compareKept(then, result, windows, kept, fields, "of replay decode");
  windows.assign(then);
  c.restore(result);
  return Status::ok();
}

Result<CheckReport> run::checkVerify(Device &device, VerifyKernels &kernels, const KernelSpec &spec,
                                     const CheckOptions &options) {
  auto created = Case::create(device, spec, caseOptions(spec, options));
  if (!created)
    return created.status();
  return VerifyChecker(device, kernels, spec, options, created.take()).run();
}
