//===- CaseInputs.cpp - Random inputs of one token ------------------------===//
#include "tools/replayssm-run/Case.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace replayssm;
using namespace replayssm::run;

void Case::fillToken(int64_t token) {
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  Array &qkv = arrays["mixed_qkv"], &a = arrays["a"], &b = arrays["b"];
  // q and k of any magnitude: they are normalised. Bounds on d are relative
  // to v, so v keeps the size of the state's reads.
  double magnitude = std::exp(2.0 * normal(rng));
  if (uniform(rng) < 0.1) // Where eps decides the norm, and where nothing is left.
    magnitude = uniform(rng) < 0.2 ? 0 : std::sqrt(spec.eps / spec.K) * std::exp(normal(rng));
  for (int64_t i = 0; i < qkv.inner; ++i)
    fromDouble(qkv.at(token, i), spec.io,
               (i < 2 * spec.H * spec.K ? magnitude : 1.0) * normal(rng));
  for (int64_t i = 0; i < a.inner; ++i)
    fromDouble(a.at(token, i), a.dtype, gateInput(token, i));
  for (int64_t i = 0; i < b.inner; ++i)
    fromDouble(b.at(token, i), b.dtype, betaInput());
}

/// Where factors of g leave f32, alone or together, and where it is of ordinary size again.
double Case::extremeGateInput(int64_t element) {
  std::normal_distribution<double> normal(0, 1);
  double sign = rng() % 2 ? 1 : -1, largest = spec.io == DType::F16 ? 65504 : 3.3e38;
  if (spec.gate == Gate::Precomputed) {
    const double gates[] = {-INFINITY, -std::numeric_limits<float>::max(), -1e30, -1, -1e-45, -0.0, 0};
    return gates[rng() % std::size(gates)];
  }
  double aLog = toDouble(arrays["A_log"].at(0, element / spec.gateDim()), DType::F32);
  double bias = toDouble(arrays["dt_bias"].at(0, element), DType::F32);
  switch (rng() % 5) {
  case 0:
    return sign * INFINITY;
  case 1:
    return sign * largest;
  case 2:
    return std::clamp(-bias + normal(rng), -largest, largest);
  case 3: // A decay of some size.
    return std::clamp(spec.gate == Gate::Safe ? 4 * normal(rng) * std::exp(-aLog) - bias : 2 * normal(rng) - aLog - bias,
                      -largest, largest);
  default:
    return 50 * normal(rng);
  }
}

double Case::gateInput(int64_t token, int64_t element) {
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  if (options.gates == Gates::Extreme)
    return extremeGateInput(element);
  if (options.gates == Gates::Alternating) {
    bool forgets = token % 2 == 0;
    if (spec.gate != Gate::Precomputed)
      return forgets ? 60 : -8;
    return forgets ? -1000 : token % 4 == 1 ? -0.01 : -0.001;
  }
  // A few far-out gates: the linear and the vanishing end of softplus and sigmoid.
  bool isFar = uniform(rng) < 0.05;
  if (spec.gate != Gate::Precomputed)
    return isFar ? 30 * normal(rng) : 2 * normal(rng);
  double rate = options.gates == Gates::Strong ? 40 : options.gates == Gates::Mild ? 1e-3 : 0.5;
  if (isFar) // No decay, of either sign, and nothing left of the state.
    return uniform(rng) < 0.3 ? 0.0 : uniform(rng) < 0.5 ? -0.0 : -1000.0;
  return -rate * std::exp(normal(rng));
}

double Case::betaInput() {
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  if (spec.beta == Beta::Precomputed)
    return uniform(rng) < 0.1 ? 1.0 : uniform(rng) < 0.1 ? 0.0 : uniform(rng);
  for (;;) {
    double b = reference::roundTo(spec.io, 3 * normal(rng)), unrounded = 1 / (1 + std::exp(-b));
    // Where a few ulp of f32 decide the rounding there is no one right answer.
    if (spec.beta != Beta::SigmoidIO || spec.io == DType::F32 ||
        reference::roundTo(spec.io, unrounded * (1 - 0x1p-20)) ==
            reference::roundTo(spec.io, unrounded * (1 + 0x1p-20)))
      return b;
  }
}
