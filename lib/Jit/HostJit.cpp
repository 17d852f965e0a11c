//===- HostJit.cpp - Machine code of the host from a device module --------===//
#include "lib/Jit/HostJit.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>
#include <cstring>
#include <mutex>

using namespace llvm;
using namespace replayssm;

static Status toStatus(Error error, const char *what) {
  return {StatusCode::Internal, std::string(what) + ": " + toString(std::move(error))};
}

/// A vector of bf16 that lives across blocks is carried as f32 by a CPU without
/// bf16, which narrows it here. The module has no bf16 arithmetic (retargetToHost),
/// so the value is always one that was widened: its upper half.
static __bf16 narrowToBF16(float widened) {
  return bit_cast<__bf16>(static_cast<uint16_t>(bit_cast<uint32_t>(widened) >> 16));
}

/// All that JIT-compiled code may call. Nothing else of the process is visible to
/// it, so an unexpected library call is an error here and not a surprise.
static orc::SymbolMap hostSymbols(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  auto add = [&](const char *name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                          JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  };
  add("rssm_host_sreg", rssm_host_sreg);
  add("rssm_host_shared", rssm_host_shared);
  add("rssm_host_ld", rssm_host_ld);
  add("rssm_host_st", rssm_host_st);
  add("rssm_host_barrier", rssm_host_barrier);
  add("rssm_host_shfl_bfly", rssm_host_shfl_bfly);
  add("rssm_host_shfl_down", rssm_host_shfl_down);
  add("rssm_host_mma", rssm_host_mma);
  add("rssm_host_mbar_init", rssm_host_mbar_init);
  add("rssm_host_mbar_init_fence", rssm_host_mbar_init_fence);
  add("rssm_host_mbar_expect", rssm_host_mbar_expect);
  add("rssm_host_copy_bulk", rssm_host_copy_bulk);
  add("rssm_host_mbar_wait", rssm_host_mbar_wait);
  add("rssm_host_approx", rssm_host_approx);
  add("rssm_host_expect", rssm_host_expect);
  // Exact functions that a CPU without FMA or SSE4.1 calls, and block moves.
  add("fmaf", static_cast<float (*)(float, float, float)>(std::fma));
  add("floorf", static_cast<float (*)(float)>(std::floor));
  add("ceilf", static_cast<float (*)(float)>(std::ceil));
  add("truncf", static_cast<float (*)(float)>(std::trunc));
  add("rintf", static_cast<float (*)(float)>(std::rint));
  add("nearbyintf", static_cast<float (*)(float)>(std::nearbyint));
  add("__truncsfbf2", narrowToBF16);
  add("memcpy", static_cast<void *(*)(void *, const void *, size_t)>(std::memcpy));
  add("memset", static_cast<void *(*)(void *, int, size_t)>(std::memset));
  add("memmove", static_cast<void *(*)(void *, const void *, size_t)>(std::memmove));
  return symbols;
}

static bool usesHalf(const Module &module) {
  auto isHalf = [](Type *type) { return type->getScalarType()->isHalfTy(); };
  for (const Function &function : module)
    for (const Instruction &inst : instructions(function))
      if (isHalf(inst.getType()) ||
          any_of(inst.operands(), [&](const Use &use) { return isHalf(use->getType()); }))
        return true;
  return false;
}

Result<HostCode> replayssm::compileForHost(codegen::DeviceModule device) {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  auto machine = orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return toStatus(machine.takeError(), "this machine's CPU is not known");
  machine->setCodeGenOptLevel(CodeGenOptLevel::Default);
  // The same roundings as on the device: nothing is contracted.
  machine->getOptions().AllowFPOpFusion = FPOpFusion::Strict;
  bool isX86 = machine->getTargetTriple().isX86();
  bool hasF16 = !isX86 || StringRef(machine->getFeatures().getString()).contains("+f16c");
  if (usesHalf(*device.module) && !hasF16)
    return {StatusCode::Unsupported, "f16 on the host device needs a CPU with F16C"};

  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine))
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform) // No initialisers to run.
                 .create();
  if (!jit)
    return toStatus(jit.takeError(), "the host compiler cannot start");
  std::vector<std::string> names;
  for (const KernelManifest &kernel : device.kernels)
    names.push_back(codegen::hostEntryName(kernel.name));
  RSSM_RETURN_IF_ERROR(
      codegen::retargetToHost(device, (*jit)->getTargetTriple(), (*jit)->getDataLayout()));
  if (Error error = (*jit)->getMainJITDylib().define(orc::absoluteSymbols(hostSymbols(**jit))))
    return toStatus(std::move(error), "the host runtime cannot be bound");
  if (Error error = (*jit)->addIRModule(
          orc::ThreadSafeModule(std::move(device.module), std::move(device.context))))
    return toStatus(std::move(error), "the host compiler refused the module");
  HostCode code;
  for (const std::string &name : names) {
    auto address = (*jit)->lookup(name);
    if (!address)
      return toStatus(address.takeError(), "host code of a kernel cannot be made");
    code.entries.push_back(address->toPtr<rssm_host_entry>());
  }
  code.owner = std::shared_ptr<orc::LLJIT>(std::move(*jit));
  return code;
}
