//===- Driver.cpp - The command line of the compiler proper ---------------===//
#include "lib/Compiler/Driver.h"

#include "common/Targets.h"
#include "lib/Compiler/CrashReport.h"
#include "replayssm/Compiler.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace replayssm;
using llvm::StringRef;

namespace {

std::string usage() {
  return "usage: replayssm-opt --emit=mlir|llvm|ptx|cubin [--target=<chip>] [--stop-after=<stage>]\n"
         "           [--tiling=<field>=<value>,...] [--place=<what>=<place>,...] [--verify-each]\n"
         "           [--cache=<folder>] [--manifest=<file>]\n"
         "           [-o <file>] (<file.mlir> | - | --spec=<key>=<value>,...)\n"
         "  --target      " + knownTargets() + "; default " + defaultTarget + "\n"
         "  --stop-after  with --emit=mlir: import, derive, fuse, schedule, tile or gpu (default)\n"
         "  --tiling      overrides of the schedule: bv, bc, warps, copy, unroll, blocks, sink\n"
         "  --place       overrides of where it is computed: columns or gates, as spread or regs\n"
         "  --cache       with --emit=ptx or cubin: compiled kernels are kept there, and taken from there\n"
         "  --manifest    how the kernels are launched (JSON); not with --emit=mlir\n"
         "  --spec        one kernel, instead of a file (docs/spec.md); --emit=ptx may then be left out\n";
}

/// Options that only the compiler has: without --emit they would be taken for passes.
constexpr StringRef needEmit[] = {"-target", "-stop-after", "-tiling", "-place", "-cache", "-manifest"};

struct Command {
  CompileOptions options;
  std::optional<std::string> input, spec;
  std::string output = "-", manifest;
  bool help = false;
};

Status invalid(const std::string &message) {
  return Status(StatusCode::InvalidArgument, message);
}

Result<Emit> parseEmit(StringRef text) {
  if (text == "mlir")
    return Emit::MLIR;
  if (text == "llvm")
    return Emit::LLVM;
  if (text == "ptx")
    return Emit::PTX;
  if (text == "cubin")
    return Emit::Cubin;
  return invalid("expected --emit to be one of mlir, llvm, ptx, cubin but got '" + text.str() + "'");
}

Result<Command> parseCommand(int argc, char **argv) {
  Command command;
  for (int i = 1; i < argc; ++i)
    if (StringRef argument = argv[i]; argument == "--help" || argument == "-help" || argument == "-h")
      command.help = true;
  if (command.help)
    return command;
  llvm::StringSet<> seen;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (argument == "-" || !argument.starts_with("-")) {
      if (command.input)
        return invalid("expected one input but got '" + *command.input + "' and '" + argument.str() + "'");
      command.input = argument.str();
      continue;
    }
    if (argument == "-o") {
      if (++i == argc)
        return invalid("expected a file after -o");
      if (!seen.insert("-o").second)
        return invalid("expected -o once but got it twice");
      command.output = argv[i];
      continue;
    }
    auto [name, value] = argument.split('=');
    // Both -name and --name, as in other tools of LLVM.
    if (name.starts_with("--"))
      name = name.drop_front();
    if (!seen.insert(name).second)
      return invalid("expected -" + name.str() + " once but got it twice");
    if (name == "-verify-each" && argument.find('=') == StringRef::npos) {
      command.options.verifyEach = true;
    } else if (value.empty()) {
      return invalid("expected a known option with a value but got '" + argument.str() + "'");
    } else if (name == "-emit") {
      Result<Emit> emit = parseEmit(value);
      if (!emit)
        return emit.status();
      command.options.emit = *emit;
    } else if (name == "-target") {
      command.options.target = value.str();
    } else if (name == "-stop-after") {
      command.options.stopAfter = value.str();
    } else if (name == "-tiling") {
      command.options.tiling = value.str();
    } else if (name == "-place") {
      command.options.places = value.str();
    } else if (name == "-cache") {
      command.options.cacheDir = value.str();
    } else if (name == "-spec") {
      command.spec = value.str();
    } else if (name == "-manifest") {
      command.manifest = value.str();
    } else {
      return invalid("unknown option '" + argument.str() + "'");
    }
  }
  if (command.input && command.spec)
    return invalid("expected a file or --spec but got both");
  if (!command.spec && !seen.contains("-emit"))
    for (StringRef name : needEmit)
      if (seen.contains(name))
        return invalid("-" + name.str() + " needs --emit=mlir, llvm, ptx or cubin");
  if (!command.input && !command.spec)
    return invalid("expected a file, - for standard input, or --spec");
  if (!command.manifest.empty() && command.options.emit == Emit::MLIR)
    return invalid("--manifest needs --emit=llvm, ptx or cubin: MLIR carries its manifests as attributes");
  if (!command.options.cacheDir.empty() && command.options.emit != Emit::PTX && command.options.emit != Emit::Cubin)
    return invalid("--cache needs --emit=ptx or cubin: nothing else is kept");
  if (command.manifest == command.output)
    return invalid("expected different files for -o and --manifest but got '" + command.output + "' twice");
  return command;
}

