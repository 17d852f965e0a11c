//===- TileDialect.td - Block-level tiles and their layouts ---------------===//
#ifndef TILE_DIALECT_TD
#define TILE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::replayssm::tile";
  let summary = "A block-level program: tiles spread over the threads of one block";
  let description = [{
    A tile is a rank-2 `tensor` whose encoding is a `#tile.layout` (absent until
    `replay-assign-layouts`). Elementwise work is arith and math on tiles;
    control is block-uniform `scf.if` and `scf.for` with constant trips.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "For each dimension an ordered list of factors, each owned by registers, lanes or warps";
  let description = [{
    `#tile.layout<[w8:1, l4:8, r4:4], [r4:16, l8:1, r4:1]>`. A factor is
    owner, size and stride; outermost factor first. The coordinate along a
    dimension is the mixed-radix number of its factors' digits, where

        digit = (owner id / stride) mod size

    and the owner id is the register index, the lane or the warp of the thread.
    The product of a dimension's sizes is its padded extent (>= the tile's).
    Owners' digits that no factor names are replicated.
  }];
  // Flattened factors (owner, size, stride) and the number of factors of each dim.
  let parameters = (ins ArrayRefParameter<"int64_t">:$factors, ArrayRefParameter<"int64_t">:$counts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_MmaAttr : AttrDef<Tile_Dialect, "Mma"> {
  let mnemonic = "mma";
  let summary = "A contraction on tensor cores: the order of its sums";
  let description = [{
    Steps are 8 channels of tf32 or 16 of bf16 or f16, in ascending order, each one
    rounding. Every `chunk` channels (a multiple of 16; 0 = all) have an accumulator of
    their own, and their sums are joined in ascending order. What corrects split operands
    has one more accumulator, joined to that of its chunk.

    With `apart` the sums of chunks are not joined: block c of the result's rows, as many as
    those of the first operand rounded up to 16, are those of chunk c. Warps may share these.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$chunk, DefaultValuedParameter<"bool", "false">:$apart);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}
def Tile_SmemType : Tile_Type<"Smem", "smem"> {
  let summary = "Shared memory of a block: rows x cols elements, row-major";
  let description = [{
    With `skew` the second half of the rows lies so many elements further: lanes that have a row
    of each half find them in other banks.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType, DefaultValuedParameter<"int64_t", "0">:$skew);
  let assemblyFormat = "`<` $rows `,` $cols `,` $elementType (`,` `skew` `=` $skew^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getBytes() const {
      return (getRows() * getCols() + getSkew()) * (getElementType().getIntOrFloatBitWidth() / 8);
    }
  }];
}
def Tile_TokenType : Tile_Type<"Token", "token"> {
  let summary = "An asynchronous copy in flight";
}

#endif
