//===- Deriver.h - Fills one kernel request from its layer ---------*- C++ -*-===//
#pragma once

#include "passes/derive/Values.h"

#include "mlir/IR/IRMapping.h"

namespace replayssm::derive {

class Deriver {
public:
  Deriver(mlir::OpBuilder &b, replay::KernelOp kernel, replay::LayerOp layer)
      : b(b), kernel(kernel), layer(layer), loc(kernel.getLoc()),
        tokens(kernel.tokens()), tokensOfSet(kernel.maxTokens()) {}
  void run();

private:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;

  // DeriveKernels.cpp: what all kernels are made of.
  Value constant(int64_t value);
  Value add(Value x, Value y);
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y);
  Value select(Value condition, Value x, Value y);
  Value clamp(Value x, Value low, Value high);
  Value isPositive(Value x);
  Value isSet(Value flag);
  void when(Value condition, llvm::function_ref<void()> body);
  Value loadRow(llvm::StringRef name, Value column = {});
  Value loadSlot(llvm::StringRef name);
  /// The host device reports a value outside; clamping is another matter.
  void expect(llvm::StringRef name, Value value, Value low, Value high);
  void setCursor(llvm::StringRef name, Value value);
  Value acceptedTokens();
  Value acceptedPosition(Value i, Value last);
  Value targetSlot();
  mlir::Type stateType() { return input("state").getType(); }
  Value loadState();
  Value replayed(Value valid, Value base = {}, Value mask = {});
  void storeState(Value state, Value slot, Value at = {});
  Value input(llvm::StringRef name);
  replay::DeltaOp delta();
  Value nextState();
  mlir::RankedTensorType widen(mlir::Type type);
  void loadTokens(ValueRange where, llvm::ArrayRef<llvm::StringRef> names);
  void loadParams();
  void cloneLayer(Value state, Value parents = {});
  void cloneOp(mlir::Operation &op);
  void storeOut(ValueRange where);
  Value recorded(replay::RecordField field);
  void append(Value position, Value base = {});

  // DeriveDecode.cpp
  replay::CursorOp loadCursor();
  void loadToken();
  void advanceCursor();
  void step();
  void decode();

  // DeriveWindow.cpp
  void verify();
  void commitWindow();
  Value trackPosition(Value wp, Value accepted);
  void reset();
  void compact();

  // DeriveFold.cpp
  Value recur(Value state, Value count, llvm::function_ref<Value(Value, Value)> body);
  Value stepRecord(Value state, Value position, Value base);
  Value refold(Value length, Value base, Value tracked = {}, bool isTree = false);
  void fold();
  void inputReplay();
  void snapshots();
  Value parentState(Value t, Value before);

  mlir::OpBuilder &b;
  replay::KernelOp kernel;
  replay::LayerOp layer;
  mlir::Location loc;
  int64_t tokens;            ///< That one op works on: all of a window, or one.
  const int64_t tokensOfSet; ///< The window of the kernel set.
  replay::RowOp row;
  llvm::SmallVector<Value, 2> window; ///< First token and length, where rows are ragged.
  mlir::IRMapping mapping;
};

} // namespace replayssm::derive
