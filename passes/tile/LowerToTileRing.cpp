//===- LowerToTileRing.cpp - Records: loads, weights and reads -------------===//
#include "passes/tile/LowerToTile.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::lower;

int64_t lower::gateDim(replay::RingAttr format, const Dims &dims) {
  return format.getField("g").getDim() == replay::FieldDim::K ? dims.K : 1;
}

int64_t lower::fieldWidth(replay::FieldAttr field, const Dims &dims) {
  switch (field.getDim()) {
  case replay::FieldDim::V:
    return dims.V;
  case replay::FieldDim::K:
    return dims.K;
  case replay::FieldDim::One:
    return 1;
  }
  llvm_unreachable("unknown field dimension");
}

FieldShape lower::fieldShape(Emitter &b, replay::FieldAttr field) {
  int64_t width = fieldWidth(field, b.dims);
  return {width, field.getDim() == replay::FieldDim::V ? b.dims.bv : width};
}

Value lower::fieldOffset(Emitter &b, Value slot, replay::RingAttr format, replay::FieldAttr field) {
  auto headOf = [&] {
    switch (field.getHead()) {
    case replay::Head::Key:
      return b.grid.keyHead;
    case replay::Head::Value:
      return b.grid.head;
    }
    llvm_unreachable("unknown head");
  };
  bool alongV = field.getDim() == replay::FieldDim::V;
  return b.offset(field.getBuffer(), slot, headOf(), format.getLength() * fieldShape(b, field).width,
                  alongV ? b.grid.vOffset : Value());
}

/// How many records there are from the first position on; as a bit for each
/// position where they lie elsewhere. Positions are never turned into logical
/// order: records stay where they are, and no address waits for the base.
static Value validRecords(Emitter &b, Operands<replay::LoadRingOp> in, int64_t length) {
  if (Value mask = only(in.getMask()))
    return mask;
  Value valid = only(in.getValid());
  if (in.getBase().empty())
    return valid;
  Value count = b.toI64(valid), base = b.toI64(only(in.getBase()));
  Value low = arith::SubIOp::create(b, arith::ShLIOp::create(b, b.i64(1), count), b.i64(1));
  Value all = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, count, b.i64(64));
  low = arith::SelectOp::create(b, all, b.i64(-1), low);
  // Rotated by the base; what leaves the ring above comes in below. In two steps:
  // a shift by 64 is none.
  Value up = arith::ShLIOp::create(b, low, base);
  Value down =
      arith::ShRUIOp::create(b, arith::ShRUIOp::create(b, low, b.i64(1)), arith::SubIOp::create(b, b.i64(length - 1), base));
  Value bits = arith::OrIOp::create(b, up, down);
  return length == 64 ? bits : Value(arith::AndIOp::create(b, bits, b.i64((int64_t(1) << length) - 1)));
}

