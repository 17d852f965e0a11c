//===- EmitHost.cpp - The optimised device module for the host ------------===//
#include "lib/Codegen/Emit.h"
#include "lib/Codegen/Markers.h"
#include "runtime/host/HostABI.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;
using namespace replayssm;
using namespace replayssm::codegen;

std::string codegen::hostEntryName(std::string_view kernel) {
  return std::string(kernel) + ".rssm_host_entry";
}

namespace {
class Retarget {
public:
  explicit Retarget(Module &module)
      : module(module), context(module.getContext()), builder(context),
        pointer(PointerType::get(context, 0)), i32(Type::getInt32Ty(context)) {}

  Status run(ArrayRef<KernelManifest> kernels);

private:
  void lower(const Marker &marker, CallInst *call);
  bool lowerIntrinsic(IntrinsicInst *call);
  Status lowerConversion(Instruction &inst);
  void addEntry(Function &kernel, const std::string &name);

  /// Values of any type travel through one slot per function: each is stored and
  /// loaded right beside its call, and a fiber's stack stays small.
  Value *slot(Function *function) {
    Value *&found = slots[function];
    if (!found) {
      IRBuilder<> entry(&*function->getEntryBlock().getFirstInsertionPt());
      AllocaInst *memory = entry.CreateAlloca(ArrayType::get(entry.getInt8Ty(), 64));
      memory->setAlignment(Align(16));
      found = memory;
    }
    return found;
  }
  Value *flat(Value *address) { return builder.CreateAddrSpaceCast(address, pointer); }
  CallInst *callHost(StringRef name, Type *result, ArrayRef<Value *> args) {
    SmallVector<Type *> types = map_to_vector(args, [](Value *arg) { return arg->getType(); });
    CallInst *call = builder.CreateCall(
        module.getOrInsertFunction(name, FunctionType::get(result, types, false)), args);
    call->setDoesNotThrow();
    return call;
  }

  Module &module;
  LLVMContext &context;
  IRBuilder<> builder;
  Type *pointer, *i32;
  DenseMap<Function *, Value *> slots;
};

void Retarget::lower(const Marker &marker, CallInst *call) {
  builder.SetInsertPoint(call);
  auto arg = [&](unsigned index) { return call->getArgOperand(index); };
  auto number = [&](uint64_t value) { return builder.getInt32(value); };
  Type *none = builder.getVoidTy();
  Value *result = nullptr;
  switch (marker.kind) {
  case MarkerKind::LoadGlobal:
  case MarkerKind::LoadShared: {
    Value *memory = slot(call->getFunction());
    callHost("rssm_host_ld", none,
             {memory, flat(arg(0)), number(marker.type->getPrimitiveSizeInBits() / 8),
              number(marker.isGlobal() ? RSSM_GLOBAL : RSSM_SHARED),
              builder.CreateZExt(arg(1), i32), arg(2)});
    result = builder.CreateAlignedLoad(marker.type, memory, Align(16));
    break;
  }
  case MarkerKind::StoreGlobal:
  case MarkerKind::StoreShared: {
    Value *memory = slot(call->getFunction());
    builder.CreateAlignedStore(arg(1), memory, Align(16));
    callHost("rssm_host_st", none,
             {flat(arg(0)), memory, number(marker.type->getPrimitiveSizeInBits() / 8),
              number(marker.isGlobal() ? RSSM_GLOBAL : RSSM_SHARED),
              builder.CreateZExt(arg(2), i32), arg(3)});
    break;
  }
  case MarkerKind::Shared:
    result = builder.CreateAddrSpaceCast(callHost("rssm_host_shared", pointer, {arg(0)}),
                                         call->getType());
    break;
  case MarkerKind::Barrier:
    callHost("rssm_host_barrier", none, {arg(0)});
    break;
  case MarkerKind::ShflBfly:
    result = callHost("rssm_host_shfl_bfly", call->getType(), {arg(0), arg(1), arg(2)});
    break;
  case MarkerKind::ShflDown:
    result = callHost("rssm_host_shfl_down", call->getType(), {arg(0), arg(1), arg(2), arg(3)});
    break;
  case MarkerKind::Tf32Mask:
    result = number(tf32Bits);
    break;
  case MarkerKind::Mma: {
    // Operands and sums as HostABI.h has them, 16 bytes each, and behind them the results.
    Value *memory = slot(call->getFunction());
    auto part = [&](unsigned byte) { return builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), memory, byte); };
    for (unsigned i = 0; i < 3; ++i)
      builder.CreateAlignedStore(arg(i), part(16 * i), Align(16));
    uint32_t kind = marker.type->isFloatTy() ? RSSM_MMA_TF32 : marker.type->isBFloatTy() ? RSSM_MMA_BF16 : RSSM_MMA_F16;
    callHost("rssm_host_mma", none, {part(48), memory, number(kind), arg(3)});
    result = builder.CreateAlignedLoad(call->getType(), part(48), Align(16));
    break;
  }
  case MarkerKind::MbarInit:
    callHost("rssm_host_mbar_init", none, {flat(arg(0)), arg(1), arg(2)});
    break;
  case MarkerKind::MbarInitFence:
    callHost("rssm_host_mbar_init_fence", none, {arg(0)});
    break;
  case MarkerKind::MbarExpect:
    callHost("rssm_host_mbar_expect", none, {flat(arg(0)), arg(1), arg(2)});
    break;
  case MarkerKind::MbarWait:
    callHost("rssm_host_mbar_wait", none, {flat(arg(0)), arg(1), arg(2)});
    break;
  case MarkerKind::Expect:
    callHost("rssm_host_expect", none, {arg(0), arg(1), arg(2), arg(3), arg(4)});
    break;
  case MarkerKind::CopyBulk:
    callHost("rssm_host_copy_bulk", none,
             {flat(arg(0)), flat(arg(1)), arg(2), flat(arg(3)), arg(4)});
    break;
  }
  if (result)
    call->replaceAllUsesWith(result);
  call->eraseFromParent();
}

