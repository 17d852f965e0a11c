//===- Check.cpp - Kernels against the fp64 oracle ------------------------===//
//
// Each launch is checked on its own: the oracle starts from the buffers that
// the kernel itself stored before it. For f32 states a second, independent
// trajectory in fp64 runs along. Bytes that a launch may not touch are compared
// with what they held.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Case.h"
#include "tools/replayssm-run/Check.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

using namespace replayssm;
using namespace replayssm::run;

namespace {

double norm(const std::vector<double> &x) {
  double sum = 0;
  for (double value : x)
    sum += value * value;
  return std::sqrt(sum);
}

template <typename F> void parallelFor(int64_t n, unsigned threads, F body) {
  if (threads <= 1 || n < 8) {
    for (int64_t i = 0; i < n; ++i)
      body(i);
    return;
  }
  std::atomic<int64_t> next{0};
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      for (int64_t i; (i = next++) < n;)
        body(i);
    });
  for (std::thread &thread : pool)
    thread.join();
}

uint64_t hashBytes(uint64_t hash, const void *data, size_t size) {
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

class Checker {
public:
  Checker(Device &device, Kernel &kernel, Kernel *cursors, const KernelSpec &spec,
          const CheckOptions &options)
      : device(device), kernel(kernel), cursors(cursors), spec(spec), options(options) {
    threads = std::max(1u, std::thread::hardware_concurrency());
    growth = std::sqrt(std::max(1.0, spec.L / 16.0));
    usesRing = spec.phase == Phase::Replay && spec.L > 1;
  }

  Result<CheckReport> run();

private:
  Status step(int64_t index);
  Status compare();
  void compareHead(int64_t row, int64_t hv);
  void compareUntouched();
  void compareNull(int64_t row);
  Status advanceCursors();

  void record(Metric &metric, double value, double bound, const std::string &where) {
    std::lock_guard<std::mutex> lock(mutex);
    metric.bound = std::max(metric.bound, bound);
    metric.count++;
    double ratio = bound > 0 ? value / bound : value;
    if (!(ratio <= metric.worstRatio)) { // NaN counts as worst.
      metric.worstRatio = std::isnan(ratio) ? INFINITY : ratio;
      metric.max = value;
      metric.where = where;
    }
    if (!(value <= bound))
      failLocked(metric.name + " at " + where + ": expected at most " + std::to_string(bound) +
                 " (scaled " + format(bound) + ") but got " + format(value));
  }
  static std::string format(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
  }
  void fail(const std::string &message) {
    std::lock_guard<std::mutex> lock(mutex);
    failLocked(message);
  }
  void failLocked(const std::string &message) {
    ++report.violations;
    if (report.firstViolations.size() < 8)
      report.firstViolations.push_back("step " + std::to_string(stepIndex) + ": " + message);
  }
  std::string place(int64_t row, int64_t hv) const {
    return "row " + std::to_string(row) + ", head " + std::to_string(hv);
  }

  Device &device;
  Kernel &kernel;
  Kernel *cursors;
  KernelSpec spec;
  CheckOptions options;
  unsigned threads;
  double growth;
  bool usesRing;

  std::optional<Case> c;          ///< Buffers after the launch.
  std::optional<Case> before;     ///< Host mirrors before it (no device buffers).
  std::vector<std::vector<double>> trajectory; ///< [row * HV + hv] fp64 state.
  std::vector<double> gateSum;    ///< Sum of |g| that no ring stored.
  struct Rms { double squares = 0; int64_t count = 0; };
  std::vector<Rms> deltaRms, stateRms;
  CheckReport report;
  std::mutex mutex;
  int64_t stepIndex = 0;
};

bool flushes(const KernelSpec &spec, const Case &c, int64_t row) {
  return spec.phase == Phase::Packed || spec.L == 1 || c.wp(row) >= spec.L - 1 || c.forced(row);
}

/// A copy of the host mirrors alone.
Case mirror(const Case &c) {
  Case copy;
  copy.spec = c.spec;
  copy.options = c.options;
  for (const auto &[name, array] : c.arrays) {
    Array &to = copy.arrays[name];
    to.dtype = array.dtype;
    to.width = array.width;
    to.slots = array.slots;
    to.inner = array.inner;
    to.stride = array.stride;
    to.host = array.host;
  }
  return copy;
}

Result<CheckReport> Checker::run() {
  report.out.name = "out";
  report.delta.name = "d";
  report.key.name = "k";
  report.gate.name = "g";
  report.state.name = "state";
  report.trajectory.name = "state trajectory";
  report.deltaRms.name = "d rms";
  report.stateRms.name = "state rms";
  CaseOptions caseOptions;
  caseOptions.rows = options.rows;
  caseOptions.seed = options.seed;
  caseOptions.nullRate = options.nullRate;
  caseOptions.flushRate = spec.phase == Phase::Packed ? 0 : options.flushRate;
  caseOptions.gates = options.gates;
  auto created = Case::create(device, spec, caseOptions);
  if (!created)
    return created.status();
  c.emplace(created.take());
  size_t heads = options.rows * spec.HV;
  deltaRms.resize(heads);
  stateRms.resize(heads);
  gateSum.assign(heads, 0);
  if (spec.state == DType::F32) {
    trajectory.resize(heads);
    for (int64_t row = 0; row < options.rows; ++row)
      if (c->live(row))
        for (int64_t hv = 0; hv < spec.HV; ++hv)
          trajectory[row * spec.HV + hv] = c->state(row, hv);
  }
  int64_t steps = options.steps ? options.steps : usesRing ? 2 * spec.L + 3 : 6;
  for (int64_t i = 0; i < steps; ++i)
    RSSM_RETURN_IF_ERROR(step(i));
  auto summarise = [&](std::vector<Rms> &all, Metric &metric, double bound) {
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].count >= 4)
        record(metric, std::sqrt(all[i].squares / all[i].count), bound,
               place(i / spec.HV, i % spec.HV));
  };
  summarise(deltaRms, report.deltaRms, 6e-7 * growth);
  if (spec.state == DType::F32 && spec.phase == Phase::Replay && spec.L > 1)
    summarise(stateRms, report.stateRms, 6e-7);
  report.steps = steps;
  if (auto resources = kernel.resources())
    report.resources = *resources;
  const Array &state = c->arrays["state"];
  report.digest = hashBytes(report.digest, state.host.data(), state.host.size());
  return std::move(report);
}

