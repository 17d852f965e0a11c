//===- LayoutRules.cpp - What ops ask of the layouts of their tiles -------===//
#include "passes/tile/LayoutRules.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace replayssm::tile;

SmallVector<int64_t, 2> TileState::heldShape() const {
  return {free[0] ? 1 : shape[0], free[1] ? 1 : shape[1]};
}

RankedTensorType TileState::heldType(Type element) const {
  return RankedTensorType::get(heldShape(), element, layout.toAttr(element.getContext()));
}

void TileState::spread(unsigned dim, ArrayRef<Factor> factors) {
  Layout other;
  other.dims.emplace_back(factors);
  free[dim] = false;
  if (sameDigits(layout, dim, other, 0))
    return;
  layout.dims[dim].assign(factors.begin(), factors.end());
  layout.renumberRegs();
}

static TileState freeState(ArrayRef<int64_t> shape) {
  TileState state;
  state.shape.assign(shape.begin(), shape.end());
  state.layout.dims.resize(2);
  state.layout.normalize();
  state.free[0] = state.free[1] = true;
  return state;
}

static Factor registers(int64_t size) { return {Owner::Reg, size, 1}; }

/// Fails with an error of `op` when factors of `layout` share threads; it was
/// made of a and b.
static LogicalResult verifyMade(Operation *op, const Layout &layout, const Layout &a,
                                const Layout &b) {
  return layout.verify([&] {
    return op->emitOpError() << "cannot combine the layouts " << a.toAttr(op->getContext())
                             << " and " << b.toAttr(op->getContext()) << ": ";
  });
}

FailureOr<TileState> replayssm::tile::combine(Operation *op, ArrayRef<const TileState *> states) {
  TileState result = freeState(states.front()->shape);
  const TileState *deciding[2] = {nullptr, nullptr};
  for (unsigned dim : {0, 1})
    for (const TileState *state : states)
      if (!state->free[dim] && !deciding[dim])
        deciding[dim] = state;
  for (unsigned dim : {0, 1})
    if (const TileState *from = deciding[dim]) {
      result.free[dim] = false;
      result.layout.dims[dim] = from->layout.dims[dim];
    }
  const TileState *rows = deciding[0], *cols = deciding[1];
  if (rows && cols && rows != cols) {
    result.layout.renumberRegs();
    if (failed(verifyMade(op, result.layout, rows->layout, cols->layout)))
      return failure();
  } else if (rows || cols) {
    // One tile decides: its register numbers are kept.
    result.layout = rows == cols ? rows->layout : rows ? rows->layout.without(1) : cols->layout.without(0);
  }
  return result;
}

/// The largest operand decides first: the least data moves.
static FailureOr<OpLayouts> elementwise(Operation *op, const TileStates &states) {
  SmallVector<const TileState *> tiles;
  for (Value operand : op->getOperands())
    if (isTile(operand))
      tiles.push_back(&states.find(operand)->second);
  auto elements = [](const TileState *tile) { return llvm::product_of(tile->heldShape()); };
  auto *largest = std::max_element(tiles.begin(), tiles.end(), [&](auto *a, auto *b) {
    return elements(a) < elements(b);
  });
  std::rotate(tiles.begin(), largest, std::next(largest));
  FailureOr<TileState> common = combine(op, tiles);
  if (failed(common))
    return failure();
  OpLayouts result;
  for (Value operand : op->getOperands())
    result.operands.push_back(isTile(operand) ? std::optional(*common) : std::nullopt);
  result.results.assign(op->getNumResults(), *common);
  return result;
}

/// Of what begins a chain of tiles: a load or an iota.
template <typename Op> static FailureOr<OpLayouts> source(Op op) {
  auto type = cast<RankedTensorType>(op.getType());
  std::optional<Layout> layout = Layout::of(type);
  if (LayoutAttr anchor = op.getLayoutAttr())
    layout = Layout(anchor);
  if (!layout)
    return op.emitOpError() << "expected a layout to start from";
  TileState state;
  state.shape.assign(type.getShape().begin(), type.getShape().end());
  state.layout = layout->normalize();
  OpLayouts result;
  result.operands.resize(op->getNumOperands());
  result.results = {state};
  return result;
}

