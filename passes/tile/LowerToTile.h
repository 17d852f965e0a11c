//===- LowerToTile.h - Shared by the parts of replay-lower-to-tile -*- C++ -*-===//
//
// Stateless patterns, a file for each family of ops, see one op, what its operands
// have become and their places; an Emitter builds what they emit. These are no
// rewrites in place: arith and scf ops belong to both forms of a kernel, so that
// nothing would tell a lowered one from one that is still to be lowered.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/LowerToTileLayouts.h"
#include "passes/tile/Place.h"
#include "passes/tile/Signature.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace replayssm::lower {

using mlir::Value;


/// What a value of the source has become: a tile or a number; a tile for each token; a buffer in
/// shared memory, with the token of a copy that is under way; the parts of records. Empty where it
/// is formed at each use.
using Tiles = llvm::SmallVector<Value, 2>;
using Results = llvm::SmallVector<Tiles, 1>;
/// What the operands of an op have become.
template <typename Op> using Operands = typename Op::template GenericAdaptor<llvm::ArrayRef<mlir::ValueRange>>;

class Emitter;

/// What lowers each kind of op: functions of an op and of what its operands have become, which
/// emit, and return what its results become. They keep nothing.
class Patterns {
public:
  /// What a pattern makes of matrices with a row for each token of a window.
  enum class Rows {
    One, ///< Nothing: it sees one row alone.
    Each, ///< It is asked for each row; of numbers that one thread computes each, once for all.
    All ///< It takes all of them, each by Emitter::rowOf, and returns a tile for each token.
  };
  struct Pattern {
    std::function<mlir::FailureOr<Results>(mlir::Operation *, llvm::ArrayRef<mlir::ValueRange>, Emitter &)> lower;
    Rows rows;
  };
  template <typename Op>
  void add(mlir::FailureOr<Results> (*lower)(Op, Operands<Op>, Emitter &), Rows rows = Rows::One) {
    auto lowerAny = [lower](mlir::Operation *op, llvm::ArrayRef<mlir::ValueRange> operands, Emitter &b) {
      return lower(llvm::cast<Op>(op), Operands<Op>(operands, llvm::cast<Op>(op)), b);
    };
    table[mlir::TypeID::get<Op>()] = {lowerAny, rows};
  }
  const Pattern *find(mlir::Operation &op) const {
    auto it = table.find(op.getName().getTypeID());
    return it == table.end() ? nullptr : &it->second;
  }

private:
  llvm::DenseMap<mlir::TypeID, Pattern> table;
};

// One for each family of ops, in a file of its own.
void addElementwisePatterns(Patterns &patterns);
void addNumberPatterns(Patterns &patterns);
void addTokenPatterns(Patterns &patterns);
void addGatePatterns(Patterns &patterns);
void addStatePatterns(Patterns &patterns);
void addRingPatterns(Patterns &patterns);
void addFoldPatterns(Patterns &patterns);
void addWindowPatterns(Patterns &patterns);
void addColumnPatterns(Patterns &patterns);
void addTreePatterns(Patterns &patterns);
void addReadPatterns(Patterns &patterns);
void addLoopPatterns(Patterns &patterns);

/// Of a block: uniform values, i64 unless said.
struct Grid {
  Value row, head, keyHead, vOffset;
  Value ownsKeyHead, ownsTile; ///< i1; null = every block.
};

/// A builder of tile programs for one kernel, with what the values of the source have become.
class Emitter : public mlir::ImplicitLocOpBuilder {
public:
  Emitter(replay::KernelOp kernel, const Signature &signature, mlir::gpu::GPUFuncOp func, const Patterns &patterns);

  /// Lowers the ops of `block` but its terminator, one behind another.
  mlir::LogicalResult lower(mlir::Block &block);
  void define(Value source, llvm::ArrayRef<Value> tiles);
  /// What `source` has become.
  mlir::ValueRange tiles(Value source) const;

  /// The tile of one token, or where the columns are tokens too of one element; found in shared
  /// memory or formed here, with `once` each element of it in one thread.
  Value rowOf(Value source, int64_t row, int64_t col = 0, bool once = false);
  /// One row along K, for every thread.
  Value stagedRow(mlir::ValueRange row);
  /// The same beside the state: its columns.
  Value stateRow(mlir::ValueRange row);
  /// Token `t` of an operand in shared memory, in f32.
  Value rowAt(Value smem, Value t);
  /// Rows in shared memory from element `offset` on, as they are there, and their first `width` columns.
  Value loadStaged(Value smem, Value offset, int64_t count, int64_t width, const tile::Layout &layout);
  /// Rows along K in shared memory, in f32.
  Value rowsAt(Value smem, int64_t first, int64_t count, const tile::Layout &layout);
  /// A loop, since loads of all tokens together would fill the registers; few tokens one behind
  /// another.
  void forTokens(int64_t count, llvm::function_ref<void(Value)> body);

