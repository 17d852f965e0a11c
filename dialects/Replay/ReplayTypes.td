//===- ReplayTypes.td -----------------------------------------------------===//
#ifndef REPLAY_TYPES_TD
#define REPLAY_TYPES_TD

include "ReplayAttrs.td"

class Replay_Type<string name, string typeMnemonic> : TypeDef<Replay_Dialect, name> {
  let mnemonic = typeMnemonic;
}
def Replay_StateType : Replay_Type<"State", "state"> {
  let summary = "A virtual V x K state of one value head";
  let description = [{ `dtype` is what it has in memory; arithmetic is f32. }];
  let parameters = (ins "int64_t":$V, "int64_t":$K, "::mlir::Type":$dtype);
  let assemblyFormat = "`<` $V `,` $K `,` $dtype `>`";
  let genVerifyDecl = 1;
}
def Replay_RecordsType : Replay_Type<"Records", "records"> {
  let summary = "The valid records of one ring, seen by one value head";
  let parameters = (ins "::replayssm::replay::RingAttr":$ring);
  let extraClassDeclaration = [{
    /// The width of field `name` for a layer with these head dimensions; 0 when
    /// there is no such field.
    int64_t getFieldWidth(::llvm::StringRef name, int64_t keyDim, int64_t valueDim) const;
    int64_t getFieldWidth(RecordField field, int64_t keyDim, int64_t valueDim) const {
      return getFieldWidth(stringifyRecordField(field), keyDim, valueDim);
    }
  }];
  let assemblyFormat = "`<` $ring `>`";
}

#endif
