//===- Place.h - Where the rows of a window are -----------------*- C++ -*-===//
//
// The attribute that replay-place puts on the ops whose results have a row for each
// token, and that the lowering reads. An op without it has its rows in registers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/Passes.h"

namespace replayssm {

inline constexpr llvm::StringLiteral placeAttr = "replay.place";

/// Where `value` is: of a matrix with one row, or with its rows in registers, Regs.
replay::Place placeOf(mlir::Value value);

/// A matrix with a row for each token of a window, or the like.
bool hasRows(mlir::Value value);

/// Formed or found where it is used.
bool isElsewhere(mlir::Value value);

/// One number for each token of a window.
bool isColumn(mlir::Value value);

/// Whether each element of the results is made of the operands' elements at its place.
bool isElementwise(mlir::Operation &op);

/// Whether `value` is there where `op` stands, in the same block or around it.
bool isDefinedBefore(mlir::Value value, mlir::Operation *op);

/// The first in the block of `op` that uses it, or has such a user inside; null where there is none.
mlir::Operation *firstUser(mlir::Operation *op);

/// `x` in shared memory from here on.
replay::StageOp createStage(mlir::OpBuilder &b, mlir::Value x, mlir::Type type);

/// Whether `op` has a row for each token among its operands or results, or what is formed of such.
bool isWindowed(mlir::Operation &op);

/// Brings updates of states to where they are needed, and what a fold takes of records
/// to a read that has it.
void placeStates(replay::KernelOp kernel);

/// Behind the places of loads: loads in loops, and waits for copies.
void placeCopies(replay::KernelOp kernel);

/// Of a load of a state or of a field of records: in shared memory, by a copy, or in registers.
replay::Place placeOfLoad(mlir::Operation &op, bool bulk);

} // namespace replayssm
