//===- Options.cpp - The command line of replayssm-run --------------------===//
#include "tools/replayssm-run/Commands.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace replayssm;
using namespace replayssm::run;

static const char usage[] =
    R"(usage: replayssm-run <command> [file.mlir] [options]

commands
  check    run kernels over ring cycles against the fp64 oracle
  bitwise  other batches and shorter windows, for phase=snapshots also the other kernels: the same bits
  bench    time kernels beside the card's read and in-place streams (no file, GPU)
  drift    errors over many flushes, beside the f32 recurrence (no file)
  memory   bytes of ring mode and of snapshot mode (no file, no device)
  demo     compile and check the Qwen3.5 GDN and Kimi-Linear KDA decode kernels (no file)

options
  --spec=<key=value,...>   the kernel, instead of a file (docs/spec.md); bench, drift and memory have
                           kernels of their own without it
  --kernel=<name>          check: one kernel of the file (default: all)
  --vectors=<file>         check: inputs and expected outputs of one kernel (docs/spec.md), beside the
                           oracle where it has a spec
  --device=auto|cuda|host  default auto: the GPU if there is one
  --rows=<n[,n...]>        batch rows (check: 3; bench: 1,4,16,64,128,256,512); one number for drift,
                           memory and demo
  --steps=<n>              check, bitwise, demo: tokens (check: two ring cycles; demo: 64)
  --cycles=<n>             drift: flushes of every row (default 50 on the host device, 1000 on a GPU)
  --svg=<file>             drift: a plot
  --dry-run                bench: launch every kernel once, on any device; bytes instead of times
  --layers=<n>  --window=<n>  memory: layers (36), tokens of a window (4); --rows = requests (128)
  --seed=<n>  --flush-rate=<0..1>  --null-rate=<0..1>  --gates=mixed|strong|mild|alternating|extreme
  --tiling=<field=value,...>  check, bitwise, bench: overrides of the schedule
  --cache=<folder>         kernels compiled for a GPU are kept there, and taken from there
  --compile-only --target=<chip>  check: compiles into --cache all that the same check loads on
                           such a GPU (chips: replayssm-opt --help); needs no device
  --json=<file>            results; not of demo
  --markdown=<file>        bench, drift: tables
host device only, refused on a GPU
  --landing=issue|wait     when asynchronous copies land
  --schedule-seed=<n>      permutes threads and blocks
  --perturb-seed=<n>       moves approximate functions by up to 2 ulp
)";

namespace {
struct Command {
  const char *name;
  int (*run)(const Options &options);
};
const Command commands[] = {{"check", runCheck}, {"bitwise", runBitwise}, {"bench", runBench},
                            {"drift", runDrift}, {"memory", runMemory},   {"demo", runDemo}};

/// Every option, with the commands that take it.
struct Taken {
  const char *options, *commands;
};
const Taken taken[] = {
    {"file", "check bitwise"},
    {"spec json", "check bitwise bench drift memory"},
    {"kernel vectors compile-only target", "check"},
    {"steps", "check bitwise demo"},
    {"cycles svg", "drift"},
    {"dry-run", "bench"},
    {"layers window", "memory"},
    {"seed", "check bitwise drift demo"},
    {"flush-rate", "check bitwise drift"},
    {"null-rate gates", "check bitwise"},
    {"tiling", "check bitwise bench"},
    {"markdown", "bench drift"},
    {"device cache landing schedule-seed perturb-seed", "check bitwise bench drift demo"},
    {"rows", "check bitwise bench drift memory demo"},
};
const char *const ofHostDevice[] = {"landing", "schedule-seed", "perturb-seed"};
} // namespace

