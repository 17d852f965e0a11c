//===- Compiler.h - From a recurrence to device code ------------*- C++ -*-===//
#pragma once

#include "replayssm/KernelSpec.h"
#include "replayssm/Manifest.h"
#include "replayssm/Status.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace replayssm {

/// What a compilation returns in CompiledModule::code. Any other number is InvalidArgument.
enum class Emit { MLIR, LLVM, PTX, Cubin };

/// How the kernels of calls with a cache were made. Threads may share one.
struct CacheCounts {
  std::atomic<uint64_t> found = 0, compiled = 0;
};

struct CompileOptions {
  std::string target = "sm_90a"; ///< sm_90, sm_90a, sm_100a or sm_100f.
  Emit emit = Emit::PTX;
  /// With Emit::MLIR: import, derive, fuse, schedule, tile or gpu. Empty = gpu.
  std::string stopAfter;
  /// Overrides fields of #replay.tiling, for example "bv=64,warps=8,copy=bulk".
  std::string tiling;
  /// Overrides where the numbers of each token (columns) and gates along K (gates) are computed:
  /// in one thread each, or in all of them: for example "columns=regs,gates=spread". Same bits.
  std::string places;
  bool verifyEach = false; ///< Run the verifier after every pass.
  /// A folder of results: what a call would emit is looked up there and stored. Empty = none.
  /// For Emit::PTX and Emit::Cubin, so also for jitSource and jitSpec on a GPU; the others and
  /// the host device ignore it. A result is found by the same build of this library and of LLVM
  /// (by their GNU build ids; Unsupported without), and for a cubin by the same ptxas, with the
  /// same emit, target, tiling, places, verifyEach, file name and source; its bytes are those of the
  /// compilation. The folder is made if it is missing (InvalidArgument if it cannot be) and may
  /// be shared by threads and processes; damaged files count as absent and are replaced, errors
  /// are not stored. A folder that cannot be written is only read. Nothing is ever removed:
  /// files may be deleted at any time.
  std::string cacheDir;
  /// Counts kernels that came from cacheDir and that were compiled for it; not owned.
  CacheCounts *cacheCounts = nullptr;
};

struct CompiledModule {
  std::string code; ///< Text, or the bytes of a cubin (which needs ptxas, else Unavailable).
  std::string target;
  std::vector<KernelManifest> kernels; ///< Filled for LLVM, PTX and Cubin.
};

/// Compiles every replay.kernel (or lower-level kernel) of an MLIR file.
/// Thread-safe: each call uses a context of its own. Diagnostics of the
/// compiler are returned in the Status message, one per line: InvalidArgument for a source
/// or options that mean nothing, Unsupported for what this version cannot compile.
RSSM_API Result<CompiledModule> compileSource(std::string_view mlir,
                                              std::string_view fileName,
                                              const CompileOptions &options);
/// Compiles the kernel of one spec; errors also of `validate`.
RSSM_API Result<CompiledModule> compileSpec(const KernelSpec &spec,
                                            const CompileOptions &options);
/// The .mlir text (layer and kernel request) that `spec` stands for; errors of `validate`.
RSSM_API Result<std::string> importSpec(const KernelSpec &spec);

/// `main` of replayssm-opt, with its arguments: the one function that prints. Once a process.
RSSM_API int optMain(int argc, char **argv);

} // namespace replayssm
