//===- Schedule.cpp - Chooses the tiling of every kernel ------------------===//
#include "passes/Preconditions.h"
#include "passes/schedule/CostModel.h"

#include "llvm/Support/FormatVariadic.h"

#include <set>

namespace replayssm {
#define GEN_PASS_DEF_SCHEDULE
#include "passes/Passes.h.inc"
} // namespace replayssm

using namespace mlir;
using namespace replayssm;
using namespace replayssm::schedule;

namespace {
using Field = std::pair<const char *, int64_t Tiling::*>;

/// A field and the value that it is forced to.
struct Forced {
  Field field;
  int64_t value;
};
} // namespace

static std::string valueText(const Field &field, int64_t value) {
  if (field.second == &Tiling::copy)
    return replay::stringifyCopyKind(static_cast<replay::CopyKind>(value)).str();
  return std::to_string(value);
}

static replay::TilingAttr toAttr(MLIRContext *context, const Tiling &t) {
  return replay::TilingAttr::get(context, t.bv, t.bc, t.warps,
                                 static_cast<replay::CopyKind>(t.copy), t.unroll, t.blocks, t.sink);
}
static Tiling fromAttr(replay::TilingAttr attr) {
  return {attr.getBv(), attr.getBc(), attr.getWarps(), static_cast<int64_t>(attr.getCopy()),
          attr.getUnroll(), attr.getBlocks(), attr.getSink()};
}

/// The values of one field over all legal tilings, as a list for diagnostics.
static std::string legalValues(ArrayRef<Tiling> legal, const Field &field) {
  std::set<int64_t> values;
  for (const Tiling &t : legal)
    values.insert(t.*field.second);
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + valueText(field, value);
  return text;
}

/// Parses "bv=64,copy=bulk".
static FailureOr<SmallVector<Forced>> parseForced(StringRef text, Location loc) {
  SmallVector<Forced> forced;
  SmallVector<StringRef> items;
  text.split(items, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [name, value] = item.trim().split('=');
    const Field *field = llvm::find_if(Tiling::fields, [&](const Field &f) { return name == f.first; });
    if (field == std::end(Tiling::fields))
      return emitError(loc) << "unknown tiling field '" << name
                            << "'; expected one of bv, bc, warps, copy, unroll, blocks, sink";
    if (llvm::any_of(forced, [&](const Forced &f) { return f.field.first == field->first; }))
      return emitError(loc) << "expected tiling field '" << name << "' once but got it twice";
    int64_t number = 0;
    if (field->second == &Tiling::copy) {
      auto kind = replay::symbolizeCopyKind(value);
      if (!kind)
        return emitError(loc) << "expected copy to be direct or bulk but got '" << value << "'";
      number = static_cast<int64_t>(*kind);
    } else if (value.getAsInteger(10, number)) {
      return emitError(loc) << "expected a number for tiling field '" << name << "' but got '"
                            << value << "'";
    }
    forced.push_back({*field, number});
  }
  return forced;
}

/// Keeps the tilings that have every forced value; says what is wrong if none has.
static LogicalResult restrict(replay::KernelOp kernel, const KernelFacts &facts,
                              ArrayRef<Forced> forced, SmallVectorImpl<Tiling> &legal) {
  SmallVector<Tiling> all(legal.begin(), legal.end());
  for (const Forced &f : forced) {
    if (!isEffective(facts, f.field.second))
      continue;
    auto differs = [&](const Tiling &t) { return t.*f.field.second != f.value; };
    if (llvm::all_of(all, differs))
      return kernel.emitOpError() << "expected tiling field " << f.field.first << " to be one of "
                                  << legalValues(all, f.field) << " but got "
                                  << valueText(f.field, f.value);
    SmallVector<Tiling> before(legal.begin(), legal.end());
    llvm::erase_if(legal, differs);
    if (legal.empty())
      return kernel.emitOpError() << "expected tiling field " << f.field.first << " to be one of "
                                  << legalValues(before, f.field) << " beside the other fields but got "
                                  << valueText(f.field, f.value);
  }
  return success();
}

