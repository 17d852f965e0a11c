//===- Compiler.cpp - The public entry points of the compiler -------------===//
#include "replayssm/Compiler.h"

#include "lib/Codegen/Emit.h"
#include "lib/Compiler/Cache.h"
#include "lib/Compiler/Session.h"
#include "lib/Import/Import.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace replayssm;

namespace {

/// A number that a program has cast may be none of the enum's.
Status checkEmit(Emit emit) {
  switch (emit) {
  case Emit::MLIR:
  case Emit::LLVM:
  case Emit::PTX:
  case Emit::Cubin:
    return Status::ok();
  }
  return {StatusCode::InvalidArgument, "expected CompileOptions::emit to be Emit::MLIR, LLVM, PTX or Cubin but got " +
                                           std::to_string(static_cast<int>(emit))};
}

/// The last stage in MLIR that `options` ask for.
Result<Stage> lastStage(const CompileOptions &options) {
  if (options.stopAfter.empty())
    return Stage::Gpu;
  if (options.emit != Emit::MLIR)
    return Status(StatusCode::InvalidArgument,
                  "expected Emit::MLIR (--emit=mlir) with a stage to stop after ('" + options.stopAfter + "')");
  if (auto stage = parseStage(options.stopAfter))
    return *stage;
  return Status(StatusCode::InvalidArgument, "expected a stage to stop after, one of " + stageNames() +
                                                 " but got '" + options.stopAfter + "'");
}

Result<CompiledModule> compile(std::string_view mlir, std::string_view fileName,
                               const CompileOptions &options, Stage last) {
  std::unique_ptr<MLIRContext> context = makeContext();
  auto module = lowerTo(*context, mlir, fileName, options, last);
  if (!module)
    return module.status();
  if (options.emit != Emit::MLIR) {
    if ((*module)->getOps<gpu::GPUModuleOp>().empty())
      return Status(StatusCode::InvalidArgument,
                    "expected at least one kernel in " + std::string(fileName));
    DiagnosticLog log(*context);
    auto compiled = codegen::emitDevice(**module, options.emit, options.target, options.verifyEach);
    if (compiled)
      return compiled;
    // What MLIR reported says where; the status says which step gave up.
    Status where = log.status(compiled.status().code(), "");
    return Status(where.code(), compiled.status().message() +
                                    (where.message().empty() ? "" : "\n" + where.message()));
  }
  CompiledModule result;
  result.target = options.target;
  llvm::raw_string_ostream os(result.code);
  (*module)->print(os);
  os << "\n";
  return result;
}

/// What is found, or else compiled and stored.
Result<CompiledModule> compileCached(std::string_view mlir, std::string_view fileName,
                                     const CompileOptions &options, Stage last) {
  Result<CacheEntry> entry = CacheEntry::open(mlir, fileName, options);
  if (!entry)
    return entry.status();
  std::optional<CompiledModule> found = entry->load();
  Result<CompiledModule> result = found ? std::move(*found) : compile(mlir, fileName, options, last);
  if (!result)
    return result;
  if (!found)
    entry->store(*result);
  if (options.cacheCounts)
    (found ? options.cacheCounts->found : options.cacheCounts->compiled) += result->kernels.size();
  return result;
}

} // namespace

Result<CompiledModule> replayssm::compileSource(std::string_view mlir, std::string_view fileName,
                                                const CompileOptions &options) {
  RSSM_RETURN_IF_ERROR(checkEmit(options.emit));
  Result<Stage> last = lastStage(options);
  if (!last)
    return last.status();
  bool isKept = options.emit == Emit::PTX || options.emit == Emit::Cubin;
  return isKept && !options.cacheDir.empty() ? compileCached(mlir, fileName, options, *last)
                                             : compile(mlir, fileName, options, *last);
}

Result<CompiledModule> replayssm::compileSpec(const KernelSpec &spec, const CompileOptions &options) {
  Result<std::string> source = importSpec(spec);
  if (!source)
    return source.status();
  return compileSource(*source, "<spec>", options);
}

Result<std::string> replayssm::importSpec(const KernelSpec &spec) {
  RSSM_RETURN_IF_ERROR(validate(spec));
  return importText(spec);
}