Status Checker::step(int64_t index) {
  stepIndex = index;
  RSSM_RETURN_IF_ERROR(c->nextToken());
  before.emplace(mirror(*c));
  auto args = c->args(kernel.manifest());
  if (!args)
    return args.status();
  auto start = std::chrono::steady_clock::now();
  RSSM_RETURN_IF_ERROR(kernel.launch(*args, uint32_t(options.rows)));
  RSSM_RETURN_IF_ERROR(device.synchronize());
  report.launchSeconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (auto &[name, array] : c->arrays)
    if (!array.host.empty())
      RSSM_RETURN_IF_ERROR(array.download());
  RSSM_RETURN_IF_ERROR(compare());
  const Array &out = c->arrays["out"];
  report.digest = hashBytes(report.digest, out.host.data(), out.host.size());
  return usesRing || spec.phase == Phase::Replay ? advanceCursors() : Status::ok();
}

Status Checker::compare() {
  parallelFor(options.rows * spec.HV, threads, [&](int64_t i) {
    if (c->live(i / spec.HV))
      compareHead(i / spec.HV, i % spec.HV);
  });
  for (int64_t row = 0; row < options.rows; ++row)
    if (!c->live(row))
      compareNull(row);
  compareUntouched();
  return Status::ok();
}

void Checker::compareHead(int64_t row, int64_t hv) {
  int64_t V = spec.V, K = spec.K, GK = spec.gateDim(), index = row * spec.HV + hv;
  int64_t h = hv / (spec.HV / spec.H);
  reference::Token token = before->token(row, hv);
  std::vector<double> state = before->state(row, hv);
  Case::OwnedRecords records = before->records(row, hv);
  reference::Step ref = reference::step(spec, state, records.view(), token);
  std::string where = place(row, hv);

  // Output.
  const Array &out = c->arrays.at("out");
  std::vector<double> o(V);
  for (int64_t v = 0; v < V; ++v)
    o[v] = toDouble(out.at(row, hv * V + v), spec.io);
  double vNorm = norm(token.v);
  // Where q is nearly orthogonal to the state, o is what is left of a
  // cancellation: as for f32, its size is then measured by scale * v.
  double size = std::max(norm(ref.o), spec.effectiveScale() * vNorm);
  double rms = size / std::sqrt(double(V));
  if (spec.io == DType::F32) {
    std::vector<double> diff(V);
    for (int64_t v = 0; v < V; ++v)
      diff[v] = o[v] - ref.o[v];
    record(report.out, norm(diff) / size, 2e-6 * growth, where);
  } else {
    double worst = 0;
    for (int64_t v = 0; v < V; ++v) {
      double excess = std::fabs(o[v] - ref.o[v]) / (ulp(spec.io, ref.o[v]) + 2e-6 * rms);
      worst = std::isnan(excess) ? INFINITY : std::max(worst, excess);
    }
    record(report.out, worst, 1.0, where);
  }

  bool flush = flushes(spec, *before, row);
  if (!flush) {
    // The appended record.
    int64_t wp = before->wp(row), ring = before->ringSlot(row), L = spec.L;
    std::vector<double> diff(V), keyDiff(K);
    for (int64_t v = 0; v < V; ++v)
      diff[v] = toDouble(c->arrays.at("d_ring").at(ring, (hv * L + wp) * V + v), DType::F32) - ref.d[v];
    double deltaError = norm(diff) / vNorm;
    record(report.delta, deltaError, 2e-6 * growth, where);
    deltaRms[index].squares += deltaError * deltaError;
    deltaRms[index].count++;
    for (int64_t i = 0; i < K; ++i)
      keyDiff[i] = toDouble(c->arrays.at("k_ring").at(ring, (h * L + wp) * K + i), DType::F32) - ref.k[i];
    record(report.key, norm(keyDiff) / std::max(norm(ref.k), 1e-30), 6e-7, where);
    for (int64_t i = 0; i < GK; ++i) {
      double got = toDouble(c->arrays.at("g_ring").at(ring, (hv * L + wp) * GK + i), DType::F32);
      // A softplus below 2^-126 may flush to zero before exp(A_log) scales it.
      double smallest = std::exp(token.aLog) * 0x1p-125;
      double slack = std::fabs(ref.g[i]) < smallest ? smallest : 0;
      record(report.gate, std::max(0.0, std::fabs(got - ref.g[i]) - slack) / ulp(DType::F32, ref.g[i]),
             4.0, where);
      if (!trajectory.empty())
        ref.g[i] = got; // The trajectory runs on the stored gates.
    }
    if (!trajectory.empty()) {
      reference::Step exact = reference::step(spec, trajectory[index], {}, token);
      exact.g = ref.g;
      // d of the trajectory depends on its own gates: recompute with the stored ones.
      std::vector<double> &S = trajectory[index];
      double beta = 1.0 / (1.0 + std::exp(-token.b));
      for (int64_t v = 0; v < V; ++v) {
        double y = 0;
        for (int64_t i = 0; i < K; ++i)
          y += S[v * K + i] * std::exp(ref.g[GK > 1 ? i : 0]) * exact.k[i];
        exact.d[v] = beta * (token.v[v] - y);
      }
      reference::advance(spec, S, exact);
    }
    return;
  }

  // The stored state.
  std::vector<double> next = reference::materialise(spec, state, records.view());
  reference::advance(spec, next, ref);
  std::vector<double> got = c->state(row, hv);
  double largestGate = 0;
  for (double g : ref.g)
    largestGate = std::max(largestGate, std::min(std::fabs(g), 88.0));
  auto frobenius = [&](const std::vector<double> &expected) {
    double squares = 0;
    for (size_t i = 0; i < got.size(); ++i)
      squares += (got[i] - expected[i]) * (got[i] - expected[i]);
    return std::sqrt(squares) / std::max(norm(expected), 1e-30);
  };
  if (spec.state == DType::F32) {
    double error = frobenius(next);
    record(report.state, error, 2e-6 + 2.4e-7 * largestGate, where);
    // Without the share of the one gate that no ring stored.
    double stored = std::max(0.0, error - 2.4e-7 * largestGate);
    stateRms[index].squares += stored * stored;
    stateRms[index].count++;
    reference::Step exact = reference::step(spec, trajectory[index], {}, token);
    reference::advance(spec, trajectory[index], exact);
    gateSum[index] += largestGate;
    record(report.trajectory, frobenius(trajectory[index]), 2e-6 * growth + 2.4e-7 * gateSum[index], where);
  } else {
    double rmsState = norm(next) / std::sqrt(double(next.size())), worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      double excess = std::fabs(got[i] - next[i]) / (ulp(spec.state, next[i]) + 2e-6 * rmsState);
      worst = std::isnan(excess) ? INFINITY : std::max(worst, excess);
    }
    record(report.state, worst, 1.0, where);
  }
}

