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
}
def Replay_RecordsType : Replay_Type<"Records", "records"> {
  let summary = "The valid records of one ring, seen by one value head";
  let parameters = (ins "::replayssm::replay::RingAttr":$ring);
  let assemblyFormat = "`<` $ring `>`";
}

#endif
