//===- DeriveDecode.cpp - One token: packed and replay decode -------------===//
#include "passes/derive/Deriver.h"

using namespace mlir;
using namespace replayssm;
using namespace replayssm::derive;
using namespace replayssm::replay;

CursorOp Deriver::loadCursor() {
  return CursorOp::create(b, loc, b.getIndexType(), b.getI1Type(), row.getRing(),
                          b.getI64IntegerAttr(kernel.getRingAttr().getLength()));
}

/// wp <- flush ? 0 : wp + 1
void Deriver::advanceCursor() {
  CursorOp cursor = loadCursor();
  Value zero = constant(0), next = add(cursor.getWp(), constant(1));
  setCursor("wp", select(cursor.getFlush(), zero, next));
}

void Deriver::loadToken() {
  loadTokens({}, {"q", "k", "v", "a", "b"});
  loadParams();
}

/// Load, one step, store.
void Deriver::step() {
  Value state = loadState();
  loadToken();
  cloneLayer(state);
  storeOut({});
  storeState(nextState(), targetSlot());
}

/// The state is checkpoint + ring; the store becomes an append, with a flush branch.
void Deriver::decode() {
  CursorOp cursor = loadCursor();
  Value state = replayed(cursor.getWp());
  loadToken();
  cloneLayer(state);
  storeOut({});
  auto branch = scf::IfOp::create(b, loc, cursor.getFlush(), /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  storeState(nextState(), targetSlot());
  b.setInsertionPointToStart(branch.elseBlock());
  append(cursor.getWp());
}
