//===- TileOps.cpp - Verifiers --------------------------------------------===//
#include "dialects/Tile/TileDialect.h"
#include "dialects/Tile/Layout.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace replayssm::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

LogicalResult CopyOp::verify() { return success(); }
LogicalResult LoadOp::verify() { return success(); }
LogicalResult StoreOp::verify() { return success(); }
LogicalResult DotOp::verify() { return success(); }
LogicalResult ScanOp::verify() { return success(); }
LogicalResult BroadcastOp::verify() { return success(); }
LogicalResult ConvertOp::verify() { return success(); }
