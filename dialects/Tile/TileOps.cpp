//===- TileOps.cpp - Verifiers: what one op knows of its tiles ------------===//
#include "dialects/Tile/Layout.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace replayssm::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

/// Layouts come all at once: an op has one on every tile or on none.
static FailureOr<bool> verifyLaidOut(Operation *op) {
  unsigned laidOut = 0, tiles = 0;
  auto count = [&](Type type) {
    if (isa<RankedTensorType>(type)) {
      ++tiles;
      laidOut += Layout::of(type).has_value();
    }
  };
  llvm::for_each(op->getOperandTypes(), count);
  llvm::for_each(op->getResultTypes(), count);
  if (laidOut != 0 && laidOut != tiles)
    return op->emitOpError() << "expected a layout on every tile or on none but got " << laidOut
                             << " of " << tiles;
  return laidOut != 0;
}

static LogicalResult verifySameDigits(Operation *op, StringRef what, Type typeA, unsigned dimA,
                                      Type typeB, unsigned dimB) {
  if (sameDigits(*Layout::of(typeA), dimA, *Layout::of(typeB), dimB))
    return success();
  return op->emitOpError() << "expected " << what << " to be spread alike but got dimension "
                           << dimA << " of " << typeA << " and dimension " << dimB << " of "
                           << typeB;
}

/// The sums of a dot stay where its operand has them, or lanes of the contraction share them.
static LogicalResult verifySums(DotOp op, StringRef what, Type operand, unsigned dim, unsigned resultDim) {
  unsigned c = op.getContract()[0];
  Layout from = *Layout::of(operand), to = *Layout::of(op.getType());
  if (scatteredDigits(from, dim, to, resultDim, from.laneMask(c)))
    return success();
  return op.emitOpError() << "expected " << what << " to be spread alike, or over lanes of the contracted dimension "
                             "in place of registers, but got dimension "
                          << dim << " of " << operand << " and dimension " << resultDim << " of " << op.getType();
}

/// What load and store share: an address form and the memory behind it.
static LogicalResult verifyAccess(Operation *op, Type memory, Value offset,
                                  ArrayRef<int64_t> strides, bool hasRows, RankedTensorType tile) {
  if (strides.size() != 2)
    return op->emitOpError() << "expected 2 strides but got " << strides.size();
  for (int64_t stride : strides)
    if (stride < 0)
      return op->emitOpError() << "expected strides of at least 0 but got " << stride;
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(memory)) {
    if (pointer.getAddressSpace() != 1)
      return op->emitOpError() << "expected a global pointer, '!llvm.ptr<1>', but got " << pointer;
    return success();
  }
  auto smem = cast<SmemType>(memory);
  if (smem.getElementType() != tile.getElementType())
    return op->emitOpError() << "expected elements of " << smem.getElementType() << " as in "
                             << smem << " but got " << tile.getElementType();
  if (smem.getSkew() && (tile.getDimSize(0) != smem.getRows() || strides[0] != smem.getCols() || hasRows))
    return op->emitOpError() << "expected all rows of the skewed buffer " << smem << " but got " << tile << " with strides [" << strides
                             << "]";
  APInt first;
  if (hasRows || !matchPattern(offset, m_ConstantInt(&first)))
    return success();
  int64_t last = first.getSExtValue() + (tile.getDimSize(0) - 1) * strides[0] +
                 (tile.getDimSize(1) - 1) * strides[1];
  if (first.isNegative() || last >= smem.getRows() * smem.getCols())
    return op->emitOpError() << "expected elements inside " << smem << " but got "
                             << first.getSExtValue() << " to " << last;
  return success();
}

/// An anchor gives a layout to a tile that has none.
static LogicalResult verifyAnchor(Operation *op, LayoutAttr anchor, RankedTensorType tile) {
  if (!anchor)
    return success();
  if (tile.getEncoding())
    return op->emitOpError() << "expected a layout in one place but got both " << anchor << " and that of " << tile;
  return anchor.verifyEncoding(tile.getShape(), tile.getElementType(), [&] { return op->emitOpError(); });
}

LogicalResult AllocOp::verify() {
  if (auto offset = getOffset(); offset && (*offset < 0 || *offset % 16 != 0))
    return emitOpError() << "expected a byte offset that is a multiple of 16 but got " << *offset;
  return success();
}

LogicalResult CopyOp::verify() {
  if (auto pointer = cast<LLVM::LLVMPointerType>(getSrc().getType());
      pointer.getAddressSpace() != 1)
    return emitOpError() << "expected a global pointer, '!llvm.ptr<1>', but got " << pointer;
  SmemType dst = getDst().getType();
  int64_t rowBytes = dst.getCols() * (dst.getElementType().getIntOrFloatBitWidth() / 8);
  if (dst.getSkew() && getRows())
    return emitOpError() << "expected all rows of the skewed buffer " << dst << " but got a number of them";
  if (rowBytes % 16 != 0)
    return emitOpError() << "expected rows of a multiple of 16 bytes but got " << rowBytes;
  if (auto mbarrier = getMbarrier(); mbarrier && (*mbarrier < 0 || *mbarrier % 8 != 0))
    return emitOpError() << "expected an mbarrier at a multiple of 8 bytes but got " << *mbarrier;
  return success();
}

