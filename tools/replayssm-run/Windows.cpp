//===- Windows.cpp - Random windows of a verify case ----------------------===//
#include "tools/replayssm-run/Verify.h"

#include <cmath>
#include <cstring>
#include <numeric>

using namespace replayssm;
using namespace replayssm::run;

static const char *const tokenArrays[] = {"mixed_qkv", "a", "b"};

static void poison(Case &c, std::initializer_list<const char *> names) {
  for (const char *name : names)
    std::fill(c.arrays[name].host.begin(), c.arrays[name].host.end(), uint8_t(0xff));
}

/// Writes query_start_loc from the lengths.
void Windows::place(int64_t firstToken) {
  int64_t at = firstToken;
  for (size_t row = 0; row <= rows_.size(); ++row) {
    int32_t start = int32_t(at);
    std::memcpy(c.arrays["query_start_loc"].at(0, row), &start, 4);
    if (row == rows_.size())
      break;
    rows_[row].first = at;
    at += rows_[row].given;
  }
}

int64_t Windows::given() const {
  return std::accumulate(rows_.begin(), rows_.end(), int64_t(0),
                         [](int64_t sum, const Row &row) { return sum + row.given; });
}

void Windows::fill() {
  std::uniform_real_distribution<double> uniform(0, 1);
  auto below = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n)(c.rng); };
  int64_t T = c.spec.T, most = c.spec.Tmax, L = c.spec.L;
  c.inRange = ++batches % 2 == 0;
  for (Row &row : rows_) {
    double kind = uniform(c.rng);
    row.given = kind < 0.12 ? 0 : kind < 0.5 ? T : kind < 0.58 ? T + !c.inRange : below(T);
  }
  place(c.arrays["out"].slots - given()); // Nothing follows the last token.
  poison(c, {"mixed_qkv", "a", "b", "out"});
  for (size_t i = 0; i < rows_.size(); ++i) {
    Row &row = rows_[i];
    growTree(i, {});
    choosePath(i);
    // Of a tree no more can be accepted than a path has.
    bool hasRing = c.spec.hasRing();
    int64_t n = row.path.size(), room = hasRing && c.live(i) ? L - c.wp(i) : n;
    double kind = uniform(c.rng);
    bool isAll = n == length(i);
    row.accepted = kind < 0.2 ? 0 : kind < 0.3 ? n : kind < 0.62 ? n + (isAll && !c.inRange ? 5 : 0)
                   : kind < 0.68 ? (c.inRange ? 0 : -3) : below(n);
    // On either side of where the next window still fits.
    int64_t left = c.spec.isCircular() ? (c.live(i) && c.flushing(i) ? L : room) - 2 * most : room - most;
    if (int64_t edge = left + below(1); hasRing && uniform(c.rng) < 0.2 && edge >= 0 && edge <= n)
      row.accepted = edge;
    // The set's other kernels know windows of T_max: what this one left out must not count.
    if (row.given > T && T < most)
      row.accepted = std::min(row.accepted, T);
    // Records that a stale cursor left no room for were never kept.
    while (hasRing && row.accepted > 0 && n > 0 && row.path[std::min(row.accepted, n) - 1] >= room)
      row.accepted = std::min(row.accepted, n) - 1;
    int32_t accepted = int32_t(row.accepted);
    std::memcpy(c.arrays["accept_len"].at(0, i), &accepted, 4);
    *c.arrays["force_flush"].at(0, i) = uniform(c.rng) < c.options.flushRate ? 1 : 0;
    writeTree(i);
    if (c.live(i))
      c.forEachLayer([&] {
        for (int64_t s : all(i))
          c.fillToken(row.first + s);
      });
  }
}

void Windows::regrow(const std::vector<std::vector<int64_t>> &kept, const std::vector<int64_t> &lengths,
                     int64_t firstToken) {
  std::vector<Row> old = rows_;
  for (size_t i = 0; i < rows_.size(); ++i)
    rows_[i].given = lengths[i];
  std::vector<std::vector<uint8_t>> inputs;
  for (const char *name : tokenArrays)
    inputs.push_back(c.arrays[name].host);
  place(firstToken);
  poison(c, {"mixed_qkv", "a", "b", "out"});
  std::uniform_real_distribution<double> uniform(0, 1);
  for (size_t i = 0; i < rows_.size(); ++i) {
    growTree(i, kept[i]);
    writeTree(i);
    // What is not on a path may hold anything.
    bool isPoisoned = isTree() && uniform(c.rng) < 0.3;
    for (int64_t s = 0; c.live(i) && s < length(i) && !isPoisoned; ++s)
      c.fillToken(rows_[i].first + s);
    for (size_t n = 0; c.live(i) && n < inputs.size(); ++n)
      for (int64_t s : kept[i]) {
        Array &array = c.arrays[tokenArrays[n]];
        std::memcpy(array.at(rows_[i].first + s),
                    inputs[n].data() + (array.at(old[i].first + s) - array.host.data()),
                    array.inner * array.width);
      }
  }
}

std::vector<reference::Token> Windows::tokens(int64_t row, int64_t hv, const std::vector<int64_t> &which) const {
  std::vector<reference::Token> tokens;
  for (int64_t s : which)
    tokens.push_back(c.token(first(row) + s, hv));
  return tokens;
}