Value lower::rowsFrom(Emitter &b, Value valid, int64_t first) {
  if (first == 0)
    return valid;
  if (valid.getType().isInteger(64))
    return arith::ShRUIOp::create(b, valid, b.i64(first));
  Value rest = arith::SubIOp::create(b, valid, b.index(first));
  return arith::MaxSIOp::create(b, rest, b.index(0));
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Records::Records(ValueRange parts, Value source)
    : slot(parts[0]), valid(parts[1]), base(parts.size() > 2 ? parts[2] : Value()),
      format(cast<replay::RecordsType>(source.getType()).getRing()) {}

static FailureOr<Results> lowerLoadRing(replay::LoadRingOp op, Operands<replay::LoadRingOp> in, Emitter &b) {
  if (op.getMask() && op.getBase())
    return op.emitOpError("expected a linear ring for a mask of positions but got a circular one");
  Tiles parts{only(in.getRing()), validRecords(b, in, op.getRecords().getType().getRing().getLength())};
  if (op.getBase())
    parts.push_back(only(in.getBase()));
  return Results{parts};
}

/// Of a pass; tensor cores take all records at once.
static tile::Layout keysLayout(Emitter &b, int64_t rows) { return b.layouts.ringKeys(b.dims.mma() ? rows : b.dims.bc); }

static Value loadKeys(Emitter &b, const Records &ring, int64_t pass) {
  replay::FieldAttr field = ring.format.getField(replay::RecordField::K);
  Value at = fieldOffset(b, ring.slot, ring.format, field);
  if (pass)
    at = arith::AddIOp::create(b, at, b.i64(pass * b.dims.bc * b.dims.K));
  int64_t rows = std::min(b.dims.bc, ring.format.getLength() - pass * b.dims.bc);
  return b.load(b.arg(field.getBuffer()), at, {rows, b.dims.K}, b.getF32Type(), b.dims.K, keysLayout(b, rows),
                rowsFrom(b, ring.valid, pass * b.dims.bc));
}

/// Of keys the first pass, or a copy of all; all of other fields.
static FailureOr<Results> lowerLoadField(replay::LoadFieldOp op, Operands<replay::LoadFieldOp> in, Emitter &b) {
  Records ring(in.getRecords(), op.getRecords());
  replay::FieldAttr field = ring.format.getField(op.getName());
  int64_t length = ring.format.getLength(), width = fieldShape(b, field).width, columns = fieldShape(b, field).columns;
  Value memory = b.arg(field.getBuffer());
  if (placeOf(op.getValue()) == replay::Place::Shared) {
    Value smem = b.alloc(length, width, field.getDtype());
    Value token = tile::CopyOp::create(b, tile::TokenType::get(b.getContext()), memory,
                                       fieldOffset(b, ring.slot, ring.format, field), smem, ring.valid, IntegerAttr());
    return Results{{smem, token}};
  }
  std::optional<replay::RecordField> known = field.getKnown();
  if (known == replay::RecordField::K)
    return one(loadKeys(b, ring, 0));
  tile::Layout layout = field.getDim() == replay::FieldDim::V ? b.layouts.ringValues(length)
                        : width == 1                          ? b.layouts.ringScalars(length)
                                                              : b.layouts.spread(length);
  return one(b.load(memory, fieldOffset(b, ring.slot, ring.format, field), {length, columns}, field.getDtype(), width, layout,
                    ring.valid));
}

//===----------------------------------------------------------------------===//
// Weights and reads
//===----------------------------------------------------------------------===//

/// Weights along K lie in shared memory.
static FailureOr<Results> lowerWeights(replay::RingWeightsOp op, Operands<replay::RingWeightsOp> in, Emitter &b) {
  Value g = only(in.getG());
  auto type = cast<RankedTensorType>(g.getType());
  bool alongK = type.getDimSize(1) > 1;
  auto scan = tile::ScanOp::create(b, type, b.tileType({1, type.getDimSize(1)}, b.getF32Type()), g,
                                   Records(in.getRecords(), op.getRecords()).base);
  Value w = math::ExpOp::create(b, scan.getSuffix());
  Value tot = math::ExpOp::create(b, scan.getTotal());
  if (alongK) {
    Value smem = b.alloc(type.getDimSize(0), b.dims.K, b.getF32Type());
    b.store(w, smem, b.i64(0), b.dims.K);
    w = smem;
  }
  return Results{{w}, {tot}};
}

/// Lanes share the sums over records as they share those over K.
LogicalResult lower::expectSharedSums(Emitter &b, Operation *op, Value records, Value w, Value k) {
  if (b.dims.lanes != 8)
    return op->emitOpError() << "expected 8 lanes in 'kred', as many as share a sum over ring records, but got "
                             << b.dims.lanes;
  auto weights = w.getDefiningOp<replay::RingWeightsOp>();
  if (!weights || weights.getRecords() != records || w != weights.getW())
    return op->emitOpError() << "expected the weights of the records that it reads";
  // Only a first pass of them is loaded so far.
  auto wait = k.getDefiningOp<replay::WaitOp>();
  auto keys = (wait ? wait.getX() : k).getDefiningOp<replay::LoadFieldOp>();
  if (!keys || keys.getRecords() != records || replay::symbolizeRecordField(keys.getName()) != replay::RecordField::K)
    return op->emitOpError() << "expected the keys of the records that it reads";
  return success();
}

KeyPasses::KeyPasses(Records ring, Value w, Value k) : ring(ring), w(w) {
  if (isa<tile::SmemType>(k.getType()))
    smem = k;
  else
    loaded.push_back(k);
}

/// The keys of one pass, times their weights where these are along K.
Value lower::weightedKeys(Emitter &b, KeyPasses &keys, int64_t pass) {
  int64_t length = keys.ring.format.getLength(), first = pass * b.dims.bc, rows = std::min(b.dims.bc, length - first);
  Value tile;
  if (keys.smem) {
    tile = b.load(keys.smem, b.i64(first * b.dims.K), {rows, b.dims.K}, b.getF32Type(), b.dims.K, keysLayout(b, rows),
                  rowsFrom(b, keys.ring.valid, first));
  } else {
    if (first + b.dims.bc < length) // the next pass is on its way while this one is used
      keys.loaded.push_back(loadKeys(b, keys.ring, pass + 1));
    tile = keys.loaded[pass];
  }
  if (gateDim(keys.ring.format, b.dims) == 1)
    return tile;
  Value w = b.load(keys.w, b.i64(first * b.dims.K), {rows, b.dims.K}, b.getF32Type(), b.dims.K, keysLayout(b, rows));
  return b.mul(tile, w);
}

/// Numbers in the parts of scores of a read that have a buffer of their own.
static constexpr int64_t smallParts = 512;

/// Sums of chunks, [chunks of length records, tokens], by token.
static void storeParts(Emitter &b, Value parts, Value apart) {
  b.store(parts, apart, b.i64(0), 1, Value(), Value(), dimOf(parts, 0));
}

/// They are joined in ascending order: scores by token.
static Value joinParts(Emitter &b, Value parts, Value apart, int64_t length) {
  int64_t rows = dimOf(parts, 0), count = dimOf(parts, 1), block = llvm::alignTo(length, 16);
  Value joined = b.alloc(count, length, b.getF32Type()), sum;
  for (int64_t first = 0; first < rows; first += block) {
    Value part = b.load(apart, b.i64(first), {count, length}, b.getF32Type(), rows, b.layouts.pairs(count, length));
    sum = sum ? b.add(sum, part) : part;
  }
  b.store(sum, joined, b.i64(0), length);
  return joined;
}

/// The same on tensor cores: scores of all records with all tokens, and what these weigh. Warps
/// share the channels of the scores: none has work that others wait for.
static FailureOr<Results> readRingByMma(replay::RingReadOp op, Operands<replay::RingReadOp> in, Emitter &b) {
  KeyPasses keys(Records(in.getRecords(), op.getRecords()), only(in.getW()), only(in.getK()));
  Value w = only(in.getW()), d = only(in.getD()), when = op.getWhen() ? only(in.getWhen()) : Value();
  int64_t length = keys.ring.format.getLength();
  if (b.dims.bc < length)
    return op.emitOpError() << "expected a tiling with bc of at least the ring's " << length << " records for mma but got " << b.dims.bc;
  Value tile = weightedKeys(b, keys, 0);
  SmallVector<Value> parts, scores;
  for (auto [x, tiles] : llvm::zip_equal(op.getXs(), in.getXs())) {
    int64_t count = dimOf(x, 0);
    Value tokens = tokenOperand(b, only(tiles), count, b.i64(0), b.dims.K, b.layouts.tokenChunks(count));
    parts.push_back(b.mma(tile, tokens, 1, b.dims.chunk, /*apart=*/true));
  }
  // Large ones in one buffer: shared memory is dearer than barriers.
  bool shareOne = dimOf(parts.front(), 0) * dimOf(parts.front(), 1) > smallParts;
  SmallVector<Value> buffers;
  for (Value part : parts)
    buffers.push_back(shareOne && !buffers.empty() ? buffers.front() : b.alloc(dimOf(part, 1), dimOf(part, 0), b.getF32Type()));
  if (!shareOne)
    for (auto [part, buffer] : llvm::zip_equal(parts, buffers))
      storeParts(b, part, buffer);
  for (auto [part, buffer] : llvm::zip_equal(parts, buffers)) {
    if (shareOne)
      storeParts(b, part, buffer);
    scores.push_back(joinParts(b, part, buffer, length));
  }
  Staged staged;
  if (op.getStaged()) {
    stageKeys(b, staged, keys, 0, tile, when);
    stageValues(b, staged, keys.ring, w, d, when);
  }
  SmallVector<Value> weights;
  for (auto [x, smem] : llvm::zip_equal(op.getXs(), scores)) {
    int64_t count = dimOf(x, 0);
    Value score = tile::LoadOp::create(b, b.tileType({length, count}, b.getF32Type()), smem, b.i64(0),
                                       b.getDenseI64ArrayAttr({1, length}), Value(), Value(), Value(),
                                       b.layouts.scoreColumns(length, count).toAttr(b.getContext()));
    weights.push_back(gateDim(keys.ring.format, b.dims) == 1 ? b.mul(w, score) : score);
  }
  Results results;
  for (auto [y, weight] : llvm::zip_equal(op.getYs(), weights))
    results.push_back(resultOfSums(b, y, b.mma(d, weight, 0)));
  if (op.getStaged())
    results.push_back(staged.parts());
  return results;
}

static FailureOr<Results> lowerRingRead(replay::RingReadOp op, Operands<replay::RingReadOp> in, Emitter &b) {
  if (failed(expectSharedSums(b, op, op.getRecords(), op.getW(), op.getK())))
    return failure();
  if (b.dims.mma())
    return readRingByMma(op, in, b);
  KeyPasses keys(Records(in.getRecords(), op.getRecords()), only(in.getW()), only(in.getK()));
  Value w = only(in.getW()), d = only(in.getD());
  int64_t length = keys.ring.format.getLength();
  // Those of a window are too many to keep in registers, and come one by one.
  int64_t count = cast<ShapedType>(op.getXs().front().getType()).getDimSize(0);
  bool several = count > 1;
  SmallVector<Value> xs, scores;
  for (ValueRange x : in.getXs()) {
    xs.push_back(several ? only(x) : b.f32(b.broadcast(only(x), {1, b.dims.K})));
    scores.push_back(b.alloc(count, length, b.getF32Type()));
  }
  auto scoresOf = [&](Value t) { return Value(arith::MulIOp::create(b, t, b.i64(length))); };

  // Scores of every record, through shared memory from the rows' owners to all.
  Value when = op.getWhen() ? only(in.getWhen()) : Value();
  Staged staged;
  for (int64_t pass = 0; pass * b.dims.bc < length; ++pass) {
    Value tile = weightedKeys(b, keys, pass);
    b.forTokens(count, [&](Value t) {
      for (auto [x, smem] : llvm::zip_equal(xs, scores)) {
        Value at = arith::AddIOp::create(b, scoresOf(t), b.i64(pass * b.dims.bc));
        b.store(b.dot(tile, several ? b.rowAt(x, t) : x, 1), smem, at, 1);
      }
    });
    if (op.getStaged())
      stageKeys(b, staged, keys, pass, tile, when);
  }
  if (op.getStaged())
    stageValues(b, staged, keys.ring, w, d, when);
  Results results = readTokens(b, op.getYs(), [&](size_t i, Value t) {
    Value score = b.load(scores[i], scoresOf(t), {length, 1}, b.getF32Type(), 1, b.layouts.ringScalars(length));
    if (gateDim(keys.ring.format, b.dims) == 1)
      score = b.mul(w, score);
    return b.dot(score, d, 0, {}, b.anchorOf(op, b.layouts.spreadValues()));
  });
  if (op.getStaged())
    results.push_back(staged.parts());
  return results;
}

void lower::addRingPatterns(Patterns &patterns) {
  patterns.add(lowerLoadRing);
  patterns.add(lowerLoadField);
  patterns.add(lowerWeights);
  patterns.add(lowerRingRead);
}