LogicalResult LoadOp::verify() {
  if (getStride() && isa<SmemType>(getSrc().getType()))
    return emitOpError() << "expected global memory beside a stride but got " << getSrc().getType();
  RankedTensorType type = getResult().getType();
  if (getRows() && getMask())
    return emitOpError() << "expected 'rows' or 'mask' but got both";
  if (getMask() && type.getDimSize(0) > 64)
    return emitOpError() << "expected at most 64 rows beside a mask but got " << type.getDimSize(0);
  if (failed(verifyAnchor(*this, getLayoutAttr(), type)))
    return failure();
  return verifyAccess(*this, getSrc().getType(), getOffset(), getStrides(), getRows() || getMask(), type);
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getDst().getType(), getOffset(), getStrides(), bool(getRows()),
                      getValue().getType());
}

static LogicalResult verifyFma(DotOp op) {
  for (Value x : {op.getA(), op.getB()})
    if (Type element = cast<RankedTensorType>(x.getType()).getElementType(); !element.isF32())
      return op.emitOpError() << "expected operands of f32 for sums by fma but got " << element;
  return success();
}

static LogicalResult verifyMma(DotOp op) {
  if (op.getAcc() || op.getRows() || op.getLayout())
    return op.emitOpError() << "expected no accumulator, 'rows' or anchor beside 'mma' but got "
                            << (op.getAcc() ? "an accumulator" : op.getRows() ? "'rows'" : "an anchor");
  return success();
}

static LogicalResult verifyMmaLayouts(DotOp op) {
  unsigned c = op.getContract()[0], free = 1 - c;
  bool apart = op.getMma()->getApart();
  auto expect = [&](bool holds, StringRef what, StringRef wanted, Type tile, unsigned dim) -> LogicalResult {
    if (holds)
      return success();
    return op.emitOpError() << "expected " << what << " to be spread as " << wanted << " for mma but got dimension " << dim << " of "
                            << tile;
  };
  Type a = op.getA().getType(), b = op.getB().getType(), result = op.getType();
  Layout ofA = *Layout::of(a), ofB = *Layout::of(b), sums = *Layout::of(result);
  StringRef contraction = apart ? "[w, r, l4:1, r4]" : "[r, l4:1, r4]";
  if (failed(expect(isMmaRows(ofA, free), "rows of 'a'", "[.., l8:4, r2]", a, free)) ||
      failed(expect(isMmaContraction(ofA, c, *op.getMma()), "the contracted dimension of 'a'", contraction, a, c)) ||
      failed(expect(isMmaColumns(ofB, free), "rows of 'b'", "[.., l8:4]", b, free)) ||
      failed(expect(isMmaContraction(ofB, c, *op.getMma()), "the contracted dimension of 'b'", contraction, b, c)) ||
      failed(verifySameDigits(op, "the contracted dimensions", a, c, b, c)))
    return failure();
  if (int64_t rows = llvm::alignTo(cast<RankedTensorType>(a).getDimSize(free), 16); apart && ofA.extent(free) != rows)
    return op.emitOpError() << "expected " << rows << " rows of 'a', padding counted, for sums apart but got " << a;
  Layout wanted = mmaResult(ofA, ofB, c, *op.getMma());
  if (!sameDigits(sums, 0, wanted, 0) || !sameDigits(sums, 1, wanted, 1))
    return op.emitOpError() << "expected sums laid out as " << wanted.toAttr(op.getContext()) << " by the operands but got " << result;
  return success();
}