static std::vector<std::string> words(const char *text) {
  std::stringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

/// "a, b or c".
static std::string anyOf(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  return text;
}

/// The table above has every option.
static bool isKnown(const std::string &option) {
  return option != "file" && std::any_of(std::begin(taken), std::end(taken), [&](const Taken &entry) {
    std::vector<std::string> options = words(entry.options);
    return std::count(options.begin(), options.end(), option) > 0;
  });
}

static Status checkTaken(const std::string &option, const std::string &command) {
  for (const Taken &entry : taken) {
    std::vector<std::string> options = words(entry.options), takers = words(entry.commands);
    if (std::count(options.begin(), options.end(), option) && !std::count(takers.begin(), takers.end(), command))
      return Status(StatusCode::InvalidArgument, (option == "file" ? "a file" : "--" + option) +
                                                     ": expected the command " + anyOf(takers) + " but got '" +
                                                     command + "'");
  }
  return Status::ok();
}

template <typename T> static bool parseNumber(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

static Status checkCompileOnly(const Options &options) {
  auto invalid = [](std::string message) { return Status(StatusCode::InvalidArgument, std::move(message)); };
  if (!options.compileOnly)
    return options.target.empty() ? Status::ok() : invalid("--target: expected --compile-only with it: a device has its own");
  if (options.target.empty())
    return invalid("--compile-only: expected --target=<chip>");
  if (options.cacheDir.empty())
    return invalid("--compile-only: expected --cache=<folder> for what it compiles");
  if (!options.jsonPath.empty())
    return invalid("--compile-only: expected no --json: nothing is checked");
  return options.device.empty() ? Status::ok()
                                : invalid("--compile-only: expected no --device but got '" + options.device + "'");
}

Result<Options> run::parseOptions(int argc, char **argv) {
  if (argc < 2)
    return Status(StatusCode::InvalidArgument, std::string("expected a command\n") + usage);
  Options options;
  options.command = argv[1];
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.name);
  if (!std::count(names.begin(), names.end(), options.command))
    return Status(StatusCode::InvalidArgument,
                  "expected " + anyOf(names) + " but got '" + options.command + "'\n" + usage);
  auto bad = [&](std::string_view arg, const char *expected) {
    return Status(StatusCode::InvalidArgument,
                  "'" + std::string(arg) + "': expected " + expected);
  };
  for (int i = 2; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg.substr(0, 1) != "-") {
      if (arg.empty())
        return bad(arg, "a file");
      if (!options.file.empty())
        return bad(arg, "one file");
      options.file = arg;
      RSSM_RETURN_IF_ERROR(checkTaken("file", options.command));
      continue;
    }
    size_t equals = arg.find('=');
    std::string_view name = arg.substr(0, equals);
    std::string_view key = name.substr(0, 2) == "--" ? name.substr(2) : "";
    std::string_view value = equals == arg.npos ? "" : arg.substr(equals + 1);
    bool isFlag = key == "dry-run" || key == "compile-only";
    if (!isKnown(std::string(key)))
      return Status(StatusCode::InvalidArgument, "unknown option '" + std::string(arg) + "'\n" + usage);
    RSSM_RETURN_IF_ERROR(checkTaken(std::string(key), options.command));
    if (isFlag ? equals != arg.npos : value.empty())
      return bad(arg, isFlag ? "no value" : "a value");
    if (!options.given.insert(std::string(key)).second)
      return bad(arg, "each option once");
    const char *expected = nullptr;
    auto number = [&](auto &to, auto least, auto most, const char *what) {
      if (!parseNumber(value, to) || !(to >= least && to <= most))
        expected = what;
    };
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
      for (size_t at = 0; at <= value.size();) {
        std::string_view item = value.substr(at, value.find(',', at) - at);
        at += item.size() + 1;
        int64_t n;
        if (!parseNumber(item, n) || n < 1 || n > 65535)
          return bad(arg, "numbers in 1..65535");
        options.rows.push_back(n);
      }
      bool takesMany = options.command == "check" || options.command == "bitwise" || options.command == "bench";
      if (options.rows.size() > 1 && !takesMany)
        return bad(arg, "one number, of every command but check, bitwise and bench");
    } else if (key == "cycles")
      number(options.cycles, 1, INT64_MAX, "a number above 0");
    else if (key == "layers")
      number(options.layers, 1, 65535, "a number in 1..65535");
    else if (key == "window")
      number(options.window, 1, 16, "a number in 1..16");
    else if (key == "dry-run")
      options.dryRun = true;
    else if (key == "svg")
      options.svgPath = value;
    else if (key == "steps")
      number(options.steps, 1, INT64_MAX, "a number above 0");
    else if (key == "seed")
      number(options.seed, 0u, UINT64_MAX, "a number from 0 on");
    else if (key == "flush-rate")
      number(options.flushRate, 0, 1, "a number in 0..1");
    else if (key == "null-rate")
      number(options.nullRate, 0, 1, "a number in 0..1");
    else if (key == "gates") {
      if (value == "mixed")
        options.gates = Gates::Mixed;
      else if (value == "strong")
        options.gates = Gates::Strong;
      else if (value == "mild")
        options.gates = Gates::Mild;
      else if (value == "alternating")
        options.gates = Gates::Alternating;
      else if (value == "extreme")
        options.gates = Gates::Extreme;
      else
        return bad(arg, "mixed, strong, mild, alternating or extreme");
    } else if (key == "tiling")
      options.tiling = value;
    else if (key == "cache") {
      options.cacheDir = value;
    } else if (key == "compile-only")
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
      number(options.host.scheduleSeed, 0u, UINT64_MAX, "a number from 0 on");
    else if (key == "perturb-seed")
      number(options.host.perturbSeed, 0u, UINT64_MAX, "a number from 0 on");
    if (expected)
      return bad(arg, expected);
  }
  if (!options.file.empty() && !options.spec.empty())
    return Status(StatusCode::InvalidArgument, "expected a file or --spec but got both");
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
    for (const char *option : ofHostDevice)
      if (device && options.given.count(option))
        return Status(StatusCode::InvalidArgument, std::string("--") + option + ": expected --device=host with it but got '" +
                                                       device->name() + "'");
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
  for (int i = 1; i < argc; ++i)
    if (std::string_view arg = argv[i]; arg == "--help" || arg == "-help" || arg == "-h")
      return std::fputs(usage, stdout) < 0;
  auto options = parseOptions(argc, argv);
  if (!options) {
    std::fprintf(stderr, "replayssm-run: %s\n", options.status().str().c_str());
    return 2;
  }
  for (const Command &command : commands)
    if (options->command == command.name)
      return command.run(*options);
  return 2; // Not reached: parseOptions knows them.
}
