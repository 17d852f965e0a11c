//===- ReplayDialect.td - Delta-rule steps, rings, windows ----------------===//
#ifndef REPLAY_DIALECT_TD
#define REPLAY_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Replay_Dialect : Dialect {
  let name = "replay";
  let cppNamespace = "::replayssm::replay";
  let summary = "Gated delta-rule recurrences, replay rings and their derived kernels";
  let description = [{
    A `replay.layer` states the recurrence of one layer; a `replay.kernel` asks
    for one kernel of it. The state of the recurrence is a virtual value: it has
    no storage until a `replay.store_state`. All token-shaped values are
    `tensor<T x n>`, T tokens of the window; gates are `tensor<T x GK>` with
    GK = 1 (GDN) or K (KDA).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif
