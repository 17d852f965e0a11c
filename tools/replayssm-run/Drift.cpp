//===- Drift.cpp - Errors of a kernel over many flushes -------------------===//
//
// Keys are correlated and beta is near 1, so that errors of d are large; gates
// are near or at zero, so that nothing forgets them. The state of the kernel is
// its checkpoint with its ring, applied in fp64.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Drift.h"
#include "tools/replayssm-run/Compare.h"
#include "tools/replayssm-run/DriftModels.h"

#include <chrono>
#include <cmath>
#include <cstring>

using namespace replayssm;
using namespace replayssm::run;

void ErrorStat::add(double error) {
  squares += error * error;
  if (!(error <= max))
    max = std::isnan(error) ? INFINITY : error;
  ++count;
}
double ErrorStat::rms() const { return count ? std::sqrt(squares / double(count)) : 0; }

namespace {

/// One (row, value head).
struct Head {
  int64_t row, hv;
  std::vector<double> exact; ///< The fp64 recurrence.
  RecurrenceF32 recurrence;
  OpenLoop control;
  // One step from the kernel's own buffers, before the launch.
  reference::Token token;
  reference::Step ref, ring;
  bool flushes = false;
  int64_t position = 0;
};

class Drift {
public:
  Drift(Device &device, const KernelSpec &spec, const DriftOptions &options)
      : device(device), spec(spec), options(options) {}
  Result<DriftReport> run();

private:
  Status create();
  Status fillTokens();
  Status step();
  void before(Head &head);
  void after(const Head &head);
  void checkpoint(int64_t tokens);
  void judge();

