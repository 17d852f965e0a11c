//===- ReplayOps.td -------------------------------------------------------===//
#ifndef REPLAY_OPS_TD
#define REPLAY_OPS_TD

include "ReplayTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

class Replay_Op<string mnemonic, list<Trait> traits = []>
    : Op<Replay_Dialect, mnemonic, traits>;

class Replay_StaticMat<list<Type> types, string name>
    : ConfinedType<TensorRankOf<types, [2]>, [HasStaticShapePred], name, "::mlir::RankedTensorType">;
def Replay_Mat : Replay_StaticMat<[F32, BF16, F16], "static rank-2 tensor of f32, bf16 or f16">;
def Replay_MatF32 : Replay_StaticMat<[F32], "static rank-2 tensor of f32">;

//===----------------------------------------------------------------------===//
// The layer: what a user writes
//===----------------------------------------------------------------------===//

def Replay_LayerOp : Replay_Op<"layer", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "The recurrence of one layer, for one value head and one token";
  let description = [{
    Block arguments, in order: the state, q, k, v (`tensor<1xN x io>`), a
    (`tensor<1xGK x io>`), b (`tensor<1x1 x io>`), A_log (`tensor<1x1xf32>`) and
    dt_bias (`tensor<1xGKxf32>`); a and b may be f32 whatever io is. The body yields the next state and the output.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Replay_ShapeAttr:$shape, Replay_NullAttr:$null);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $shape `null` `` $null attr-dict-with-keyword $body";
  let hasVerifier = 1;
}
def Replay_YieldOp : Replay_Op<"yield", [Terminator, HasParent<"LayerOp">, Pure]> {
  let summary = "The next state and the output of the token";
  let arguments = (ins Replay_StateType:$state, Replay_MatF32:$output);
  let assemblyFormat = "$state `,` $output attr-dict `:` type(operands)";
}
def Replay_GateOp : Replay_Op<"gate", [Pure]> {
  let summary = "The log decay g of each token";
  let description = [{
    - `softplus(a, A_log, dt_bias)`: g = -exp(A_log) * softplus(a + dt_bias),
      softplus(x) = log1p(exp(x)), x above 20;
    - `safe(a, A_log, dt_bias) {lower_bound = -5.0 : f64}`:
      g = lower_bound * sigmoid(exp(A_log) * (a + dt_bias));
    - `precomputed(a)`: g = a, which is f32 and has to be <= 0.

    a is [T, GK], A_log [1, 1], dt_bias [1, GK]; the result is [T, GK] and <= 0.
  }];
  let arguments = (ins Replay_GateAttr:$form, Replay_Mat:$a, Variadic<Replay_MatF32>:$params,
      OptionalAttr<F64Attr>:$lower_bound);
  let results = (outs Replay_MatF32:$g);
  let assemblyFormat = "`` $form `(` operands `)` attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    using Mat = ::mlir::TypedValue<::mlir::RankedTensorType>;
    /// Of every form but precomputed.
    Mat getALog() { return ::llvm::cast<Mat>(getParams()[0]); }
    Mat getDtBias() { return ::llvm::cast<Mat>(getParams()[1]); }
  }];
  let hasVerifier = 1;
}
def Replay_BetaOp : Replay_Op<"beta", [Pure]> {
  let summary = "The step size beta of each token, in f32";
  let description = [{
    - `sigmoid_f32(b)`: beta = factor * sigmoid(b);
    - `sigmoid_io(b)`: the sigmoid rounded to the type of b and back;
    - `precomputed(b)`: beta = factor * b, which is f32.
  }];
  let arguments = (ins Replay_BetaAttr:$form, Replay_Mat:$b,
      DefaultValuedAttr<I64Attr, "1">:$factor);
  let results = (outs Replay_MatF32:$beta);
  let assemblyFormat = "`` $form `(` $b `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Replay_L2NormOp : Replay_Op<"l2norm", [Pure]> {
  let summary = "x * (scale * rsqrt(sum x^2 + eps)), row by row";
  let arguments = (ins Replay_Mat:$x, F64Attr:$eps, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Replay_MatF32:$y);
  let assemblyFormat = "`l2_rsqrt` `(` $x `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Replay_RnormOp : Replay_Op<"rnorm", [Pure]> {
  let summary = "scale * rsqrt(sum x^2 + eps): the scalar that l2norm multiplies by";
  let arguments = (ins Replay_Mat:$x, F64Attr:$eps, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Replay_MatF32:$r);
  let assemblyFormat = "`l2_rsqrt` `(` $x `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Replay_Parents : Replay_StaticMat<[I32], "static [T, 1] tensor of i32">;
def Replay_DeltaOp : Replay_Op<"delta", [Pure, AllTypesMatch<["state", "next"]>]> {
  let summary = "T gated delta-rule steps: d = beta (v - S(alpha.k)); o = S(alpha.q) + d (k.q); S <- S.alpha + d k^T";
  let description = [{
    Tokens are a `chain`, or a `tree`: then `parents` names the token before each,
    -1 the state, and next is not defined.
  }];
  let arguments = (ins Replay_MaskAttr:$mask, Replay_StateType:$state, Replay_MatF32:$q, Replay_MatF32:$k,
      Replay_Mat:$v, Replay_MatF32:$g, Replay_MatF32:$beta, Optional<Replay_Parents>:$parents);
  let results = (outs Replay_StateType:$next, Replay_MatF32:$o, Replay_MatF32:$d);
  let assemblyFormat = "$mask `(` operands `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Replay_KernelOp : Replay_Op<"kernel", [Symbol, IsolatedFromAbove, NoTerminator,
                                           NoRegionArguments]> {
  let summary = "One kernel: the work of one (row, value head)";
  let description = [{
    Before `derive` it is a request (`of` a layer, a `kind`, an empty body).
    What belongs to the request alone is erased with `kind` by `fuse`: `flush` and
    `fold` of a window set, `mask` of a window, `track` and `dst` (states are also
    stored to track_idx; are stored to dst_idx). Buffers are named, see
    docs/abi.md; those that the body touches become the kernel's
    arguments. Rows whose state index is null write zeros to `out` and
    `fold_len`, -1 to `track_pos`, and touch nothing else. `window` is the most tokens that a row has,
    of the kernel set unless `window 2 of 4` says that others of it take more: rings,
    cursors and arrays with an element for each token are those of the set. With `layers` one launch serves many layers. `spec` is kept
    for the checker alone.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      OptionalAttr<FlatSymbolRefAttr>:$of, OptionalAttr<Replay_KindAttr>:$kind,
      OptionalAttr<Replay_ShapeAttr>:$shape, OptionalAttr<Replay_NullAttr>:$null,
      OptionalAttr<Replay_RingAttr>:$ring, OptionalAttr<Replay_KredAttr>:$kred, OptionalAttr<Replay_MmaAttr>:$mma,
      OptionalAttr<Replay_TilingAttr>:$tiling, OptionalAttr<I64Attr>:$window, OptionalAttr<I64Attr>:$window_max,
      OptionalAttr<Replay_MaskAttr>:$mask, OptionalAttr<Replay_FlushAttr>:$flush,
      OptionalAttr<Replay_FoldAttr>:$fold, UnitAttr:$track, UnitAttr:$dst,
      OptionalAttr<Replay_LayersAttr>:$layers, OptionalAttr<StrAttr>:$spec);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name (`of` $of^)? (`kind` `` $kind^)? (`shape` $shape^)? (`null` `` $null^)?
    (`ring` $ring^)? (`window` $window^)? (`of` $window_max^)? (`mask` `` $mask^)? (`flush` `` $flush^)? (`fold` `` $fold^)?
    (`track` $track^)? (`dst` $dst^)? (`layers` `` $layers^)? (`kred` $kred^)? (`mma` `` $mma^)? (`tiling` $tiling^)?
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// The most tokens of a row: of this kernel, and of any of its set.
    int64_t tokens() { return static_cast<int64_t>(getWindow().value_or(1)); }
    int64_t maxTokens() {
      return getWindowMax() ? static_cast<int64_t>(*getWindowMax()) : tokens();
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Replay_RowOp : Replay_Op<"row", [Pure]> {
  let summary = "state slot and ring slot of this block's row; live unless the row is null";
  let results = (outs Index:$slot, Index:$ring, I1:$live);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}
def Replay_CursorOp : Replay_Op<"cursor", [Pure]> {
  let summary = "wp = records held, 0 .. length - 1; flush = wp >= length - 1, or force_flush[row]";
  let description = [{ As load_slot: what lies outside is brought inside, and reported by the host device. }];
  let arguments = (ins Index:$ring, I64Attr:$length);
  let results = (outs Index:$wp, I1:$flush);
  let assemblyFormat = "$ring `wrap` `(` $length `)` attr-dict";
  let hasVerifier = 1;
}
def Replay_WindowOp : Replay_Op<"window", [Pure]> {
  let summary = "This row's tokens: the first of them, and how many, at most the kernel's window";
  let description = [{
    first = query_start_loc[row], length = query_start_loc[row + 1] - first,
    clamped to 0 .. window. The host device reports a row of another length.
  }];
  let results = (outs Index:$first, Index:$length);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}
def Replay_LoadSlotOp : Replay_Op<"load_slot", [Pure]> {
  let summary = "wp (0 .. L), base (0 .. L - 1) or is_flush (0 or 1) of a ring slot";
  let description = [{
    A number outside its range is brought inside, so that no slot but the row's own
    is reached; the host device reports it. `most` is a range smaller than the buffer's own.
  }];
  let arguments = (ins StrAttr:$name, Index:$ring, OptionalAttr<I64Attr>:$most);
  let results = (outs Index:$value);
  let assemblyFormat = "$name $ring (`most` `(` $most^ `)`)? attr-dict";
  let extraClassDeclaration = [{
    /// The greatest number that may stand there; the least is 0.
    int64_t greatest();
  }];
  let hasVerifier = 1;
}
def Replay_LoadRowOp : Replay_Op<"load_row", [Pure]> {
  let summary = "This row's element of accept_len, fold_len, force_flush, reset_mask, track_step, "
                "track_pos, track_idx or dst_idx; with a column of accept_idx or parent";
  let arguments = (ins StrAttr:$name, Optional<Index>:$column);
  let results = (outs Index:$value);
  let assemblyFormat = "$name (`[` $column^ `]`)? attr-dict";
  let hasVerifier = 1;
}
def Replay_ExpectOp : Replay_Op<"expect"> {
  let summary = "The host device reports a number of the row's that is not low .. high; a GPU does nothing";
  let description = [{
    `name` is what the report calls the number. What the kernel does with it does not
    change: whatever it is, it must reach nothing of other rows.

    ```mlir
    replay.expect "accept_len" %n in %zero to %length
    ```
  }];
  let arguments = (ins StrAttr:$name, Index:$value, Index:$low, Index:$high);
  let assemblyFormat = "$name $value `in` $low `to` $high attr-dict";
  let hasVerifier = 1;
}
def Replay_LoadStateOp : Replay_Op<"load_state", [Pure]> {
  let summary = "The checkpoint of one slot and this value head (virtual)";
  let description = [{ With `at` the snapshot behind that token, of a ring slot. }];
  let arguments = (ins Index:$slot, Optional<Index>:$at);
  let results = (outs Replay_StateType:$state);
  let assemblyFormat = "$slot (`at` `(` $at^ `)`)? attr-dict `:` type($state)";
  let hasVerifier = 1;
}
def Replay_LoadRingOp : Replay_Op<"load_ring", [Pure, AttrSizedOperandSegments]> {
  let summary = "The records 0 .. valid-1 of one ring slot; others read as zero";
  let description = [{
    `base` is where record 0 of a circular ring lies. With `mask`, an i64, instead the
    records at the positions whose bit is set, up to the ring's end.
  }];
  let arguments = (ins Index:$ring, Index:$valid, Optional<Index>:$base, Optional<I64>:$mask);
  let results = (outs Replay_RecordsType:$records);
  let assemblyFormat = [{
    $ring `valid` `(` $valid `)` (`base` `(` $base^ `)`)? (`mask` `(` $mask^ `)`)? attr-dict `:` type($records)
  }];
  let hasVerifier = 1;
}
def Replay_LoadFieldOp : Replay_Op<"load_field", [Pure]> {
  let summary = "One field of all records of a ring: [L, n], zero where there is no record";
  let arguments = (ins StrAttr:$name, Replay_RecordsType:$records);
  let results = (outs Replay_MatF32:$value);
  let assemblyFormat = "$name $records attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Replay_LoadRecordOp : Replay_Op<"load_record", [Pure]> {
  let summary = "One field of one record [1, n]: d, k, g, raw_v, raw_k or beta";
  let arguments = (ins StrAttr:$name, Index:$ring, Index:$position, Optional<Index>:$base);
  let results = (outs Replay_Mat:$value);
  let assemblyFormat = "$name $ring `,` $position (`base` `(` $base^ `)`)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Replay_PathMaskOp : Replay_Op<"path_mask", [Pure]> {
  let summary = "The bits accept_idx[row, 0 .. count-1]";
  let arguments = (ins Index:$count);
  let results = (outs I64:$mask);
  let assemblyFormat = "$count attr-dict";
  let hasVerifier = 1;
}
def Replay_LoadParentsOp : Replay_Op<"load_parents", [Pure]> {
  let summary = "parent[row, i] of each token; -1 where it is no earlier token";
  let description = [{ The host device reports a parent that is none, but of a row that is not `live`. }];
  let arguments = (ins Index:$length, Optional<I1>:$live);
  let results = (outs Replay_Parents:$parents);
  let assemblyFormat = "`rows` `(` $length `)` (`live` `(` $live^ `)`)? attr-dict `:` type($parents)";
  let hasVerifier = 1;
}
def Replay_LoadTokenOp : Replay_Op<"load_token", [Pure]> {
  let summary = "q, k, v (slices of mixed_qkv), a or b of this row's tokens and head";
  let description = [{
    Without `window` the row has one token, its own. With it (first, length) the
    tokens first .. first + length - 1; the rest read as zero.
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$window);
  let results = (outs Replay_Mat:$value);
  let assemblyFormat = "$name (`window` `(` $window^ `)`)? attr-dict `:` type($value)";
  let extraClassDeclaration = [{
    TokenInput getInput() { return *symbolizeTokenInput(getName()); }
    /// The buffer that it is a part of.
    ::llvm::StringRef getBuffer();
  }];
  let hasVerifier = 1;
}
def Replay_LoadParamOp : Replay_Op<"load_param", [Pure]> {
  let summary = "A per-head parameter: A_log [HV] or dt_bias [HV] / [HV, K]";
  let arguments = (ins StrAttr:$name);
  let results = (outs Replay_MatF32:$value);
  let assemblyFormat = "$name attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Replay_ReplayOp : Replay_Op<"replay", [Pure, AllTypesMatch<["state", "result"]>]> {
  let summary = "S .* exp(tot) + sum_j d_j (w_j .* k_j)^T: the ring applied to a checkpoint";
  let description = [{ With `tot` of records that replay.stage_records or a ring read has staged. }];
  let arguments = (ins Replay_StateType:$state, Replay_RecordsType:$records, Optional<Replay_MatF32>:$tot);
  let results = (outs Replay_StateType:$result);
  let assemblyFormat = [{
    $state `,` $records (`decayed` `(` $tot^ `:` type($tot) `)`)? attr-dict `:` type($state) `,` type($records)
  }];
  let hasVerifier = 1;
}
def Replay_DecayOp : Replay_Op<"decay", [Pure, AllTypesMatch<["state", "result"]>]> {
  let summary = "S .* exp(g)";
  let arguments = (ins Replay_StateType:$state, Replay_MatF32:$g);
  let results = (outs Replay_StateType:$result);
  let assemblyFormat = "$state `,` $g attr-dict `:` type($state) `,` type($g)";
  let hasVerifier = 1;
}
def Replay_ScaleOp : Replay_Op<"scale", [Pure, AllTypesMatch<["state", "result"]>]> {
  let summary = "S .* factor: a decay whose exponential is an op of its own";
  let arguments = (ins Replay_StateType:$state, Replay_MatF32:$factor);
  let results = (outs Replay_StateType:$result);
  let assemblyFormat = "$state `,` $factor attr-dict `:` type($state) `,` type($factor)";
  let hasVerifier = 1;
}
def Replay_Rank1Op : Replay_Op<"rank1", [Pure, AllTypesMatch<["state", "result"]>]> {
  let summary = "S + d k^T";
  let arguments = (ins Replay_StateType:$state, Replay_MatF32:$d, Replay_MatF32:$k);
  let results = (outs Replay_StateType:$result);
  let assemblyFormat = "$state `,` $d `,` $k attr-dict `:` type($state) `,` type($d) `,` type($k)";
  let hasVerifier = 1;
}
def Replay_ReadOp : Replay_Op<"read", [Pure]> {
  let summary = "y = x S^T for each x: [T, K] -> [T, V]; all x of one op share one pass over the state";
  let arguments = (ins Replay_StateType:$state, Variadic<Replay_Mat>:$xs);
  let results = (outs Variadic<Replay_MatF32>:$ys);
  let assemblyFormat = "$state `,` $xs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Replay_StoreStateOp : Replay_Op<"store_state"> {
  let summary = "Materialises a state into a slot, rounded to its dtype";
  let description = [{ With `at` as the snapshot behind that token, of a ring slot. }];
  let arguments = (ins Replay_StateType:$state, Index:$slot, Optional<Index>:$at);
  let assemblyFormat = "$state `,` $slot (`at` `(` $at^ `)`)? attr-dict `:` type($state)";
  let hasVerifier = 1;
}
def Replay_AppendOp : Replay_Op<"append", [AttrSizedOperandSegments]> {
  let summary = "Writes a record for each token at positions wp, wp + 1, ...; each field once per head that owns it";
  let description = [{
    With `rows` only the first so many; a position outside the ring is dropped.
  }];
  let arguments = (ins Index:$ring, Index:$wp, StrArrayAttr:$fields, Variadic<Replay_Mat>:$values,
      Optional<Index>:$length, Optional<Index>:$base);
  let assemblyFormat = [{
    $ring `,` $wp $fields $values (`rows` `(` $length^ `)`)? (`base` `(` $base^ `)`)? attr-dict `:` type($values)
  }];
  let hasVerifier = 1;
}
def Replay_MoveRecordOp : Replay_Op<"move_record"> {
  let summary = "Copies every field of one record to another position";
  let arguments = (ins Index:$ring, Index:$from, Index:$to, Optional<Index>:$base);
  let assemblyFormat = "$ring `,` $from `to` $to (`base` `(` $base^ `)`)? attr-dict";
  let hasVerifier = 1;
  let hasVerifier = 1;
}
def Replay_StoreOutOp : Replay_Op<"store_out"> {
  let summary = "Writes the output rows of this value head, rounded to the io dtype";
  let description = [{ `window` is that of load_token: only tokens that are there are written. }];
  let arguments = (ins Replay_MatF32:$value, TypeAttr:$io, Variadic<Index>:$window);
  let assemblyFormat = "$value `as` $io (`window` `(` $window^ `)`)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Replay_SetCursorOp : Replay_Op<"set_cursor"> {
  let summary = "wp, base or is_flush of a ring slot <- value";
  let arguments = (ins StrAttr:$name, Index:$ring, Index:$value);
  let assemblyFormat = "$name $ring `,` $value attr-dict";
  let hasVerifier = 1;
}
def Replay_StoreRowOp : Replay_Op<"store_row"> {
  let summary = "This row's element of fold_len or track_pos <- value";
  let arguments = (ins StrAttr:$name, Index:$value);
  let assemblyFormat = "$name `,` $value attr-dict";
  let hasVerifier = 1;
}

def Replay_PhaseOp : Replay_Op<"phase"> {
  let summary = "Here the ops of this phase begin, up to the next one or the end of the block";
  let description = [{
    The phases of a block: loads; gates along K and their exponentials, which threads
    share out; what else depends on loads alone; scores of pairs of tokens; reads of the
    state and of records, and what is made of them; writes.
  }];
  let arguments = (ins Replay_PhaseAttr:$phase);
  let assemblyFormat = "`` $phase attr-dict";
  let hasVerifier = 1;
}

def Replay_StageOp : Replay_Op<"stage", [Pure]> {
  let summary = "The same matrix in shared memory, where every thread finds any row of it";
  let description = [{ Along K in f32; one number for each token keeps its dtype. }];
  let arguments = (ins Replay_Mat:$x);
  let results = (outs Replay_Mat:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

def Replay_WaitOp : Replay_Op<"wait", [Pure, AllTypesMatch<["x", "y"]>]> {
  let summary = "The same behind the copy that brings it into shared memory";
  let arguments = (ins AnyTypeOf<[Replay_StateType, Replay_MatF32]>:$x);
  let results = (outs AnyTypeOf<[Replay_StateType, Replay_MatF32]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Replay_FetchOp : Replay_Op<"fetch", [Pure, AllTypesMatch<["x", "y"]>]> {
  let summary = "A staged row along K in the registers of every thread, for all uses of a block";
  let arguments = (ins Replay_MatF32:$x);
  let results = (outs Replay_MatF32:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Replay_StageRecordsOp : Replay_Op<"stage_records", [Pure, AllTypesMatch<["records", "staged"]>]> {
  let summary = "The rank-1 updates of records in shared memory, where a fold takes them one by one";
  let description = [{
    d_j and w_j .* k_j, or w_j d_j and k_j where a gate is one number.
  }];
  let arguments = (ins Replay_RecordsType:$records, Replay_MatF32:$w, Replay_MatF32:$k, Replay_MatF32:$d);
  let results = (outs Replay_RecordsType:$staged);
  let assemblyFormat = [{
    $records `,` $w `,` $k `,` $d attr-dict `:` type($records) `,` type($w) `,` type($k) `,` type($d)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What reads become when pushed to the leaves
//===----------------------------------------------------------------------===//

def Replay_RingWeightsOp : Replay_Op<"ring_weights", [Pure]> {
  let summary = "w_j = exp(sum_{i>j} g_i) [L, GK] and tot = exp(sum_i g_i) [1, GK]";
  let description = [{ Without the gates of the window; each is <= 1. `g` is what has been loaded of them. }];
  let arguments = (ins Replay_RecordsType:$records, Optional<Replay_MatF32>:$g);
  let results = (outs Replay_MatF32:$w, Replay_MatF32:$tot);
  let assemblyFormat = "$records (`of` $g^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Replay_RingReadOp : Replay_Op<"ring_read", [Pure, AttrSizedOperandSegments]> {
  let summary = "sum_j d_j ((w_j .* k_j) . x) for each x: [T, K] -> [T, V]";
  let description = [{
    `k` and `d` are what has been loaded of the records. One more result is what
    replay.stage_records gives, with `when` only where that holds: it costs no loads of
    its own here.
  }];
  let arguments = (ins Replay_RecordsType:$records, Replay_MatF32:$w, Variadic<Replay_Mat>:$xs,
      Optional<Replay_MatF32>:$k, Optional<Replay_MatF32>:$d, Optional<I1>:$when);
  let results = (outs Variadic<AnyTypeOf<[Replay_MatF32, Replay_RecordsType]>>:$all);
  let extraClassDeclaration = [{
    ::mlir::ResultRange getYs() { return getAll().take_front(getXs().size()); }
    /// Null where nothing is staged.
    ::mlir::Value getStaged() { return getAll().size() > getXs().size() ? ::mlir::Value(getAll().back()) : ::mlir::Value(); }
  }];
  let assemblyFormat = [{
    $records `,` $w `,` $xs (`of` $k^ `,` $d)? (`when` $when^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$ys, "::mlir::Value":$records, "::mlir::Value":$w,
                                 "::mlir::ValueRange":$xs), [{
    build($_builder, $_state, ys, records, w, xs, Value(), Value(), Value());
  }]>];
  let hasVerifier = 1;
}
def Replay_CumulateOp : Replay_Op<"cumulate", [Pure, AllTypesMatch<["g", "sum"]>]> {
  let summary = "G_t = sum_{l<=t} g_l";
  let description = [{ With `parents` along the path from the root to t. }];
  let arguments = (ins Replay_MatF32:$g, Optional<Replay_Parents>:$parents);
  let results = (outs Replay_MatF32:$sum);
  let assemblyFormat = "$g (`tree` `(` $parents^ `:` type($parents) `)`)? attr-dict `:` type($g)";
  let hasVerifier = 1;
}
def Replay_TokenDecaysOp : Replay_Op<"token_decays", [Pure]> {
  let summary = "The parts that the decay between any two tokens of a chain is a product of";
  let description = [{
    Tokens i > j are told apart by the highest bit h = 2^n of i ^ j: the decay from j to
    i is that from j to the middle, the multiple of h between them, times that from there
    to i. Row n T + t has that part for token t, exp of a sum of gates; 1 where there are none.
    ```mlir
    %decays = replay.token_decays %g : tensor<4x128xf32> -> tensor<8x128xf32>
    ```
  }];
  let arguments = (ins Replay_MatF32:$g);
  let results = (outs Replay_MatF32:$decays);
  let assemblyFormat = "$g attr-dict `:` type($g) `->` type($decays)";
  let extraClassDeclaration = [{
    /// Of so many tokens, the bits that tell two of them apart.
    static int64_t levels(int64_t tokens);
    /// The bit that tells `i` from `j`; they are two.
    static int64_t level(int64_t i, int64_t j);
    /// Whether something decays between the earlier token `j` and the middle.
    static bool decaysToMiddle(int64_t level, int64_t j);
  }];
  let hasVerifier = 1;
}
def Replay_ScoresOp : Replay_Op<"scores", [Pure, AttrSizedOperandSegments]> {
  let summary = "P[i, j] = sum_c x_i[c] y_j[c] exp(sum_{j<l<=i} g_l[c]) for j <= i, else 0; for each x, with the same decays";
  let description = [{
    Without g: the plain products x_i . y_j, all pairs. With `parents` the sum is
    along the path from j to i, and P is 0 where j is not on the path of i. Of a split
    kernel a chain has `decayed` in place of `gated`: what replay.token_decays makes of g.
  }];
  let arguments = (ins Variadic<Replay_Mat>:$xs, Replay_Mat:$y, Optional<Replay_MatF32>:$g,
      Optional<Replay_MatF32>:$decays, Optional<Replay_Parents>:$parents);
  let results = (outs Variadic<Replay_MatF32>:$scores);
  let assemblyFormat = [{
    $xs `with` $y (`gated` $g^)? (`decayed` $decays^)? (`tree` $parents^)? attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Whether x and y are the tokens of one window, and P has only earlier ones.
    bool isOfWindow() { return getG() || getDecays(); }
  }];
  let hasVerifier = 1;
}
def Replay_ApplyScoresOp : Replay_Op<"apply_scores", [Pure]> {
  let summary = "o_i = sum_j P[i, j] D_j, j ascending";
  let description = [{ With `parents`, those of the scores, over the path of i. }];
  let arguments = (ins Replay_MatF32:$scores, Replay_MatF32:$delta, Optional<Replay_Parents>:$parents);
  let results = (outs Replay_MatF32:$o);
  let assemblyFormat = "$scores `,` $delta (`tree` $parents^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Replay_UtSolveOp : Replay_Op<"ut_solve", [Pure]> {
  let summary = "D from (I + tril(beta P, -1)) D = beta (v - y), by forward substitution";
  let description = [{ With `parents`, those of the scores, P is 0 where j is not on the path of i. }];
  let arguments = (ins Replay_MatF32:$scores, Replay_MatF32:$y, Replay_Mat:$v, Replay_MatF32:$beta,
      Optional<Replay_Parents>:$parents);
  let results = (outs Replay_MatF32:$delta);
  let assemblyFormat = "$scores `,` $y `,` $v `,` $beta (`tree` $parents^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
