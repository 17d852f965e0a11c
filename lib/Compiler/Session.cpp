//===- Session.cpp - One compilation: source, stages, diagnostics ---------===//
#include "lib/Compiler/Session.h"

#include "common/Targets.h"
#include "lib/Compiler/SpecCheck.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace replayssm;

namespace {

/// The place in a file that `loc` comes from: the outermost one that has any.
FileLineColLoc filePlace(Location loc) {
  FileLineColLoc place;
  loc->walk([&](Location l) {
    place = dyn_cast<FileLineColLoc>(l);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

void printLine(llvm::raw_ostream &os, Location loc, StringRef severity, const Diagnostic &diagnostic) {
  if (FileLineColLoc place = filePlace(loc))
    os << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn() << ": ";
  os << severity << ": " << diagnostic << "\n";
}

} // namespace

DiagnosticLog::DiagnosticLog(MLIRContext &context)
    : handler_(&context, [this](Diagnostic &diagnostic) {
        // Warnings and remarks have no place in a result; errors carry their notes.
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        llvm::raw_string_ostream os(text_);
        printLine(os, diagnostic.getLocation(), "error", diagnostic);
        for (Diagnostic &note : diagnostic.getNotes())
          printLine(os, note.getLocation(), "note", note);
        return success();
      }) {}

Status DiagnosticLog::status(StatusCode code, const std::string &fallback) const {
  StringRef text = StringRef(text_).rtrim('\n');
  return Status(code, text.empty() ? fallback : text.str());
}

std::unique_ptr<MLIRContext> replayssm::makeContext() {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  // A diagnostic names the place; the op in generic form would drown it.
  context->printOpOnDiagnostic(false);
  return context;
}

Result<OwningOpRef<ModuleOp>> replayssm::lowerTo(MLIRContext &context, std::string_view source,
                                                 std::string_view fileName,
                                                 const CompileOptions &options, Stage last) {
  if (auto target = lookupTarget(options.target); !target)
    return target.status();

  DiagnosticLog log(context);
  std::string text(source); // The parser stops at a null byte, which a view need not have.
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      text, ParserConfig(&context), StringRef(fileName.data(), fileName.size()));
  if (!module)
    return log.status(StatusCode::InvalidArgument, "cannot parse " + std::string(fileName));
  if (failed(checkSpecs(*module)))
    return log.status(StatusCode::InvalidArgument, "the spec of a kernel is wrong");

  for (Stage stage : {Stage::Derive, Stage::Fuse, Stage::Schedule, Stage::Tile, Stage::Gpu}) {
    if (stage > last)
      break;
    PassManager pm(&context, ModuleOp::getOperationName());
    pm.enableVerifier(options.verifyEach);
    buildStage(pm, stage, {options.target, options.tiling});
    std::string name = stageName(stage).str();
    // Up to schedule it is the request that is wrong; behind it, a legal
    // request meets a limit of this version.
    if (failed(pm.run(*module)))
      return log.status(stage <= Stage::Schedule ? StatusCode::InvalidArgument : StatusCode::Unsupported,
                        "stage " + name + " failed without a diagnostic");
    if (!options.verifyEach && failed(verify(*module)))
      return log.status(StatusCode::Internal, "stage " + name + " left invalid IR");
  }
  return module;
}

Result<OwningOpRef<ModuleOp>> replayssm::lowerToGpu(MLIRContext &context, std::string_view source,
                                                    std::string_view fileName,
                                                    const CompileOptions &options) {
  return lowerTo(context, source, fileName, options, Stage::Gpu);
}
