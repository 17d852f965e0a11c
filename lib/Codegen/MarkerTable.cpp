//===- MarkerTable.cpp - Names, signatures and effects of markers ---------===//
#include "lib/Codegen/Markers.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;
using namespace replayssm;
using namespace replayssm::codegen;

const char codegen::markerPrefix[] = "rssm.";

static Type *parseType(StringRef name, LLVMContext &context) {
  unsigned lanes = StringSwitch<unsigned>(name.take_front(2))
                       .Case("v2", 2).Case("v4", 4).Case("v8", 8).Default(1);
  StringRef scalar = lanes == 1 ? name : name.drop_front(2);
  Type *type = StringSwitch<Type *>(scalar)
                   .Case("f32", Type::getFloatTy(context))
                   .Case("bf16", Type::getBFloatTy(context))
                   .Case("f16", Type::getHalfTy(context))
                   .Default(nullptr);
  if (!type && lanes == 1)
    return StringSwitch<Type *>(scalar)
        .Case("i8", Type::getInt8Ty(context))
        .Case("i32", Type::getInt32Ty(context))
        .Case("i64", Type::getInt64Ty(context))
        .Default(nullptr);
  if (!type || lanes * type->getScalarSizeInBits() > 128)
    return nullptr;
  return lanes == 1 ? type : FixedVectorType::get(type, lanes);
}

std::optional<Marker> codegen::parseMarker(StringRef name, LLVMContext &context) {
  if (!name.consume_front(markerPrefix))
    return std::nullopt;
  for (auto [prefix, kind] : {std::pair{"ld.global.", MarkerKind::LoadGlobal},
                              std::pair{"st.global.", MarkerKind::StoreGlobal},
                              std::pair{"ld.shared.", MarkerKind::LoadShared},
                              std::pair{"st.shared.", MarkerKind::StoreShared}}) {
    StringRef rest = name;
    if (!rest.consume_front(prefix))
      continue;
    Type *type = parseType(rest, context);
    return type ? std::optional(Marker{kind, type}) : std::nullopt;
  }
  if (StringRef rest = name; rest.consume_front("mma.")) {
    Type *type = rest == "tf32" ? Type::getFloatTy(context) : rest == "bf16" || rest == "f16" ? parseType(rest, context) : nullptr;
    return type ? std::optional(Marker{MarkerKind::Mma, type}) : std::nullopt;
  }
  auto kind = StringSwitch<std::optional<MarkerKind>>(name)
                  .Case("shared", MarkerKind::Shared)
                  .Case("barrier", MarkerKind::Barrier)
                  .Case("shfl.bfly.f32", MarkerKind::ShflBfly)
                  .Case("shfl.down.f32", MarkerKind::ShflDown)
                  .Case("tf32.mask", MarkerKind::Tf32Mask)
                  .Case("mbar.init", MarkerKind::MbarInit)
                  .Case("mbar.init.fence", MarkerKind::MbarInitFence)
                  .Case("mbar.expect", MarkerKind::MbarExpect)
                  .Case("mbar.wait", MarkerKind::MbarWait)
                  .Case("copy.bulk", MarkerKind::CopyBulk)
                  .Case("expect", MarkerKind::Expect)
                  .Default(std::nullopt);
  return kind ? std::optional(Marker{*kind}) : std::nullopt;
}

FunctionType *Marker::signature(LLVMContext &context) const {
  Type *none = Type::getVoidTy(context), *i32 = Type::getInt32Ty(context);
  Type *i1 = Type::getInt1Ty(context), *f32 = Type::getFloatTy(context);
  Type *global = PointerType::get(context, 1), *shared = PointerType::get(context, 3);
  auto make = [](Type *result, ArrayRef<Type *> args) {
    return FunctionType::get(result, args, /*isVarArg=*/false);
  };
  switch (kind) {
  case MarkerKind::LoadGlobal:
  case MarkerKind::LoadShared:
    return make(type, {isGlobal() ? global : shared, i1, i32});
  case MarkerKind::StoreGlobal:
  case MarkerKind::StoreShared:
    return make(none, {isGlobal() ? global : shared, type, i1, i32});
  case MarkerKind::Shared:
    return make(shared, {i32});
  case MarkerKind::Barrier:
  case MarkerKind::MbarInitFence:
    return make(none, {i32});
  case MarkerKind::ShflBfly:
    return make(f32, {f32, i32, i32});
  case MarkerKind::ShflDown:
    return make(f32, {f32, i32, i32, i32});
  case MarkerKind::Tf32Mask:
    return make(i32, {});
  case MarkerKind::Mma: {
    unsigned per = type->isFloatTy() ? 1 : 2; // numbers in a register
    auto *sums = FixedVectorType::get(f32, 4);
    return make(sums, {FixedVectorType::get(type, 4 * per), FixedVectorType::get(type, 2 * per), sums, i32});
  }
  case MarkerKind::MbarInit:
  case MarkerKind::MbarExpect:
  case MarkerKind::MbarWait:
    return make(none, {shared, i32, i32});
  case MarkerKind::CopyBulk:
    return make(none, {shared, global, i32, shared, i32});
  case MarkerKind::Expect:
    return make(none, {i32, i32, i32, i32, i32});
  }
  llvm_unreachable("all marker kinds handled");
}