/// Thread indices and approximations; false for an intrinsic of another kind.
bool Retarget::lowerIntrinsic(IntrinsicInst *call) {
  struct Target {
    const char *function;
    unsigned id;
  };
  auto target = [&]() -> std::optional<Target> {
    switch (call->getIntrinsicID()) {
    case Intrinsic::nvvm_read_ptx_sreg_tid_x: return {{"rssm_host_sreg", RSSM_SREG_TID_X}};
    case Intrinsic::nvvm_read_ptx_sreg_tid_y: return {{"rssm_host_sreg", RSSM_SREG_TID_Y}};
    case Intrinsic::nvvm_read_ptx_sreg_ctaid_x: return {{"rssm_host_sreg", RSSM_SREG_CTAID_X}};
    case Intrinsic::nvvm_read_ptx_sreg_ctaid_y: return {{"rssm_host_sreg", RSSM_SREG_CTAID_Y}};
    case Intrinsic::nvvm_read_ptx_sreg_ctaid_z: return {{"rssm_host_sreg", RSSM_SREG_CTAID_Z}};
    case Intrinsic::nvvm_read_ptx_sreg_nctaid_x: return {{"rssm_host_sreg", RSSM_SREG_NCTAID_X}};
    case Intrinsic::nvvm_read_ptx_sreg_nctaid_y: return {{"rssm_host_sreg", RSSM_SREG_NCTAID_Y}};
    case Intrinsic::nvvm_ex2_approx_ftz: return {{"rssm_host_approx", RSSM_EX2}};
    case Intrinsic::nvvm_lg2_approx_ftz_f: return {{"rssm_host_approx", RSSM_LG2}};
    case Intrinsic::nvvm_rsqrt_approx_ftz_f: return {{"rssm_host_approx", RSSM_RSQRT}};
    case Intrinsic::nvvm_rcp_approx_ftz_f: return {{"rssm_host_approx", RSSM_RCP}};
    default: return std::nullopt;
    }
  }();
  if (!target)
    return false;
  builder.SetInsertPoint(call);
  SmallVector<Value *> args{builder.getInt32(target->id)};
  append_range(args, call->args());
  CallInst *host = callHost(target->function, call->getType(), args);
  if (call->arg_empty())
    host->setOnlyAccessesInaccessibleMemory();
  call->replaceAllUsesWith(host);
  call->eraseFromParent();
  return true;
}

