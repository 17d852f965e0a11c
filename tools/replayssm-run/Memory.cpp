//===- Memory.cpp - replayssm-run memory: bytes of ring and snapshot mode -===//
//
// Ring mode keeps one state and one ring a request and layer, and cursors that
// all layers share. Snapshot mode keeps the state and one more for every token
// of the window.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Case.h"

#include <cstdio>

using namespace replayssm;
using namespace replayssm::run;

namespace {

/// More than 64 bits can count: 65535 layers of 65535 requests of the largest states.
using Bytes = unsigned __int128;

struct Memory {
  KernelSpec spec;
  int64_t layers, window, requests;

  // Of one request and layer.
  int64_t state() const { return spec.HV * spec.V * spec.K * byteWidth(spec.state); }
  int64_t dRing() const { return spec.storesDelta() ? spec.HV * spec.L * spec.V * 4 : 0; }
  int64_t kRing() const { return spec.storesDelta() ? spec.H * spec.L * spec.K * 4 : 0; }
  int64_t gRing() const { return spec.HV * spec.L * spec.gateDim() * 4; }
  /// raw_v, raw_k and beta.
  int64_t rawRing() const {
    int64_t io = byteWidth(spec.io);
    return spec.storesRaw() ? spec.L * (spec.HV * spec.V * io + spec.H * spec.K * io + spec.HV * 4) : 0;
  }
  int64_t ring() const { return dRing() + kRing() + gRing() + rawRing(); }
  int64_t snapshots() const { return window * state(); }
  // Of everything. wp, and where verify folds base (i32) and is_flush (i8); windows
  // that are always folded move nothing.
  Bytes copies() const { return Bytes(layers) * requests; }
  int64_t cursors() const {
    bool verifyFolds = spec.flushAt == FlushAt::Verify || (!spec.isWindowSet() && window > 1);
    return requests * (verifyFolds ? 9 : spec.flushAt == FlushAt::EveryCommit ? 0 : 4);
  }
  Bytes ringMode() const { return copies() * (state() + ring()) + cursors(); }
  Bytes snapshotMode() const { return copies() * (state() + snapshots()); }
};

std::string decimal(Bytes bytes) {
  std::string text;
  for (; bytes > 0 || text.empty(); bytes /= 10)
    text.insert(text.begin(), char('0' + int(bytes % 10)));
  return text;
}

std::string mebi(Bytes bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", double(bytes) / (1 << 20));
  return text;
}

std::string toText(const Memory &m) {
  std::string text = std::string(name(m.spec.rule)) + "  H=" + std::to_string(m.spec.H) +
                     ", HV=" + std::to_string(m.spec.HV) + ", K=" + std::to_string(m.spec.K) +
                     ", V=" + std::to_string(m.spec.V) + ", L=" + std::to_string(m.spec.L) + ", state " +
                     name(m.spec.state) + ": " + std::to_string(m.layers) + " layers, window " +
                     std::to_string(m.window) + ", " + std::to_string(m.requests) + " requests\n";
  auto line = [&](const char *what, int64_t each, Bytes all) {
    char row[160];
    std::snprintf(row, sizeof row, "  %-28s %14s %14s\n", what,
                  each ? std::to_string(each).c_str() : "", mebi(all).c_str());
    text += row;
  };
  text += "                                  bytes each      MiB in all\n";
  line("state", m.state(), m.copies() * m.state());
  for (auto [what, bytes] : {std::pair("d ring", m.dRing()), std::pair("k ring", m.kRing()),
                             std::pair("g ring", m.gRing()), std::pair("raw rings", m.rawRing())})
    if (bytes)
      line(what, bytes, m.copies() * bytes);
  line("cursors, of all layers", m.cursors() / m.requests, m.cursors());
  line("snapshots", m.snapshots(), m.copies() * m.snapshots());
  line("ring mode", 0, m.ringMode());
  line("snapshot mode", 0, m.snapshotMode());
  char row[160];
  std::snprintf(row, sizeof row, "  ring mode takes %.3f of snapshot mode; beside the states %.3f\n",
                double(m.ringMode()) / double(m.snapshotMode()),
                double(m.copies() * m.ring() + m.cursors()) / double(m.copies() * m.snapshots()));
  return text + row;
}

std::string toJson(const Memory &m) {
  std::string json = "{\"spec\": \"" + print(m.spec) + "\"";
  for (auto [key, value] : std::initializer_list<std::pair<const char *, Bytes>>{
           {"layers", Bytes(m.layers)}, {"window", Bytes(m.window)}, {"requests", Bytes(m.requests)},
           {"state_bytes", Bytes(m.state())}, {"d_ring_bytes", Bytes(m.dRing())}, {"k_ring_bytes", Bytes(m.kRing())},
           {"g_ring_bytes", Bytes(m.gRing())}, {"raw_ring_bytes", Bytes(m.rawRing())}, {"cursor_bytes", Bytes(m.cursors())},
           {"snapshot_bytes", Bytes(m.snapshots())}, {"ring_mode_bytes", Bytes(m.ringMode())},
           {"snapshot_mode_bytes", Bytes(m.snapshotMode())}})
    json += std::string(", \"") + key + "\": " + decimal(value);
  return json + "}";
}

Status runAll(const Options &options) {
  std::vector<std::string> texts;
  if (options.spec.empty())
    for (const char *text : {"rule=gdn,phase=replay,H=16,HV=32,K=128,V=128,L=16",
                             "rule=kda,phase=replay,H=32,HV=32,K=128,V=128,L=16"})
      texts.push_back(std::string(text) + ",gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0");
  else
    texts.push_back(options.spec);
  std::string json = "{\"cases\": [";
  for (const std::string &text : texts) {
    auto spec = parseKernelSpec(text);
    if (!spec)
      return spec.status();
    if (spec->isWindowSet() && options.given.count("window"))
      return Status(StatusCode::InvalidArgument, "memory: expected no --window but T_max=" + std::to_string(spec->Tmax) +
                                                     " of the spec alone");
    Memory memory{*spec, options.layers, spec->isWindowSet() ? spec->Tmax : options.window,
                  options.rows.empty() ? int64_t(128) : options.rows[0]};
    if (!spec->hasRing())
      return Status(StatusCode::InvalidArgument,
                    std::string("memory: expected a phase with a ring but got ") + name(spec->phase));
    // Decode alone says nothing of windows: the set whose verify folds is assumed.
    if (!spec->isWindowSet() && options.window > 1 && spec->L < 2 * options.window)
      return Status(StatusCode::InvalidArgument,
                    "memory: expected L to be twice the window at least but got L=" +
                        std::to_string(spec->L) + ", window " + std::to_string(options.window));
    std::printf("%s", toText(memory).c_str());
    json += (json.back() == '[' ? "\n  " : ",\n  ") + toJson(memory);
  }
  return options.jsonPath.empty() ? Status::ok() : writeFile(options.jsonPath, json + "\n]}\n");
}

} // namespace

int run::runMemory(const Options &options) {
  Status status = runAll(options);
  if (!status)
    std::fprintf(stderr, "replayssm-run: %s\n", status.str().c_str());
  return status ? 0 : 1;
}