LogicalResult DotOp::verify() {
  ArrayRef<int64_t> contract = getContract();
  if (contract.size() != 2 || contract[0] != contract[1] || contract[0] < 0 || contract[0] > 1)
    return emitOpError() << "expected contract [0, 0] or [1, 1] but got [" << contract << "]";
  unsigned c = contract[0], free = 1 - c;
  RankedTensorType a = getA().getType(), b = getB().getType(), result = getResult().getType();
  if (a.getDimSize(c) != b.getDimSize(c))
    return emitOpError() << "expected equal contracted dimensions but got " << a.getDimSize(c)
                         << " and " << b.getDimSize(c);
  if (getRows()) {
    if (c != 1 || getAcc() || getLayout() || a.getDimSize(0) != b.getDimSize(0) || result.getDimSize(0) != a.getDimSize(0) ||
        result.getDimSize(1) != 1)
      return emitOpError() << "expected, row by row, contract [1, 1], equal rows and a result of " << a.getDimSize(0)
                           << "x1 but got " << result;
  } else {
    int64_t rows = a.getDimSize(free);
    if (getMma() && getMma()->getApart())
      rows = llvm::alignTo(rows, 16) * llvm::divideCeilSigned(a.getDimSize(c), getMma()->getChunk());
    if (result.getDimSize(0) != rows || result.getDimSize(1) != b.getDimSize(free))
      return emitOpError() << "expected a result of " << rows << "x" << b.getDimSize(free) << " but got " << result;
  }
  if (failed(getMma() ? verifyMma(*this) : verifyFma(*this)))
    return failure();
  if (getAcc() && getLayout())
    return emitOpError() << "expected an anchor or an accumulator, which has a layout of its own, but got both";
  if (getAcc() && getAcc().getType() != result)
    return emitOpError() << "expected an accumulator of " << result << " but got "
                         << getAcc().getType();
  if (failed(verifyAnchor(*this, getLayoutAttr(), result)))
    return failure();
  FailureOr<bool> laidOut = verifyLaidOut(*this);
  if (failed(laidOut) || !*laidOut)
    return laidOut;
  if (getMma())
    return verifyMmaLayouts(*this);
  if (failed(verifySameDigits(*this, "the contracted dimensions", a, c, b, c)) ||
      failed(verifySums(*this, "rows", a, free, 0)) ||
      failed(getRows() ? verifySums(*this, "rows", b, free, 0) : verifySums(*this, "columns", b, free, 1)))
    return failure();
  if (getRows() && Layout::of(result)->extent(1) != 1)
    return emitOpError() << "expected, row by row, a result with columns [r1:1] but got " << result;
  Layout layout = *Layout::of(b);
  if (layout.dimHas(c, Owner::Warp))
    return emitOpError() << "expected a contraction inside a warp but dimension " << c << " of "
                         << b << " is spread over warps";
  if (getAcc() && layout.dimHas(c, Owner::Lane))
    return emitOpError() << "expected a contraction in registers beside an accumulator but "
                            "dimension "
                         << c << " of " << b << " is spread over lanes";
  return success();
}

LogicalResult IotaOp::verify() {
  if (getDim() > 1)
    return emitOpError() << "expected dimension 0 or 1 but got " << getDim();
  return verifyAnchor(*this, getLayoutAttr(), getType());
}

LogicalResult ScanOp::verify() {
  RankedTensorType x = getX().getType(), total = getTotal().getType();
  if (getSuffix().getType() != x)
    return emitOpError() << "expected suffix sums of " << x << " but got " << getSuffix().getType();
  if (total.getDimSize(0) != 1 || total.getDimSize(1) != x.getDimSize(1))
    return emitOpError() << "expected a total of 1x" << x.getDimSize(1) << " but got " << total;
  FailureOr<bool> laidOut = verifyLaidOut(*this);
  if (failed(laidOut) || !*laidOut)
    return laidOut;
  if (Layout::of(x)->dimHas(0, Owner::Warp))
    return emitOpError() << "expected rows inside a warp but those of " << x
                         << " are spread over warps";
  if (Layout::of(total)->extent(0) != 1)
    return emitOpError() << "expected a total with rows [r1:1] but got " << total;
  return verifySameDigits(*this, "columns", x, 1, total, 1);
}

LogicalResult BroadcastOp::verify() {
  auto x = cast<RankedTensorType>(getX().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (x.getElementType() != result.getElementType())
    return emitOpError() << "expected elements of " << x.getElementType() << " but got "
                         << result.getElementType();
  FailureOr<bool> laidOut = verifyLaidOut(*this);
  if (failed(laidOut))
    return failure();
  for (unsigned dim : {0, 1}) {
    if (x.getDimSize(dim) == result.getDimSize(dim)) {
      if (*laidOut &&
          failed(verifySameDigits(*this, "a dimension that is not repeated", x, dim, result, dim)))
        return failure();
    } else if (x.getDimSize(dim) != 1) {
      return emitOpError() << "expected dimension " << dim << " of size 1 or "
                           << result.getDimSize(dim) << " but got " << x.getDimSize(dim);
    } else if (*laidOut && Layout::of(x)->extent(dim) != 1) {
      return emitOpError() << "expected a repeated dimension [r1:1] but got dimension " << dim
                           << " of " << x;
    }
  }
  return success();
}

LogicalResult ConvertOp::verify() {
  auto x = cast<RankedTensorType>(getX().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (x.getShape() != result.getShape() || x.getElementType() != result.getElementType())
    return emitOpError() << "expected a tile like " << x << " but got " << result;
  if (Layout::of(x) && !Layout::of(result))
    return emitOpError() << "expected a layout to convert to but got " << result;
  return success();
}
