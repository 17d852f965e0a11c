//===- EmitPTX.cpp - LLVM dialect to PTX text -----------------------------===//
#include "common/Targets.h"
#include "lib/Codegen/Emit.h"
#include "lib/Codegen/LowerToLLVM.h"
#include "lib/Codegen/Markers.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h"

#include <csetjmp>
#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace llvm;
using namespace replayssm;
using namespace replayssm::codegen;

//===----------------------------------------------------------------------===//
// Errors of LLVM
//===----------------------------------------------------------------------===//

namespace {
/// LLVM reports what it cannot select by a fatal error. Its process-wide handler
/// is ours while code is generated; it unwinds to `run` and leaks what was built.
class FatalErrors {
public:
  template <typename Body>
  static Status run(Body body) {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    FatalErrors self;
    ScopedFatalErrorHandler handler(handle, &self);
    if (setjmp(self.target))
      return {StatusCode::Internal, "code generation failed: " + self.message};
    body();
    return Status::ok();
  }

private:
  static void handle(void *user, const char *reason, bool) {
    auto *self = static_cast<FatalErrors *>(user);
    self->message = reason;
    longjmp(self->target, 1);
  }
  std::jmp_buf target;
  std::string message;
};

/// Errors of inline assembly and the like; the default handler would exit.
struct ErrorRecorder : DiagnosticHandler {
  explicit ErrorRecorder(std::string &text) : text(text) {}
  bool handleDiagnostics(const DiagnosticInfo &info) override {
    if (info.getSeverity() != DS_Error)
      return true;
    raw_string_ostream os(text);
    DiagnosticPrinterRawOStream printer(os);
    if (!text.empty())
      os << "\n";
    info.print(printer);
    return true;
  }
  std::string &text;
};

Status verify(const Module &module, StringRef when) {
  std::string text;
  raw_string_ostream os(text);
  if (verifyModule(module, &os))
    return {StatusCode::Internal, "invalid LLVM IR " + when.str() + ": " + text};
  return Status::ok();
}
} // namespace

//===----------------------------------------------------------------------===//
// Optimisation
//===----------------------------------------------------------------------===//

static Result<std::unique_ptr<TargetMachine>> makeTargetMachine(std::string_view name) {
  Result<const TargetFacts *> facts = lookupTarget(name);
  if (!facts)
    return facts.status();
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return {StatusCode::Unavailable, "this LLVM has no NVPTX target: " + error};
  TargetOptions options;
  // What is fused is written as fma in the IR; see docs/architecture.md.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, (*facts)->name, (*facts)->ptxFeature, options,
                                  std::nullopt, std::nullopt, CodeGenOptLevel::Aggressive));
}

template <typename Build>
static void runPasses(Module &module, TargetMachine &machine, Build build) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(sccs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, sccs, modules);
  build(passes).run(module, modules);
}

Result<DeviceModule> codegen::optimizeDevice(mlir::ModuleOp source, std::string_view target,
                                             bool verifyEach) {
  auto machine = makeTargetMachine(target);
  if (!machine)
    return machine.status();
  auto gpuModules = llvm::to_vector(source.getOps<mlir::gpu::GPUModuleOp>());
  if (gpuModules.size() != 1)
    return {StatusCode::InvalidArgument,
            "expected one gpu.module but got " + utostr(gpuModules.size())};
  Result<std::vector<KernelManifest>> kernels = takeManifests(gpuModules.front());
  if (!kernels)
    return kernels.status();
  RSSM_RETURN_IF_ERROR(lowerToLLVM(gpuModules.front(), verifyEach));

  DeviceModule device;
  device.kernels = kernels.take();
  device.context = std::make_unique<LLVMContext>();
  device.module = mlir::translateModuleToLLVMIR(gpuModules.front(), *device.context, "replayssm",
                                                /*disableVerification=*/true);
  if (!device.module)
    return {StatusCode::Internal, "translation of gpu.module '" +
                                      gpuModules.front().getName().str() + "' to LLVM IR failed"};
  Module &module = *device.module;
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  RSSM_RETURN_IF_ERROR(verify(module, "after translation"));
  RSSM_RETURN_IF_ERROR(annotateMarkers(module));
  runPasses(module, **machine, [](PassBuilder &passes) {
    return passes.buildPerModuleDefaultPipeline(OptimizationLevel::O3);
  });
  RSSM_RETURN_IF_ERROR(verify(module, "after optimisation"));
  return device;
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

Result<std::string> codegen::emitPTX(DeviceModule device, std::string_view target) {
  auto machine = makeTargetMachine(target);
  if (!machine)
    return machine.status();
  Module &module = *device.module;
  // Splits constant offsets off the addresses while marker calls still show them.
  runPasses(module, **machine, [](PassBuilder &) {
    FunctionPassManager functions;
    functions.addPass(SeparateConstOffsetFromGEPPass(/*LowerGEP=*/true));
    functions.addPass(EarlyCSEPass());
    ModulePassManager passes;
    passes.addPass(createModuleToFunctionPassAdaptor(std::move(functions)));
    return passes;
  });
  RSSM_RETURN_IF_ERROR(lowerMarkersToPTX(module));
  RSSM_RETURN_IF_ERROR(verify(module, "after lowering of markers"));

  std::string errors;
  SmallString<0> text;
  bool cannotEmit = false;
  device.context->setDiagnosticHandler(std::make_unique<ErrorRecorder>(errors));
  Status status = FatalErrors::run([&] {
    raw_svector_ostream os(text);
    legacy::PassManager passes;
    passes.add(createTargetTransformInfoWrapperPass((*machine)->getTargetIRAnalysis()));
    cannotEmit = (*machine)->addPassesToEmitFile(passes, os, nullptr,
                                                 CodeGenFileType::AssemblyFile);
    if (!cannotEmit)
      passes.run(module);
  });
  if (!status) {
    // The passes that the fatal error cut short still refer to the module.
    (void)device.module.release();
    (void)device.context.release();
    (void)machine->release();
    return status;
  }
  if (cannotEmit || !errors.empty())
    return {StatusCode::Internal, "code generation failed: " +
                                      (errors.empty() ? "no assembly printer" : errors)};
  return std::string(text);
}

Result<CompiledModule> codegen::emitDevice(mlir::ModuleOp source, Emit emit,
                                           std::string_view target, bool verifyEach) {
  Result<DeviceModule> device = optimizeDevice(source, target, verifyEach);
  if (!device)
    return device.status();
  CompiledModule compiled;
  compiled.target = target;
  compiled.kernels = device->kernels;
  if (emit == Emit::LLVM) {
    raw_string_ostream(compiled.code) << *device->module;
    return compiled;
  }
  Result<std::string> code = emitPTX(device.take(), target);
  if (code && emit == Emit::Cubin)
    code = assembleCubin(*code, target);
  if (!code)
    return code.status();
  compiled.code = code.take();
  return compiled;
}