void Checker::compareNull(int64_t row) {
  const Array &out = c->arrays["out"];
  for (int64_t i = 0; i < out.inner * out.width; ++i)
    if (out.at(row)[i] != 0) {
      fail("null row " + std::to_string(row) + ": expected zero outputs but got byte " +
           std::to_string(out.at(row)[i]) + " at offset " + std::to_string(i));
      return;
    }
}

/// What the launch was allowed to write is copied over what was there before;
/// then every byte must agree.
void Checker::compareUntouched() {
  auto allow = [&](const char *name, int64_t slot, int64_t first, int64_t count) {
    Array &from = c->arrays[name], &to = before->arrays[name];
    std::memcpy(to.at(slot, first), from.at(slot, first), count * to.width);
  };
  for (int64_t row = 0; row < options.rows; ++row) {
    allow("out", row, 0, c->arrays["out"].inner);
    if (!c->live(row))
      continue;
    if (flushes(spec, *c, row)) {
      allow("state", c->stateSlot(row), 0, c->arrays["state"].inner);
      continue;
    }
    int64_t ring = c->ringSlot(row), wp = c->wp(row), L = spec.L;
    for (int64_t hv = 0; hv < spec.HV; ++hv) {
      allow("d_ring", ring, (hv * L + wp) * spec.V, spec.V);
      allow("g_ring", ring, (hv * L + wp) * spec.gateDim(), spec.gateDim());
    }
    for (int64_t h = 0; h < spec.H; ++h)
      allow("k_ring", ring, (h * L + wp) * spec.K, spec.K);
  }
  for (auto &[name, array] : c->arrays) {
    const std::vector<uint8_t> &expected = before->arrays[name].host;
    if (array.host == expected)
      continue;
    size_t at = std::mismatch(array.host.begin(), array.host.end(), expected.begin()).first -
                array.host.begin();
    int64_t element = at / array.width;
    fail("buffer '" + name + "': byte " + std::to_string(at) + " (slot " +
         std::to_string(element / array.stride) + ", element " +
         std::to_string(element % array.stride) + " of " + std::to_string(array.inner) +
         ") was written but is none of this launch's");
  }
}

