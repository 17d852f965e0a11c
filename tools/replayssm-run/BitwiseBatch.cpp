//===- BitwiseBatch.cpp - Other batches, other windows, the same bits ------===//
//
// Each launch of a life cycle is run again in pieces, from the same buffers: row by
// row, and without its first row. Kernels of windows are also run as compiled for
// fewer tokens. Every byte of every buffer has to come out the same.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Bitwise.h"
#include "tools/replayssm-run/Verify.h"

#include "replayssm/KernelABI.h"

#include <cstring>
#include <map>
#include <set>

using namespace replayssm;
using namespace replayssm::run;

namespace {

class Batches {
public:
  Batches(Device &device, const KernelSpec &spec, const Options &options, int64_t rows, BitwiseReport &report,
          Kernel *given)
      : device(device), spec(spec), options(options), rows(rows), report(report), given(given),
        compile(options.compileOptions(/*isTiled=*/true)) {}
  Status run();

private:
  struct Piece {
    int64_t first, count;
  };
  Status decode();
  Status recurrent();
  Status windowSet();
  Result<Case> make();
  Result<Kernel> jitNamed() { return given ? Result<Kernel>(std::move(*given)) : jitSpec(device, named, compile); }
  Status jitShorter();
  Status launchPieces(Kernel &kernel, const std::vector<Piece> &pieces);
  Status launch(Kernel &kernel, const std::string &what, bool hasWindow = false);
  Status launchShorter(Case &before, const Case &whole);
  Status launchLayers(Kernel &kernel, const Case &before, const Case &whole, const std::string &what);
  void forgetTokens(int64_t tokens, Case &before, Case &expected);
  void forgetTokensOfLayer(int64_t tokens, const Case &before, Case &expected) const;
  void growRings();
  void trackTokens();

