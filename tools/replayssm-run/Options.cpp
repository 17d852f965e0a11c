//===- Options.cpp - The command line of replayssm-run --------------------===//
#include "tools/replayssm-run/Commands.h"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace replayssm;
using namespace replayssm::run;

static const char usage[] =
    R"(usage: replayssm-run <command> [file.mlir] [options]

commands
  check    run kernels over ring cycles against the fp64 oracle
  bitwise  other batches and shorter windows, for phase=snapshots also the other kernels: the same bits
  bench    time kernels beside the card's read and in-place streams (GPU)
  drift    errors over many flushes, beside the f32 recurrence (no file)
  memory   bytes of ring mode and of snapshot mode (no file, no device)
  demo     compile and check the Qwen3.5 GDN and Kimi-Linear KDA decode kernels

options
  --spec=<key=value,...>   the kernel, instead of a file (docs/spec.md)
  --kernel=<name>          one kernel of the file (default: all)
  --vectors=<file>         check: inputs and expected outputs of a kernel without a spec
  --device=auto|cuda|host  default auto: the GPU if there is one
  --rows=<n[,n...]>        batch rows (check: 3; bench: 1,4,16,64,128,256,512)
  --steps=<n>              check: tokens (default: two ring cycles)
  --cycles=<n>             drift: flushes of every row (default 50 on the host device, 1000 on a GPU)
  --svg=<file>             drift: a plot
  --dry-run                bench: launch every kernel once, on any device; bytes instead of times
  --layers=<n>  --window=<n>  memory: layers (36), tokens of a window (4); --rows = requests (128)
  --seed=<n>  --flush-rate=<0..1>  --null-rate=<0..1>  --gates=mixed|strong|mild|alternating
  --tiling=<field=value,...>  overrides of the schedule
  --cache=<folder>         kernels compiled for a GPU are kept there, and taken from there
  --compile-only --target=<chip>  check: compiles into --cache all that the same check loads on
                           such a GPU (sm_90a, sm_100a); needs no device
  --json=<file>  --markdown=<file>
host device only
  --landing=issue|wait     when asynchronous copies land
  --schedule-seed=<n>      permutes threads and blocks
  --perturb-seed=<n>       moves approximate functions by up to 2 ulp
)";

