//===- Session.h - One compilation: source, stages, diagnostics -*- C++ -*-===//
#pragma once

#include "passes/Pipelines.h"
#include "replayssm/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace replayssm {

/// Every dialect and interface that a source or a stage may need.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Parses `source` and runs the stages up to and including `last`. All
/// diagnostics of the compiler become the message of the Status:
/// "file:line:col: error: ...", one per line, notes below their error.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
lowerTo(mlir::MLIRContext &context, std::string_view source, std::string_view fileName,
        const CompileOptions &options, Stage last);

/// The same up to the stage gpu, which is what code generation takes.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
lowerToGpu(mlir::MLIRContext &context, std::string_view source, std::string_view fileName,
           const CompileOptions &options);

/// A context for one compilation: all dialects, no threads of its own.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Keeps the errors of a scope, with their notes, as text.
class DiagnosticLog {
public:
  explicit DiagnosticLog(mlir::MLIRContext &context);
  /// `code` with the errors so far, or with `fallback` when there were none.
  Status status(StatusCode code, const std::string &fallback) const;

private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

} // namespace replayssm
