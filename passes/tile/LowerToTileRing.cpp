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

Lowering::FieldShape Lowering::fieldShape(replay::FieldAttr field) {
  int64_t width = fieldWidth(field, dims);
  return {width, field.getDim() == replay::FieldDim::V ? dims.bv : width};
}

Value Lowering::fieldOffset(Value slot, replay::RingAttr format, replay::FieldAttr field) {
  auto headOf = [&] {
    switch (field.getHead()) {
    case replay::Head::Key:
      return keyHead;
    case replay::Head::Value:
      return head;
    }
    llvm_unreachable("unknown head");
  };
  bool alongV = field.getDim() == replay::FieldDim::V;
  return offset(field.getBuffer(), slot, headOf(), format.getLength() * fieldShape(field).width,
                alongV ? vOffset : Value());
}

/// How many records there are from the first position on; as a bit for each
/// position where they lie elsewhere. Positions are never turned into logical
/// order: records stay where they are, and no address waits for the base.
Value Lowering::validRecords(replay::LoadRingOp op) {
  if (op.getMask())
    return values.lookup(op.getMask());
  Value valid = values.lookup(op.getValid());
  if (!op.getBase())
    return valid;
  int64_t length = op.getRecords().getType().getRing().getLength();
  Value count = toI64(valid), base = toI64(values.lookup(op.getBase()));
  Value low = arith::SubIOp::create(b, arith::ShLIOp::create(b, i64(1), count), i64(1));
  Value all = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, count, i64(64));
  low = arith::SelectOp::create(b, all, i64(-1), low);
  // Rotated by the base; what leaves the ring above comes in below. In two steps:
  // a shift by 64 is none.
  Value up = arith::ShLIOp::create(b, low, base);
  Value down = arith::ShRUIOp::create(b, arith::ShRUIOp::create(b, low, i64(1)),
                                      arith::SubIOp::create(b, i64(length - 1), base));
  Value bits = arith::OrIOp::create(b, up, down);
  return length == 64 ? bits : Value(arith::AndIOp::create(b, bits, i64((int64_t(1) << length) - 1)));
}

