//===- Compare.cpp - What every check of a kernel is made of --------------===//
#include "tools/replayssm-run/Compare.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace replayssm;
using namespace replayssm::run;

double run::norm(const std::vector<double> &x) {
  double sum = 0;
  for (double value : x)
    sum += value * value;
  return std::sqrt(sum);
}

uint64_t run::hashBytes(uint64_t hash, const void *data, size_t size) {
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

double run::relativeError(const std::vector<double> &got, const std::vector<double> &expected) {
  double squares = 0;
  for (size_t i = 0; i < got.size(); ++i)
    squares += (got[i] - expected[i]) * (got[i] - expected[i]);
  return std::sqrt(squares) / std::max(norm(expected), 1e-30);
}

CaseOptions run::caseOptions(const KernelSpec &spec, const CheckOptions &options) {
  CaseOptions result;
  result.rows = options.rows;
  result.seed = options.seed;
  result.nullRate = options.nullRate;
  result.flushRate = spec.phase == Phase::Packed ? 0 : options.flushRate;
  result.gates = options.gates;
  return result;
}

std::string run::place(int64_t row, int64_t hv) {
  return "row " + std::to_string(row) + ", head " + std::to_string(hv);
}

Case run::mirror(const Case &c) {
  Case copy;
  copy.spec = c.spec;
  copy.options = c.options;
  for (const auto &[name, array] : c.arrays) {
    Array &to = copy.arrays[name];
    static_cast<Layout &>(to) = array;
    to.host = array.host;
  }
  copy.select(c.layer());
  return copy;
}

void run::allow(const Case &from, Case &to, const char *name, int64_t slot, int64_t first,
                int64_t count) {
  const Array &source = from.arrays.at(name);
  std::memcpy(to.arrays.at(name).at(slot, first), source.at(slot, first), count * source.width);
}

void run::allowRecord(const Case &from, Case &to, int64_t ringSlot, int64_t position) {
  for (const Case::Field &field : from.fields())
    for (int64_t head = 0; head < field.heads; ++head)
      allow(from, to, field.name, ringSlot, (head * from.spec.L + position) * field.width, field.width);
}

void run::moveRecord(Case &c, int64_t ringSlot, int64_t from, int64_t to) {
  for (const Case::Field &field : c.fields()) {
    Array &array = c.arrays.at(field.name);
    int64_t n = field.width;
    for (int64_t head = 0; head < field.heads; ++head) {
      int64_t first = head * c.spec.L * n;
      std::memmove(array.at(ringSlot, first + to * n), array.at(ringSlot, first + from * n), n * array.width);
    }
  }
}

//===----------------------------------------------------------------------===//
// Recorder
//===----------------------------------------------------------------------===//

static std::string format(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

Recorder::Recorder(const KernelSpec &spec)
    : growth(std::sqrt(std::max(1.0, spec.L / 16.0))), spec(spec) {
  report.out.name = "out";
  report.delta.name = "d";
  report.key.name = "k";
  report.gate.name = "g";
  report.farGate.name = "exp(g)";
  report.beta.name = "beta";
  report.state.name = "state";
  report.trajectory.name = "state trajectory";
  report.deltaRms.name = "d rms";
  report.stateRms.name = "state rms";
}

void Recorder::record(Metric &metric, double value, double bound, const std::string &of) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string where = layer + of;
  metric.bound = std::max(metric.bound, bound);
  metric.count++;
  double ratio = bound > 0 ? value / bound : value;
  if (!(ratio <= metric.worstRatio)) { // NaN counts as worst.
    metric.worstRatio = std::isnan(ratio) ? INFINITY : ratio;
    metric.max = value;
    metric.where = where;
  }
  if (!(value <= bound))
    failLocked(metric.name + " at " + where + ": expected at most " + format(bound) + " but got " +
               format(value));
}

void Recorder::fail(const std::string &message) {
  std::lock_guard<std::mutex> lock(mutex);
  failLocked(layer + message);
}

void Recorder::failLocked(const std::string &message) {
  ++report.violations;
  if (report.firstViolations.size() < 8)
    report.firstViolations.push_back("step " + std::to_string(stepIndex) + ": " + message);
}

void Recorder::summarise(const std::vector<Rms> &all, Metric &metric, double bound) {
  int64_t ofLayer = int64_t(all.size()) / layerCount(spec);
  for (int64_t i = 0; i < int64_t(all.size()); ++i) {
    if (all[i].count < 4)
      continue;
    select(i / ofLayer);
    record(metric, std::sqrt(all[i].squares / all[i].count), bound,
           place(i % ofLayer / spec.HV, i % spec.HV));
  }
  select(-1);
}

void Recorder::takeResources(const Device &device, const Kernel &kernel) {
  auto resources = kernel.resources();
  report.hasRegisters = resources && !device.isHost();
  if (resources)
    report.resources = *resources;
}

void Recorder::select(int64_t index) {
  layer = index >= 0 && layerCount(spec) > 1 ? "layer " + std::to_string(index) + ", " : "";
}

void Recorder::compareOutput(const Array &out, int64_t token, int64_t hv,
                             const std::vector<double> &expected, double vNorm,
                             const std::string &where) {
  int64_t V = spec.V;
  // Where q is nearly orthogonal to the state, o is what is left of a
  // cancellation: as for f32, its size is then measured by scale * v.
  double size = std::max(norm(expected), spec.effectiveScale() * vNorm);
  double rms = size / std::sqrt(double(V));
  if (spec.io == DType::F32) {
    std::vector<double> diff(V);
    for (int64_t v = 0; v < V; ++v)
      diff[v] = toDouble(out.at(token, hv * V + v), spec.io) - expected[v];
    record(report.out, norm(diff) / size, 2e-6 * growth, where);
    return;
  }
  double worst = 0;
  for (int64_t v = 0; v < V; ++v) {
    double got = toDouble(out.at(token, hv * V + v), spec.io);
    double excess = std::fabs(got - expected[v]) / (ulp(spec.io, expected[v]) + 2e-6 * rms);
    worst = std::isnan(excess) ? INFINITY : std::max(worst, excess);
  }
  record(report.out, worst, 1.0, where);
}

/// Whether the contract bounds exp(g) there and not g.
static bool isFar(const reference::Token &token, int64_t channel) {
  double sum = token.a[channel] + token.dtBias[channel];
  return !(std::fabs(token.aLog) <= 80 && std::fabs(sum) <= std::numeric_limits<float>::max());
}

/// A softplus or sigmoid below 2^-126 may flush to zero before it is scaled: gates that are smaller than this.
static double vanishingGate(const KernelSpec &spec, const reference::Token &token) {
  return (spec.gate == Gate::Safe ? -spec.lowerBound : std::exp(token.aLog)) * 0x1p-125;
}

double Recorder::gateSlack(const reference::Token &token, const std::vector<double> &gates) const {
  double largest = 0;
  for (size_t channel = 0; channel < gates.size(); ++channel) {
    double g = std::min(std::fabs(gates[channel]), 88.0), slack = 2.4e-7 * g;
    if (spec.gate != Gate::Precomputed)
      slack += isFar(token, channel) ? 1e-6 : std::fabs(gates[channel]) < vanishingGate(spec, token) ? g : 0;
    largest = std::max(largest, slack);
  }
  return largest;
}

void Recorder::compareGate(double got, double expected, const reference::Token &token, int64_t channel,
                           const std::string &where) {
  // NaN goes first everywhere.
  if (spec.gate == Gate::Precomputed)
    return record(report.gate, got == expected ? 0 : std::fabs(got - expected) / ulp(DType::F32, expected), 0, where);
  if (!(got <= 0))
    return record(report.gate, INFINITY, 4, where);
  if (isFar(token, channel))
    return record(report.farGate, std::fabs(std::exp(got) - std::exp(expected)), 1e-6, where);
  // What f32 cannot hold is infinite.
  if (expected < -std::numeric_limits<float>::max())
    expected = -INFINITY;
  if (got == expected)
    return record(report.gate, 0, 4, where);
  double smallest = vanishingGate(spec, token);
  double slack = std::fabs(expected) < smallest ? smallest : 0;
  record(report.gate, std::max(std::fabs(got - expected) - slack, 0.0) / ulp(DType::F32, expected), 4, where);
}

double Recorder::compareRecord(const Case &c, int64_t ringSlot, int64_t hv, int64_t position,
                               const reference::Step &expected, const reference::Token &token,
                               std::vector<double> &gates, const std::string &where) {
  int64_t V = spec.V, K = spec.K, GK = spec.gateDim(), L = spec.L, h = hv / (spec.HV / spec.H);
  auto stored = [&](const char *name, int64_t head, int64_t n, int64_t i) {
    return toDouble(c.arrays.at(name).at(ringSlot, (head * L + position) * n + i), DType::F32);
  };
  gates.resize(GK);
  for (int64_t i = 0; i < GK; ++i)
    compareGate(gates[i] = stored("g_ring", hv, GK, i), expected.g[i], token, i, where);
  if (!spec.storesDelta())
    return 0;
  std::vector<double> diff(V), keyDiff(K);
  for (int64_t v = 0; v < V; ++v)
    diff[v] = stored("d_ring", hv, V, v) - expected.d[v];
  // beta up to 2 reflects: the state, and with it d, may outgrow v.
  double size = norm(token.v);
  if (spec.betaFactor == 2)
    size = std::max(size, norm(expected.d) / 2);
  double error = norm(diff) / size;
  record(report.delta, error, 2e-6 * growth, where);
  for (int64_t i = 0; i < K; ++i)
    keyDiff[i] = stored("k_ring", h, K, i) - expected.k[i];
  record(report.key, norm(keyDiff) / std::max(norm(expected.k), 1e-30), 6e-7, where);
  return error;
}

void Recorder::compareRaw(const Case &c, int64_t ringSlot, int64_t hv, int64_t position,
                          const reference::Token &token, const std::string &where) {
  auto compare = [&](const char *name, int64_t head, const std::vector<double> &expected) {
    const Array &array = c.arrays.at(name);
    int64_t n = expected.size();
    for (int64_t i = 0; i < n; ++i)
      if (toDouble(array.at(ringSlot, (head * spec.L + position) * n + i), array.dtype) != expected[i])
        return fail(where + ": expected '" + name + "' to hold the input " + format(expected[i]) +
                    " at element " + std::to_string(i));
  };
  compare("raw_v_ring", hv, token.v);
  compare("raw_k_ring", hv / (spec.HV / spec.H), token.k);
  double expected = reference::beta(spec, token.b);
  double got = toDouble(c.arrays.at("beta_ring").at(ringSlot, hv * spec.L + position), DType::F32);
  // What is given, or was rounded to 16 bits, has no error of its own.
  bool isExact = spec.beta == Beta::Precomputed || (spec.beta == Beta::SigmoidIO && spec.io != DType::F32);
  record(report.beta, std::fabs(got - expected) / ulp(DType::F32, expected), isExact ? 0.0 : 4.0, where);
}

double Recorder::compareState(const std::vector<double> &got, const std::vector<double> &expected,
                              double slack, const std::string &where) {
  if (spec.state == DType::F32) {
    double error = relativeError(got, expected);
    record(report.state, error, 2e-6 + slack, where);
    return error;
  }
  double rms = norm(expected) / std::sqrt(double(expected.size())), worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    // Below 2^-126 a state may flush to zero.
    double error = std::fabs(got[i] - expected[i]);
    double excess = (error <= 0x1p-126 ? 0 : error) / (ulp(spec.state, expected[i]) + 2e-6 * rms);
    worst = std::isnan(excess) ? INFINITY : std::max(worst, excess);
  }
  record(report.state, worst, 1.0, where);
  return 0;
}

void Recorder::compareZero(const Array &array, int64_t slot, const std::string &where) {
  for (int64_t i = 0; i < array.inner * array.width; ++i)
    if (array.at(slot)[i] != 0) {
      fail(where + ": expected zero outputs but got byte " + std::to_string(array.at(slot)[i]) +
           " at offset " + std::to_string(i));
      return;
    }
}

void Recorder::compareBytes(const Case &c, const Case &expectedCase) {
  for (auto &[name, array] : c.arrays) {
    const std::vector<uint8_t> &expected = expectedCase.arrays.at(name).host;
    if (array.host == expected)
      continue;
    size_t at = std::mismatch(array.host.begin(), array.host.end(), expected.begin()).first -
                array.host.begin();
    int64_t element = at / array.width;
    std::string of;
    if (array.layers > 1) {
      int64_t block = element / array.layerStride;
      of = "layer " + std::to_string(array.isReversed ? array.layers - 1 - block : block) + ", ";
      element %= array.layerStride;
    }
    fail("buffer '" + name + "': byte " + std::to_string(at) + " (" + of + "slot " +
         std::to_string(element / array.stride) + ", element " +
         std::to_string(element % array.stride) + " of " + std::to_string(array.inner) +
         ") was written but is none of this launch's");
  }
}
