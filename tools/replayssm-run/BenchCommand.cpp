//===- BenchCommand.cpp - replayssm-run bench -----------------------------===//
#include "tools/replayssm-run/Bench.h"

#include <cstdio>
#include <sstream>

using namespace replayssm;
using namespace replayssm::run;

namespace {

const char *suite[] = {
    "rule=gdn,phase=packed,H=16,HV=32,K=128,V=128",
    "rule=gdn,phase=replay,H=16,HV=32,K=128,V=128,L=16",
    "rule=gdn,phase=packed,H=16,HV=32,K=128,V=128,state=bf16",
    "rule=gdn,phase=replay,H=16,HV=32,K=128,V=128,L=16,state=bf16",
    "rule=kda,phase=packed,H=32,HV=32,K=128,V=128",
    "rule=kda,phase=replay,H=32,HV=32,K=128,V=128,L=16",
    "rule=gdn,phase=verify,H=16,HV=32,K=128,V=128,L=16,T_max=4,flush_at=commit,fold=records",
    "rule=gdn,phase=verify,H=16,HV=32,K=128,V=128,L=32,T_max=8,flush_at=commit,fold=records",
    "rule=gdn,phase=fold,H=16,HV=32,K=128,V=128,L=16,T_max=4,flush_at=commit,fold=records",
    "rule=kda,phase=verify,H=32,HV=32,K=128,V=128,L=16,T_max=4,flush_at=commit,fold=records",
    "rule=kda,phase=verify,H=32,HV=32,K=128,V=128,L=32,T_max=8,flush_at=commit,fold=records",
    "rule=kda,phase=fold,H=32,HV=32,K=128,V=128,L=16,T_max=4,flush_at=commit,fold=records",
};

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

int report(const Status &status) {
  std::fprintf(stderr, "replayssm-run: %s\n", status.str().c_str());
  return 1;
}

} // namespace

int run::runBench(const Options &options) {
  auto device = openDevice(options);
  if (!device)
    return report(device.status());
  if (device->isHost())
    return report(Status(StatusCode::Unavailable,
                         "bench: expected a GPU but the device is the host; timings of the host "
                         "device say nothing"));
  std::vector<std::string> specs;
  if (!options.spec.empty())
    specs.push_back(options.spec);
  else
    for (const char *spec : suite)
      specs.push_back(std::string(spec) + ",gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0");
  std::vector<int64_t> rows =
      options.rows.empty() ? std::vector<int64_t>{1, 4, 16, 64, 128, 256, 512} : options.rows;
  // The streams run over their own pool: several L2s, and the largest span.
  auto pool = device->allocate(uint64_t(3) << 30);
  if (!pool)
    return report(pool.status());
  std::vector<float> ones(1 << 22, 1.0f);
  for (uint64_t at = 0; at < pool->bytes(); at += ones.size() * 4)
    if (Status status = pool->copyIn(ones.data(), std::min<uint64_t>(ones.size() * 4, pool->bytes() - at), at); !status)
      return report(status);

  std::string json = "{\"device\": \"" + device->name() + "\", \"timings\": [";
  std::string markdown = "Microseconds per launch inside a graph, cold L2, random slots. floor = the card's own stream of "
                         "the fewest bytes in the same run (in place for states that are written back).\n";
  bool firstTiming = true;
  std::printf("device: %s, L2 %.0f MiB\n", device->name().c_str(), device->l2Bytes() / 1048576.0);
  for (const std::string &text : specs) {
    auto spec = parseKernelSpec(text);
    if (!spec)
      return report(spec.status());
    CompileOptions compile;
    compile.tiling = options.tiling;
    auto kernel = jitSpec(*device, *spec, compile);
    if (!kernel)
      return report(kernel.status());
    auto resources = kernel->resources();
    if (!resources)
      return report(resources.status());
    char line[512];
    std::snprintf(line, sizeof line,
                  "\n`%s`\n\n%d registers, %d local bytes, %d shared bytes, %d blocks of %u threads per SM\n\n",
                  text.c_str(), resources->registers, resources->localBytes, resources->sharedBytes,
                  resources->blocksPerMultiprocessor, kernel->manifest().threads);
    markdown += line;
    std::printf("%s", line);
    for (int64_t B : rows) {
      auto bench = Bench::create(*device, *spec, B, *pool);
      if (!bench)
        return report(bench.status());
      auto timing = bench->run(*kernel);
      if (!timing)
        return report(timing.status());
      std::string tableText = tableLine(*timing, B == rows.front());
      markdown += tableText;
      std::printf("%s", tableText.c_str());
      std::fflush(stdout);
      std::ostringstream entry;
      entry << (firstTiming ? "\n  " : ",\n  ") << "{\"spec\": \"" << timing->spec << "\", \"rows\": " << B
            << ", \"mean_us\": " << timing->columns[0].time
            << ", \"floor_us\": " << timing->columns[0].floor
            << ", \"positions_us\": [";
      for (size_t i = 0; i < timing->positions.size(); ++i)
        entry << (i ? ", " : "") << timing->positions[i];
      entry << "], \"registers\": " << resources->registers << ", \"local_bytes\": " << resources->localBytes << "}";
      json += entry.str();
      firstTiming = false;
    }
  }
  json += "\n]}\n";
  if (!options.jsonPath.empty())
    if (Status status = writeFile(options.jsonPath, json); !status)
      return report(status);
  if (!options.markdownPath.empty())
    if (Status status = writeFile(options.markdownPath, "# " + device->name() + "\n\n" + markdown); !status)
      return report(status);
  return 0;
}