  // Buffers and addresses.
  Value arg(llvm::StringRef name);
  Value i64(int64_t value);
  Value i32(int64_t value);
  Value index(int64_t value);
  Value toIndex(Value i64);
  Value toI64(Value index); ///< Slots are i64 already.
  Value asIndex(Value number);
  Value scalarLoad(llvm::StringRef name, mlir::Type type, Value element);
  void scalarStore(llvm::StringRef name, mlir::Type type, Value element, Value index);
  /// element = outer * <name>_stride + head * headSize + inner.
  Value offset(llvm::StringRef name, Value outer, Value head, int64_t headSize, Value inner = {});
  Value load(Value memory, Value offset, llvm::ArrayRef<int64_t> shape, mlir::Type element,
             int64_t rowStride, const tile::Layout &layout, Value rows = {},
             Value tokenStride = {});
  void store(Value value, Value memory, Value offset, int64_t rowStride, Value rows = {},
             Value owner = {}, int64_t colStride = 1);
  Value alloc(int64_t rows, int64_t cols, mlir::Type element);
  /// Runs `body` where `condition` holds; everywhere when it is null.
  void when(Value condition, llvm::function_ref<void()> body);
  /// A number that a row was given (i32): clamped, and reported by the host device
  /// where that changes it.
  Value inRange(llvm::StringRef name, Value number, int64_t low, int64_t high);
  /// The row's token t in a buffer, and (null = 1) how many tokens are there from t on.
  Value tokenAt(llvm::ArrayRef<mlir::ValueRange> window, int64_t t);
  Value tokensFrom(llvm::ArrayRef<mlir::ValueRange> window, int64_t t);

