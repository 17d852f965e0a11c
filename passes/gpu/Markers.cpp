//===- Markers.cpp - Declarations and calls of the device markers ---------===//
//
// The memory effects here are what keeps -O3 honest; docs/abi.md says why.
//
//===----------------------------------------------------------------------===//
#include "passes/gpu/TileToGpu.h"

using namespace mlir;
using namespace replayssm::gpulower;
using LLVM::ModRefInfo;

std::string Lowering::typeName(Type type) {
  std::string name;
  llvm::raw_string_ostream os(name);
  if (auto vector = dyn_cast<VectorType>(type))
    os << "v" << vector.getNumElements() << vector.getElementType();
  else
    os << type;
  return name;
}

namespace {
struct Effects {
  ModRefInfo other, argument, inaccessible;
  bool convergent;
};
} // namespace

static Effects effectsOf(StringRef name) {
  constexpr auto none = ModRefInfo::NoModRef, read = ModRefInfo::Ref, write = ModRefInfo::Mod,
                 both = ModRefInfo::ModRef;
  if (name.starts_with("ld.global."))
    return {none, read, both, false};
  if (name.starts_with("ld.shared."))
    return {none, read, none, false};
  if (name.starts_with("st."))
    return {none, write, none, false};
  if (name.starts_with("mma."))
    return {none, none, none, true};
  if (name == "shared" || name == "tf32.mask")
    return {none, none, none, false};
  if (name == "expect")
    return {none, none, both, false};
  if (name.starts_with("shfl."))
    return {none, none, none, true};
  if (name == "barrier" || name == "mbar.wait")
    return {both, both, both, true};
  if (name == "mbar.init" || name == "mbar.expect" || name == "copy.bulk")
    return {none, both, both, false};
  if (name == "mbar.init.fence")
    return {both, both, both, false};
  return {both, both, both, true}; // of what nothing is known
}

LLVM::LLVMFuncOp Lowering::declare(StringRef name, Type result, TypeRange args) {
  std::string symbol = ("rssm." + name).str();
  if (auto known = symbols_.lookup<LLVM::LLVMFuncOp>(symbol))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&symbols_.getOp()->getRegion(0).front());
  Type resultType = result ? result : LLVM::LLVMVoidType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(resultType, SmallVector<Type>(args));
  auto decl = LLVM::LLVMFuncOp::create(b, symbol, type);
  SymbolTable::setSymbolVisibility(decl, SymbolTable::Visibility::Private);
  Effects effects = effectsOf(name);
  decl.setNoUnwind(true);
  decl.setWillReturn(true);
  if (effects.convergent)
    decl.setConvergent(true);
  if (effects.other == ModRefInfo::NoModRef)
    decl.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
        b.getContext(), ArrayRef<ModRefInfo>{effects.other, effects.argument, effects.inaccessible,
                                             ModRefInfo::NoModRef, ModRefInfo::NoModRef,
                                             ModRefInfo::NoModRef}));
  symbols_.insert(decl);
  return decl;
}

Value Lowering::call(StringRef name, Type result, ValueRange args, bool siteId) {
  SmallVector<Value> operands(args);
  if (siteId)
    operands.push_back(i32(site_));
  auto decl = declare(name, result, TypeRange(ValueRange(operands)));
  auto callOp = LLVM::CallOp::create(b, decl, operands);
  return result ? callOp.getResult() : Value();
}
