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

int64_t Lowering::passRows(const RingTiles &ring, int64_t pass) {
  return std::min(dims.bc, ring.format.getLength() - pass * dims.bc);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void Lowering::loadGates(RingTiles &ring) {
  if (ring.g)
    return;
  int64_t length = ring.format.getLength(), width = gateDim(ring.format, dims);
  ring.g = load(arg("g_ring"), fieldOffset(ring.slot, ring.format, ring.format.getField("g")),
                {length, width}, b.getF32Type(), width,
                width == 1 ? layouts.ringScalars(length) : layouts.spread(length), ring.valid);
}

void Lowering::loadValues(RingTiles &ring) {
  if (ring.d)
    return;
  int64_t length = ring.format.getLength();
  ring.d = load(arg("d_ring"), fieldOffset(ring.slot, ring.format, ring.format.getField("d")),
                {length, dims.bv}, b.getF32Type(), dims.V, layouts.ringValues(length), ring.valid);
}

void Lowering::loadKeys(RingTiles &ring, int64_t upTo) {
  int64_t length = ring.format.getLength();
  auto base = [&] { return fieldOffset(ring.slot, ring.format, ring.format.getField("k")); };
  if (loopDepth && !ring.keySmem) // a copy has an mbarrier of its own and is waited for once
    ring.bulkKeys = false;
  if (ring.bulkKeys && !ring.keySmem) {
    ring.keySmem = alloc(length, dims.K, b.getF32Type());
    ring.keyToken = tile::CopyOp::create(b, tile::TokenType::get(b.getContext()), arg("k_ring"),
                                         base(), ring.keySmem, ring.valid, IntegerAttr());
  }
  if (ring.bulkKeys)
    return;
  for (int64_t pass = ring.keys.size(); pass <= upTo && pass * dims.bc < length; ++pass) {
    Value at = base();
    if (pass)
      at = arith::AddIOp::create(b, at, i64(pass * dims.bc * dims.K));
    ring.keys.push_back(load(arg("k_ring"), at, {passRows(ring, pass), dims.K}, b.getF32Type(),
                             dims.K, layouts.keys(dims.bc), rowsFrom(ring.valid, pass * dims.bc)));
  }
}

LogicalResult Lowering::lowerLoadRing(replay::LoadRingOp op) {
  if (op.getMask() && op.getBase())
    return op.emitOpError("expected a linear ring for a mask of positions but got a circular one");
  RingTiles ring;
  ring.slot = values.lookup(op.getRing());
  ring.valid = validRecords(op);
  ring.base = op.getBase() ? values.lookup(op.getBase()) : Value();
  ring.format = op.getRecords().getType().getRing();
  ring.bulkKeys = dims.bulk && ring.valid.getType().isIndex();
  bool needsRecords = llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<replay::RingReadOp, replay::ReplayOp>(user);
  });
  if (needsRecords && dims.lanes != 8)
    return op.emitOpError() << "expected 8 lanes in 'kred', as many as share a sum over ring "
                               "records, but got " << dims.lanes;
  // What this block reads starts here, before anything waits for it.
  auto usesHere = [&](auto isUse) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return user->getBlock() == op->getBlock() && isUse(user);
    });
  };
  if (usesHere([](Operation *user) { return isa<replay::RingWeightsOp>(user); }))
    loadGates(ring);
  if (usesHere([](Operation *user) { return isa<replay::RingReadOp>(user); })) {
    loadValues(ring);
    loadKeys(ring, 0);
  }
  cache.rings[op.getRecords()] = ring;
  return success();
}

//===----------------------------------------------------------------------===//
// Weights and reads
//===----------------------------------------------------------------------===//

