//===- Commands.cpp - Passes in any order; mutated sources and specs ------===//
#include "Commands.h"

#include "common/Targets.h"
#include "lib/Compiler/Session.h"
#include "passes/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringRef.h"

#include <sys/resource.h>

using namespace mlir;
using namespace replayssm;
using namespace robustness;

namespace {

constexpr Stage stages[] = {Stage::Import, Stage::Derive, Stage::Fuse, Stage::Schedule, Stage::Tile, Stage::Gpu};

using Module = OwningOpRef<ModuleOp>;

/// Errors of a scope; a failure without one is a fault.
class Errors {
public:
  explicit Errors(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            text += diagnostic.str() + "\n";
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

Module parse(MLIRContext &context, const Text &text) {
  return parseSourceString<ModuleOp>(text.source, ParserConfig(&context), text.name);
}

/// Says of a step that failed, or of one that succeeded and left `module`, what is wrong with it.
bool judge(bool isDone, ModuleOp module, const Errors &errors, Report &report) {
  if (!isDone) {
    if (errors.text.find_first_not_of(" \n") == std::string::npos)
      report.fault("fails without a message");
    report.refused();
    return false;
  }
  if (failed(verify(module)))
    report.fault("leaves invalid IR: " + errors.text);
  report.accepted();
  return true;
}

bool runPass(ModuleOp module, const PassName &pass, const std::string &what, Report &report) {
  report.begin(what + " --" + pass.argument);
  MLIRContext &context = *module.getContext();
  Errors errors(context);
  PassManager pm(&context, ModuleOp::getOperationName());
  // What a pass leaves is verified here, and blamed on it.
  pm.enableVerifier(false);
  std::string text = pass.anchor == "builtin.module" ? pass.argument : pass.anchor + "(" + pass.argument + ")";
  if (failed(parsePassPipeline(text, pm))) {
    report.fault("is no pass: " + errors.text);
    return false;
  }
  return judge(succeeded(pm.run(module)), module, errors, report);
}

bool runStage(ModuleOp module, Stage stage, const std::string &what, Report &report) {
  report.begin(what + " (stage " + stageName(stage).str() + ")");
  MLIRContext &context = *module.getContext();
  Errors errors(context);
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  buildStage(pm, stage, {});
  return judge(succeeded(pm.run(module)), module, errors, report);
}

/// The address space that a case may take: numbers of a source may not exhaust the machine.
void limitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
  rlimit limit = {8ull << 30, 8ull << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

void print(const char *command, const Summary &summary) {
  llvm::outs() << command << ": " << summary.accepted << " accepted, " << summary.refused << " refused, "
               << summary.crashes << " crashes, " << summary.hangs << " hangs, " << summary.faults
               << " other faults\n";
}

} // namespace

//===----------------------------------------------------------------------===//
// passes
//===----------------------------------------------------------------------===//

int robustness::runPasses(const Options &options) {
  registerReplayPasses();
  std::vector<PassName> passes = readPasses(options.root);
  std::vector<Text> texts = readExamples(options.root);
  size_t examples = texts.size();
  for (Text &text : readTests(options.root))
    texts.push_back(std::move(text));
  limitMemory();

  // One case: a text, taken through the stages up to one of them, and a first pass.
  size_t perText = std::size(stages) * passes.size();
  auto body = [&](size_t index, Report &report) {
    static std::unique_ptr<MLIRContext> context = makeContext();
    size_t number = index / perText;
    const Text &text = texts[number];
    Stage last = stages[index % perText / passes.size()];
    const PassName &first = passes[index % passes.size()];
    bool isExample = number < examples;
    if (last != Stage::Import && !isExample && !options.all)
      return;
    report.begin(text.name);
    Errors errors(*context);
    Module module = parse(*context, text);
    if (!module) {
      if (errors.text.empty())
        report.fault("is refused without a message");
      return;
    }
    std::string what = text.name;
    for (Stage stage : stages) {
      if (stage == Stage::Import)
        continue;
      if (stage > last)
        break;
      what = text.name + " behind stage " + stageName(stage).str();
      if (!runStage(*module, stage, text.name, report))
        return;
    }
    if (!runPass(*module, first, what, report) || (!isExample && !options.all))
      return;
    for (const PassName &second : passes) {
      Module copy = module->clone();
      runPass(*copy, second, what + " --" + first.argument, report);
    }
  };
  size_t count = texts.size() * perText;
  Summary summary = options.only < count ? runHere(options.only, body) : runIsolated(count, options.jobs, 10, body);
  print("passes", summary);
  return passes.empty() || texts.empty() || !summary.isClean();
}

//===----------------------------------------------------------------------===//
// fuzz
//===----------------------------------------------------------------------===//

namespace {

const std::vector<std::string> targets = [] {
  std::string list = knownTargets();
  SmallVector<StringRef> names;
  StringRef(list).split(names, ", ");
  return std::vector<std::string>(names.begin(), names.end());
}();
constexpr const char *tilings[] = {"bv=8", "warps=4", "copy=bulk", "unroll=4", "bc=8,copy=bulk", "bv=16,warps=1", "blocks=2"};

void judge(const Result<CompiledModule> &result, bool mustCompile, Report &report) {
  if (result)
    return report.accepted();
  const std::string &message = result.status().message();
  if (message.find_first_not_of(" \n") == std::string::npos)
    report.fault("fails without a message");
  if (message.find("failed without a diagnostic") != std::string::npos || message.find("LLVM ERROR") != std::string::npos)
    report.fault("fails with the message '" + message + "'");
  if (mustCompile)
    report.fault("is a legal spec that fails: " + message);
  report.refused();
}

/// As a user compiles it: often to PTX, else to what stands at some stage.
void compileText(const Text &text, Random &random, Report &report) {
  CompileOptions options;
  options.target = random.pick(targets);
  if (random.chance(20))
    options.tiling = random.pick(tilings);
  options.verifyEach = random.chance(20);
  if (random.chance(20)) {
    options.emit = Emit::MLIR;
    options.stopAfter = stageName(random.pick(stages)).str();
  }
  report.begin(text.name + " (compiled" + (options.tiling.empty() ? "" : " with " + options.tiling) + ")");
  judge(compileSource(text.source, text.name, options), false, report);
}

void runPipeline(const Text &text, const std::vector<PassName> &passes, Random &random, Report &report) {
  std::unique_ptr<MLIRContext> context = makeContext();
  report.begin(text.name + " (parsed)");
  Errors errors(*context);
  Module module = parse(*context, text);
  if (!module)
    return (void)judge(false, {}, errors, report);
  std::string what = text.name;
  for (size_t i = 0, count = 1 + random.below(3); i < count; ++i) {
    const PassName &pass = random.pick(passes);
    if (!runPass(*module, pass, what, report))
      return;
    what += " --" + pass.argument;
  }
}

/// Examples, what their stages leave, and tests.
std::vector<Text> startingTexts(const std::string &root, size_t &others) {
  std::vector<Text> texts = readExamples(root), all = texts;
  for (const Text &text : texts)
    for (Stage stage : stages) {
      CompileOptions options;
      options.emit = Emit::MLIR;
      options.stopAfter = stageName(stage).str();
      if (Result<CompiledModule> result = compileSource(text.source, text.name, options))
        all.push_back({text.name + ":" + options.stopAfter, result->code});
    }
  others = all.size();
  for (Text &text : readTests(root))
    all.push_back(std::move(text));
  return all;
}

} // namespace

int robustness::runFuzz(const Options &options) {
  registerReplayPasses();
  std::vector<PassName> passes = readPasses(options.root);
  size_t others = 0; // in front of the tests
  std::vector<Text> texts = startingTexts(options.root, others);
  limitMemory();
  auto body = [&](size_t index, Report &report) {
    Random random(options.seed, index);
    std::string number = "case " + std::to_string(index);
    if (index < options.files) {
      // Tests are many and small: as often as not a text is one of the others.
      const Text &text = random.chance(50) ? texts[random.below(others)] : random.pick(texts);
      Text mutated{number + ", " + text.name, mutate(text.source, random.pick(texts).source, random)};
      if (options.print)
        llvm::outs() << mutated.source << "\n";
      if (random.chance(60))
        return compileText(mutated, random, report);
      return runPipeline(mutated, passes, random, report);
    }
    std::string text = randomSpec(random);
    report.begin(number + ", --spec=" + text);
    Result<KernelSpec> spec = parseKernelSpec(text);
    if (!spec) {
      if (spec.status().message().empty())
        report.fault("is refused without a message");
      return report.refused();
    }
    if (Result<KernelSpec> again = parseKernelSpec(replayssm::print(*spec)); !again || !(*again == *spec))
      report.fault("prints as another spec: " + replayssm::print(*spec));
    CompileOptions compile;
    compile.target = random.pick(targets);
    judge(compileSpec(*spec, compile), true, report);
  };
  size_t count = options.files + options.specs;
  Summary summary = options.only < count ? runHere(options.only, body) : runIsolated(count, options.jobs, 10, body);
  llvm::outs() << "seed " << options.seed << ": " << options.files << " mutated files, " << options.specs << " specs\n";
  print("fuzz", summary);
  return !summary.isClean();
}
