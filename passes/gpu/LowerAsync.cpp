//===- LowerAsync.cpp - Bulk copies, their mbarriers, barriers ------------===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::gpulower;

/// Runs what `body` builds in thread 0 of the block alone.
static void inOneThread(Lowering &l, function_ref<void()> body) {
  Value first = arith::CmpIOp::create(l.b, arith::CmpIPredicate::eq, l.tid(), l.i32(0));
  auto branch = scf::IfOp::create(l.b, first, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(l.b);
  l.b.setInsertionPointToStart(branch.thenBlock());
  body();
}

LogicalResult gpulower::initMbarriers(Lowering &l) {
  SmallVector<int64_t> offsets;
  tile::CopyOp first;
  WalkResult walk = l.func.walk([&](tile::CopyOp op) {
    if (!op.getMbarrier()) {
      op.emitOpError("expected an mbarrier offset (run replay-plan-shared first)");
      return WalkResult::interrupt();
    }
    if (op->getParentOfType<scf::ForOp>()) {
      op.emitOpError("expected a copy outside loops but got one inside scf.for: its mbarrier is used once");
      return WalkResult::interrupt();
    }
    if (!llvm::is_contained(offsets, static_cast<int64_t>(*op.getMbarrier())))
      offsets.push_back(*op.getMbarrier());
    first = first ? first : op;
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (offsets.empty())
    return success();
  l.begin(first);
  EntryScope entry(l);
  for (int64_t offset : offsets)
    l.shared(offset);
  inOneThread(l, [&] {
    for (int64_t offset : offsets)
      l.call("mbar.init", {}, {l.shared(offset), l.i32(1)});
    l.call("mbar.init.fence", {}, {});
  });
  l.call("barrier", {}, {});
  return success();
}

LogicalResult gpulower::lowerCopy(Lowering &l, tile::CopyOp op) {
  auto smem = cast<tile::SmemType>(op.getDst().getType());
  int64_t eltBytes = smem.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t rowBytes = smem.getCols() * eltBytes;
  Value dst = l.sharedOf(op.getDst());
  if (!dst)
    return failure();
  Value mbar = l.shared(*op.getMbarrier());
  inOneThread(l, [&] {
    ImplicitLocOpBuilder &b = l.b;
    Value bytes, some;
    if (op.getRows()) {
      // A pass over part of a ring asks for rows below zero or past the buffer.
      Value rows = arith::IndexCastOp::create(b, b.getI32Type(), op.getRows());
      rows = arith::MaxSIOp::create(b, rows, l.i32(0));
      rows = arith::MinSIOp::create(b, rows, l.i32(smem.getRows()));
      bytes = arith::MulIOp::create(b, rows, l.i32(rowBytes));
      some = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, bytes, l.i32(0));
    } else {
      bytes = l.i32(smem.getRows() * rowBytes);
    }
    l.call("mbar.expect", {}, {mbar, bytes});
    if (some) {
      auto branch = scf::IfOp::create(b, some, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value src = LLVM::GEPOp::create(b, op.getSrc().getType(), smem.getElementType(), op.getSrc(),
                                    ArrayRef<LLVM::GEPArg>{op.getOffset()});
    if (!smem.getSkew())
      return void(l.call("copy.bulk", {}, {dst, src, bytes, mbar}));
    int64_t half = smem.getRows() / 2 * rowBytes;
    for (int64_t first : {int64_t(0), half})
      l.call("copy.bulk", {},
             {l.byteOffset(dst, first ? first + smem.getSkew() * eltBytes : 0), l.byteOffset(src, first), l.i32(half), mbar});
  });
  return success();
}

LogicalResult gpulower::lowerWait(Lowering &l, tile::WaitOp op) {
  auto copy = op.getToken().getDefiningOp<tile::CopyOp>();
  if (!copy)
    return op.emitOpError("expected the token of a tile.copy");
  l.call("mbar.wait", {}, {l.shared(*copy.getMbarrier()), l.i32(0)});
  op.erase();
  return success();
}

LogicalResult gpulower::lowerBarrier(Lowering &l, tile::BarrierOp op) {
  l.call("barrier", {}, {});
  op.erase();
  return success();
}