  Device &device;
  KernelSpec spec;
  DriftOptions options;
  std::optional<Kernel> kernel, cursors;
  std::optional<Case> c;
  std::vector<uint64_t> kernelArgs, cursorArgs;
  std::vector<Head> heads;
  std::vector<double> common; ///< [rows, H, K]: the direction that keys share.
  DriftPoint current;
  DriftReport report;
};

Status Drift::create() {
  auto jit = [&](Phase phase, std::optional<Kernel> &into) {
    KernelSpec one = spec;
    one.phase = phase;
    auto loaded = jitSpec(device, one);
    if (loaded)
      into.emplace(loaded.take());
    return loaded.status();
  };
  RSSM_RETURN_IF_ERROR(jit(Phase::Replay, kernel));
  RSSM_RETURN_IF_ERROR(jit(Phase::Cursors, cursors));
  CaseOptions caseOptions;
  caseOptions.rows = options.rows;
  caseOptions.seed = options.seed;
  auto created = Case::create(device, spec, caseOptions);
  if (!created)
    return created.status();
  c.emplace(created.take());
  // exp(A_log) softplus(a + dt_bias) is about 1e-4; far below zero it is 0.
  for (int64_t hv = 0; hv < spec.HV; ++hv)
    fromDouble(c->arrays["A_log"].at(0, hv), DType::F32, std::log(1e-3));
  for (int64_t i = 0; i < spec.HV * spec.gateDim(); ++i)
    fromDouble(c->arrays["dt_bias"].at(0, i), DType::F32, options.noDecay ? -150 : -2);
  for (const char *name : {"A_log", "dt_bias"})
    RSSM_RETURN_IF_ERROR(c->arrays[name].upload());
  for (auto [from, into] : {std::pair(&kernel, &kernelArgs), std::pair(&cursors, &cursorArgs)}) {
    auto args = c->args((*from)->manifest());
    if (!args)
      return args.status();
    *into = args.take();
  }
  std::normal_distribution<double> normal(0, 1);
  for (int64_t i = 0; i < options.rows * spec.H * spec.K; ++i)
    common.push_back(normal(c->rng));
  for (int64_t row = 0; row < options.rows; ++row)
    for (int64_t hv = 0; hv < spec.HV; ++hv) {
      std::vector<double> state = c->state(row, hv);
      heads.push_back({row, hv, state, RecurrenceF32(spec, state), OpenLoop(spec, state), {}, {}, {}});
    }
  return Status::ok();
}

Status Drift::fillTokens() {
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  Array &qkv = c->arrays["mixed_qkv"], &a = c->arrays["a"], &b = c->arrays["b"];
  int64_t keys = spec.H * spec.K;
  for (int64_t row = 0; row < options.rows; ++row) {
    for (int64_t i = 0; i < qkv.inner; ++i) {
      double x = normal(c->rng);
      if (i < 2 * keys) // q and k: the shared direction and a third of noise
        x = common[row * keys + i % keys] + 0.35 * x;
      fromDouble(qkv.at(row, i), spec.io, x);
    }
    for (int64_t i = 0; i < a.inner; ++i)
      fromDouble(a.at(row, i), a.dtype, normal(c->rng));
    for (int64_t i = 0; i < b.inner; ++i) // beta 0.95 .. 1
      fromDouble(b.at(row, i), b.dtype, 3 + 12 * uniform(c->rng));
    *c->arrays["force_flush"].at(0, row) = uniform(c->rng) < options.flushRate;
  }
  for (const char *name : {"mixed_qkv", "a", "b", "force_flush"})
    RSSM_RETURN_IF_ERROR(c->arrays[name].upload());
  return Status::ok();
}

void Drift::before(Head &head) {
  head.token = c->token(head.row, head.hv);
  head.position = c->wp(head.row);
  head.flushes = head.position >= spec.L - 1 || c->forced(head.row);
  Case::OwnedRecords records = c->records(head.row, head.hv);
  std::vector<double> state = c->state(head.row, head.hv);
  head.ref = reference::step(spec, state, records.view(), head.token);
  head.ring = ringStepF32(spec, state, records.view(), head.token);

  reference::advance(spec, head.exact, reference::step(spec, head.exact, {}, head.token));
  head.recurrence.step(head.token);
  head.control.step(head.token);
}

void Drift::after(const Head &head) {
  int64_t V = spec.V;
  double vNorm = norm(head.token.v), oSize = std::max(norm(head.ref.o), spec.effectiveScale() * vNorm);
  auto distance = [](const std::vector<double> &x, const std::vector<double> &y) {
    double squares = 0;
    for (size_t i = 0; i < x.size(); ++i)
      squares += (x[i] - y[i]) * (x[i] - y[i]);
    return std::sqrt(squares);
  };
  std::vector<double> got(V);
  for (int64_t v = 0; v < V; ++v)
    got[v] = toDouble(c->arrays["out"].at(head.row, head.hv * V + v), spec.io);
  current.oKernel.add(distance(got, head.ref.o) / oSize);
  current.oRing.add(distance(head.ring.o, head.ref.o) / oSize);
  if (head.flushes)
    return;
  for (int64_t v = 0; v < V; ++v)
    got[v] = toDouble(c->arrays["d_ring"].at(c->ringSlot(head.row),
                                             (head.hv * spec.L + head.position) * V + v), DType::F32);
  current.dKernel.add(distance(got, head.ref.d) / vNorm);
  current.dRing.add(distance(head.ring.d, head.ref.d) / vNorm);
}

Status Drift::step() {
  RSSM_RETURN_IF_ERROR(fillTokens());
  parallelFor(int64_t(heads.size()), [&](int64_t i) { before(heads[i]); });
  RSSM_RETURN_IF_ERROR(kernel->launch(kernelArgs, uint32_t(options.rows)));
  bool anyFlush = false;
  for (const Head &head : heads)
    if (head.hv == 0 && head.flushes) {
      anyFlush = true;
      ++report.flushes;
      report.forced += c->forced(head.row) && head.position < spec.L - 1;
    }
  for (const char *name : {"out", "d_ring", "k_ring", "g_ring"})
    RSSM_RETURN_IF_ERROR(c->arrays[name].download());
  if (anyFlush)
    RSSM_RETURN_IF_ERROR(c->arrays["state"].download());
  for (const Head &head : heads)
    after(head);
  RSSM_RETURN_IF_ERROR(cursors->launch(cursorArgs, uint32_t(options.rows)));
  return c->arrays["wp"].download();
}

void Drift::checkpoint(int64_t tokens) {
  current.tokens = tokens;
  for (const Head &head : heads) {
    std::vector<double> state = reference::materialise(spec, c->state(head.row, head.hv),
                                                       c->records(head.row, head.hv).view());
    double kernelError = relativeError(state, head.exact);
    double recurrenceError = relativeError(head.recurrence.state(), head.exact);
    current.kernel.add(kernelError);
    current.recurrence.add(recurrenceError);
    current.control.add(relativeError(head.control.state(), head.exact));
    double ratio = kernelError / recurrenceError;
    current.worstRatio = std::isnan(ratio) ? INFINITY : std::max(current.worstRatio, ratio);
  }
  report.points.push_back(current);
  current = DriftPoint();
}

void Drift::judge() {
  auto fail = [&](const std::string &what, double bound, double got) {
    char text[256];
    std::snprintf(text, sizeof text, "%s: expected at most %.3g but got %.3g", what.c_str(), bound, got);
    report.violations.push_back(text);
  };
  // Written so that NaN fails.
  auto limit = [&](const std::string &what, double value, double bound) {
    if (!(value <= bound))
      fail(what, bound, value);
  };
  double early = 0, late = 0;
  size_t third = std::max<size_t>(1, report.points.size() / 3);
  for (size_t i = 0; i < report.points.size(); ++i) {
    const DriftPoint &point = report.points[i];
    std::string at = "token " + std::to_string(point.tokens) + ": ";
    limit(at + "state error over that of the f32 recurrence", point.worstRatio, driftStateBound);
    limit(at + "rms error of d over that of the f32 ring form", point.dKernel.rms() / point.dRing.rms(),
          driftDeltaBound);
    limit(at + "largest error of d over that of the f32 ring form", point.dKernel.max / point.dRing.max,
          driftDeltaBound);
    double ratio = point.kernel.rms() / point.recurrence.rms();
    early += i < third ? ratio / double(third) : 0;
    late += i + third >= report.points.size() ? ratio / double(third) : 0;
  }
  if (report.points.size() >= 6)
    limit("growth of the ratio of state errors, last third over first third", late / early, driftGrowthBound);
  // A test that the fault passes is none.
  const DriftPoint &last = report.points.back();
  if (!(last.control.rms() > driftStateBound * last.recurrence.rms()))
    report.violations.push_back("the open-loop control passes: this run could not see the fault");
}

Result<DriftReport> Drift::run() {
  auto start = std::chrono::steady_clock::now();
  RSSM_RETURN_IF_ERROR(create());
  int64_t total = options.cycles * spec.L;
  int64_t points = std::min(options.checkpoints, options.cycles), done = 0;
  for (int64_t token = 1; token <= total; ++token) {
    RSSM_RETURN_IF_ERROR(step());
    if (token % spec.L == 0)
      parallelFor(int64_t(heads.size()), [&](int64_t i) { heads[i].control.fold(); });
    if (token % spec.L == 0 && token * points / total > done) {
      checkpoint(token);
      done = token * points / total;
    }
  }
  judge();
  report.spec = print(spec);
  report.options = options;
  report.title = std::string(name(spec.rule)) + (options.noDecay ? ", alpha = 1" : ", alpha near 1");
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(report);
}

} // namespace

Result<DriftReport> run::runDriftCase(Device &device, const KernelSpec &spec, const DriftOptions &options) {
  return Drift(device, spec, options).run();
}
