//===- SpecTest.cpp - Specs that a program has put together ---------------===//
#include "replayssm/KernelSpec.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace replayssm;

static KernelSpec verifySpec() {
  auto spec = parseKernelSpec("rule=gdn,phase=verify,H=1,HV=2,K=16,V=8,L=8,T_max=2,gate=softplus,beta=sigmoid_f32,"
                              "qk_norm=l2_rsqrt,null=lt0,flush_at=verify,fold=records");
  EXPECT_TRUE(spec) << spec.status().str();
  return *spec;
}

static std::string errorOf(const KernelSpec &spec) {
  Status status = validate(spec);
  return status ? "" : status.str();
}

/// No text can hold such a value; each is refused before a name is looked up for it.
template <typename E>
static void expectRange(const char *key, E KernelSpec::*field, E last) {
  for (int value : {-1, static_cast<int>(last) + 1, 77}) {
    KernelSpec spec = verifySpec();
    spec.*field = static_cast<E>(value);
    EXPECT_EQ(errorOf(spec), "invalid argument: spec: expected '" + std::string(key) +
                                 "' to be one of its enum's values but got " + std::to_string(value));
  }
}

TEST(Spec, EnumValues) {
  EXPECT_EQ(errorOf(verifySpec()), "");
  expectRange("rule", &KernelSpec::rule, Rule::KDA);
  expectRange("phase", &KernelSpec::phase, Phase::Reset);
  expectRange("flush_at", &KernelSpec::flushAt, FlushAt::EveryCommit);
  expectRange("fold", &KernelSpec::fold, Fold::Replay);
  expectRange("window", &KernelSpec::window, Window::Tree);
  expectRange("layers", &KernelSpec::layers, Layers::Table);
  expectRange("gate", &KernelSpec::gate, Gate::Precomputed);
  expectRange("beta", &KernelSpec::beta, Beta::Precomputed);
  expectRange("io", &KernelSpec::io, DType::F16);
  expectRange("state", &KernelSpec::state, DType::F16);
  expectRange("null", &KernelSpec::null, NullRow::LE0);
}

TEST(Spec, Numbers) {
  for (int64_t KernelSpec::*field : {&KernelSpec::H, &KernelSpec::HV, &KernelSpec::K, &KernelSpec::V, &KernelSpec::L,
                                     &KernelSpec::T, &KernelSpec::betaFactor})
    for (int64_t value : {int64_t(-8), int64_t(0), int64_t(1) << 32, INT64_MIN, INT64_MAX}) {
      KernelSpec spec = verifySpec();
      spec.*field = value;
      EXPECT_FALSE(validate(spec)) << value;
    }
}

/// What `message` lists behind `introduction`, with commas between.
static std::vector<std::string> listed(const std::string &message, const std::string &introduction) {
  size_t at = message.find(introduction);
  if (at == message.npos)
    return {};
  std::string list = message.substr(at + introduction.size());
  std::stringstream items(list.substr(0, list.find(" but got")));
  std::vector<std::string> values;
  for (std::string item; std::getline(items, item, ',');)
    values.push_back(item.substr(item.find_first_not_of(' ')));
  return values;
}

static std::string withoutKey(const std::string &text, const std::string &key) {
  std::stringstream items(text);
  std::string rest;
  for (std::string item; std::getline(items, item, ',');)
    if (item.substr(0, item.find('=')) != key)
      rest += (rest.empty() ? "" : ",") + item;
  return rest;
}

/// No message names a value that is then refused as not supported.
TEST(Spec, ListsOnlyWhatCanBeCompiled) {
  std::string base = print(verifySpec());
  std::vector<std::string> keys = listed(parseKernelSpec("nonsense=1").status().message(), "known keys: ");
  EXPECT_GT(keys.size(), 25u);
  int choices = 0;
  for (const std::string &key : keys) {
    // What the ring is like follows from the others.
    std::string rest = withoutKey(withoutKey(withoutKey(base, "ring"), "ring_shape"), key);
    for (const std::string &message : {parseKernelSpec(rest + "," + key + "=nonsense").status().message(),
                                       parseKernelSpec(rest).status().message()})
      for (const std::string &value : listed(message, "one of ")) {
        ++choices;
        auto spec = parseKernelSpec(rest + "," + key + "=" + value);
        EXPECT_NE(spec.status().code(), StatusCode::Unsupported) << message << ": " << spec.status().str();
      }
  }
  EXPECT_GT(choices, 50);
}

/// Where flush_at has to be given, each value that is listed goes with the phase.
TEST(Spec, ListsTheFlushesOfAPhase) {
  std::string base = withoutKey(withoutKey(withoutKey(print(verifySpec()), "phase"), "flush_at"), "ring_shape");
  for (const char *phase : {"verify", "fold", "compact", "cursors", "reset"}) {
    std::string text = base + ",window=tree,phase=" + phase;
    std::vector<std::string> values = listed(parseKernelSpec(text).status().message(), "one of ");
    EXPECT_GE(values.size(), 2u) << phase;
    for (const std::string &value : values) {
      auto spec = parseKernelSpec(text + ",flush_at=" + value);
      EXPECT_TRUE(spec) << phase << ": " << spec.status().str();
    }
  }
}

TEST(Spec, F16StatesAreRefusedAtOnce) {
  for (const char *more : {"", ",overflow=inf", ",overflow=saturate"})
    EXPECT_EQ(parseKernelSpec(withoutKey(print(verifySpec()), "state") + ",state=f16" + more).status().str(),
              "unsupported: spec: state=f16 cannot be compiled by this version; supported: f32, bf16");
}

/// Every spec that validates has a text, and the text means that spec.
TEST(Spec, EveryValidSpecHasAText) {
  int valid = 0;
  KernelSpec spec = verifySpec();
  for (int phase = 0; phase <= static_cast<int>(Phase::Reset); ++phase)
    for (int flush = 0; flush <= static_cast<int>(FlushAt::EveryCommit); ++flush)
      for (int bits = 0; bits < 1 << 7; ++bits) {
        spec.phase = static_cast<Phase>(phase);
        spec.flushAt = static_cast<FlushAt>(flush);
        spec.fold = static_cast<Fold>(bits & 1);
        spec.window = static_cast<Window>(bits >> 1 & 1);
        spec.track = bits >> 2 & 1;
        spec.dst = bits >> 3 & 1;
        spec.layers = static_cast<Layers>((bits >> 4 & 3) % 3);
        spec.T = bits >> 6 ? 2 : 1;
        spec.L = spec.hasRing() ? 8 : KernelSpec().L;
        if (!validate(spec))
          continue;
        ++valid;
        auto read = parseKernelSpec(print(spec));
        ASSERT_TRUE(read) << print(spec) << ": " << read.status().str();
        EXPECT_TRUE(*read == spec) << print(spec) << " became " << print(*read);
      }
  EXPECT_GT(valid, 100);
}
