//===- ReplayAttrs.td -----------------------------------------------------===//
#ifndef REPLAY_ATTRS_TD
#define REPLAY_ATTRS_TD

include "ReplayDialect.td"

class Replay_Attr<string name, string attrMnemonic> : AttrDef<Replay_Dialect, name> {
  let mnemonic = attrMnemonic;
}
class Replay_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::replayssm::replay";
  let genSpecializedAttr = 0;
}
class Replay_EnumAttr<EnumAttrInfo e, string m> : EnumAttr<Replay_Dialect, e, m> {
  let assemblyFormat = "$value";
}

def Replay_KindEnum : Replay_Enum<"Kind", "which kernel is derived; erased by fuse", [
  I32EnumAttrCase<"Packed", 0, "packed">, I32EnumAttrCase<"Replay", 1, "replay">,
  I32EnumAttrCase<"Cursors", 2, "cursors">, I32EnumAttrCase<"Verify", 3, "verify">,
  I32EnumAttrCase<"Fold", 4, "fold">, I32EnumAttrCase<"Compact", 5, "compact">,
  I32EnumAttrCase<"InputReplay", 6, "input_replay">, I32EnumAttrCase<"Snapshots", 7, "snapshots">,
  I32EnumAttrCase<"Reset", 8, "reset">]>;
def Replay_KindAttr : Replay_EnumAttr<Replay_KindEnum, "kind">;

def Replay_FlushEnum : Replay_Enum<"FlushAt", "where the ring of a window set is folded", [
  I32EnumAttrCase<"Verify", 0, "verify">, I32EnumAttrCase<"Commit", 1, "commit">,
  I32EnumAttrCase<"EveryCommit", 2, "every_commit">]>;
def Replay_FlushAttr : Replay_EnumAttr<Replay_FlushEnum, "flush_at">;
def Replay_FoldEnum : Replay_Enum<"FoldBy", "what a fold is made of", [
  I32EnumAttrCase<"Records", 0, "records">, I32EnumAttrCase<"Replay", 1, "replay">]>;
def Replay_FoldAttr : Replay_EnumAttr<Replay_FoldEnum, "fold_by">;
def Replay_MaskEnum : Replay_Enum<"Mask", "which tokens of a window came before which", [
  I32EnumAttrCase<"Chain", 0, "chain">, I32EnumAttrCase<"Tree", 1, "tree">]>;
def Replay_MaskAttr : Replay_EnumAttr<Replay_MaskEnum, "mask">;
def Replay_LayersEnum : Replay_Enum<"Layers", "how one launch finds the buffers of many layers", [
  I32EnumAttrCase<"Stride", 0, "stride">, I32EnumAttrCase<"Table", 1, "table">]>;
def Replay_LayersAttr : Replay_EnumAttr<Replay_LayersEnum, "layers">;

def Replay_NullEnum : Replay_Enum<"Null", "which state_idx values are null rows", [
  I32EnumAttrCase<"LT0", 0, "lt0">, I32EnumAttrCase<"LE0", 1, "le0">]>;
def Replay_NullAttr : Replay_EnumAttr<Replay_NullEnum, "null">;

def Replay_GateEnum : Replay_Enum<"GateForm", "how the log decay comes from its inputs", [
  I32EnumAttrCase<"Softplus", 0, "softplus">, I32EnumAttrCase<"Safe", 1, "safe">,
  I32EnumAttrCase<"Precomputed", 2, "precomputed">]>;
def Replay_GateAttr : Replay_EnumAttr<Replay_GateEnum, "gate_form">;

def Replay_BetaEnum : Replay_Enum<"BetaForm", "how beta comes from b", [
  I32EnumAttrCase<"SigmoidF32", 0, "sigmoid_f32">, I32EnumAttrCase<"SigmoidIO", 1, "sigmoid_io">,
  I32EnumAttrCase<"Precomputed", 2, "precomputed">]>;
def Replay_BetaAttr : Replay_EnumAttr<Replay_BetaEnum, "beta_form">;

def Replay_HeadEnum : Replay_Enum<"Head", "which heads a ring field is kept for", [
  I32EnumAttrCase<"Key", 0, "key">, I32EnumAttrCase<"Value", 1, "value">]>;
def Replay_DimEnum : Replay_Enum<"FieldDim", "the inner dimension of a ring field", [
  I32EnumAttrCase<"One", 0, "one">, I32EnumAttrCase<"K", 1, "K">, I32EnumAttrCase<"V", 2, "V">]>;
def Replay_RecordFieldEnum : Replay_Enum<"RecordField", "the ring fields that ops and derive know, by name", [
  I32EnumAttrCase<"D", 0, "d">, I32EnumAttrCase<"K", 1, "k">, I32EnumAttrCase<"G", 2, "g">,
  I32EnumAttrCase<"RawV", 3, "raw_v">, I32EnumAttrCase<"RawK", 4, "raw_k">, I32EnumAttrCase<"Beta", 5, "beta">]>;
def Replay_TokenInputEnum : Replay_Enum<"TokenInput", "what a token brings", [
  I32EnumAttrCase<"Q", 0, "q">, I32EnumAttrCase<"K", 1, "k">, I32EnumAttrCase<"V", 2, "v">,
  I32EnumAttrCase<"A", 3, "a">, I32EnumAttrCase<"B", 4, "b">]>;
def Replay_CopyEnum : Replay_Enum<"CopyKind", "how the state tile and the ring keys reach the block", [
  I32EnumAttrCase<"Direct", 0, "direct">, I32EnumAttrCase<"Bulk", 1, "bulk">]>;

