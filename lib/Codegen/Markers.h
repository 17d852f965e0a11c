//===- Markers.h - Calls that stand for device instructions -----*- C++ -*-===//
//
// docs/abi.md lists the markers. One parser of their names serves the
// attributes before -O3, the PTX step and the host step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Status.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <optional>

namespace replayssm::codegen {

enum class MarkerKind {
  LoadGlobal, StoreGlobal, LoadShared, StoreShared,
  Shared, Barrier, ShflBfly, ShflDown, Tf32Mask, Mma,
  MbarInit, MbarInitFence, MbarExpect, MbarWait, CopyBulk, Expect,
};

struct Marker {
  MarkerKind kind;
  /// Loads and stores: the type that moves. Mma: the element type of its operands, f32 = tf32.
  llvm::Type *type = nullptr;

  bool isLoad() const {
    return kind == MarkerKind::LoadGlobal || kind == MarkerKind::LoadShared;
  }
  bool isStore() const {
    return kind == MarkerKind::StoreGlobal || kind == MarkerKind::StoreShared;
  }
  bool isGlobal() const {
    return kind == MarkerKind::LoadGlobal || kind == MarkerKind::StoreGlobal;
  }
  /// The signature that docs/abi.md fixes.
  llvm::FunctionType *signature(llvm::LLVMContext &context) const;
};

/// The bits of an f32 that tf32 has.
constexpr uint32_t tf32Bits = 0xffffe000;
/// The prefix of all marker names, "rssm.".
extern const char markerPrefix[];
std::optional<Marker> parseMarker(llvm::StringRef name, llvm::LLVMContext &context);

/// Checks that every declaration in use is a marker with its right signature or
/// an intrinsic that both PTX and the host have; gives markers their effects.
Status annotateMarkers(llvm::Module &module);

/// Every marker becomes inline PTX, an intrinsic or a plain instruction.
Status lowerMarkersToPTX(llvm::Module &module);

/// The marker calls of `module`, in program order.
llvm::SmallVector<std::pair<Marker, llvm::CallInst *>> markerCalls(llvm::Module &module);

} // namespace replayssm::codegen
