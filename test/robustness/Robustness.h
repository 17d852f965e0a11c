//===- Robustness.h - Inputs that nobody should write -----------*- C++ -*-===//
//
// What replayssm-robustness is made of: texts to start from, cases that run in
// processes of their own, and the two commands on top of them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace robustness {

/// A source and where it comes from.
struct Text {
  std::string name, source;
};

/// A pass of passes/Passes.td, and the op that it runs on.
struct PassName {
  std::string argument, anchor;
};

/// The files of examples/, and those of test/ split where they say so.
std::vector<Text> readExamples(const std::string &root);
std::vector<Text> readTests(const std::string &root);
std::vector<PassName> readPasses(const std::string &root);

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

/// What a case says of itself. Lives in the process that runs it.
class Report {
public:
  virtual ~Report() = default;
  /// What comes next: named if the process dies of it. The time limit starts again.
  virtual void begin(const std::string &what) = 0;
  virtual void accepted() = 0;
  virtual void refused() = 0;
  /// A fault of the compiler.
  virtual void fault(const std::string &what) = 0;
};

struct Summary {
  uint64_t accepted = 0, refused = 0, faults = 0, crashes = 0, hangs = 0;
  bool isClean() const { return faults + crashes + hangs == 0; }
};

/// Runs `body` for 0 .. count-1 in `jobs` processes. One that dies, takes more than
/// `seconds` of processor time for a step, or prints, counts as a fault and is replaced.
Summary runIsolated(size_t count, unsigned jobs, unsigned seconds,
                    const std::function<void(size_t, Report &)> &body);
/// Runs `body` for one number in this process, where a debugger sees it.
Summary runHere(size_t index, const std::function<void(size_t, Report &)> &body);

//===----------------------------------------------------------------------===//
// Random inputs
//===----------------------------------------------------------------------===//

/// The numbers of one case depend on the seed and its index alone.
class Random {
public:
  Random(uint64_t seed, uint64_t index) : engine(seed * 0x9E3779B97F4A7C15u + index) {}
  size_t below(size_t count) { return count ? engine() % count : 0; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename List>
  const auto &pick(const List &list) { return list[below(std::size(list))]; }

private:
  std::mt19937_64 engine;
};

/// `text` with a few faults: of tokens, numbers, attributes and lines, and with
/// pieces of `other`.
std::string mutate(const std::string &text, const std::string &other, Random &random);

/// A spec: most keys as the phase has them, or any keys with any values.
std::string randomSpec(Random &random);
/// A legal spec of few heads and small dimensions, which a check runs in a second.
std::string smallSpec(Random &random);

} // namespace robustness
