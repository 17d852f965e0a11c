//===- MutantIR.h - Faults in what a pass builds ----------------*- C++ -*-===//
//
// Part of the mutated tree that scripts/mutate builds, and of nothing else.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mutant/Mutant.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace rssm_mutant {

/// The value as an i32 would have kept it.
inline mlir::Value narrow(mlir::OpBuilder &b, mlir::Value value) {
  mlir::Type type = value.getType(), word = b.getI32Type();
  mlir::Location loc = value.getLoc();
  if (type.isIndex())
    return mlir::arith::IndexCastOp::create(b, loc, type, mlir::arith::IndexCastOp::create(b, loc, word, value));
  if (!type.isInteger(64))
    return value;
  return mlir::arith::ExtSIOp::create(b, loc, type, mlir::arith::TruncIOp::create(b, loc, word, value));
}

} // namespace rssm_mutant
