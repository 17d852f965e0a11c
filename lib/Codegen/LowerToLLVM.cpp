//===- LowerToLLVM.cpp - gpu.module to the LLVM dialect -------------------===//
#include "lib/Codegen/LowerToLLVM.h"
#include "lib/Codegen/Emit.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace replayssm;

void codegen::registerDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect,
                  LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect,
                  scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

namespace {
std::string place(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().strref() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()) + ": ").str();
    return WalkResult::interrupt();
  });
  return text;
}

/// Collects the errors of a scope, one per line.
class ErrorCollector {
public:
  explicit ErrorCollector(MLIRContext *context)
      : handler(context, [this](Diagnostic &diag) {
          if (diag.getSeverity() == DiagnosticSeverity::Error)
            text += (text.empty() ? "" : "\n") + place(diag.getLocation()) + "error: " + diag.str();
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

Status malformed(gpu::GPUFuncOp func, const Twine &what) {
  return {StatusCode::InvalidArgument,
          (place(func.getLoc()) + "error: kernel '" + func.getName() + "' " + what).str()};
}
} // namespace

//===----------------------------------------------------------------------===//
// Manifests
//===----------------------------------------------------------------------===//

namespace {
Status readArgs(gpu::GPUFuncOp func, ArrayAttr args, KernelManifest &manifest) {
  if (args.size() != func.getNumArguments())
    return malformed(func, "has a manifest of " + Twine(args.size()) + " arguments, expected " +
                               Twine(func.getNumArguments()));
  for (auto [index, attr] : llvm::enumerate(args)) {
    auto entry = dyn_cast<ArrayAttr>(attr);
    if (!entry || entry.size() < 3 || !llvm::all_of(entry.getValue().take_front(3), llvm::IsaPred<StringAttr>))
      return malformed(func, "has a manifest whose argument " + Twine(index) +
                                 " is not [name, kind, dtype]");
    KernelArg arg;
    arg.name = cast<StringAttr>(entry[0]).str();
    StringRef kind = cast<StringAttr>(entry[1]).strref();
    arg.dtype = cast<StringAttr>(entry[2]).str();
    auto known = llvm::StringSwitch<std::optional<KernelArg::Kind>>(kind)
                     .Case("pointer", KernelArg::Kind::Pointer)
                     .Case("stride", KernelArg::Kind::Stride)
                     .Case("table", KernelArg::Kind::Table)
                     .Default(std::nullopt);
    if (!known)
      return malformed(func, "has a manifest argument '" + arg.name +
                                 "', expected kind pointer, stride or table but got '" + kind + "'");
    arg.kind = *known;
    Type type = func.getArgument(index).getType();
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
    bool matches = arg.kind != KernelArg::Kind::Stride ? pointer && pointer.getAddressSpace() == 1
                                                        : type.isInteger(64);
    if (!matches) {
      std::string got;
      llvm::raw_string_ostream(got) << type;
      return malformed(func, "has argument '" + arg.name + "', expected type " +
                                 (kind == "stride" ? "i64" : "!llvm.ptr<1>") + " but got " + got);
    }
    auto least = entry.size() == 4 ? dyn_cast<IntegerAttr>(entry[3]) : IntegerAttr();
    bool isStride = arg.kind == KernelArg::Kind::Stride;
    if (isStride && (!least || !least.getValue().isStrictlyPositive() || !least.getValue().isSignedIntN(64)))
      return malformed(func, "has a manifest argument '" + arg.name +
                                 "', expected the least elements of a stride, 1 or more, behind its dtype");
    if (!isStride && entry.size() != 3)
      return malformed(func, "has a manifest argument '" + arg.name + "', expected nothing behind the dtype of a " +
                                 kind);
    if (isStride)
      arg.minElements = least.getValue().getZExtValue();
    manifest.args.push_back(std::move(arg));
  }
  return Status::ok();
}

Result<KernelManifest> readManifest(gpu::GPUFuncOp func) {
  auto dict = func->getAttrOfType<DictionaryAttr>("replay.manifest");
  if (!dict)
    dict = DictionaryAttr::get(func.getContext());
  KernelManifest manifest;
  manifest.name = func.getName().str();
  if (auto spec = dict.getAs<StringAttr>("spec"))
    manifest.spec = spec.str();
  for (auto [key, field] : {std::pair{"threads", &manifest.threads},
                            std::pair{"blocksPerRow", &manifest.blocksPerRow},
                            std::pair{"sharedBytes", &manifest.sharedBytes}}) {
    auto value = dict.getAs<IntegerAttr>(key);
    if (!value || value.getValue().isNegative() || !value.getValue().isIntN(31))
      return malformed(func, Twine("has a manifest without a valid '") + key + "'");
    *field = uint32_t(value.getValue().getZExtValue());
  }
  // Shuffles name all 32 lanes, so a partial warp would hang.
  if (manifest.threads < 32 || manifest.threads > 1024 || manifest.threads % 32)
    return malformed(func, "has " + Twine(manifest.threads) +
                               " threads, expected a multiple of 32 up to 1024");
  if (auto known = func.getKnownBlockSizeAttr();
      known && (known.size() != 3 || known[0] != int32_t(manifest.threads) || known[1] != 1 ||
                known[2] != 1))
    return malformed(func, "has a known block size that differs from its manifest");
  auto args = dict.getAs<ArrayAttr>("args");
  if (!args)
    return malformed(func, "has a manifest without 'args'");
  RSSM_RETURN_IF_ERROR(readArgs(func, args, manifest));
  if (auto sites = dict.getAs<ArrayAttr>("sites"))
    for (Attribute site : sites) {
      auto text = dyn_cast<StringAttr>(site);
      manifest.sites.push_back(text ? text.str() : "");
    }
  return manifest;
}
} // namespace

Result<std::vector<KernelManifest>> codegen::takeManifests(gpu::GPUModuleOp gpuModule) {
  std::vector<KernelManifest> manifests;
  for (auto func : gpuModule.getOps<gpu::GPUFuncOp>()) {
    if (!func.isKernel())
      continue;
    Result<KernelManifest> manifest = readManifest(func);
    if (!manifest)
      return manifest.status();
    // Thread ids get their range from this one; it becomes nvvm.maxntid.
    func->removeDiscardableAttr("gpu.known_block_size");
    func->removeDiscardableAttr("replay.manifest");
    func.setKnownBlockSizeAttr(
        DenseI32ArrayAttr::get(func.getContext(), {int32_t(manifest->threads), 1, 1}));
    manifests.push_back(manifest.take());
  }
  if (manifests.empty())
    return {StatusCode::InvalidArgument,
            "gpu.module '" + gpuModule.getName().str() + "' has no kernel"};
  return manifests;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

namespace {
/// gpu and cf to LLVM. The upstream pass would make libdevice calls of math ops
/// and refuses the intrinsics that convert-math-to-llvm makes of them.
struct ConvertGpu : PassWrapper<ConvertGpu, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertGpu)
  StringRef getArgument() const override { return "codegen-convert-gpu"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(64);
    options.useBarePtrCallConv = true;
    LLVMTypeConverter converter(context, options);
    configureGpuToNVVMTypeConverter(converter);
    RewritePatternSet patterns(context);
    populateGpuToNVVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalDialect<arith::ArithDialect, math::MathDialect, NVVM::NVVMDialect,
                           ub::UBDialect, vector::VectorDialect>();
    target.addIllegalDialect<cf::ControlFlowDialect, gpu::GPUDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

Status codegen::lowerToLLVM(gpu::GPUModuleOp gpuModule, bool verifyEach) {
  MLIRContext *context = gpuModule.getContext();
  ErrorCollector errors(context);
  PassManager pm(context, gpu::GPUModuleOp::getOperationName());
  pm.enableVerifier(verifyEach);
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(std::make_unique<ConvertGpu>());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  if (failed(pm.run(gpuModule)))
    return {StatusCode::Internal, errors.text.empty() ? "lowering of gpu.module '" +
                                                            gpuModule.getName().str() +
                                                            "' to LLVM failed"
                                                      : errors.text};
  Operation *left = nullptr;
  gpuModule->walk([&](Operation *op) {
    if (op != gpuModule && !isa<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()))
      left = op;
    return left ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (left)
    return {StatusCode::Internal, place(left->getLoc()) + "error: '" +
                                      left->getName().getStringRef().str() +
                                      "' was left by the conversion to LLVM"};
  for (auto func : gpuModule.getOps<LLVM::LLVMFuncOp>())
    if (Attribute size = func->removeAttr(NVVM::NVVMDialect::getMaxntidAttrName()))
      func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), size);
  return Status::ok();
}