/// What the optimiser may assume; see "Attributes of the declarations" in docs/abi.md.
static MemoryEffects effects(const Marker &marker) {
  constexpr auto argument = IRMemLocation::ArgMem;
  switch (marker.kind) {
  case MarkerKind::LoadGlobal:
    return MemoryEffects::inaccessibleMemOnly() | MemoryEffects::argMemOnly(ModRefInfo::Ref);
  case MarkerKind::LoadShared:
    return MemoryEffects(argument, ModRefInfo::Ref);
  case MarkerKind::StoreGlobal:
  case MarkerKind::StoreShared:
    return MemoryEffects(argument, ModRefInfo::Mod);
  case MarkerKind::Shared:
  case MarkerKind::Tf32Mask:
  case MarkerKind::Mma:
    return MemoryEffects::none();
  case MarkerKind::ShflBfly:
  case MarkerKind::ShflDown:
  case MarkerKind::Expect:
    return MemoryEffects::inaccessibleMemOnly();
  case MarkerKind::MbarInit:
  case MarkerKind::MbarExpect:
  case MarkerKind::CopyBulk:
    return MemoryEffects::inaccessibleOrArgMemOnly();
  case MarkerKind::Barrier:
  case MarkerKind::MbarInitFence:
  case MarkerKind::MbarWait:
    return MemoryEffects::unknown();
  }
  llvm_unreachable("all marker kinds handled");
}

static void annotate(Function &function, const Marker &marker) {
  function.setDoesNotThrow();
  function.setWillReturn();
  function.addFnAttr(Attribute::NoCallback);
  function.addFnAttr(Attribute::NoFree);
  function.setMemoryEffects(effects(marker));
  switch (marker.kind) {
  case MarkerKind::Barrier:
  case MarkerKind::ShflBfly:
  case MarkerKind::ShflDown:
  case MarkerKind::Mma:
  case MarkerKind::MbarWait:
    function.setConvergent();
    break;
  case MarkerKind::Shared:
  case MarkerKind::Tf32Mask:
    function.setSpeculatable();
    function.setNoSync();
    break;
  case MarkerKind::LoadGlobal:
  case MarkerKind::StoreGlobal:
  case MarkerKind::LoadShared:
  case MarkerKind::StoreShared:
  case MarkerKind::MbarInit:
  case MarkerKind::MbarInitFence:
  case MarkerKind::MbarExpect:
  case MarkerKind::CopyBulk:
  case MarkerKind::Expect:
    function.setNoSync();
    break;
  }
}

/// Intrinsics that NVPTX selects to instructions and the host to code without
/// approximations. Anything else would end in a library call or an abort.
static bool isPortableIntrinsic(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::fma:
  case Intrinsic::fabs:
  case Intrinsic::copysign:
  case Intrinsic::maxnum:
  case Intrinsic::minnum:
  case Intrinsic::maximum:
  case Intrinsic::minimum:
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::roundeven:
  case Intrinsic::sqrt:
  case Intrinsic::smax:
  case Intrinsic::smin:
  case Intrinsic::umax:
  case Intrinsic::umin:
  case Intrinsic::abs:
  case Intrinsic::ctlz:
  case Intrinsic::cttz:
  case Intrinsic::fshl:
  case Intrinsic::fshr:
  case Intrinsic::is_fpclass:
  case Intrinsic::assume:
  case Intrinsic::usub_sat:
  case Intrinsic::uadd_sat:
  case Intrinsic::vector_extract:
  case Intrinsic::vector_insert:
  case Intrinsic::vector_reduce_fadd:
  case Intrinsic::vector_reduce_fmax:
  case Intrinsic::vector_reduce_fmin:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::nvvm_ex2_approx_ftz:
  case Intrinsic::nvvm_lg2_approx_ftz_f:
  case Intrinsic::nvvm_rsqrt_approx_ftz_f:
  case Intrinsic::nvvm_rcp_approx_ftz_f:
  case Intrinsic::nvvm_read_ptx_sreg_tid_x:
  case Intrinsic::nvvm_read_ptx_sreg_tid_y:
  case Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
  case Intrinsic::nvvm_read_ptx_sreg_ctaid_y:
  case Intrinsic::nvvm_read_ptx_sreg_ctaid_z:
  case Intrinsic::nvvm_read_ptx_sreg_nctaid_x:
  case Intrinsic::nvvm_read_ptx_sreg_nctaid_y:
    return true;
  default:
    return false;
  }
}

Status codegen::annotateMarkers(Module &module) {
  for (Function &function : module) {
    if (!function.isDeclaration() || function.use_empty())
      continue;
    StringRef name = function.getName();
    if (function.isIntrinsic()) {
      if (!isPortableIntrinsic(function.getIntrinsicID()))
        return {StatusCode::Unsupported,
                "intrinsic '" + name.str() + "' is not one that kernels may use"};
      continue;
    }
    std::optional<Marker> marker = parseMarker(name, module.getContext());
    if (!marker)
      return {StatusCode::Unsupported,
              (name.starts_with(markerPrefix) ? "unknown marker '" : "call of unknown function '") +
                  name.str() + "'"};
    FunctionType *expected = marker->signature(module.getContext());
    if (function.getFunctionType() != expected) {
      std::string text;
      raw_string_ostream(text) << "marker '" << name << "' expected type " << *expected
                               << " but got " << *function.getFunctionType();
      return {StatusCode::InvalidArgument, text};
    }
    annotate(function, *marker);
  }
  return Status::ok();
}

SmallVector<std::pair<Marker, CallInst *>> codegen::markerCalls(Module &module) {
  SmallVector<std::pair<Marker, CallInst *>> calls;
  for (Function &function : module)
    for (Instruction &inst : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&inst))
        if (Function *callee = call->getCalledFunction())
          if (auto marker = parseMarker(callee->getName(), module.getContext()))
            calls.emplace_back(*marker, call);
  return calls;
}
