//===- PlaceGates.h - Where gates along K are -------------------*- C++ -*-===//
#pragma once

#include "passes/Passes.h"

namespace replayssm {

/// Whether `op` makes a row of gates along K, or of what only depends on such, so that
/// threads can share it out.
bool isOfGates(mlir::Operation &op);

/// Shares them out, without `spreads` only what has to be. What threads then need of
/// each other is staged where it is formed, and fetched once for the uses of a block.
void placeGates(replay::KernelOp kernel, bool spreads);

/// What scores find in shared memory of their gates, unless it is staged already.
void stageGatesOfScores(replay::KernelOp kernel);

} // namespace replayssm