std::vector<int64_t> Windows::all(int64_t row) const {
  std::vector<int64_t> tokens(length(row));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

/// Parents for all but the tokens of `kept`, which keep theirs: a chain, a star,
/// single tokens, or any tree.
void Windows::growTree(int64_t row, const std::vector<int64_t> &kept) {
  std::vector<int64_t> &parents = rows_[row].parents, old = parents;
  int64_t shape = isTree() ? std::uniform_int_distribution<int64_t>(0, 5)(c.rng) : 0;
  parents.clear();
  for (int64_t s = 0; s < length(row); ++s) {
    auto between = [&](int64_t low) { return std::uniform_int_distribution<int64_t>(low, s - 1)(c.rng); };
    bool isKept = std::find(kept.begin(), kept.end(), s) != kept.end();
    parents.push_back(isKept       ? old[s]
                      : shape == 0 ? s - 1
                      : shape == 1 ? std::min<int64_t>(s - 1, 0)
                      : shape == 2 ? -1
                      : shape == 3 ? between(std::max<int64_t>(s - 3, -1))
                                   : between(-1));
  }
}

std::vector<int64_t> Windows::pathTo(int64_t row, int64_t token) const {
  std::vector<int64_t> path;
  for (; token >= 0; token = rows_[row].parents[token])
    path.insert(path.begin(), token);
  return path;
}

void Windows::choosePath(int64_t row) {
  int64_t n = length(row), last = n - 1;
  if (isTree() && n > 0) // Rather a long one.
    last = std::max(c.rng() % n, c.rng() % n);
  rows_[row].path = pathTo(row, last);
}

std::vector<int64_t> Windows::path(int64_t row) const {
  std::vector<int64_t> path = rows_[row].path;
  path.resize(std::clamp<int64_t>(rows_[row].accepted, 0, path.size()));
  return path;
}

std::vector<int64_t> Windows::somePath(int64_t row) const {
  return pathTo(row, std::uniform_int_distribution<int64_t>(-1, length(row) - 1)(c.rng));
}

/// What is no parent is written in every way that says so, and an accepted token in
/// every way that is clamped to it, unless all are to be in range; nobody may read the rest.
void Windows::writeTree(int64_t row) {
  if (!isTree())
    return;
  const std::vector<int64_t> &parents = rows_[row].parents, &path = rows_[row].path;
  auto anyOf = [&](std::initializer_list<int64_t> values) {
    return values.begin()[c.rng() % values.size()];
  };
  int64_t T = c.spec.Tmax; // as wide as the arrays are
  for (int64_t s = 0; s < T; ++s) {
    bool isThere = s < length(row), isAccepted = s < std::min<int64_t>(path.size(), rows_[row].accepted);
    int32_t parent = int32_t(!isThere          ? anyOf({0, s - 1, -1, INT32_MAX})
                             : parents[s] >= 0 ? parents[s]
                             : c.inRange       ? -1
                                               : anyOf({-1, -1, -1, s, s + 1, T, INT32_MAX, INT32_MIN}));
    int32_t accepted = int32_t(!isAccepted         ? anyOf({0, s, T - 1, -1, INT32_MAX, INT32_MIN})
                               : c.inRange         ? path[s]
                               : path[s] == s      ? anyOf({s, s, s, -1, INT32_MIN})
                               : path[s] == T - 1  ? anyOf({T - 1, T - 1, T, INT32_MAX})
                                                   : path[s]);
    std::memcpy(c.arrays["parent"].at(0, row * T + s), &parent, 4);
    std::memcpy(c.arrays["accept_idx"].at(0, row * T + s), &accepted, 4);
  }
}

void run::poisonRecords(Case &c, int64_t row, int64_t first) {
  int64_t L = c.spec.L;
  for (const Case::Field &field : c.fields()) {
    Array &array = c.arrays[field.name];
    for (int64_t head = 0; head < field.heads; ++head)
      for (int64_t at : c.positions(row, first, L))
        std::memset(array.at(c.ringSlot(row), (head * L + at) * field.width), 0xff, field.width * array.width);
  }
}

void run::growRing(Case &c, int64_t row, int64_t wp) {
  const KernelSpec &spec = c.spec;
  int64_t L = spec.L, GK = spec.gateDim(), slot = c.ringSlot(row);
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  auto put = [&](const char *name, int64_t index, double value) {
    fromDouble(c.arrays[name].at(slot, index), c.arrays[name].dtype, value);
  };
  auto putRecord = [&](int64_t j) {
    for (int64_t hv = 0; hv < spec.HV; ++hv) {
      for (int64_t v = 0; v < spec.V; ++v)
        put("d_ring", (hv * L + j) * spec.V + v, 0.3 * normal(c.rng));
      for (int64_t v = 0; v < spec.V && spec.storesRaw(); ++v)
        put("raw_v_ring", (hv * L + j) * spec.V + v, normal(c.rng));
      if (spec.storesRaw())
        put("beta_ring", hv * L + j, uniform(c.rng) * spec.betaFactor);
      for (int64_t i = 0; i < GK; ++i)
        put("g_ring", (hv * L + j) * GK + i,
            uniform(c.rng) < 0.02 ? -1000 : -0.3 * std::fabs(normal(c.rng)));
    }
    for (int64_t i = 0; i < spec.H * spec.K; ++i) {
      int64_t at = (i / spec.K * L + j) * spec.K + i % spec.K;
      put("k_ring", at, normal(c.rng) / std::sqrt(double(spec.K)));
      if (spec.storesRaw())
        put("raw_k_ring", at, 3 * normal(c.rng));
    }
  };
  std::vector<int64_t> positions = c.positions(row, c.wp(row), wp);
  c.forEachLayer([&] { std::for_each(positions.begin(), positions.end(), putRecord); });
  int32_t cursor = int32_t(wp);
  std::memcpy(c.arrays["wp"].at(0, slot), &cursor, 4);
  if (spec.isCircular() && wp + 2 * spec.Tmax > L)
    *c.arrays["is_flush"].at(0, slot) = 1;
}
