//===- ReplayDialect.cpp - Attributes, types, registration ----------------===//
#include "dialects/Replay/ReplayDialect.h"

#include "common/Bounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::replay;

#include "dialects/Replay/ReplayDialect.cpp.inc"
#include "dialects/Replay/ReplayEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Replay/ReplayAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Replay/ReplayTypes.cpp.inc"

void ReplayDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Replay/ReplayAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Replay/ReplayTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Replay/ReplayOps.cpp.inc"
      >();
}

LogicalResult ShapeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t H, int64_t HV, int64_t K, int64_t V) {
  for (auto [name, heads] : {std::pair("H", H), std::pair("HV", HV)})
    if (Status status = checkRange(name, heads, 1, maxHeads); !status)
      return emitError() << status.message();
  if (HV % H != 0)
    return emitError() << "expected HV to be a multiple of H but got H = " << H << ", HV = " << HV;
  for (auto [name, dim] : {std::pair("K", K), std::pair("V", V)})
    if (dim < minDim || dim > maxDim || dim % dimStep != 0)
      return emitError() << "expected " << name << " to be a multiple of " << dimStep << " in "
                         << minDim << ".." << maxDim << " but got " << dim;
  return success();
}

FieldAttr RingAttr::getField(StringRef name) const {
  for (FieldAttr field : getFields())
    if (field.getName() == name)
      return field;
  return {};
}

static bool isRawInput(FieldAttr field) {
  std::optional<RecordField> known = field.getKnown();
  if (!known)
    return false;
  switch (*known) {
  case RecordField::RawV:
  case RecordField::RawK:
    return true;
  case RecordField::D:
  case RecordField::K:
  case RecordField::G:
  case RecordField::Beta:
    return false;
  }
  llvm_unreachable("unknown record field");
}

LogicalResult RingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t length, ArrayRef<FieldAttr> fields, RingShape) {
  if (length < 1 || length > maxRing)
    return emitError() << "expected a ring length in 1.." << maxRing << " but got " << length;
  llvm::SmallDenseSet<StringRef> seen;
  for (FieldAttr field : fields) {
    if (!seen.insert(field.getName()).second)
      return emitError() << "expected distinct ring fields but got two called '"
                         << field.getName() << "'";
    // Raw inputs are kept as they come.
    Type dtype = field.getDtype();
    bool isInput = isRawInput(field);
    if (!dtype.isF32() && !(isInput && (dtype.isBF16() || dtype.isF16())))
      return emitError() << "expected ring field '" << field.getName() << "' to be "
                         << (isInput ? "f32, bf16 or f16" : "f32") << " but got " << dtype;
  }
  return success();
}

LogicalResult KredAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t lanes, int64_t vec) {
  if (lanes < 1 || lanes > 32 || !llvm::isPowerOf2_64(lanes))
    return emitError() << "expected lanes to be a power of two in 1..32 but got " << lanes;
  if (vec != 1 && vec != 2 && vec != 4 && vec != 8)
    return emitError() << "expected vec to be 1, 2, 4 or 8 but got " << vec;
  return success();
}

LogicalResult MmaAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t chunk) {
  if (chunk < 16 || chunk > maxDim || chunk % 16 != 0)
    return emitError() << "expected chunk to be a multiple of 16 in 16.." << maxDim << " but got " << chunk;
  return success();
}

LogicalResult TilingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t bv, int64_t bc, int64_t warps,
                                 CopyKind copy, int64_t unroll, int64_t blocks, int64_t sink) {
  if (bv < 1 || bv > maxDim)
    return emitError() << "expected bv in 1.." << maxDim << " but got " << bv;
  if (bc < 1 || bc > maxRing)
    return emitError() << "expected bc in 1.." << maxRing << " but got " << bc;
  if (warps < 1 || warps > 16)
    return emitError() << "expected warps in 1..16 but got " << warps;
  if (unroll < 1 || unroll > 16)
    return emitError() << "expected unroll in 1..16 but got " << unroll;
  if (blocks < 1 || blocks > 32)
    return emitError() << "expected blocks in 1..32 but got " << blocks;
  if (sink < 0 || sink > 255)
    return emitError() << "expected sink in 0..255 but got " << sink;
  return success();
}

LogicalResult StateType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t V, int64_t K, Type dtype) {
  for (int64_t dim : {V, K})
    if (dim < 1 || dim > maxDim)
      return emitError() << "expected state dimensions in 1.." << maxDim << " but got " << V << " and " << K;
  if (!dtype.isF32() && !dtype.isBF16())
    return emitError() << "expected state dtype f32 or bf16 but got " << dtype;
  return success();
}

int64_t RecordsType::getFieldWidth(StringRef name, int64_t keyDim,
                                   int64_t valueDim) const {
  FieldAttr field = getRing().getField(name);
  if (!field)
    return 0;
  switch (field.getDim()) {
  case FieldDim::One:
    return 1;
  case FieldDim::K:
    return keyDim;
  case FieldDim::V:
    return valueDim;
  }
  llvm_unreachable("unknown field dimension");
}
