//===- LowerToTileReads.cpp - Operands of a window, and what they read ----===//
//
// Tokens along K lie in shared memory, and so does what the reads of a loop over
// tokens leave behind.
//
//===----------------------------------------------------------------------===//
#include "passes/Preconditions.h"
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

static FailureOr<Results> lowerFetch(replay::FetchOp op, Operands<replay::FetchOp> in, Emitter &b) {
  return one(b.stagedRow(in.getX()));
}

/// In shared memory; what is rematerialised is formed with each element in one thread.
static FailureOr<Results> lowerStage(replay::StageOp op, Operands<replay::StageOp> in, Emitter &b) {
  Value x = op.getX();
  if (placeOf(x) == replay::Place::Sums)
    return one(stageSums(b, only(in.getX())));
  if (placeOf(x) == replay::Place::Pairs) {
    Value pairs = b.alloc(b.dims.tokens, b.dims.tokens, b.getF32Type());
    b.store(only(in.getX()), pairs, b.i64(0), b.dims.tokens);
    return one(pairs);
  }
  Type element = getElementTypeOrSelf(op.getY());
  int64_t count = op.getX().getType().getDimSize(0);
  int64_t width = isColumn(x) ? 1 : b.dims.keyPitch(element.getIntOrFloatBitWidth() / 8);
  Value smem = b.alloc(count, width, element);
  ValueRange tiles = in.getX();
  if (tiles.size() == 1 && !isa<tile::SmemType>(tiles.front().getType())) { // all rows
    b.store(element.isF32() ? b.f32(tiles.front()) : tiles.front(), smem, b.i64(0), width);
    return one(smem);
  }
  bool once = placeOf(x) == replay::Place::Remat;
  for (int64_t t = 0; t < count; ++t) {
    Value row = b.rowOf(x, t, 0, once);
    if (!isColumn(x))
      row = b.f32(once ? row : b.broadcast(row, {1, b.dims.K}));
    b.store(row, smem, b.i64(t * width), width);
  }
  return one(smem);
}

Results lower::readTokens(Emitter &b, ValueRange ys, function_ref<Value(size_t, Value)> of) {
  int64_t count = cast<ShapedType>(ys.front().getType()).getDimSize(0);
  bool isShared = placeOf(ys.front()) == replay::Place::Shared;
  Results results(ys.size());
  if (isShared)
    for (Tiles &tiles : results)
      tiles.push_back(b.alloc(count, b.dims.bv, b.getF32Type()));
  b.forTokens(count, [&](Value t) {
    for (auto [i, tiles] : llvm::enumerate(results))
      if (isShared)
        b.store(of(i, t), tiles.front(), arith::MulIOp::create(b, t, b.i64(b.dims.bv)), b.dims.bv);
      else
        tiles.push_back(of(i, t));
  });
  return results;
}

Value lower::tokenOperand(Emitter &b, Value tokens, int64_t count, Value first, int64_t width) {
  return tokenOperand(b, tokens, count, first, width, b.layouts.tokenColumns(count, width));
}

Value lower::tokenOperand(Emitter &b, Value tokens, int64_t count, Value first, int64_t width, const tile::Layout &layout) {
  bool isStaged = isa<tile::SmemType>(tokens.getType()); // else one of them, in registers
  return isStaged ? b.loadStaged(tokens, first, count, width, layout) : b.broadcast(tokens, {1, b.dims.K});
}

Value lower::stageSums(Emitter &b, Value sums) {
  Value smem = b.alloc(dimOf(sums, 1), b.dims.valuePitch(), b.getF32Type());
  b.store(sums, smem, b.i64(0), 1, Value(), Value(), b.dims.valuePitch());
  return smem;
}

Tiles lower::resultOfSums(Emitter &b, Value y, Value sums) {
  if (placeOf(y) == replay::Place::Sums)
    return {sums};
  return {b.load(stageSums(b, sums), b.i64(0), {1, b.dims.bv}, b.getF32Type(), b.dims.bv, b.layouts.valueRow(1))};
}

/// All tokens of all reads at once: their sums are independent.
static Results readByMma(replay::ReadOp op, Operands<replay::ReadOp> in, Emitter &b) {
  auto isInMemory = [](ValueRange tiles) { return tiles.size() == 1 && isa<tile::SmemType>(tiles.front().getType()); };
  bool inMemory = isInMemory(in.getState()) && llvm::all_of(in.getXs(), isInMemory);
  SmallVector<Value> sums = b.mmaAlongK(inMemory, [&](Value first, int64_t width) {
    SmallVector<Value> operands{stateOperand(b, in.getState(), first, width)};
    for (auto [x, tiles] : llvm::zip_equal(op.getXs(), in.getXs()))
      operands.push_back(tokenOperand(b, only(tiles), dimOf(x, 0), first, width));
    return operands;
  });
  Results results;
  for (auto [y, sum] : llvm::zip_equal(op.getYs(), sums))
    results.push_back(resultOfSums(b, y, sum));
  return results;
}

static FailureOr<Results> lowerRead(replay::ReadOp op, Operands<replay::ReadOp> in, Emitter &b) {
  if (b.dims.mma() && !isInLoop(op))
    return readByMma(op, in, b);
  Value state = stateTile(b, in.getState());
  if (isWindowed(*op))
    return readTokens(b, op.getYs(), [&](size_t i, Value t) {
      return b.dot(b.rowAt(only(in.getXs()[i]), t), state, 1, {}, b.layouts.spreadValues());
    });
  Results results;
  for (ValueRange x : in.getXs())
    results.push_back({b.dot(b.f32(b.broadcast(only(x), {1, b.dims.K})), state, 1)});
  return results;
}

void lower::addReadPatterns(Patterns &patterns) {
  patterns.add(lowerStage, Patterns::Rows::All);
  patterns.add(lowerFetch);
  patterns.add(lowerRead, Patterns::Rows::All);
}