  // Arithmetic on tiles.
  mlir::RankedTensorType tileType(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  Value splat(llvm::ArrayRef<int64_t> shape, double value);
  Value broadcast(Value tile, llvm::ArrayRef<int64_t> shape);
  Value f32(Value tile);
  Value add(Value a, Value b);
  Value mul(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  Value dot(Value a, Value b, int64_t dim, Value acc = {}, std::optional<tile::Layout> layout = {});
  Value dotRows(Value a, Value b);
  /// The same on tensor cores, see #tile.mma.
  Value mma(Value a, Value b, int64_t dim, int64_t chunk = 0, bool apart = false);
  /// Sums over K in the chunks of the kernel set: of the first of `operands`, which begin at a
  /// channel and have so many, with each of the others. Chunk by chunk where they are in
  /// shared memory: fewer are in registers then.
  llvm::SmallVector<Value> mmaAlongK(bool inMemory, llvm::function_ref<llvm::SmallVector<Value>(Value, int64_t)> operands);

  // Layouts that depend on where `op` stands: vectors along V of a window would fill the
  // registers if lanes held them alike.
  bool spreadsValues(mlir::Operation *op) const;
  tile::Layout valueLayout(mlir::Operation *op) const;
  std::optional<tile::Layout> anchorOf(mlir::Operation *op, const tile::Layout &layout) const;
  /// Of a row along K, or of one number: as its place says.
  tile::Layout alongKeys(Value row) const;

  replay::KernelOp kernel;
  const Dims dims;
  const Layouts layouts{dims};
  Grid grid;

private:
  void openGrid();
  void openLayer();
  mlir::LogicalResult lower(mlir::Operation &op);
  mlir::LogicalResult lowerRows(mlir::Operation &op);
  mlir::FailureOr<Results> apply(mlir::Operation &op, llvm::ArrayRef<mlir::ValueRange> operands);
  mlir::FailureOr<Results> applyToSums(mlir::Operation &op);
  mlir::FailureOr<Results> applyToPairs(mlir::Operation &op);
  mlir::FailureOr<Value> pairsOf(Value source);
  mlir::FailureOr<Results> applyToRow(mlir::Operation &op, int64_t row, int64_t col, bool once);

  const Signature &signature;
  mlir::gpu::GPUFuncOp func;
  const Patterns &patterns;
  llvm::StringMap<Value> buffers; ///< Of this block's layer, where there are many.
  llvm::DenseMap<Value, llvm::ArrayRef<Value>> lowered;
  llvm::BumpPtrAllocator storage; ///< Of what it holds.
};

inline int64_t dimOf(Value matrix, unsigned dim) {
  return llvm::cast<mlir::RankedTensorType>(matrix.getType()).getDimSize(dim);
}

/// The one tile or number of an operand; null where there is none.
inline Value only(mlir::ValueRange tiles) { return tiles.empty() ? Value() : tiles.front(); }
inline Results one(Value result) { return {{result}}; }

/// Any op whose results have each element made of the operands' elements at its place.
mlir::FailureOr<Results> lowerElementwise(mlir::Operation &op, llvm::ArrayRef<mlir::ValueRange> in, Emitter &b);

/// The tile of a state in f32. What a state has become: a tile or a buffer, and where it is
/// scaled the factor, a row or where it is staged.
Value stateTile(Emitter &b, mlir::ValueRange state);
/// Channels of it as tensor cores take them: as they are in memory where nothing scales them.
Value stateOperand(Emitter &b, mlir::ValueRange state, Value first, int64_t width);
/// Tokens along K, in shared memory or one in registers, as tensor cores take them.
Value tokenOperand(Emitter &b, Value tokens, int64_t count, Value first, int64_t width);
Value tokenOperand(Emitter &b, Value tokens, int64_t count, Value first, int64_t width, const tile::Layout &layout);
/// What a read becomes of its sums, [bv, tokens]: they themselves, or one row along V.
Tiles resultOfSums(Emitter &b, Value y, Value sums);
/// Sums as rows along V in shared memory.
Value stageSums(Emitter &b, Value sums);

/// The records of a ring: a slot (i64), how many (index) or a bit for each position (i64),
/// and where the first one lies (index; null = at 0).
struct Records {
  Value slot, valid, base;
  replay::RingAttr format;

  Records(mlir::ValueRange parts, Value source);
};
/// Keys that come pass by pass; with a copy all of them are in shared memory.
struct KeyPasses {
  Records ring;
  Value w;
  llvm::SmallVector<Value> loaded;
  Value smem;

  KeyPasses(Records ring, Value w, Value k);
};
/// Rank-1 updates in shared memory; `rows` counts those that are written, null = all.
struct Staged {
  Value d, k, rows;

  Tiles parts() const { return rows ? Tiles{d, k, rows} : Tiles{d, k}; }
};
/// Numbers of a field in one record, and how many of them are this block's.
struct FieldShape {
  int64_t width, columns;
};
FieldShape fieldShape(Emitter &b, replay::FieldAttr field);
Value fieldOffset(Emitter &b, Value slot, replay::RingAttr format, replay::FieldAttr field);
Value rowsFrom(Emitter &b, Value valid, int64_t first);
mlir::LogicalResult expectSharedSums(Emitter &b, mlir::Operation *op, Value records, Value w, Value k);
Value weightedKeys(Emitter &b, KeyPasses &keys, int64_t pass);
void stageKeys(Emitter &b, Staged &staged, const KeyPasses &keys, int64_t pass, Value tile, Value condition);
void stageValues(Emitter &b, Staged &staged, const Records &ring, Value w, Value d, Value condition);

/// Blocks that an address does not tell apart: the first of them stores. Null = all.
Value ownerOf(Emitter &b, replay::FieldAttr field);
/// Of `count` records from `wp` on, as i64.
llvm::SmallVector<Value> positionsFrom(Emitter &b, Value wp, Value base, int64_t count);
/// Where in a ring a record lies, and (0 or 1) whether it is there at all: one past
/// the last that a ring holds was never kept, and none lies below 0.
std::pair<Value, Value> positionOf(Emitter &b, Value position, Value base);

/// Each of `ys` for all its tokens: results of a loop in shared memory, where each thread finds
/// its own again.
Results readTokens(Emitter &b, mlir::ValueRange ys, llvm::function_ref<Value(size_t, Value)> of);

/// What the parent of token `i` has in `all`; `root` where it has none.
Value ofParent(Emitter &b, mlir::ValueRange parents, int64_t i, llvm::ArrayRef<Value> all, Value root);
/// `then` where token j is on the path of i; without parents every pair is.
Value ifOnPath(Emitter &b, mlir::ValueRange parents, int64_t i, int64_t j, Value then, Value otherwise);
mlir::FailureOr<Results> lowerTreeScores(replay::ScoresOp op, Operands<replay::ScoresOp> in, Emitter &b);
/// P[i, j] for j <= i, in every thread.
Value scoreAt(Emitter &b, Value scores, int64_t i, int64_t j);

} // namespace replayssm::lower
