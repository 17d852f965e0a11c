//===- TileDialect.cpp - Attributes, types, registration ------------------===//
#include "dialects/Tile/TileDialect.h"
#include "dialects/Tile/Layout.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace replayssm::tile;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  Layout layout;
  auto parseFactor = [&]() -> ParseResult {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    Factor factor;
    if (parser.parseKeyword(&word) || parser.parseColon() ||
        parser.parseInteger(factor.stride))
      return failure();
    static const StringRef owners = "rlw";
    size_t owner = owners.find(word.front());
    if (owner == StringRef::npos || word.drop_front().getAsInteger(10, factor.size))
      return parser.emitError(loc) << "expected a factor like r4, l8 or w2 but got '" << word << "'";
    factor.owner = static_cast<Owner>(owner);
    layout.dims.back().push_back(factor);
    return success();
  };
  auto parseDim = [&]() -> ParseResult {
    layout.dims.emplace_back();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseFactor);
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(parseDim) || parser.parseGreater())
    return {};
  SmallVector<int64_t> factors, counts;
  layout.flatten(factors, counts);
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); },
                    parser.getContext(), factors, counts);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  Layout layout(*this);
  printer << "<";
  llvm::interleaveComma(layout.dims, printer, [&](const auto &dim) {
    printer << "[";
    llvm::interleaveComma(dim, printer, [&](Factor f) {
      printer << "rlw"[static_cast<int>(f.owner)] << f.size << ":" << f.stride;
    });
    printer << "]";
  });
  printer << ">";
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> factors, ArrayRef<int64_t> counts) {
  return Layout(factors, counts).verify(emitError);
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  Layout layout(*this);
  if (layout.dims.size() != shape.size())
    return emitError() << "expected a layout of " << shape.size() << " dimensions but got "
                       << *this;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (layout.extent(dim) < size)
      return emitError() << "expected a layout that covers " << size << " elements of dimension "
                         << dim << " but got " << *this;
  return success();
}

LogicalResult MmaAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t chunk, bool apart) {
  if (chunk < 0 || chunk % 16 != 0)
    return emitError() << "expected chunk to be 0 or a multiple of 16 but got " << chunk;
  if (apart && chunk == 0)
    return emitError() << "expected chunks whose sums are kept apart but got chunk = 0";
  return success();
}

LogicalResult SmemType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                               int64_t cols, Type elementType, int64_t skew) {
  if (rows < 1 || cols < 1)
    return emitError() << "expected a positive shape but got " << rows << "x" << cols;
  if (!elementType.isIntOrFloat() || elementType.getIntOrFloatBitWidth() % 8 != 0)
    return emitError() << "expected elements of whole bytes but got " << elementType;
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  if (skew != 0 && (skew < 0 || skew * bytes % 16 != 0 || rows % 2 != 0))
    return emitError() << "expected a skew of a multiple of 16 bytes between two halves of the rows but got " << skew << " for " << rows
                       << " rows";
  return success();
}
