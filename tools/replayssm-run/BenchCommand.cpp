//===- BenchCommand.cpp - replayssm-run bench -----------------------------===//
#include "tools/replayssm-run/Bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <sstream>

using namespace replayssm;
using namespace replayssm::run;

namespace {

/// A shape of each rule, and the kernels that are timed for it.
const char *const gdnShape = "rule=gdn,H=16,HV=32,K=128,V=128,";
const char *const kdaShape = "rule=kda,H=32,HV=32,K=128,V=128,";
const char *const gdnKernels[] = {
    "phase=packed",
    "phase=replay,L=16",
    "phase=packed,state=bf16",
    "phase=replay,L=16,state=bf16",
};
/// On tensor cores.
const char *const mmaKernels[] = {
    "phase=verify,L=16,T_max=4,flush_at=commit,fold=records,dot=mma",
    "phase=verify,L=32,T_max=8,flush_at=commit,fold=records,dot=mma",
    "phase=verify,L=16,T_max=4,flush_at=verify,fold=records,dot=mma",
    "phase=verify,L=16,T_max=4,flush_at=commit,fold=records,state=bf16,dot=mma",
    "phase=verify,L=32,T_max=8,flush_at=commit,fold=records,state=bf16,dot=mma",
};
const char *const kernels[] = {
    // Windows that fold at commit, from records and by replay.
    "phase=verify,L=16,T_max=4,flush_at=commit,fold=records",
    "phase=verify,L=32,T_max=8,flush_at=commit,fold=records",
    "phase=fold,L=16,T_max=4,flush_at=commit,fold=records",
    "phase=verify,L=16,T_max=4,flush_at=commit,fold=replay",
    "phase=fold,L=16,T_max=4,flush_at=commit,fold=replay",
    // Always folded at commit.
    "phase=verify,L=4,T_max=4,flush_at=every_commit,fold=replay",
    "phase=fold,L=4,T_max=4,flush_at=every_commit,fold=replay",
    // Folded inside the next verify.
    "phase=verify,L=16,T_max=4,flush_at=verify,fold=records",
    "phase=verify,L=32,T_max=8,flush_at=verify,fold=records",
    "phase=verify,L=16,T_max=4,flush_at=verify,fold=replay",
    // Trees.
    "phase=verify,L=32,T_max=8,flush_at=commit,fold=records,window=tree",
    "phase=compact,L=32,T_max=8,flush_at=commit,fold=records,window=tree",
    // Without a ring.
    "phase=snapshots,T_max=4",
    "phase=input_replay,T_max=4",
};

std::vector<std::string> benchSpecs(const Options &options) {
  if (!options.spec.empty())
    return {options.spec};
  std::vector<std::string> specs;
  auto add = [&](const char *shape, const char *kernel) {
    specs.push_back(std::string(shape) + kernel + ",gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0");
  };
  for (const char *kernel : gdnKernels)
    add(gdnShape, kernel);
  add(kdaShape, "phase=packed");
  add(kdaShape, "phase=replay,L=16");
  for (const char *shape : {gdnShape, kdaShape})
    for (const char *kernel : kernels)
      add(shape, kernel);
  for (const char *kernel : mmaKernels)
    add(gdnShape, kernel);
  return specs;
}

/// One line of a table, and the heading above the first.
std::string tableLine(const Timing &timing, bool heading) {
  std::string names = "| rows |", rule = "|--:|", line = "| " + std::to_string(timing.rows) + " |";
  for (const Column &column : timing.columns) {
    char text[96];
    std::snprintf(text, sizeof text, " %.2f | %.2f | %.2f |", column.time, column.floor,
                  column.time / column.floor);
    names += " " + column.name + " | floor | ratio |";
    rule += "--:|--:|--:|";
    line += text;
  }
  return (heading ? names + "\n" + rule + "\n" : "") + line + "\n";
}

/// As tableLine, without times: the bytes alone.
std::string bytesLine(const Timing &timing) {
  std::string line = std::to_string(timing.rows) + " rows";
  line += timing.layers > 1 ? " of " + std::to_string(timing.layers) + " layers:" : ":";
  for (const Column &column : timing.columns) {
    char text[128];
    std::snprintf(text, sizeof text, "%s %s: %.0f bytes one way, %.0f in place",
                  &column == &timing.columns.front() ? "" : ";", column.name.c_str(), column.bytes.oneWay,
                  column.bytes.update);
    line += text;
  }
  return line + "\n";
}

std::string toJson(const Timing &timing, const KernelResources *resources) {
  std::ostringstream json;
  // What was not measured is null.
  auto known = [](double value) {
    std::ostringstream text;
    text << value;
    return std::isnan(value) ? "null" : text.str();
  };
  json << "{\"spec\": \"" << timing.spec << "\", \"rows\": " << timing.rows << ", \"layers\": " << timing.layers
       << ", \"mean_us\": " << known(timing.columns[0].time) << ", \"floor_us\": " << known(timing.columns[0].floor)
       << ", \"columns\": [";
  for (const Column &column : timing.columns)
    json << (&column == &timing.columns.front() ? "" : ", ") << "{\"name\": \"" << column.name
         << "\", \"us\": " << known(column.time) << ", \"floor_us\": " << known(column.floor)
         << ", \"one_way_bytes\": " << std::llround(column.bytes.oneWay)
         << ", \"in_place_bytes\": " << std::llround(column.bytes.update) << "}";
  json << "], \"moments_us\": [";
  for (size_t i = 0; i < timing.moments.size(); ++i)
    json << (i ? ", " : "") << known(timing.moments[i]);
  auto ofKernel = [&](int KernelResources::*field) { return resources ? std::to_string(resources->*field) : "null"; };
  json << "], \"registers\": " << ofKernel(&KernelResources::registers)
       << ", \"local_bytes\": " << ofKernel(&KernelResources::localBytes) << "}";
  return json.str();
}

/// The streams run over their own pool: several L2s, and the largest span.
Result<Buffer> streamPool(Device &device) {
  auto pool = device.allocate(uint64_t(3) << 30);
  if (!pool)
    return pool;
  std::vector<float> ones(1 << 22, 1.0f);
  for (uint64_t at = 0; at < pool->bytes(); at += ones.size() * 4)
    RSSM_RETURN_IF_ERROR(pool->copyIn(ones.data(), std::min<uint64_t>(ones.size() * 4, pool->bytes() - at), at));
  return pool;
}

struct BenchOutput {
  std::string json, markdown;
};

Status benchSpec(Device &device, const Options &options, const std::string &text, Buffer *pool, BenchOutput &output) {
  auto spec = parseKernelSpec(text);
  if (!spec)
    return spec.status();
  auto kernel = jitSpec(device, *spec, options.compileOptions(/*isTiled=*/true));
  if (!kernel)
    return kernel.status();
  auto resources = kernel->resources();
  if (!resources)
    return resources.status();
  // The host device has no registers, and no multiprocessors.
  auto known = [&](int value) { return device.isHost() ? "unknown" : std::to_string(value); };
  std::string line = "\n`" + text + "`\n\n" + known(resources->registers) + " registers, " + known(resources->localBytes) +
                     " local bytes, " + std::to_string(resources->sharedBytes) + " shared bytes, " +
                     known(resources->blocksPerMultiprocessor) + " blocks of " +
                     std::to_string(kernel->manifest().threads) + " threads per SM\n\n";
  output.markdown += line;
  std::printf("%s", line.c_str());
  std::vector<int64_t> rows = options.rows;
  if (rows.empty())
    rows = pool ? std::vector<int64_t>{1, 4, 16, 64, 128, 256, 512} : std::vector<int64_t>{1};
  for (int64_t B : rows) {
    auto bench = Bench::create(device, *spec, B);
    if (!bench)
      return bench.status();
    auto timing = pool ? bench->run(*kernel, *pool, options.compileOptions(/*isTiled=*/false)) : bench->dryRun(*kernel);
    if (!timing)
      return timing.status();
    std::string table = pool ? tableLine(*timing, B == rows.front()) : bytesLine(*timing);
    output.markdown += table;
    std::printf("%s", table.c_str());
    std::fflush(stdout);
    output.json += (output.json.empty() ? "\n  " : ",\n  ") + toJson(*timing, device.isHost() ? nullptr : &*resources);
  }
  return Status::ok();
}

Status benchAll(const Options &options) {
  auto device = openDevice(options);
  if (!device)
    return device.status();
  if (device->isHost() && !options.dryRun)
    return Status(StatusCode::Unavailable, "bench: expected a GPU but the device is the host; timings of the host "
                                           "device say nothing (--dry-run launches without timing)");
  std::optional<Buffer> pool;
  if (!options.dryRun) {
    auto made = streamPool(*device);
    if (!made)
      return made.status();
    pool.emplace(made.take());
  }
  std::printf("device: %s, L2 %.0f MiB\n", device->name().c_str(), device->l2Bytes() / 1048576.0);
  BenchOutput output;
  for (const std::string &text : benchSpecs(options))
    RSSM_RETURN_IF_ERROR(benchSpec(*device, options, text, pool ? &*pool : nullptr, output));
  if (!options.jsonPath.empty())
    RSSM_RETURN_IF_ERROR(writeFile(options.jsonPath, "{\"device\": \"" + device->name() + "\", \"timings\": [" +
                                                         output.json + "\n]}\n"));
  if (options.markdownPath.empty())
    return Status::ok();
  return writeFile(options.markdownPath,
                   "# " + device->name() +
                       "\n\nMicroseconds per launch inside a graph, cold L2, random slots. floor = the card's own stream of "
                       "the fewest bytes in the same run (in place for states that are written back).\n" +
                       output.markdown);
}

} // namespace

int run::runBench(const Options &options) {
  Status status = benchAll(options);
  if (!status)
    std::fprintf(stderr, "replayssm-run: %s\n", status.str().c_str());
  return status ? 0 : 1;
}
