//===- DriftCycle.cpp - One-step errors between two folds -----------------===//
#include "tools/replayssm-run/DriftCycle.h"
#include "tools/replayssm-run/Compare.h"

#include <cmath>
#include <optional>

using namespace replayssm;
using namespace replayssm::run;

void run::applyRecords(const KernelSpec &spec, Recurrence<double> &state, const RingRecords &records,
                       int64_t from, int64_t to) {
  auto row = [](const std::vector<float> &all, int64_t j, int64_t n) {
    return std::vector<double>(all.begin() + j * n, all.begin() + (j + 1) * n);
  };
  for (int64_t j = from; j < to; ++j) {
    std::vector<double> alpha = row(records.g, j, spec.gateDim());
    for (double &x : alpha)
      x = std::exp(x);
    state.advance(alpha, row(records.d, j, spec.V).data(), row(records.k, j, spec.K).data());
  }
}

template <typename X, typename Y> static double distance(const X *x, const Y *y, int64_t n) {
  double squares = 0;
  for (int64_t i = 0; i < n; ++i)
    squares += (double(x[i]) - double(y[i])) * (double(x[i]) - double(y[i]));
  return std::sqrt(squares);
}

void run::compareCycle(const KernelSpec &spec, DriftCycle &cycle) {
  int64_t V = spec.V;
  Recurrence<double> committed(spec, {cycle.checkpoint.begin(), cycle.checkpoint.end()});
  Recurrence<double> current = committed;
  std::optional<RingWindow> ring;
  int64_t applied = 0, position = 0;
  std::vector<double> d, o;
  for (size_t i = 0; i < cycle.tokens.size(); ++i) {
    const AcceptedToken &accepted = cycle.tokens[i];
    if (accepted.begins) {
      position = accepted.wp;
      applyRecords(spec, committed, cycle.records, applied, position);
      applied = position;
      current = committed;
      ring.emplace(spec, cycle.checkpoint, cycle.records, position);
    }
    ModelToken<double> token(spec, accepted.token, accepted.gates);
    current.read(token, d, &o);
    current.advance(token.alpha, d.data(), token.kn.data());
    ring->step(ModelToken<float>(spec, accepted.token, accepted.gates));
    if (accepted.isStored)
      ++position;
    if (i < cycle.compared)
      continue;
    double vNorm = norm(token.v), oSize = std::max(norm(o), spec.effectiveScale() * vNorm);
    cycle.oKernel.add(distance(o.data(), accepted.out.data(), V) / oSize);
    cycle.oRing.add(distance(o.data(), ring->o.data(), V) / oSize);
    if (!accepted.isStored)
      continue;
    cycle.dKernel.add(distance(d.data(), &cycle.records.d[(position - 1) * V], V) / vNorm);
    cycle.dRing.add(distance(d.data(), ring->d.data(), V) / vNorm);
  }
  cycle.compared = cycle.tokens.size();
}
