//===- DriftTrace.cpp - The windows and tokens of a drift run -------------===//
#include "tools/replayssm-run/DriftTrace.h"

#include <cmath>

using namespace replayssm;
using namespace replayssm::run;

double run::driftLogA() { return std::log(1e-3); }
double run::driftBias(const DriftOptions &options) { return options.noDecay ? -150 : -2; }

static uint64_t seedOf(const DriftOptions &options, int64_t row, uint64_t what) {
  return (options.seed * 65536 + uint64_t(row)) * 0x9e3779b97f4a7c15ull + what;
}

/// Tokens that a row has to see at least.
static int64_t leastTokensOf(const KernelSpec &spec, int64_t cycles) { return cycles * std::min<int64_t>(spec.L, 16); }

double run::driftWindowBytes(const KernelSpec &spec, const DriftOptions &options) {
  // Of a step about half of its tokens are accepted; a list that grows is held twice.
  double steps = double(options.cycles) * double(leastTokensOf(spec, 1)) / double(spec.Tmax);
  return 4 * steps * double(options.rows) * sizeof(DriftWindow);
}

std::vector<DriftWindow> run::driftWindows(const KernelSpec &spec, const DriftOptions &options) {
  struct Row {
    std::mt19937_64 rng;
    int64_t wp = 0, tokens = 0, flushes = 0;
  };
  std::vector<Row> rows(options.rows);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].rng.seed(seedOf(options, i, 1));
  int64_t leastTokens = leastTokensOf(spec, options.cycles);
  auto isDone = [&] {
    for (const Row &row : rows)
      if (row.flushes < options.cycles || row.tokens < leastTokens)
        return false;
    return true;
  };
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<DriftWindow> windows;
  while (!isDone())
    for (Row &row : rows) {
      DriftWindow w;
      w.wp = row.wp;
      w.forced = uniform(row.rng) < options.flushRate;
      if (spec.phase == Phase::Replay) {
        w.folds = row.wp >= spec.L - 1 || w.forced ? row.wp + 1 : 0;
      } else {
        auto below = [&](int64_t n) { return std::uniform_int_distribution<int32_t>(0, int32_t(n))(row.rng); };
        w.length = uniform(row.rng) < 0.8 ? int32_t(spec.T) : below(spec.T);
        double kind = uniform(row.rng);
        w.accepted = kind < 0.1 ? 0 : kind < 0.5 ? w.length : below(w.length);
        int64_t total = row.wp + w.accepted;
        w.folds = total + spec.Tmax > spec.L || w.forced ? total : 0;
      }
      row.wp = w.folds ? 0 : row.wp + w.accepted;
      row.tokens += w.accepted;
      row.flushes += w.folds > 0;
      windows.push_back(w);
    }
  return windows;
}

DriftInputs::DriftInputs(const KernelSpec &spec, const DriftOptions &options, int64_t row) : spec(spec) {
  rng.seed(seedOf(options, row, 2));
  std::normal_distribution<double> normal(0, 1);
  for (int64_t i = 0; i < spec.H * spec.K; ++i)
    common.push_back(normal(rng));
}

void DriftInputs::next(uint8_t *qkv, uint8_t *a, uint8_t *b) {
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  int64_t keys = spec.H * spec.K, width = byteWidth(spec.io);
  for (int64_t i = 0; i < 2 * keys + spec.HV * spec.V; ++i) {
    double x = normal(rng);
    if (i < 2 * keys) // q and k: the shared direction and a third of noise
      x = common[i % keys] + 0.35 * x;
    fromDouble(qkv + i * width, spec.io, x);
  }
  for (int64_t i = 0; i < spec.HV * spec.gateDim(); ++i)
    fromDouble(a + i * width, spec.io, normal(rng));
  for (int64_t i = 0; i < spec.HV; ++i) // beta 0.95 .. 1
    fromDouble(b + i * width, spec.io, 3 + 12 * uniform(rng));
}