/// The fastest; among near ties one that shares its multiprocessor with others, and
/// of these the one of fewest blocks, since each block loads
/// the tokens and computes the gates again; of that one the least unrolled: less
/// code, on an H200 the same time within 3 % for many rows and less for one.
static size_t choose(ArrayRef<Tiling> legal, ArrayRef<Costs> costs) {
  auto pick = [&](size_t best, auto better) {
    double limit = costs[best].microseconds * nearTie;
    for (size_t i = 0; i < legal.size(); ++i)
      if (costs[i].microseconds <= limit && better(i, best))
        best = i;
    return best;
  };
  auto time = [&](size_t i) { return costs[i].microseconds; };
  size_t best = llvm::min_element(costs, [](const Costs &a, const Costs &b) {
                  return a.microseconds < b.microseconds;
                }) - costs.begin();
  best = pick(best, [&](size_t i, size_t best) {
    auto rank = [&](size_t i) {
      return std::tuple(costs[i].blocksPerProcessor < 2, -legal[i].bv, time(i));
    };
    return rank(i) < rank(best);
  });
  return pick(best, [&](size_t i, size_t best) {
    Tiling same = legal[i];
    same.unroll = legal[best].unroll;
    return same == legal[best] && legal[i].unroll < legal[best].unroll;
  });
}

namespace {
struct Schedule : replayssm::impl::ScheduleBase<Schedule> {
  using ScheduleBase::ScheduleBase;

  LogicalResult scheduleKernel(replay::KernelOp kernel, ArrayRef<Forced> forced,
                               const TargetFacts &target) {
    if (failed(expectPrepared(kernel, Prepared::Expanded)))
      return failure();
    KernelFacts facts = KernelFacts::of(kernel);
    if (facts.stateBytes && !kernel.getKredAttr())
      return kernel.emitOpError() << "expected a 'kred'";
    SmallVector<Tiling> legal = legalTilings(facts, target);
    if (legal.empty())
      return kernel.emitOpError() << "expected a shape that fits " << stateRegisters(facts)
                                  << " state registers per thread but got K = " << facts.K << " over " << facts.lanes << " lanes";
    // A tiling that the source gives is kept, not chosen again.
    SmallVector<Forced> wanted(forced);
    if (replay::TilingAttr given = kernel.getTilingAttr()) {
      Tiling tiling = fromAttr(given);
      for (const Field &field : Tiling::fields)
        if (llvm::none_of(forced, [&](const Forced &f) { return f.field.second == field.second; }))
          wanted.push_back({field, tiling.*field.second});
    }
    if (failed(restrict(kernel, facts, wanted, legal)))
      return failure();

    SmallVector<Costs> costs;
    for (const Tiling &tiling : legal)
      costs.push_back(predict(facts, tiling, target));
    const Tiling *best = &legal[choose(legal, costs)];
    kernel.setTilingAttr(toAttr(&getContext(), *best));
    if (!printCandidates)
      return success();
    for (auto [tiling, cost] : llvm::zip_equal(legal, costs)) {
      auto number = [](double v) { return llvm::formatv("{0:F2}", v).str(); };
      kernel.emitRemark() << "tiling " << toAttr(&getContext(), tiling) << ": " << cost.registers
                          << " registers, " << cost.sharedBytes << " bytes shared, "
                          << cost.blocksPerProcessor << " blocks per multiprocessor, "
                          << int64_t(cost.blockBytes) << " bytes per block, " << number(cost.waves)
                          << " waves, " << number(cost.microseconds) << " us for "
                          << referenceRows << " rows" << (&tiling == best ? " (chosen)" : "");
    }
    return success();
  }

  void runOnOperation() override {
    const TargetFacts *target = findTarget(chip);
    if (!target) {
      getOperation().emitError() << "unknown target '" << chip << "'; expected one of "
                                 << knownTargets();
      return signalPassFailure();
    }
    FailureOr<SmallVector<Forced>> forced = parseForced(tiling, getOperation().getLoc());
    if (failed(forced))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<replay::KernelOp>())
      if (failed(scheduleKernel(kernel, *forced, *target)))
        signalPassFailure();
  }
};
} // namespace
