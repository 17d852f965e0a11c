//===- ReplayOps.cpp - Verifiers ------------------------------------------===//
#include "dialects/Replay/ReplayDialect.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace replayssm::replay;

#define GET_OP_CLASSES
#include "dialects/Replay/ReplayOps.cpp.inc"

LogicalResult LayerOp::verify() { return success(); }
LogicalResult GateOp::verify() { return success(); }
LogicalResult BetaOp::verify() { return success(); }
LogicalResult L2NormOp::verify() { return success(); }
LogicalResult RnormOp::verify() { return success(); }
LogicalResult DeltaOp::verify() { return success(); }
LogicalResult KernelOp::verify() { return success(); }
LogicalResult LoadTokenOp::verify() { return success(); }
LogicalResult LoadParamOp::verify() { return success(); }
LogicalResult AppendOp::verify() { return success(); }
LogicalResult ReadOp::verify() { return success(); }
LogicalResult RingWeightsOp::verify() { return success(); }
LogicalResult RingReadOp::verify() { return success(); }
LogicalResult ScoresOp::verify() { return success(); }
LogicalResult UtSolveOp::verify() { return success(); }