  Device &device;
  KernelSpec spec;     ///< Of the buffers.
  KernelSpec named;    ///< The kernel that was asked for; of a set verify or a fold.
  KernelSpec windowed; ///< The kernel that takes windows.
  const Options &options;
  int64_t rows;
  BitwiseReport &report;
  Kernel *given; ///< Null = compiled from the spec.
  CompileOptions compile;
  std::vector<std::pair<int64_t, Kernel>> shorter; ///< T -> the same kernel for it.
  std::map<std::string, Kernel> single; ///< Kernels of one layer, by the spec of one of many.
  std::optional<Case> c;
  std::optional<Windows> windows;
};

/// How far apart the elements of two rows lie in a buffer that has some for each
/// row, in bytes; 0 of what rows find by other ways.
int64_t rowBytes(const Case &c, const KernelManifest &manifest, const std::string &name) {
  const Array &array = c.arrays.at(name);
  const KernelBuffer *buffer = findKernelBuffer(name);
  if (!buffer)
    return 0;
  switch (buffer->entry) {
  case KernelBuffer::Entry::Row:
  case KernelBuffer::Entry::RowEnd:
    return array.width;
  case KernelBuffer::Entry::RowToken:
    return c.spec.Tmax * array.width;
  case KernelBuffer::Entry::Token: {
    bool isWindow = std::any_of(manifest.args.begin(), manifest.args.end(),
                                [](const KernelArg &arg) { return arg.name == "query_start_loc"; });
    return isWindow ? 0 : array.stride * array.width;
  }
  case KernelBuffer::Entry::RingSlot:
  case KernelBuffer::Entry::StateSlot:
  case KernelBuffer::Entry::Record:
  case KernelBuffer::Entry::Head:
    return 0;
  }
  __builtin_unreachable();
}

Result<Case> Batches::make() {
  CaseOptions caseOptions;
  caseOptions.rows = rows;
  caseOptions.seed = options.seed;
  caseOptions.nullRate = options.nullRate;
  caseOptions.flushRate = spec.phase == Phase::Packed ? 0 : options.flushRate;
  caseOptions.gates = options.gates;
  return Case::create(device, spec, caseOptions);
}

//===----------------------------------------------------------------------===//
// One launch
//===----------------------------------------------------------------------===//

/// Launches some of the rows at a time, as if there were no others.
Status Batches::launchPieces(Kernel &kernel, const std::vector<Piece> &pieces) {
  RSSM_RETURN_IF_ERROR(c->upload());
  auto args = c->args(kernel.manifest());
  if (!args)
    return args.status();
  for (Piece piece : pieces) {
    std::vector<uint64_t> moved = *args;
    for (size_t i = 0; i < moved.size(); ++i)
      if (const KernelArg &arg = kernel.manifest().args[i]; arg.kind == KernelArg::Kind::Pointer)
        moved[i] += piece.first * rowBytes(*c, kernel.manifest(), arg.name);
    RSSM_RETURN_IF_ERROR(kernel.launch(moved, uint32_t(piece.count), c->launchedLayers(kernel)));
  }
  RSSM_RETURN_IF_ERROR(device.synchronize());
  return c->download();
}

/// All rows at once, then in pieces; leaves what all at once have left.
Status Batches::launch(Kernel &kernel, const std::string &what, bool hasWindow) {
  Case before = mirror(*c);
  RSSM_RETURN_IF_ERROR(launchPieces(kernel, {{0, rows}}));
  Case whole = mirror(*c);
  for (const auto &[name, array] : whole.arrays)
    report.digest = hashBytes(report.digest, array.host.data(), array.host.size());
  std::vector<Piece> ones, parts = {{1, rows - 1}, {0, 1}};
  for (int64_t row = rows - 1; row >= 0; --row)
    ones.push_back({row, 1});
  auto inPieces = [&](const std::vector<Piece> &pieces, const char *how) {
    c->restore(before);
    RSSM_RETURN_IF_ERROR(launchPieces(kernel, pieces));
    report.compare(*c, whole, what + how);
    return Status::ok();
  };
  if (rows > 1) {
    RSSM_RETURN_IF_ERROR(inPieces(ones, ", row by row"));
    RSSM_RETURN_IF_ERROR(inPieces(parts, ", without its first row"));
  }
  if (hasWindow)
    RSSM_RETURN_IF_ERROR(launchShorter(before, whole));
  if (kernel.manifest().isLayered())
    RSSM_RETURN_IF_ERROR(launchLayers(kernel, before, whole, what));
  c->restore(whole);
  return Status::ok();
}

/// One launch for all layers leaves what one launch for each leaves.
Status Batches::launchLayers(Kernel &kernel, const Case &before, const Case &whole, const std::string &what) {
  const std::string &text = kernel.manifest().spec;
  if (!single.count(text)) {
    auto one = parseKernelSpec(text);
    if (!one)
      return one.status();
    one->layers = Layers::One;
    auto made = jitSpec(device, *one, compile);
    if (!made)
      return made.status();
    single.emplace(text, made.take());
  }
  c->restore(before);
  Status status;
  c->forEachLayer([&] {
    if (status)
      status = launchPieces(single.at(text), {{0, rows}});
  });
  RSSM_RETURN_IF_ERROR(status);
  report.compare(*c, whole, what + ", layer by layer");
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Kernels for fewer tokens
//===----------------------------------------------------------------------===//

Status Batches::jitShorter() {
  for (int64_t tokens : std::set<int64_t>{1, 2, 3, spec.T / 2 + 1, spec.T - 1}) {
    if (tokens < 1 || tokens >= spec.T)
      continue;
    KernelSpec of = windowed;
    of.T = tokens;
    auto kernel = jitSpec(device, of, compile);
    if (!kernel)
      return kernel.status();
    shorter.emplace_back(tokens, kernel.take());
  }
  return Status::ok();
}

/// What rows have for their tokens from `tokens` on is what it was before.
void Batches::forgetTokens(int64_t tokens, Case &before, Case &expected) {
  c->forEachLayer([&] {
    before.select(c->layer());
    expected.select(c->layer());
    forgetTokensOfLayer(tokens, before, expected);
  });
  before.select(c->layer());
}

void Batches::forgetTokensOfLayer(int64_t tokens, const Case &before, Case &expected) const {
  int64_t state = spec.HV * spec.V * spec.K;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t s = tokens; s < windows->length(row); ++s) {
      if (spec.phase != Phase::InputReplay)
        allow(before, expected, "out", windows->first(row) + s, 0, expected.arrays["out"].inner);
      if (before.live(row) && spec.phase == Phase::Snapshots)
        allow(before, expected, "snapshots", before.ringSlot(row), s * state, state);
      if (before.live(row) && spec.hasRing() && before.wp(row) + s < spec.L)
        allowRecord(before, expected, before.ringSlot(row), before.position(row, before.wp(row) + s));
    }
    // One that accepts a token which is not there leaves another state.
    std::vector<int64_t> path = windows->path(row);
    if (spec.phase == Phase::InputReplay && before.live(row) && !path.empty() && path.back() >= tokens)
      allow(*c, expected, "state", before.targetSlot(row), 0, state);
  }
}