def Replay_PhaseEnum : Replay_Enum<"Phase", "what the ops of a block are issued for, in order", [
  I32EnumAttrCase<"Loads", 0, "loads">, I32EnumAttrCase<"Gates", 1, "gates">, I32EnumAttrCase<"Tokens", 2, "tokens">,
  I32EnumAttrCase<"Pairs", 3, "pairs">, I32EnumAttrCase<"Reads", 4, "reads">, I32EnumAttrCase<"Writes", 5, "writes">]>;
def Replay_PhaseAttr : Replay_EnumAttr<Replay_PhaseEnum, "phase">;

def Replay_PlaceEnum : Replay_Enum<"Place", "where the rows of a matrix are", [
  I32EnumAttrCase<"Regs", 0, "regs">, I32EnumAttrCase<"Spread", 1, "spread">, I32EnumAttrCase<"Shared", 2, "shared">,
  I32EnumAttrCase<"Remat", 3, "remat">, I32EnumAttrCase<"Sums", 4, "sums">, I32EnumAttrCase<"Pairs", 5, "pairs">]>;
def Replay_PlaceAttr : Replay_EnumAttr<Replay_PlaceEnum, "place">;

def Replay_RingShapeEnum : Replay_Enum<"RingShape", "where the first record of a ring lies", [
  I32EnumAttrCase<"Linear", 0, "linear">, I32EnumAttrCase<"Circular", 1, "circular">]>;
def Replay_RingShapeParameter
    : DefaultValuedParameter<"::replayssm::replay::RingShape", "::replayssm::replay::RingShape::Linear"> {
  let printer = "$_printer << ::replayssm::replay::stringifyRingShape($_self)";
}

def Replay_ShapeAttr : Replay_Attr<"Shape", "shape"> {
  let summary = "Head counts and head dimensions of a layer";
  let parameters = (ins "int64_t":$H, "int64_t":$HV, "int64_t":$K, "int64_t":$V);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Replay_FieldAttr : Replay_Attr<"Field", "field"> {
  let summary = "One field of a ring record";
  let description = [{
    `#replay.field<"k", f32, key, K>`: buffer `k_ring` of shape
    [ring slots, H, L, K], float32. A field of another name than those of
    RecordField is a kernel's own: nothing but its appends and loads knows it.
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::Type":$dtype,
      EnumParameter<Replay_HeadEnum>:$head, EnumParameter<Replay_DimEnum>:$dim);
  let assemblyFormat = "`<` $name `,` $dtype `,` $head `,` $dim `>`";
  let extraClassDeclaration = [{
    /// Which field it is; none of a kernel's own.
    std::optional<RecordField> getKnown() const { return symbolizeRecordField(getName()); }
    /// The name of its buffer.
    std::string getBuffer() const { return (getName() + "_ring").str(); }
  }];
}
def Replay_RingAttr : Replay_Attr<"Ring", "ring"> {
  let summary = "The format of a ring of records, linear unless it says circular";
  let description = [{
    Record j of a circular ring lies at (base + j) mod length. Fields d, k and g
    are what a token adds to the state; raw_v, raw_k and beta, with g, what the
    recurrence is run from again.
  }];
  let parameters = (ins "int64_t":$length, ArrayRefParameter<"::replayssm::replay::FieldAttr">:$fields,
      Replay_RingShapeParameter:$shape);
  let assemblyFormat = "`<` $length `,` `[` $fields `]` (`,` $shape^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The field called `name`, or null.
    FieldAttr getField(::llvm::StringRef name) const;
    FieldAttr getField(RecordField field) const { return getField(stringifyRecordField(field)); }
    bool isCircular() const { return getShape() == RingShape::Circular; }
  }];
}
def Replay_KredAttr : Replay_Attr<"Kred", "kred"> {
  let summary = "The order of every sum over K: part of the kernel set, never of the schedule";
  let description = [{
    Lane l of `lanes` owns elements (c * lanes + l) * vec + {0 .. vec-1} for
    c = 0, 1, ...; it forms one fma chain over them in ascending order, then the
    lanes are joined by a butterfly with distances 1, 2, 4, ...
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$vec);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Replay_MmaAttr : Replay_Attr<"Mma", "mma"> {
  let summary = "Windows read state and ring on tensor cores: part of the kernel set, never of the schedule";
  let description = [{
    Every sum over K but the norms, the scores of trees, and with gates along K those of a
    token with itself, is that of `chunk` channels each, joined in ascending order (see
    #tile.mma); sums over the records of a ring have one accumulator.
  }];
  let parameters = (ins "int64_t":$chunk);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Replay_TilingAttr : Replay_Attr<"Tiling", "tiling"> {
  let summary = "The schedule's decisions for one kernel; results do not depend on them";
  let description = [{
    `bv` value rows per block (divides V); `bc` ring rows per pass; `warps` per
    block; `copy` direct (state tile and ring keys go straight to registers) or
    bulk (cp.async.bulk into shared memory); `unroll` of the fold loop; `blocks`
    that a multiprocessor is to hold at once, which limits their registers
    (.minnctapersm; 1 = no limit); `sink` registers of a thread that may wait for the
    barrier behind which others read what they hold.
  }];
  let parameters = (ins "int64_t":$bv, "int64_t":$bc, "int64_t":$warps,
      EnumParameter<Replay_CopyEnum>:$copy, "int64_t":$unroll, DefaultValuedParameter<"int64_t", "1">:$blocks,
      DefaultValuedParameter<"int64_t", "8">:$sink);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
