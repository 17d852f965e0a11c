//===- Markers.cpp - Marker calls to PTX ----------------------------------===//
#include "lib/Codegen/Markers.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;
using namespace replayssm;
using namespace replayssm::codegen;

namespace {
/// How a type travels: `count` registers of one kind.
struct Access {
  unsigned count;        ///< Registers.
  const char *suffix;    ///< Of the instruction: "f32", "b32", "b16", "u8".
  char constraint;       ///< Of the register.
  Type *word;            ///< Type of one register.
  unsigned bytes;        ///< Of the whole access.

  Access(Type *type, LLVMContext &context) {
    unsigned bits = type->getPrimitiveSizeInBits();
    bytes = bits / 8;
    if (type->getScalarType()->isFloatTy()) {
      suffix = "f32", constraint = 'f', word = Type::getFloatTy(context), count = bits / 32;
    } else if (type->isIntegerTy(64)) {
      suffix = "b64", constraint = 'l', word = type, count = 1;
    } else if (bits >= 32) {
      suffix = "b32", constraint = 'r', word = Type::getInt32Ty(context), count = bits / 32;
    } else {
      // PTX has no 8-bit registers: a byte travels in 16 bits.
      suffix = bits == 8 ? "u8" : "b16", constraint = 'h', word = Type::getInt16Ty(context);
      count = 1;
    }
  }
  /// ".v4.f32"
  std::string typeSuffix() const {
    return (count > 1 ? ".v" + utostr(count) + "." : ".") + suffix;
  }
  /// "{$0, $1}" or "$0".
  std::string operands(unsigned first) const {
    std::string list;
    for (unsigned i = 0; i < count; ++i)
      list += (i ? ", $" : "$") + utostr(first + i);
    return count > 1 ? "{" + list + "}" : list;
  }
};

class Lowering {
public:
  explicit Lowering(Module &module)
      : module(module), context(module.getContext()), builder(context) {}

  void lower(const Marker &marker, CallInst *call);

private:
  Value *load(const Marker &marker, CallInst *call);
  void store(const Marker &marker, CallInst *call);
  Value *sharedAddress(Value *offset);
  Value *shuffle(Intrinsic::ID id, Value *value, Value *lane, Value *clamp);
  Value *tf32Mask();
  Value *mma(Type *element, Value *a, Value *b, Value *sums);

  /// Memory of asynchronous instructions is clobbered, so nothing moves across.
  CallInst *assemble(const std::string &text, const std::string &constraints, Type *result,
                     ArrayRef<Value *> args, bool clobbersMemory) {
    SmallVector<Type *> types = map_to_vector(args, [](Value *arg) { return arg->getType(); });
    auto *code = InlineAsm::get(FunctionType::get(result, types, false), text,
                                constraints + (clobbersMemory ? ",~{memory}" : ""),
                                /*hasSideEffects=*/true);
    CallInst *call = builder.CreateCall(code, args);
    call->setDoesNotThrow();
    call->setConvergent();
    return call;
  }
  CallInst *assemble(const std::string &text, const std::string &constraints,
                     ArrayRef<Value *> args) {
    return assemble(text, constraints, builder.getVoidTy(), args, /*clobbersMemory=*/true);
  }

