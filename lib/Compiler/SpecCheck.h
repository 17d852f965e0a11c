//===- SpecCheck.h - A request's spec against its layer ---------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace replayssm {

/// Makes the spec of every request canonical. A spec that does not parse, or
/// that says something else than the layer, is an error: a checker that trusts
/// it would compare with another recurrence.
llvm::LogicalResult checkSpecs(mlir::ModuleOp module);

} // namespace replayssm
