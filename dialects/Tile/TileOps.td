//===- TileOps.td ---------------------------------------------------------===//
#ifndef TILE_OPS_TD
#define TILE_OPS_TD

include "TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Tensor : TensorRankOf<[F32, BF16, F16], [2]>;
def Tile_TensorOrMask : TensorRankOf<[F32, BF16, F16, I1], [2]>;
def Tile_TensorF32 : TensorRankOf<[F32], [2]>;
def Tile_Memory : AnyTypeOf<[LLVM_AnyPointer, Tile_SmemType]>;

def Tile_AllocOp : Tile_Op<"alloc"> {
  let summary = "Shared memory for the block's lifetime; replay-plan-shared sets the byte offset";
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Tile_SmemType, "", [MemAlloc]>:$smem);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($smem)";
  let hasVerifier = 1;
}
def Tile_CopyOp : Tile_Op<"copy"> {
  let summary = "Asynchronous copy of whole contiguous rows, global to shared (cp.async.bulk, one elected thread, one mbarrier)";
  let description = [{
    Copies `rows` rows (all when absent) of the shared buffer's width from
    element `offset` of `src`. Address and row bytes are multiples of 16. It may
    not stand in a loop: its mbarrier is used once. `mbarrier` is the byte
    offset that replay-plan-shared gives.
  }];
  let arguments = (ins LLVM_AnyPointer:$src, I64:$offset, Tile_SmemType:$dst, Optional<Index>:$rows,
      OptionalAttr<I64Attr>:$mbarrier);
  let results = (outs Tile_TokenType:$token);
  let assemblyFormat = "$src `[` $offset `]` `to` $dst (`rows` `(` $rows^ `)`)? (`mbarrier` $mbarrier^)? attr-dict `:` type($src) `,` type($dst)";
  let hasVerifier = 1;
}
def Tile_WaitOp : Tile_Op<"wait"> {
  let summary = "Waits in every thread until the copy has landed (mbarrier.try_wait)";
  let arguments = (ins Tile_TokenType:$token);
  let assemblyFormat = "$token attr-dict";
}
def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments]> {
  let summary = "Element (i, j) from memory[offset + i * strides[0] + j * strides[1]]; rows at or past `rows`, or without a bit in `mask`, are zero and not touched";
  let description = [{
    Memory is global (`!llvm.ptr<1>`) or a shared buffer. `stride`, of global
    memory only, is added to strides[0]. Bit i of `mask` is row i, of at most 64. The innermost register factor of the contiguous dimension becomes one vector access. `layout` is
    the anchor that replay-assign-layouts puts into the result type.
  }];
  let arguments = (ins Tile_Memory:$src, I64:$offset, DenseI64ArrayAttr:$strides, Optional<Index>:$rows,
      Optional<I64>:$stride, Optional<I64>:$mask, OptionalAttr<Tile_LayoutAttr>:$layout);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$src `[` $offset `]` `strides` $strides (`stride` `(` $stride^ `)`)? (`rows` `(` $rows^ `)`)? (`mask` `(` $mask^ `)`)? (`layout` $layout^)? attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "Inverse of load: one thread per element stores it; nothing is stored where `owner` is false";
  let arguments = (ins Tile_Tensor:$value, Tile_Memory:$dst, I64:$offset, DenseI64ArrayAttr:$strides,
      Optional<Index>:$rows, Optional<I1>:$owner);
  let assemblyFormat = "$value `,` $dst `[` $offset `]` `strides` $strides (`rows` `(` $rows^ `)`)? (`owner` `(` $owner^ `)`)? attr-dict `:` type($value) `,` type($dst)";
  let hasVerifier = 1;
}
def Tile_DotOp : Tile_Op<"dot", [Pure]> {
  let summary = "Contraction of one dimension of a with one of b: by fma in ascending order, then across lanes; or on tensor cores";
  let description = [{
    `contract [1, 1]`: a[M, C], b[N, C] -> [M, N]; `contract [0, 0]`:
    a[C, M], b[C, N] -> [M, N]. With `rows` each row of a meets the same row of b
    alone: a[M, C], b[M, C] -> [M, 1]. Each thread forms one fma chain over its
    registers of C in ascending order (starting from `acc` when C is in
    registers alone; without acc the first term is a product); then lanes are
    joined by a butterfly with ascending distances. It leaves the sum in all of
    them; or each of them keeps some of the sums, where the result's rows or
    columns are spread over lanes of C in place of registers. The bits are the
    same. `layout` is the anchor that replay-assign-layouts puts into the
    result type.

    With `mma` it runs on tensor cores, and operands may be of 16 bits. Rows of a are those
    of the instruction, rows of b its columns. Two operands of one 16-bit type meet as they
    are; else both become tf32: what has 16 bits is exact, what has 32 is split in two. Lanes
    hold a as `[.., l8:4, r2]` along M (the lanes in any order) and b as `[.., l8:4]` along N,
    both as `[r, l4:1, r4]` along C, and the result as a along M and `[.., l4:1, r2]` along N.
  }];
  let arguments = (ins Tile_Tensor:$a, Tile_Tensor:$b, Optional<Tile_TensorF32>:$acc,
      OptionalAttr<Tile_MmaAttr>:$mma, DenseI64ArrayAttr:$contract, UnitAttr:$rows, OptionalAttr<Tile_LayoutAttr>:$layout);
  let results = (outs Tile_TensorF32:$result);
  let assemblyFormat = "$a `,` $b (`acc` `(` $acc^ `)`)? (`mma` `` $mma^)? `contract` $contract (`rows` $rows^)? (`layout` $layout^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "Each element's coordinate along `dim`";
  let arguments = (ins I64Attr:$dim, OptionalAttr<Tile_LayoutAttr>:$layout);
  let results = (outs Tile_TensorF32:$result);
  let assemblyFormat = "$dim (`layout` $layout^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Tile_ScanOp : Tile_Op<"scan", [Pure]> {
  let summary = "Exclusive suffix sums along the rows, s_j = sum_{i>j} x_i, and the total [1, n]";
  let description = [{
    With `from` the first row is that one, and row 0 follows the last: rows before
    it come after those from it on.
  }];
  let arguments = (ins Tile_TensorF32:$x, Optional<Index>:$from);
  let results = (outs Tile_TensorF32:$suffix, Tile_TensorF32:$total);
  let assemblyFormat = "`add` $x (`from` `(` $from^ `)`)? attr-dict `:` type($x) `->` type($suffix) `,` type($total)";
  let hasVerifier = 1;
}
def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeats dimensions of size 1";
  let arguments = (ins Tile_TensorOrMask:$x);
  let results = (outs Tile_TensorOrMask:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_ConvertOp : Tile_Op<"convert", [Pure]> {
  let summary = "The same tile in another layout: register renaming, or through shared memory";
  let arguments = (ins Tile_TensorOrMask:$x);
  let results = (outs Tile_TensorOrMask:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_ExpectOp : Tile_Op<"expect"> {
  let summary = "The host device reports a number that is not low .. high; a GPU does nothing";
  let description = [{
    ```mlir
    tile.expect "wp" %wp in %zero to %length
    ```
  }];
  let arguments = (ins StrAttr:$name, I32:$value, I32:$low, I32:$high);
  let assemblyFormat = "$name $value `in` $low `to` $high attr-dict";
}
def Tile_BarrierOp : Tile_Op<"barrier"> {
  let summary = "bar.sync of the whole block; only replay-insert-barriers makes it";
  let assemblyFormat = "attr-dict";
}

#endif