  Module &module;
  LLVMContext &context;
  IRBuilder<> builder;
};

/// Constant parts of an address go into the instruction: one address register
/// then serves a whole tile, and unrolled loads need no arithmetic.
std::pair<Value *, std::string> splitAddress(Value *pointer, const DataLayout &layout) {
  APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  Value *base = pointer->stripAndAccumulateConstantOffsets(layout, offset,
                                                           /*AllowNonInbounds=*/true);
  if (base->getType() != pointer->getType() || !offset.isSignedIntN(24))
    return {pointer, ""};
  return {base, offset.isZero() ? "" : "+" + std::to_string(offset.getSExtValue())};
}

Value *Lowering::load(const Marker &marker, CallInst *call) {
  Value *pointer = call->getArgOperand(0), *predicate = call->getArgOperand(1);
  auto *known = dyn_cast<ConstantInt>(predicate);
  if (known && known->isZero())
    return Constant::getNullValue(marker.type);
  Access access(marker.type, context);
  if (known && !marker.isGlobal())
    return builder.CreateAlignedLoad(marker.type, pointer, Align(access.bytes));

  auto [base, offset] = splitAddress(pointer, module.getDataLayout());
  std::string constraints, text;
  for (unsigned i = 0; i < access.count; ++i)
    constraints += std::string(i ? ",=" : "=") + (known ? "" : "&") + access.constraint;
  std::string instruction = (marker.isGlobal() ? "ld.global" : "ld.shared") + access.typeSuffix() +
                            " " + access.operands(0) + ", [$" + utostr(access.count) + offset + "];";
  constraints += ",l";
  SmallVector<Value *> args{base};
  if (!known) {
    std::string zero = access.constraint == 'f' ? "mov.f32 $" : access.constraint == 'r'
                                                ? "mov.b32 $" : "mov.b16 $";
    for (unsigned i = 0; i < access.count; ++i)
      text += zero + utostr(i) + (access.constraint == 'f' ? ", 0f00000000; " : ", 0; ");
    text += "@$" + utostr(access.count + 1) + " ";
    constraints += ",b";
    args.push_back(predicate);
  }
  text += instruction;
  Type *result = access.word;
  if (access.count > 1)
    result = StructType::get(context, SmallVector<Type *>(access.count, access.word));
  // Program order is kept by the side effect alone; a memory clobber would also
  // order plain shared accesses, which never alias.
  Value *raw = assemble(text, constraints, result, args, /*clobbersMemory=*/false);
  if (access.bytes == 1)
    return builder.CreateTrunc(raw, marker.type);
  if (access.count == 1)
    return builder.CreateBitCast(raw, marker.type);
  Value *words = PoisonValue::get(FixedVectorType::get(access.word, access.count));
  for (unsigned i = 0; i < access.count; ++i)
    words = builder.CreateInsertElement(words, builder.CreateExtractValue(raw, i), i);
  return builder.CreateBitCast(words, marker.type);
}

void Lowering::store(const Marker &marker, CallInst *call) {
  Value *pointer = call->getArgOperand(0), *value = call->getArgOperand(1);
  Value *predicate = call->getArgOperand(2);
  auto *known = dyn_cast<ConstantInt>(predicate);
  if (known && known->isZero())
    return;
  Access access(marker.type, context);
  if (known) {
    builder.CreateAlignedStore(value, pointer, Align(access.bytes));
    return;
  }
  auto [base, offset] = splitAddress(pointer, module.getDataLayout());
  std::string constraints = "b,l";
  SmallVector<Value *> args{predicate, base};
  Value *words = value;
  if (access.bytes == 1)
    words = builder.CreateZExt(value, access.word);
  else if (access.count == 1)
    words = builder.CreateBitCast(value, access.word);
  else
    words = builder.CreateBitCast(value, FixedVectorType::get(access.word, access.count));
  for (unsigned i = 0; i < access.count; ++i) {
    constraints += std::string(",") + access.constraint;
    args.push_back(access.count > 1 ? builder.CreateExtractElement(words, i) : words);
  }
  // Unlike a load it changes memory that plain accesses read.
  assemble(std::string("@$0 ") + (marker.isGlobal() ? "st.global" : "st.shared") +
               access.typeSuffix() + " [$1" + offset + "], " + access.operands(2) + ";",
           constraints, args);
}

Value *Lowering::sharedAddress(Value *offset) {
  constexpr const char *name = "rssm_dynamic_shared";
  GlobalVariable *base = module.getNamedGlobal(name);
  if (!base) {
    auto *type = ArrayType::get(builder.getInt8Ty(), 0);
    base = new GlobalVariable(module, type, /*isConstant=*/false, GlobalValue::ExternalLinkage,
                              nullptr, name, nullptr, GlobalValue::NotThreadLocal,
                              /*AddressSpace=*/3);
    base->setAlignment(Align(1024));
  }
  return builder.CreateGEP(builder.getInt8Ty(), base,
                           builder.CreateZExt(offset, builder.getInt64Ty()));
}

Value *Lowering::shuffle(Intrinsic::ID id, Value *value, Value *lane, Value *clamp) {
  CallInst *call = builder.CreateIntrinsic(id, {}, {builder.getInt32(-1), value, lane, clamp});
  call->setConvergent();
  return call;
}

/// Of constant memory, which an assembler does not know: it would drop a mask whose bits the
/// instruction ignores, and move the operand instead.
Value *Lowering::tf32Mask() {
  constexpr const char *name = "rssm_tf32_mask";
  GlobalVariable *mask = module.getNamedGlobal(name);
  if (!mask) {
    mask = new GlobalVariable(module, builder.getInt32Ty(), /*isConstant=*/false, GlobalValue::WeakAnyLinkage,
                              builder.getInt32(tf32Bits), name, nullptr, GlobalValue::NotThreadLocal,
                              /*AddressSpace=*/4);
    mask->setExternallyInitialized(true);
    mask->setAlignment(Align(4));
  }
  return builder.CreateAlignedLoad(builder.getInt32Ty(), mask, Align(4));
}

Value *Lowering::mma(Type *element, Value *a, Value *b, Value *sums) {
  Intrinsic::ID id = Intrinsic::nvvm_mma_m16n8k8_row_col_tf32;
  Type *word = builder.getInt32Ty();
  if (element->isBFloatTy()) {
    id = Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
  } else if (element->isHalfTy()) {
    id = Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32;
    word = FixedVectorType::get(element, 2);
  }
  SmallVector<Value *> args;
  auto addWords = [&](Value *operand, unsigned count) {
    if (!word->isVectorTy()) {
      Value *words = builder.CreateBitCast(operand, FixedVectorType::get(word, count));
      for (unsigned i = 0; i < count; ++i)
        args.push_back(builder.CreateExtractElement(words, i));
      return;
    }
    for (int i = 0; i < int(count); ++i)
      args.push_back(builder.CreateShuffleVector(operand, {2 * i, 2 * i + 1}));
  };
  addWords(a, 4);
  addWords(b, 2);
  for (unsigned i = 0; i < 4; ++i)
    args.push_back(builder.CreateExtractElement(sums, i));
  CallInst *call = builder.CreateIntrinsic(id, {}, args);
  call->setConvergent();
  Value *result = PoisonValue::get(sums->getType());
  for (unsigned i = 0; i < 4; ++i)
    result = builder.CreateInsertElement(result, builder.CreateExtractValue(call, i), i);
  return result;
}

void Lowering::lower(const Marker &marker, CallInst *call) {
  builder.SetInsertPoint(call);
  auto arg = [&](unsigned index) { return call->getArgOperand(index); };
  Value *result = nullptr;
  switch (marker.kind) {
  case MarkerKind::LoadGlobal:
  case MarkerKind::LoadShared:
    result = load(marker, call);
    break;
  case MarkerKind::StoreGlobal:
  case MarkerKind::StoreShared:
    store(marker, call);
    break;
  case MarkerKind::Shared:
    result = sharedAddress(arg(0));
    break;
  case MarkerKind::Barrier:
    builder.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_aligned_all, {},
                            {builder.getInt32(0)})
        ->setConvergent();
    break;
  case MarkerKind::ShflBfly:
    result = shuffle(Intrinsic::nvvm_shfl_sync_bfly_f32, arg(0), arg(1), builder.getInt32(0x1f));
    break;
  case MarkerKind::ShflDown: {
    // Bits 8-12 of the clamp operand fix the lane bits that may not change.
    Value *segment = builder.CreateShl(builder.CreateSub(builder.getInt32(32), arg(2)), 8);
    result = shuffle(Intrinsic::nvvm_shfl_sync_down_f32, arg(0), arg(1),
                     builder.CreateOr(segment, 0x1f));
    break;
  }
  case MarkerKind::Tf32Mask:
    result = tf32Mask();
    break;
  case MarkerKind::Mma:
    result = mma(marker.type, arg(0), arg(1), arg(2));
    break;
  case MarkerKind::MbarInit:
    assemble("mbarrier.init.shared.b64 [$0], $1;", "l,r", {arg(0), arg(1)});
    break;
  case MarkerKind::MbarInitFence:
    assemble("fence.mbarrier_init.release.cluster;", "", {});
    break;
  case MarkerKind::MbarExpect:
    assemble("mbarrier.arrive.expect_tx.shared.b64 _, [$0], $1;", "l,r", {arg(0), arg(1)});
    break;
  case MarkerKind::MbarWait:
    // The label is unique per copy: the optimiser may duplicate a wait.
    assemble("{\n\t.reg .pred done;\nrssm_wait_${:uid}:\n\t"
             "mbarrier.try_wait.parity.shared.b64 done, [$0], $1;\n\t"
             "@!done bra rssm_wait_${:uid};\n\t}",
             "l,r", {arg(0), arg(1)});
    break;
  case MarkerKind::Expect: // For the host device alone.
    break;
  case MarkerKind::CopyBulk:
    assemble("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
             "[$0], [$1], $2, [$3];",
             "l,l,r,l", {arg(0), arg(1), arg(2), arg(3)});
    break;
  }
  if (result)
    call->replaceAllUsesWith(result);
  call->eraseFromParent();
}
} // namespace

Status codegen::lowerMarkersToPTX(Module &module) {
  Lowering lowering(module);
  // Addresses first: they become constants that the accesses then fold.
  auto calls = markerCalls(module);
  for (auto [marker, call] : calls)
    if (marker.kind == MarkerKind::Shared)
      lowering.lower(marker, call);
  for (auto [marker, call] : calls)
    if (marker.kind != MarkerKind::Shared)
      lowering.lower(marker, call);
  for (Function &function : make_early_inc_range(module)) {
    if (!function.getName().starts_with(markerPrefix))
      continue;
    if (!function.use_empty())
      return {StatusCode::Unsupported,
              "marker '" + function.getName().str() + "' is used other than by a call"};
    function.eraseFromParent();
  }
  return Status::ok();
}
