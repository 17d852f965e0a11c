//===- KernelSpec.h - What one kernel computes ------------------*- C++ -*-===//
//
// The textual form is a comma-separated list of key=value, for example
//   rule=gdn,phase=replay,H=16,HV=32,K=128,V=128,L=16,gate=softplus,
//   beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0
// docs/spec.md lists every key, its values and its default. A spec is a value;
// the functions depend on nothing but their arguments and are thread-safe.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace replayssm {

enum class Rule { GDN, KDA };
enum class Phase { Packed, Replay, Cursors, Verify, Fold, Compact, InputReplay, Snapshots, Reset };
enum class FlushAt { Decode, Verify, Commit, EveryCommit };
enum class Fold { Records, Replay };
enum class Window { Chain, Tree };
enum class Layers { One, Stride, Table };
enum class DType { F32, BF16, F16 };
enum class NullRow { LT0, LE0 };
enum class Gate { Softplus, Safe, Precomputed };
enum class Dot { FMA, MMA };
enum class Beta { SigmoidF32, SigmoidIO, Precomputed };

RSSM_API const char *name(Rule);
RSSM_API const char *name(Phase);
RSSM_API const char *name(FlushAt);
RSSM_API const char *name(Fold);
RSSM_API const char *name(Window);
RSSM_API const char *name(Layers);
RSSM_API const char *name(DType);
RSSM_API const char *name(NullRow);
RSSM_API const char *name(Gate);
RSSM_API const char *name(Dot);
RSSM_API const char *name(Beta);

/// One kernel. Values that this version cannot compile are refused by the
/// parser with a diagnostic that lists what is supported, so a KernelSpec that
/// validates can be compiled.
struct KernelSpec {
  Rule rule = Rule::GDN;
  Phase phase = Phase::Replay;
  int64_t H = 0;   ///< query/key heads
  int64_t HV = 0;  ///< value heads, HV % H == 0
  int64_t K = 0;   ///< key dim, multiple of 8, 8..256
  int64_t V = 0;   ///< value dim, multiple of 8, 8..256
  int64_t L = 16;  ///< records of a ring, 1..64; unused where !hasRing(). Only the text has other defaults.
  int64_t T = 1;   ///< most tokens of a row in this kernel, 1..T_max
  int64_t Tmax = 1; ///< T_max: the most in any kernel of the set, 1..16
  /// Where a ring is folded. Decode: inside replay. The sets of a window of Tmax
  /// tokens: inside the next verify, or in a launch of its own behind the cursors,
  /// when the ring is full (Commit) or always (EveryCommit).
  FlushAt flushAt = FlushAt::Decode;
  Fold fold = Fold::Records;  ///< From the records, or by the recurrence from raw inputs.
  Window window = Window::Chain; ///< Tree: each token names its parent.
  Dot dot = Dot::FMA; ///< Of a kernel set: how verify, and decode of L > 1, sum what they read of state and ring.
  bool track = false; ///< cursors and fold: the state after one more token, to another slot.
  bool dst = false;   ///< What stores states: to slot dst_idx instead of state_idx.
  Layers layers = Layers::One; ///< fold, compact, input_replay: one launch for many layers.
  Gate gate = Gate::Softplus;
  double lowerBound = 0;      ///< of Gate::Safe, < 0; else 0
  Beta beta = Beta::SigmoidF32;
  int64_t betaFactor = 1;     ///< 1 or 2
  DType io = DType::BF16;     ///< q, k, v, a, b, out
  DType state = DType::F32;   ///< checkpoint
  NullRow null = NullRow::LT0;
  double eps = 1e-6;          ///< of the q/k norm
  double scale = 0;           ///< of q; 0 = K^-0.5

  RSSM_API double effectiveScale() const;
  /// Windows, rings of a set, and where they are folded.
  bool isWindowSet() const { return flushAt != FlushAt::Decode; }
  bool hasRing() const {
    return phase != Phase::Packed && phase != Phase::InputReplay && phase != Phase::Snapshots;
  }
  /// Whether this kernel sums as `dot` says. Decode of one record is packed decode, bit for bit.
  bool takesDot() const { return phase == Phase::Verify || (phase == Phase::Replay && L > 1); }
  bool isCircular() const { return flushAt == FlushAt::Verify; }
  /// Which fields a ring record has: d, k, g; and raw_v, raw_k, g, beta.
  bool storesDelta() const { return !(flushAt == FlushAt::EveryCommit && fold == Fold::Replay); }
  bool storesRaw() const { return fold == Fold::Replay; }
  int64_t gateDim() const {
    switch (rule) {
    case Rule::GDN:
      return 1;
    case Rule::KDA:
      return K;
    }
    return 0; // no rule at all: validate() refuses it
  }
  /// What is precomputed comes in f32.
  DType aType() const { return gate == Gate::Precomputed ? DType::F32 : io; }
  DType bType() const { return beta == Beta::Precomputed ? DType::F32 : io; }
  bool operator==(const KernelSpec &) const = default;
};

/// Parses and validates. Missing keys without a default, unknown keys and
/// values outside their range are InvalidArgument; values of docs/spec.md that
/// this version cannot compile are Unsupported.
RSSM_API Result<KernelSpec> parseKernelSpec(std::string_view text);
RSSM_API Status validate(const KernelSpec &spec);
/// Canonical text: every key that applies, in the order of docs/spec.md; parses back equal.
RSSM_API std::string print(const KernelSpec &spec);

} // namespace replayssm
