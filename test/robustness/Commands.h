//===- Commands.h - The commands of replayssm-robustness --------*- C++ -*-===//
#pragma once

#include "Robustness.h"

namespace robustness {

struct Options {
  std::string root;       ///< Of the project: examples/, test/, passes/Passes.td.
  bool all = false;       ///< passes: pairs on everything, behind every stage.
  uint64_t seed = 1;
  size_t files = 100, specs = 100;
  size_t only = SIZE_MAX; ///< This case alone, in this process.
  bool print = false;     ///< The source of a case.
  unsigned jobs = 2;
};

int runPasses(const Options &options);
int runFuzz(const Options &options);

} // namespace robustness