void Lowering::formWeights(RingTiles &ring) {
  if (ring.w)
    return;
  loadGates(ring);
  auto type = cast<RankedTensorType>(ring.g.getType());
  auto scan = tile::ScanOp::create(b, type, tileType({1, type.getDimSize(1)}, b.getF32Type()),
                                   ring.g, ring.base);
  bool alongK = gateDim(ring.format, dims) > 1;
  if (alongK)
    spread.insert(scan.getTotal());
  ring.w = exp(scan.getSuffix());
  ring.tot = exp(scan.getTotal());
  if (!alongK)
    return;
  ring.weightSmem = alloc(ring.format.getLength(), dims.K, b.getF32Type());
  store(ring.w, ring.weightSmem, i64(0), dims.K);
}

LogicalResult Lowering::lowerWeights(replay::RingWeightsOp op) {
  RingTiles &ring = cache.rings[op.getRecords()];
  formWeights(ring);
  values[op.getW()] = ring.w;
  values[op.getTot()] = ring.tot;
  return success();
}

/// The keys of one pass, times their weights where these are along K.
Value Lowering::weightedKeys(RingTiles &ring, int64_t pass) {
  int64_t rows = passRows(ring, pass), first = pass * dims.bc;
  Value keys;
  loadKeys(ring, pass);
  if (ring.bulkKeys) {
    if (!ring.keysLanded)
      tile::WaitOp::create(b, ring.keyToken);
    ring.keysLanded = true;
    keys = load(ring.keySmem, i64(first * dims.K), {rows, dims.K}, b.getF32Type(), dims.K,
                layouts.keys(dims.bc), rowsFrom(ring.valid, first));
  } else {
    loadKeys(ring, pass + 1); // the next pass is on its way while this one is used
    keys = ring.keys[pass];
  }
  if (gateDim(ring.format, dims) == 1)
    return keys;
  Value w = load(ring.weightSmem, i64(first * dims.K), {rows, dims.K}, b.getF32Type(), dims.K,
                 layouts.keys(dims.bc));
  return mul(keys, w);
}

LogicalResult Lowering::lowerRingRead(replay::RingReadOp op) {
  RingTiles &ring = cache.rings[op.getRecords()];
  int64_t length = ring.format.getLength();
  formWeights(ring);
  if (values.lookup(op.getW()) != ring.w)
    return op.emitOpError() << "expected the weights of the records that it reads";
  loadValues(ring);
  loadKeys(ring, 0);
  // Those of a window are too many to keep in registers, and come one by one.
  int64_t count = cast<ShapedType>(op.getXs().front().getType()).getDimSize(0);
  bool several = count > 1;
  SmallVector<Value> xs, scores;
  for (Value x : op.getXs()) {
    xs.push_back(several ? shared.lookup(x) : f32(broadcast(fetch(values.lookup(x)), {1, dims.K})));
    scores.push_back(alloc(count, length, b.getF32Type()));
  }
  auto scoresOf = [&](Value t) { return Value(arith::MulIOp::create(b, t, i64(length))); };

  // Scores of every record, through shared memory from the rows' owners to all.
  std::optional<Value> guard = foldCondition(op.getRecords(), op->getBlock());
  for (int64_t pass = 0; pass * dims.bc < length; ++pass) {
    Value keys = weightedKeys(ring, pass);
    forTokens(count, [&](Value t) {
      for (auto [x, smem] : llvm::zip_equal(xs, scores)) {
        Value at = arith::AddIOp::create(b, scoresOf(t), i64(pass * dims.bc));
        store(dot(keys, several ? rowAt(x, t) : x, 1), smem, at, 1);
      }
    });
    if (guard)
      stageKeys(ring, pass, keys, *guard);
  }
  if (guard)
    stageValues(ring, *guard);
  readTokens(op.getYs(), [&](size_t i, Value t) {
    Value score = load(scores[i], scoresOf(t), {length, 1}, b.getF32Type(), 1, layouts.ringScalars(length));
    if (gateDim(ring.format, dims) == 1)
      score = mul(ring.w, score);
    return dot(score, ring.d, 0, {}, anchorOf(layouts.spreadValues()));
  });
  return success();
}