Value Lowering::rowsFrom(Value valid, int64_t first) {
  if (first == 0)
    return valid;
  if (valid.getType().isInteger(64))
    return arith::ShRUIOp::create(b, valid, i64(first));
  Value rest = arith::SubIOp::create(b, valid, index(first));
  return arith::MaxSIOp::create(b, rest, index(0));
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Lowering::Records Lowering::recordsOf(Value records) {
  ArrayRef<Value> known = parts[records];
  return {known[0], known[1], known[2], cast<replay::RecordsType>(records.getType()).getRing()};
}

LogicalResult Lowering::lowerLoadRing(replay::LoadRingOp op) {
  if (op.getMask() && op.getBase())
    return op.emitOpError("expected a linear ring for a mask of positions but got a circular one");
  parts[op.getRecords()] = {values.lookup(op.getRing()), validRecords(op), op.getBase() ? values.lookup(op.getBase()) : Value()};
  return success();
}

Value Lowering::loadKeys(const Records &ring, int64_t pass) {
  Value at = fieldOffset(ring.slot, ring.format, ring.format.getField(replay::RecordField::K));
  if (pass)
    at = arith::AddIOp::create(b, at, i64(pass * dims.bc * dims.K));
  int64_t rows = std::min(dims.bc, ring.format.getLength() - pass * dims.bc);
  return load(arg("k_ring"), at, {rows, dims.K}, b.getF32Type(), dims.K, layouts.keys(dims.bc),
              rowsFrom(ring.valid, pass * dims.bc));
}

/// Of keys the first pass, or a copy of all; all of other fields.
LogicalResult Lowering::lowerLoadField(replay::LoadFieldOp op) {
  Records ring = recordsOf(op.getRecords());
  replay::FieldAttr field = ring.format.getField(op.getName());
  int64_t length = ring.format.getLength(), width = fieldShape(field).width, columns = fieldShape(field).columns;
  Value memory = arg(field.getBuffer());
  if (placeOf(op.getValue()) == replay::Place::Shared) {
    Value smem = alloc(length, width, field.getDtype());
    parts[op.getValue()] = {smem, tile::CopyOp::create(b, tile::TokenType::get(b.getContext()), memory,
                                                       fieldOffset(ring.slot, ring.format, field), smem, ring.valid,
                                                       IntegerAttr())};
    return success();
  }
  std::optional<replay::RecordField> known = field.getKnown();
  if (known == replay::RecordField::K) {
    values[op.getValue()] = loadKeys(ring, 0);
    return success();
  }
  tile::Layout layout = field.getDim() == replay::FieldDim::V ? layouts.ringValues(length)
                        : width == 1                          ? layouts.ringScalars(length)
                                                              : layouts.spread(length);
  values[op.getValue()] = load(memory, fieldOffset(ring.slot, ring.format, field), {length, columns}, field.getDtype(), width,
                               layout, ring.valid);
  return success();
}

//===----------------------------------------------------------------------===//
// Weights and reads
//===----------------------------------------------------------------------===//

/// Weights along K lie in shared memory.
LogicalResult Lowering::lowerWeights(replay::RingWeightsOp op) {
  Value g = values.lookup(op.getG());
  auto type = cast<RankedTensorType>(g.getType());
  bool alongK = type.getDimSize(1) > 1;
  auto scan = tile::ScanOp::create(b, type, tileType({1, type.getDimSize(1)}, b.getF32Type()), g,
                                   recordsOf(op.getRecords()).base);
  Value w = math::ExpOp::create(b, scan.getSuffix());
  values[op.getTot()] = math::ExpOp::create(b, scan.getTotal());
  if (alongK) {
    Value smem = alloc(type.getDimSize(0), dims.K, b.getF32Type());
    store(w, smem, i64(0), dims.K);
    w = smem;
  }
  values[op.getW()] = w;
  return success();
}

/// Lanes share the sums over records as they share those over K.
LogicalResult Lowering::expectSharedSums(Operation *op, Value records, Value w) {
  if (dims.lanes != 8)
    return op->emitOpError() << "expected 8 lanes in 'kred', as many as share a sum over ring records, but got " << dims.lanes;
  auto weights = w.getDefiningOp<replay::RingWeightsOp>();
  if (!weights || weights.getRecords() != records || w != weights.getW())
    return op->emitOpError() << "expected the weights of the records that it reads";
  return success();
}

Lowering::KeyPasses Lowering::keyPasses(Value records, Value w, Value k) {
  KeyPasses keys{recordsOf(records), values.lookup(w), {}, {}};
  Value first = values.lookup(k);
  if (isa<tile::SmemType>(first.getType()))
    keys.smem = first;
  else
    keys.loaded.push_back(first);
  return keys;
}

/// The keys of one pass, times their weights where these are along K.
Value Lowering::weightedKeys(KeyPasses &keys, int64_t pass) {
  int64_t length = keys.ring.format.getLength(), first = pass * dims.bc, rows = std::min(dims.bc, length - first);
  Value tile;
  if (keys.smem) {
    tile = load(keys.smem, i64(first * dims.K), {rows, dims.K}, b.getF32Type(), dims.K, layouts.keys(dims.bc),
                rowsFrom(keys.ring.valid, first));
  } else {
    if (first + dims.bc < length) // the next pass is on its way while this one is used
      keys.loaded.push_back(loadKeys(keys.ring, pass + 1));
    tile = keys.loaded[pass];
  }
  if (gateDim(keys.ring.format, dims) == 1)
    return tile;
  Value w = load(keys.w, i64(first * dims.K), {rows, dims.K}, b.getF32Type(), dims.K, layouts.keys(dims.bc));
  return mul(tile, w);
}

LogicalResult Lowering::lowerRingRead(replay::RingReadOp op) {
  if (failed(expectSharedSums(op, op.getRecords(), op.getW())))
    return failure();
  KeyPasses keys = keyPasses(op.getRecords(), op.getW(), op.getK());
  Value w = values.lookup(op.getW()), d = values.lookup(op.getD());
  int64_t length = keys.ring.format.getLength();
  // Those of a window are too many to keep in registers, and come one by one.
  int64_t count = cast<ShapedType>(op.getXs().front().getType()).getDimSize(0);
  bool several = count > 1;
  SmallVector<Value> xs, scores;
  for (Value x : op.getXs()) {
    xs.push_back(several ? shared.lookup(x) : f32(tileOf(x, {1, dims.K})));
    scores.push_back(alloc(count, length, b.getF32Type()));
  }
  auto scoresOf = [&](Value t) { return Value(arith::MulIOp::create(b, t, i64(length))); };

  // Scores of every record, through shared memory from the rows' owners to all.
  Value when = op.getWhen() ? values.lookup(op.getWhen()) : Value();
  Staged staged;
  for (int64_t pass = 0; pass * dims.bc < length; ++pass) {
    Value tile = weightedKeys(keys, pass);
    forTokens(count, [&](Value t) {
      for (auto [x, smem] : llvm::zip_equal(xs, scores)) {
        Value at = arith::AddIOp::create(b, scoresOf(t), i64(pass * dims.bc));
        store(dot(tile, several ? rowAt(x, t) : x, 1), smem, at, 1);
      }
    });
    if (op.getStaged())
      stageKeys(staged, keys, pass, tile, when);
  }
  if (op.getStaged()) {
    stageValues(staged, keys.ring, w, d, when);
    parts[op.getStaged()] = {staged.d, staged.k, staged.rows};
  }
  readTokens(op.getYs(), [&](size_t i, Value t) {
    Value score = load(scores[i], scoresOf(t), {length, 1}, b.getF32Type(), 1, layouts.ringScalars(length));
    if (gateDim(keys.ring.format, dims) == 1)
      score = mul(w, score);
    return dot(score, d, 0, {}, anchorOf(layouts.spreadValues()));
  });
  return success();
}