template <typename T> static bool parseNumber(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

static Status checkCompileOnly(const Options &options) {
  auto invalid = [](std::string message) { return Status(StatusCode::InvalidArgument, std::move(message)); };
  if (!options.compileOnly)
    return options.target.empty() ? Status::ok() : invalid("--target: expected --compile-only with it: a device has its own");
  if (options.command != "check")
    return invalid("--compile-only: expected the command check but got '" + options.command + "'");
  if (options.target.empty())
    return invalid("--compile-only: expected --target=<chip>");
  if (options.cacheDir.empty())
    return invalid("--compile-only: expected --cache=<folder> for what it compiles");
  return options.device.empty() ? Status::ok()
                                : invalid("--compile-only: expected no --device but got '" + options.device + "'");
}

Result<Options> run::parseOptions(int argc, char **argv) {
  if (argc < 2)
    return Status(StatusCode::InvalidArgument, std::string("expected a command\n") + usage);
  Options options;
  options.command = argv[1];
  auto bad = [&](std::string_view arg, const char *expected) {
    return Status(StatusCode::InvalidArgument,
                  "'" + std::string(arg) + "': expected " + expected);
  };
  for (int i = 2; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg.substr(0, 2) != "--") {
      if (!options.file.empty())
        return bad(arg, "one file");
      options.file = arg;
      continue;
    }
    size_t equals = arg.find('=');
    std::string_view key = arg.substr(2, equals == arg.npos ? arg.npos : equals - 2);
    std::string_view value = equals == arg.npos ? "" : arg.substr(equals + 1);
    bool ok = true;
    if (key == "spec")
      options.spec = value;
    else if (key == "kernel")
      options.kernel = value;
    else if (key == "vectors")
      options.vectors = value;
    else if (key == "device") {
      options.device = value;
      if (value != "auto" && value != "cuda" && value != "host")
        return bad(arg, "auto, cuda or host");
    } else if (key == "rows") {
      std::stringstream list{std::string(value)};
      for (std::string item; std::getline(list, item, ',');) {
        int64_t n;
        if (!parseNumber(item, n) || n < 1 || n > 65535)
          return bad(arg, "numbers in 1..65535");
        options.rows.push_back(n);
      }
      ok = !options.rows.empty();
    } else if (key == "cycles")
      ok = parseNumber(value, options.cycles) && options.cycles > 0;
    else if (key == "layers")
      ok = parseNumber(value, options.layers) && options.layers > 0 && options.layers < 65536;
    else if (key == "window")
      ok = parseNumber(value, options.window) && options.window > 0 && options.window <= 16;
    else if (arg == "--dry-run")
      options.dryRun = true;
    else if (key == "svg")
      options.svgPath = value;
    else if (key == "steps")
      ok = parseNumber(value, options.steps) && options.steps > 0;
    else if (key == "seed")
      ok = parseNumber(value, options.seed);
    else if (key == "flush-rate")
      ok = parseNumber(value, options.flushRate) && options.flushRate >= 0 && options.flushRate <= 1;
    else if (key == "null-rate")
      ok = parseNumber(value, options.nullRate) && options.nullRate >= 0 && options.nullRate <= 1;
    else if (key == "gates") {
      if (value == "mixed")
        options.gates = Gates::Mixed;
      else if (value == "strong")
        options.gates = Gates::Strong;
      else if (value == "mild")
        options.gates = Gates::Mild;
      else if (value == "alternating")
        options.gates = Gates::Alternating;
      else
        return bad(arg, "mixed, strong, mild or alternating");
    } else if (key == "tiling")
      options.tiling = value;
    else if (key == "cache") {
      options.cacheDir = value;
      if (value.empty())
        return bad(arg, "a folder");
    } else if (arg == "--compile-only")
      options.compileOnly = true;
    else if (key == "target")
      options.target = value;
    else if (key == "json")
      options.jsonPath = value;
    else if (key == "markdown")
      options.markdownPath = value;
    else if (key == "landing") {
      if (value != "issue" && value != "wait")
        return bad(arg, "issue or wait");
      options.host.landing =
          value == "issue" ? HostOptions::Landing::AtIssue : HostOptions::Landing::AtWait;
    } else if (key == "schedule-seed")
      ok = parseNumber(value, options.host.scheduleSeed);
    else if (key == "perturb-seed")
      ok = parseNumber(value, options.host.perturbSeed);
    else
      return Status(StatusCode::InvalidArgument,
                    "unknown option '" + std::string(arg) + "'\n" + usage);
    if (!ok)
      return bad(arg, "a number in range");
  }
  RSSM_RETURN_IF_ERROR(checkCompileOnly(options));
  return options;
}

CompileOptions Options::compileOptions(bool isTiled) const {
  CompileOptions compile;
  if (!target.empty())
    compile.target = target;
  if (isTiled)
    compile.tiling = tiling;
  compile.cacheDir = cacheDir;
  compile.cacheCounts = cacheCounts.get();
  return compile;
}

std::string run::cacheLine(const Options &options) {
  uint64_t found = options.cacheCounts->found, compiled = options.cacheCounts->compiled;
  return found + compiled ? "cache: " + std::to_string(found) + " kernels found, " + std::to_string(compiled) + " compiled\n"
                          : "";
}

Result<Device> run::openDevice(const Options &options) {
  if (options.device != "host") {
    auto device = Device::openCuda();
    if (device || options.device == "cuda")
      return device;
  }
  return Device::openHost(options.host);
}

Result<std::string> run::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status(StatusCode::InvalidArgument, "cannot read '" + path + "'");
  std::stringstream text;
  // A folder opens, but its first character cannot be read.
  if (file.peek() != std::ifstream::traits_type::eof())
    text << file.rdbuf();
  if (file.bad())
    return Status(StatusCode::InvalidArgument, "cannot read '" + path + "'");
  return text.str();
}

Status run::writeFile(const std::string &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    return Status(StatusCode::InvalidArgument, "cannot write '" + path + "'");
  return Status::ok();
}

int run::runMain(int argc, char **argv) {
  auto options = parseOptions(argc, argv);
  if (!options) {
    std::fprintf(stderr, "replayssm-run: %s\n", options.status().str().c_str());
    return 2;
  }
  if (options->command == "check")
    return runCheck(*options);
  if (options->command == "bitwise")
    return runBitwise(*options);
  if (options->command == "bench")
    return runBench(*options);
  if (options->command == "drift")
    return runDrift(*options);
  if (options->command == "memory")
    return runMemory(*options);
  if (options->command == "demo")
    return runDemo(*options);
  std::fprintf(stderr, "replayssm-run: expected check, bitwise, bench, drift, memory or demo but got '%s'\n%s",
               options->command.c_str(), usage);
  return 2;
}
