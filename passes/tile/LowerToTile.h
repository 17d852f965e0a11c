//===- LowerToTile.h - Shared by the parts of replay-lower-to-tile -*- C++ -*-===//
//
// One Lowering object turns one scheduled kernel into one gpu.func. It works op
// by op and knows nothing about which kernel it builds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/LowerToTileLayouts.h"
#include "passes/tile/Place.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace replayssm::lower {

using mlir::Value;

struct Arg {
  std::string name;
  mlir::Type element; ///< Of the buffer; null for a stride.
  bool isTable = false; ///< A pointer to the buffer of each layer.
};

/// Of the integers of a row or a ring slot: flags are bytes, all else 32 bits.
mlir::Type integerType(mlir::MLIRContext *context, llvm::StringRef name);

/// The arguments that a kernel's body touches, in the order of docs/abi.md.
struct Signature {
  llvm::SmallVector<Arg> args;
  llvm::StringMap<int64_t> widths; ///< Of one head: what is loaded of a token or as a parameter.
  bool perHead = false; ///< Something depends on the head: one block per head and V tile.

  static mlir::FailureOr<Signature> of(replay::KernelOp kernel);
  mlir::FunctionType functionType(mlir::MLIRContext *context) const;
  /// Buffers that each layer has its own of: all but indices, cursors and flags.
  static bool isLayered(mlir::StringRef buffer);
  /// Elements of one slot, token or parameter of a buffer: the next one lies at least as far.
  int64_t extent(mlir::StringRef buffer, replay::RingAttr ring, const Dims &dims) const;
  mlir::DictionaryAttr manifest(replay::KernelOp kernel, const Dims &dims) const;
};

/// Gates of a record: one, or one for each key channel.
int64_t gateDim(replay::RingAttr format, const Dims &dims);
/// Elements of a field of one record and head.
int64_t fieldWidth(replay::FieldAttr field, const Dims &dims);

class Lowering {
public:
  Lowering(replay::KernelOp kernel, const Signature &signature, mlir::gpu::GPUFuncOp func);
  mlir::LogicalResult run();

private:
  using Loc = mlir::Location;
  using RankedTensorType = mlir::RankedTensorType;

  // LowerToTile.cpp: control.
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  mlir::LogicalResult lowerPlain(mlir::Operation &op);
  mlir::LogicalResult lowerElementwise(mlir::Operation &op);
  void storeOut(replay::StoreOutOp op, int64_t t, Value out);