/// The host's own bf16 conversions may be library calls that no one provides.
Status Retarget::lowerConversion(Instruction &inst) {
  auto isBF16 = [](Type *type) { return type->getScalarType()->isBFloatTy(); };
  bool reads = any_of(inst.operands(), [&](Value *v) { return isBF16(v->getType()); });
  if (!reads && !isBF16(inst.getType()))
    return Status::ok();
  builder.SetInsertPoint(&inst);
  auto integer = [&](Type *like, unsigned bits) -> Type * {
    Type *scalar = builder.getIntNTy(bits);
    auto *vector = dyn_cast<FixedVectorType>(like);
    return vector ? FixedVectorType::get(scalar, vector->getNumElements()) : scalar;
  };
  Value *result = nullptr;
  if (isa<FPExtInst>(inst) && inst.getType()->getScalarType()->isFloatTy()) {
    Value *bits = builder.CreateBitCast(inst.getOperand(0), integer(inst.getType(), 16));
    Value *word = builder.CreateZExt(bits, integer(inst.getType(), 32));
    result = builder.CreateBitCast(builder.CreateShl(word, 16), inst.getType());
  } else if (isa<FPTruncInst>(inst) && inst.getOperand(0)->getType()->getScalarType()->isFloatTy()) {
    Value *source = inst.getOperand(0);
    Type *word = integer(inst.getType(), 32);
    Value *bits = builder.CreateBitCast(source, word);
    Value *high = builder.CreateLShr(bits, 16);
    Value *odd = builder.CreateAnd(high, 1);
    Value *rounded = builder.CreateLShr(
        builder.CreateAdd(builder.CreateAdd(bits, odd), ConstantInt::get(word, 0x7fff)), 16);
    Value *quiet = builder.CreateOr(high, 0x40);
    Value *kept = builder.CreateSelect(builder.CreateFCmpUNO(source, source), quiet, rounded);
    result = builder.CreateBitCast(builder.CreateTrunc(kept, integer(inst.getType(), 16)),
                                   inst.getType());
  } else if (isa<BinaryOperator, UnaryOperator, FCmpInst, IntrinsicInst, FPExtInst, FPTruncInst,
                 FPToSIInst, FPToUIInst, SIToFPInst, UIToFPInst>(inst)) {
    return {StatusCode::Unsupported, std::string("bf16 arithmetic '") + inst.getOpcodeName() +
                                         "' cannot run on the host device"};
  } else {
    return Status::ok(); // Moves bits only.
  }
  inst.replaceAllUsesWith(result);
  inst.eraseFromParent();
  return Status::ok();
}

void Retarget::addEntry(Function &kernel, const std::string &name) {
  auto *type = FunctionType::get(builder.getVoidTy(), {pointer}, false);
  Function *entry = Function::Create(type, Function::ExternalLinkage, name, module);
  builder.SetInsertPoint(BasicBlock::Create(context, "", entry));
  SmallVector<Value *> args;
  for (Argument &arg : kernel.args()) {
    Value *cell = builder.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0), arg.getArgNo());
    args.push_back(builder.CreateLoad(arg.getType(), builder.CreateLoad(pointer, cell)));
  }
  builder.CreateCall(&kernel, args);
  builder.CreateRetVoid();
}

Status Retarget::run(ArrayRef<KernelManifest> kernels) {
  for (auto [marker, call] : markerCalls(module))
    lower(marker, call);
  for (Function &function : module)
    for (Instruction &inst : make_early_inc_range(instructions(function))) {
      if (auto *intrinsic = dyn_cast<IntrinsicInst>(&inst); intrinsic && lowerIntrinsic(intrinsic))
        continue;
      RSSM_RETURN_IF_ERROR(lowerConversion(inst));
    }
  for (Function &function : make_early_inc_range(module)) {
    StringRef name = function.getName();
    bool device = name.starts_with(markerPrefix) || name.starts_with("llvm.nvvm.");
    if (device && !function.use_empty())
      return {StatusCode::Internal, "'" + name.str() + "' is not lowered for the host device"};
    if (device) {
      function.eraseFromParent();
      continue;
    }
    function.setCallingConv(CallingConv::C);
    if (!function.isDeclaration())
      for (StringRef attribute : {"target-cpu", "target-features", "nvvm.reqntid", "nvvm.maxntid", "nvvm.minctasm"})
        function.removeFnAttr(attribute);
  }
  for (const KernelManifest &manifest : kernels) {
    Function *kernel = module.getFunction(manifest.name);
    if (!kernel || kernel->isDeclaration())
      return {StatusCode::Internal, "kernel '" + manifest.name + "' is not in its module"};
    kernel->setLinkage(GlobalValue::InternalLinkage);
    addEntry(*kernel, hostEntryName(manifest.name));
  }
  return Status::ok();
}
} // namespace

Status codegen::retargetToHost(DeviceModule &device, const Triple &triple,
                               const DataLayout &layout) {
  Module &module = *device.module;
  module.setTargetTriple(triple);
  module.setDataLayout(layout);
  RSSM_RETURN_IF_ERROR(Retarget(module).run(device.kernels));
  std::string text;
  raw_string_ostream os(text);
  if (verifyModule(module, &os))
    return {StatusCode::Internal, "invalid LLVM IR for the host: " + text};
  return Status::ok();
}