Result<CompiledModule> compile(const Command &command) {
  if (command.spec) {
    Result<KernelSpec> spec = parseKernelSpec(*command.spec);
    if (!spec)
      return spec.status();
    return compileSpec(*spec, command.options);
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(*command.input, /*IsText=*/true);
  if (!buffer)
    return invalid("cannot read '" + *command.input + "': " + buffer.getError().message());
  std::string_view source((*buffer)->getBufferStart(), (*buffer)->getBufferSize());
  return compileSource(source, *command.input == "-" ? "<stdin>" : *command.input, command.options);
}

/// Nothing is left behind when writing fails.
Status write(const std::string &file, StringRef text) {
  std::error_code error;
  llvm::ToolOutputFile output(file, error, llvm::sys::fs::OF_None);
  if (error)
    return invalid("cannot write '" + file + "': " + error.message());
  output.os() << text;
  output.os().flush();
  if (output.os().has_error()) {
    std::string message = output.os().error().message();
    output.os().clear_error();
    return Status(StatusCode::Exhausted, "cannot write '" + file + "': " + message);
  }
  output.keep();
  return Status::ok();
}

/// A JSON array, one object per kernel in source order.
std::string manifestList(const std::vector<KernelManifest> &kernels) {
  std::string text = "[";
  for (const KernelManifest &kernel : kernels)
    text += (text.size() > 1 ? ",\n" : "\n") + StringRef(toJson(kernel)).rtrim('\n').str();
  return text + "\n]\n";
}

} // namespace

bool replayssm::isDriverCall(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    StringRef name = StringRef(argv[i]).split('=').first;
    if (name.starts_with("--"))
      name = name.drop_front();
    if (name == "-emit" || name == "-spec" || llvm::is_contained(needEmit, name))
      return true;
  }
  return false;
}

int replayssm::driverMain(int argc, char **argv) {
  // A sanitizer says more.
  if (!LLVM_ADDRESS_SANITIZER_BUILD)
    reportCrashes("error: internal: the compiler has crashed; please report the command line and the input\n");
  auto fail = [](const Status &status) {
    // Diagnostics of a file carry their own "error:" and place.
    bool placed = StringRef(status.message()).contains(": error: ");
    llvm::errs() << (placed ? "" : "error: ") << (placed ? status.message() : status.str()) << "\n";
    return 1;
  };
  Result<Command> command = parseCommand(argc, argv);
  if (!command) {
    int code = fail(command.status());
    llvm::errs() << usage();
    return code;
  }
  if (command->help) {
    llvm::outs() << usage();
    return 0;
  }
  Result<CompiledModule> compiled = compile(*command);
  if (!compiled)
    return fail(compiled.status());
  if (Status status = write(command->output, compiled->code); !status)
    return fail(status);
  if (!command->manifest.empty())
    if (Status status = write(command->manifest, manifestList(compiled->kernels)); !status)
      return fail(status);
  return 0;
}