/// A store takes any layout; free dimensions are repeated over what is left of
/// the threads, so that few of them are stored by one thread.
static FailureOr<OpLayouts> store(StoreOp op, const TileState &value, int64_t numWarps) {
  TileState state = value;
  bool threads = state.free[0] && state.free[1];
  for (unsigned dim : {1, 0}) {
    int64_t size = state.shape[dim];
    if (!state.free[dim])
      continue;
    if (threads && size > 1) {
      int64_t lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(size));
      int64_t warps = std::min<int64_t>(numWarps, llvm::divideCeil(size, lanes));
      state.spread(dim, {registers(llvm::divideCeil(size, lanes * warps)),
                         {Owner::Warp, warps, 1}, {Owner::Lane, lanes, 1}});
      threads = false;
    } else {
      state.spread(dim, {registers(size)});
    }
  }
  state.layout.normalize();
  OpLayouts result;
  result.operands.resize(op->getNumOperands());
  result.operands[0] = state;
  return result;
}

/// How the contracted dimension is spread: as b's or else a's, where that works.
static FailureOr<SmallVector<Factor, 4>> contraction(DotOp op, const TileState &a, const TileState &b) {
  unsigned c = op.getContract()[0];
  bool pinned = false;
  for (const TileState *tile : {&b, &a}) {
    if (tile->free[c])
      continue;
    pinned = true;
    if (!tile->layout.dimHas(c, Owner::Warp) && !(op.getAcc() && tile->layout.dimHas(c, Owner::Lane)))
      return tile->layout.dims[c];
  }
  if (pinned && !op.getAcc())
    return op.emitOpError() << "expected a contraction inside a warp but dimension " << c
                            << " of both operands is spread over warps: "
                            << a.layout.toAttr(op.getContext()) << " and "
                            << b.layout.toAttr(op.getContext());
  return SmallVector<Factor, 4>{registers(a.shape[c])};
}

/// Operands keep a layout that tensor cores can take; the sums follow from them.
static FailureOr<OpLayouts> mma(DotOp op, const TileStates &states, int64_t numWarps) {
  TileState a = states.find(op.getA())->second, b = states.find(op.getB())->second, result = freeState(op.getType().getShape());
  unsigned c = op.getContract()[0], f = 1 - c;
  bool apart = op.getMma()->getApart();
  auto keepOrSpread = [&](TileState &tile, bool (*holds)(const Layout &, unsigned), ArrayRef<Factor> factors) {
    if (!tile.anyFree() && holds(tile.layout, f) && isMmaContraction(tile.layout, c, *op.getMma()))
      return;
    tile.free[0] = tile.free[1] = false;
    tile.layout.dims[f].assign(factors.begin(), factors.end());
    tile.layout.dims[c] = apart ? mmaChunks(tile.shape[c], op.getMma()->getChunk(), 1) : mmaContraction(tile.shape[c]);
    tile.layout.renumberRegs();
  };
  int64_t rows = a.shape[f], warps = apart ? 1 : std::min(numWarps, llvm::divideCeilSigned(rows, 16));
  keepOrSpread(a, isMmaRows, mmaRows(rows, warps));
  keepOrSpread(b, isMmaColumns, mmaColumns(b.shape[f]));
  if (!sameDigits(a.layout, c, b.layout, c)) {
    b.layout.dims[c] = a.layout.dims[c];
    b.layout.renumberRegs();
  }
  result.free[0] = result.free[1] = false;
  result.layout = mmaResult(a.layout, b.layout, c, *op.getMma());
  for (const Layout &layout : {a.layout, b.layout, result.layout})
    if (failed(verifyMade(op, layout, a.layout, b.layout)))
      return failure();
  OpLayouts layouts;
  layouts.operands = {a, b};
  layouts.results = {result};
  return layouts;
}

