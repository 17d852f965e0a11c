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

/// Brackets inside brackets, at most; the parser takes a stack frame or more for each.
constexpr unsigned maxNesting = 256;

/// Refuses what the parser, which is recursive, has no stack for. Brackets in strings and
/// comments count for nothing, an arrow closes none.
Status checkNesting(StringRef source, StringRef fileName) {
  unsigned depth = 0, line = 1;
  for (size_t at = 0; at < source.size(); ++at) {
    char c = source[at];
    line += c == '\n';
    if (c == '"') {
      while (++at < source.size() && source[at] != '"' && source[at] != '\n')
        at += source[at] == '\\';
      line += at < source.size() && source[at] == '\n';
    } else if (source.substr(at).starts_with("//")) {
      at = std::min(source.find('\n', at), source.size()) - 1;
    } else if (c == '(' || c == '[' || c == '{' || c == '<') {
      if (++depth > maxNesting)
        return {StatusCode::InvalidArgument,
                (fileName + ":" + Twine(line) + ":1: error: expected at most " + Twine(maxNesting) +
                 " brackets inside each other").str()};
    } else if (depth && (c == ')' || c == ']' || c == '}' || (c == '>' && source[at - 1] != '-'))) {
      --depth;
    }
  }
  return Status::ok();
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

  std::string text(source); // The parser stops at a null byte, which a view need not have.
  StringRef name(fileName.data(), fileName.size());
  RSSM_RETURN_IF_ERROR(checkNesting(text, name));
  DiagnosticLog log(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context), name);
  if (!module)
    return log.status(StatusCode::InvalidArgument, "cannot parse " + std::string(fileName));
  if (failed(checkSpecs(*module)))
    return log.status(StatusCode::InvalidArgument, "the spec of a kernel is wrong");

  if (failed(parsePlaces(options.places, UnknownLoc::get(&context))))
    return log.status(StatusCode::InvalidArgument, "the places are wrong");

  for (Stage stage : {Stage::Derive, Stage::Fuse, Stage::Schedule, Stage::Tile, Stage::Gpu}) {
    if (stage > last)
      break;
    PassManager pm(&context, ModuleOp::getOperationName());
    pm.enableVerifier(options.verifyEach);
    buildStage(pm, stage, {options.target, options.tiling, options.places});
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