Status Batches::launchShorter(Case &before, const Case &whole) {
  bool checked = std::exchange(device.hostOptions().checkRanges, false); // Rows are longer than these kernels.
  for (auto &[tokens, kernel] : shorter) {
    c->restore(before);
    RSSM_RETURN_IF_ERROR(launchPieces(kernel, {{0, rows}}));
    Case expected = mirror(whole);
    forgetTokens(tokens, before, expected);
    report.compare(*c, expected, std::string(name(spec.phase)) + " compiled for " + std::to_string(tokens) + " tokens");
  }
  device.hostOptions().checkRanges = checked;
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Life cycles
//===----------------------------------------------------------------------===//

Status Batches::decode() {
  auto kernel = jitNamed();
  if (!kernel)
    return kernel.status();
  auto cursors = jitCursors(device, spec, options);
  if (!cursors)
    return cursors.status();
  for (int64_t step = 0, steps = options.steps ? options.steps : *cursors ? spec.L + 2 : 3; step < steps; ++step) {
    RSSM_RETURN_IF_ERROR(c->nextToken());
    RSSM_RETURN_IF_ERROR(launch(*kernel, name(spec.phase)));
    if (*cursors)
      RSSM_RETURN_IF_ERROR(launch(**cursors, "cursors"));
  }
  return Status::ok();
}

Status Batches::recurrent() {
  auto kernel = jitNamed();
  if (!kernel)
    return kernel.status();
  for (int64_t step = 0, steps = options.steps ? options.steps : 4; step < steps; ++step) {
    windows->fill();
    device.hostOptions().checkRanges = c->inRange;
    RSSM_RETURN_IF_ERROR(launch(*kernel, name(spec.phase), /*hasWindow=*/true));
  }
  return Status::ok();
}

/// Some rows have a history, the others begin; what is none holds NaN.
void Batches::growRings() {
  for (int64_t row = 0; row < rows; ++row) {
    if (!c->live(row))
      continue;
    if (spec.flushAt != FlushAt::EveryCommit && c->rng() % 2 == 0)
      growRing(*c, row, std::max<int64_t>(c->wp(row), c->rng() % (spec.L - spec.Tmax + 1)));
    c->forEachLayer([&] { poisonRecords(*c, row, c->wp(row)); });
  }
}

void Batches::trackTokens() {
  for (int64_t row = 0; row < rows && spec.track; ++row)
    c->setInteger("track_step", row, int64_t(c->rng() % (windows->accepted(row) + 2)) - 1);
}

Status Batches::windowSet() {
  auto kernel = jitNamed();
  if (!kernel)
    return kernel.status();
  auto set = jitVerifySet(device, kernel.take(), named, options);
  if (!set)
    return set.status();
  for (int64_t step = 0, steps = options.steps ? options.steps : 4; step < steps; ++step) {
    growRings();
    windows->fill();
    device.hostOptions().checkRanges = c->inRange;
    trackTokens();
    Status status;
    c->forEachLayer([&] {
      if (status)
        status = launch(set->verify, "verify", /*hasWindow=*/true);
    });
    RSSM_RETURN_IF_ERROR(status);
    if (set->compact)
      RSSM_RETURN_IF_ERROR(launch(*set->compact, "compact"));
    RSSM_RETURN_IF_ERROR(launch(set->cursors, "cursors"));
    if (set->fold)
      RSSM_RETURN_IF_ERROR(launch(*set->fold, "fold"));
    if (!set->reset)
      continue;
    for (int64_t row = 0; row < rows; ++row)
      *c->arrays["reset_mask"].at(0, row) = c->rng() % 5 == 0;
    RSSM_RETURN_IF_ERROR(launch(*set->reset, "reset"));
  }
  return Status::ok();
}

Status Batches::run() {
  bool isDecode = spec.phase == Phase::Packed || spec.phase == Phase::Replay;
  if (!isDecode && !spec.isWindowSet() && spec.phase != Phase::Snapshots && spec.phase != Phase::InputReplay)
    return Status(StatusCode::InvalidArgument, std::string("bitwise: expected a phase with tokens but got phase=") + name(spec.phase));
  named = windowed = spec;
  if (spec.isWindowSet()) {
    // A set is run as a whole, whichever of its kernels was named.
    bool isNamed = spec.phase == Phase::Verify || spec.phase == Phase::Fold || spec.phase == Phase::Compact;
    if (!isNamed)
      spec.dst = spec.track = false;
    if (spec.phase != Phase::Verify)
      windowed.dst = windowed.track = false;
    named = spec;
    if (!isNamed)
      named.phase = Phase::Verify;
    spec.phase = windowed.phase = Phase::Verify;
    windowed.layers = Layers::One;
  }
  auto created = make();
  if (!created)
    return created.status();
  c.emplace(created.take());
  if (isDecode)
    return decode();
  windows.emplace(*c);
  RSSM_RETURN_IF_ERROR(jitShorter());
  return spec.isWindowSet() ? windowSet() : recurrent();
}

} // namespace

Status run::compareBatches(Device &device, const KernelSpec &spec, const Options &options, int64_t rows,
                           BitwiseReport &report, Kernel *named) {
  return Batches(device, spec, options, rows, report, named).run();
}