  // LowerToTileLoop.cpp: branches and loops, single records.
  mlir::FailureOr<llvm::SmallVector<Value>> lowerCarried(mlir::Operation *op, mlir::ValueRange sources);
  void defineCarried(mlir::ValueRange sources, mlir::ValueRange lowered);
  mlir::LogicalResult lowerRegion(mlir::Block &from, mlir::Block &to);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);
  mlir::LogicalResult lowerLoadRecord(replay::LoadRecordOp op);

  // LowerToTileAccess.cpp: the grid, buffers and addresses.
  void openGrid();
  void openLayer();
  Value arg(llvm::StringRef name);
  Value i64(int64_t value);
  Value i32(int64_t value);
  Value index(int64_t value);
  Value toIndex(Value i64);
  Value toI64(Value index); ///< Slots are i64 already.
  Value asIndex(Value number);
  Value scalarLoad(llvm::StringRef name, mlir::Type type, Value element);
  /// element = outer * <name>_stride + head * headSize + inner.
  Value offset(llvm::StringRef name, Value outer, Value head, int64_t headSize, Value inner = {});
  Value load(Value memory, Value offset, llvm::ArrayRef<int64_t> shape, mlir::Type element,
             int64_t rowStride, const tile::Layout &layout, Value rows = {},
             Value tokenStride = {});
  void store(Value value, Value memory, Value offset, int64_t rowStride, Value rows = {},
             Value owner = {}, int64_t colStride = 1);
  Value alloc(int64_t rows, int64_t cols, mlir::Type element);
  /// A number that a row was given (i32): clamped, and reported by the host device
  /// where that changes it.
  Value inRange(llvm::StringRef name, Value number, int64_t low, int64_t high);
  mlir::LogicalResult lowerExpect(replay::ExpectOp op);
  mlir::LogicalResult lowerRow(replay::RowOp op);
  mlir::LogicalResult lowerLoadSlot(replay::LoadSlotOp op);
  mlir::LogicalResult lowerSetCursor(replay::SetCursorOp op);
  mlir::LogicalResult lowerWindow(replay::WindowOp op);
  mlir::LogicalResult lowerLoadRow(replay::LoadRowOp op);
  mlir::LogicalResult lowerStoreRow(replay::StoreRowOp op);
  void storeRow(llvm::StringRef name, Value number);
  /// The row's token t in a buffer, and (null = 1) how many tokens are there from t on.
  Value tokenAt(mlir::ValueRange window, int64_t t);
  Value tokensFrom(mlir::ValueRange window, int64_t t);
  mlir::LogicalResult lowerToken(replay::LoadTokenOp op);
  mlir::LogicalResult lowerParam(replay::LoadParamOp op);
  mlir::LogicalResult lowerStoreOut(replay::StoreOutOp op);
  mlir::LogicalResult lowerAppend(replay::AppendOp op);
  Value ownerOf(replay::FieldAttr field);
  llvm::SmallVector<Value> positionsFrom(Value wp, Value base, int64_t count);

  // LowerToTileMath.cpp: arithmetic on tiles.
  RankedTensorType tileType(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  Value splat(llvm::ArrayRef<int64_t> shape, double value);
  Value broadcast(Value tile, llvm::ArrayRef<int64_t> shape);
  Value tileOf(Value source, llvm::ArrayRef<int64_t> shape);
  Value f32(Value tile);
  Value add(Value a, Value b);
  Value mul(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  Value dot(Value a, Value b, int64_t dim, Value acc = {}, std::optional<tile::Layout> layout = {});
  Value dotRows(Value a, Value b);
  /// Vectors along V of a window would fill the registers if lanes held them alike.
  bool spreadsValues() const;
  tile::Layout valueLayout() const;
  /// Of a row along K, or of one number: as its place says.
  tile::Layout alongKeys(Value row) const;
  std::optional<tile::Layout> anchorOf(const tile::Layout &layout) const {
    return spreadsValues() ? std::optional(layout) : std::nullopt;
  }
  Value rnorm(replay::RnormOp op, Value x);
  mlir::LogicalResult lowerRnorm(replay::RnormOp op);
  mlir::LogicalResult lowerScores(replay::ScoresOp op);

  // LowerToTileWindow.cpp: several tokens.
  Value rowOf(Value source, int64_t row, int64_t col = 0);
  void define(Value source, int64_t row, Value tile);
  Value form(mlir::Operation *op, int64_t row, int64_t col);
  mlir::LogicalResult lowerWindowed(mlir::Operation &op);
  mlir::LogicalResult lowerAt(mlir::Operation &op, int64_t row, int64_t col);
  mlir::LogicalResult lowerTokenDecays(replay::TokenDecaysOp op);
  mlir::LogicalResult lowerWindowScores(replay::ScoresOp op);
  void lowerChainScores(replay::ScoresOp op, Value x, Value scores);
  Value scoreAt(Value scores, int64_t row, int64_t col);
  mlir::LogicalResult lowerSolve(replay::UtSolveOp op);
  mlir::LogicalResult lowerApply(replay::ApplyScoresOp op);

  // LowerToTileColumns.cpp: one number for each token.
  mlir::LogicalResult lowerColumn(mlir::Operation &op);
  mlir::LogicalResult lowerCumulate(replay::CumulateOp op);

  // LowerToTileReads.cpp: operands along K, and what they read.
  mlir::LogicalResult lowerStage(replay::StageOp op);
  mlir::LogicalResult lowerFetch(replay::FetchOp op);
  Value stagedRow(Value source);
  tile::Layout formedRow() const;
  void forTokens(int64_t count, llvm::function_ref<void(Value)> body);
  Value rowAt(Value smem, Value t);
  void readTokens(mlir::ValueRange ys, llvm::function_ref<Value(size_t, Value)> of);
  mlir::LogicalResult lowerReadOfTokens(replay::ReadOp op);

  // LowerToTileTree.cpp: tokens that name their parents.
  mlir::LogicalResult lowerParents(replay::LoadParentsOp op);
  Value ofParent(Value parents, int64_t i, llvm::ArrayRef<Value> all, Value root);
  Value ifOnPath(Value parents, int64_t i, int64_t j, Value then, Value otherwise);
  llvm::SmallVector<Value> pathDecays(Value gates, Value parents);
  Value pathDecay(Value gates, Value parents, int64_t i);
  mlir::LogicalResult lowerTreeScores(replay::ScoresOp op);
  mlir::LogicalResult lowerPathMask(replay::PathMaskOp op);
  std::pair<Value, Value> positionOf(Value position, Value base);
  mlir::LogicalResult lowerMoveRecord(replay::MoveRecordOp op);

  // LowerToTileGate.cpp: gates and beta.
  Value softplusGate(Value a, Value bias, Value aLog);
  Value safeGate(Value a, Value bias, Value aLog, double lowerBound);
  mlir::LogicalResult lowerGate(replay::GateOp op);
  mlir::LogicalResult lowerBeta(replay::BetaOp op);

  // LowerToTileState.cpp: the checkpoint and its update.
  mlir::LogicalResult lowerLoadState(replay::LoadStateOp op);
  mlir::LogicalResult lowerRead(replay::ReadOp op);
  mlir::LogicalResult lowerStoreState(replay::StoreStateOp op);
  mlir::LogicalResult lowerWait(replay::WaitOp op);
  mlir::LogicalResult lowerRank1(replay::Rank1Op op);
  Value stateTile(Value state);
  Value stateOffset(Value slot, Value at = {});

  // LowerToTileRing.cpp: the records.
  /// The records of a ring: a slot (i64), how many (index) or a bit for each position (i64),
  /// and where the first one lies (index; null = at 0).
  struct Records {
    Value slot, valid, base;
    replay::RingAttr format;
  };
  /// Keys that come pass by pass; with a copy all of them are in shared memory.
  struct KeyPasses {
    Records ring;
    Value w;
    llvm::SmallVector<Value> loaded;
    Value smem;
  };
  /// Rank-1 updates in shared memory; `rows` counts those that are written, null = all.
  struct Staged {
    Value d, k, rows;
  };
  mlir::LogicalResult lowerLoadRing(replay::LoadRingOp op);
  mlir::LogicalResult lowerLoadField(replay::LoadFieldOp op);
  mlir::LogicalResult lowerWeights(replay::RingWeightsOp op);
  mlir::LogicalResult lowerRingRead(replay::RingReadOp op);
  /// Numbers of a field in one record, and how many of them are this block's.
  struct FieldShape {
    int64_t width, columns;
  };
  FieldShape fieldShape(replay::FieldAttr field);
  Value fieldOffset(Value slot, replay::RingAttr format, replay::FieldAttr field);
  Value validRecords(replay::LoadRingOp op);
  Value rowsFrom(Value valid, int64_t first);
  Records recordsOf(Value records);
  mlir::LogicalResult expectSharedSums(mlir::Operation *op, Value records, Value w);
  Value loadKeys(const Records &ring, int64_t pass);
  KeyPasses keyPasses(Value records, Value w, Value k);
  Value weightedKeys(KeyPasses &keys, int64_t pass);

  // LowerToTileFold.cpp: records folded into a state.
  void stageKeys(Staged &staged, const KeyPasses &keys, int64_t pass, Value tile, Value condition);
  void stageValues(Staged &staged, const Records &ring, Value w, Value d, Value condition);
  mlir::LogicalResult lowerStageRecords(replay::StageRecordsOp op);
  mlir::LogicalResult lowerFold(replay::ReplayOp op);

  replay::KernelOp kernel;
  const Signature &signature;
  mlir::gpu::GPUFuncOp func;
  Dims dims;
  Layouts layouts{dims};
  mlir::ImplicitLocOpBuilder b;

  // Uniform values, i64 unless said.
  Value row, head, keyHead, vTile, vOffset;
  Value ownsKeyHead, ownsTile; // i1; null = every block

  llvm::StringMap<Value> buffers;      ///< Of this block's layer, where there are many.
  llvm::DenseMap<Value, Value> values; ///< Source value -> lowered value.
  llvm::DenseMap<Value, llvm::SmallVector<Value>> parts; ///< Copies, records and staged records -> several.
  llvm::DenseMap<std::pair<Value, int64_t>, Value> rows; ///< Windows: what is in registers.
  llvm::DenseMap<Value, Value> shared;                   ///< What replay-place has put into shared memory.
  llvm::DenseMap<Value, llvm::SmallVector<Value>> paths;   ///< Parents -> bits of each path.
  int64_t loopDepth = 0; ///< Loops of the source around what is lowered.
  bool formsOnce = false; ///< What is formed along K has each element in one thread.
};

} // namespace replayssm::lower