static FailureOr<OpLayouts> dot(DotOp op, const TileStates &states, int64_t numWarps) {
  if (op.getMma())
    return mma(op, states, numWarps);
  const TileState &givenA = states.find(op.getA())->second, &givenB = states.find(op.getB())->second;
  const TileState *acc = op.getAcc() ? &states.find(op.getAcc())->second : nullptr;
  unsigned c = op.getContract()[0], f = 1 - c;
  FailureOr<SmallVector<Factor, 4>> contracted = contraction(op, givenA, givenB);
  if (failed(contracted))
    return failure();
  TileState a = givenA, b = givenB, result = freeState(op.getType().getShape());
  a.spread(c, *contracted);
  b.spread(c, *contracted);
  if (op.getRows()) { // both as a: one thread has all that makes a term
    result.layout = a.layout.without(1);
    result.free[0] = a.free[0];
    result.free[1] = false;
    OpLayouts layouts;
    layouts.operands = {a, a};
    layouts.results = {result};
    return layouts;
  }
  // An accumulator is the largest tile: it decides where it can.
  auto outer = [&](TileState &operand, unsigned dim) {
    bool byAcc = acc && !acc->free[dim];
    result.free[dim] = !byAcc && operand.free[f];
    result.layout.dims[dim] = byAcc ? acc->layout.dims[dim] : operand.layout.dims[f];
    if (!result.free[dim])
      operand.spread(f, result.layout.dims[dim]);
  };
  // With an anchor operands keep what the sums can be scattered from.
  auto anchored = [&](TileState &operand, unsigned dim) {
    result.free[dim] = false;
    if (operand.free[f] || !scatteredDigits(operand.layout, f, result.layout, dim, operand.layout.laneMask(c)))
      operand.spread(f, result.layout.dims[dim]);
  };
  if (LayoutAttr anchor = op.getLayoutAttr()) {
    result.layout = Layout(anchor).normalize();
    anchored(a, 0);
    anchored(b, 1);
  } else {
    outer(a, 0);
    outer(b, 1);
    result.layout.renumberRegs();
  }
  if (acc && !acc->anyFree())
    result.layout = acc->layout;
  if (failed(verifyMade(op, a.layout, givenA.layout, givenB.layout)) ||
      failed(verifyMade(op, b.layout, givenA.layout, givenB.layout)) ||
      failed(verifyMade(op, result.layout, givenA.layout, givenB.layout)))
    return failure();
  OpLayouts layouts;
  layouts.operands = {a, b};
  if (acc)
    layouts.operands.push_back(result);
  layouts.results = {result};
  return layouts;
}

static FailureOr<OpLayouts> scan(ScanOp op, const TileState &given) {
  TileState x = given, total;
  if (x.free[0])
    x.spread(0, {registers(x.shape[0])});
  if (x.layout.dimHas(0, Owner::Warp))
    return op.emitOpError() << "expected rows inside a warp but they are spread over warps: "
                            << x.layout.toAttr(op.getContext());
  total.shape = {1, x.shape[1]};
  total.layout = x.layout.without(0);
  total.free[1] = x.free[1];
  OpLayouts result;
  result.operands = {x};
  result.results = {x, total};
  return result;
}

static FailureOr<OpLayouts> broadcast(BroadcastOp op, const TileState &given) {
  TileState x = given, repeated = given;
  auto to = cast<RankedTensorType>(op.getType());
  repeated.shape.assign(to.getShape().begin(), to.getShape().end());
  for (unsigned dim : {0, 1})
    if (x.shape[dim] != repeated.shape[dim]) {
      x.layout = x.layout.without(dim);
      repeated.free[dim] = true;
    }
  repeated.layout = x.layout;
  OpLayouts result;
  result.operands = {x};
  result.results = {repeated};
  return result;
}

static FailureOr<OpLayouts> convert(ConvertOp op, const TileState &given) {
  std::optional<Layout> layout = Layout::of(op.getType());
  if (!layout)
    return op.emitOpError() << "expected a layout to convert to";
  TileState to = given;
  to.layout = layout->normalize();
  to.free[0] = to.free[1] = false;
  OpLayouts result;
  result.operands = {given.anyFree() ? to : given};
  result.results = {to};
  return result;
}

FailureOr<OpLayouts> replayssm::tile::layoutsOf(Operation *op, const TileStates &states,
                                                int64_t numWarps) {
  auto of = [&](Value value) -> const TileState & { return states.find(value)->second; };
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (!isa<SplatElementsAttr>(constant.getValue()))
      return op->emitOpError() << "expected a splat where a tile is constant";
  } else if (OpTrait::hasElementwiseMappableTraits(op) && llvm::any_of(op->getOperands(), isTile)) {
    return elementwise(op, states);
  }
  return TypeSwitch<Operation *, FailureOr<OpLayouts>>(op)
      .Case<arith::ConstantOp, tensor::SplatOp>([&](auto op) {
        OpLayouts result;
        result.operands.resize(op->getNumOperands());
        result.results = {freeState(cast<RankedTensorType>(op.getType()).getShape())};
        return result;
      })
      .Case<LoadOp, IotaOp>([&](auto op) { return source(op); })
      .Case([&](StoreOp op) { return store(op, of(op.getValue()), numWarps); })
      .Case([&](DotOp op) { return dot(op, states, numWarps); })
      .Case([&](ScanOp op) { return scan(op, of(op.getX())); })
      .Case([&](BroadcastOp op) { return broadcast(op, of(op.getX())); })
      .Case([&](ConvertOp op) { return convert(op, of(op.getX())); })
      .Default([](Operation *op) {
        return op->emitOpError() << "expected an op on tiles: arith, math, tile, scf.if or scf.for";
      });
}