Status Checker::advanceCursors() {
  if (!cursors)
    return Status::ok();
  std::vector<uint8_t> expected = c->arrays["wp"].host;
  std::vector<bool> flushed(options.rows);
  for (int64_t row = 0; row < options.rows; ++row) {
    if (!c->live(row))
      continue;
    flushed[row] = flushes(spec, *c, row);
    int32_t next = flushed[row] ? 0 : c->wp(row) + 1;
    std::memcpy(expected.data() + 4 * c->ringSlot(row), &next, 4);
  }
  auto args = c->args(cursors->manifest());
  if (!args)
    return args.status();
  RSSM_RETURN_IF_ERROR(cursors->launch(*args, uint32_t(options.rows)));
  RSSM_RETURN_IF_ERROR(device.synchronize());
  RSSM_RETURN_IF_ERROR(c->arrays["wp"].download());
  if (c->arrays["wp"].host != expected)
    fail("cursors: wp differs from the model");
  // Stale records of a flushed ring must not be read again.
  for (int64_t row = 0; row < options.rows; ++row)
    if (flushed[row] && usesRing)
      c->poisonRing(c->ringSlot(row));
  if (usesRing)
    for (const char *name : {"d_ring", "k_ring", "g_ring"})
      RSSM_RETURN_IF_ERROR(c->arrays[name].upload());
  return Status::ok();
}

} // namespace

Result<CheckReport> run::checkKernel(Device &device, Kernel &kernel, Kernel *cursors,
                                     const KernelSpec &spec, const CheckOptions &options) {
  Checker checker(device, kernel, cursors, spec, options);
  return checker.run();
}
