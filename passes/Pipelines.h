//===- Pipelines.h - The passes of each stage, in order ---------*- C++ -*-===//
//
// The tool and the library build their pipelines here, so both run the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "common/Targets.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <optional>
#include <string>
#include <vector>

namespace replayssm {

/// The stages that end in MLIR, in order.
enum class Stage { Import, Derive, Fuse, Schedule, Tile, Gpu };

llvm::StringRef stageName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);
/// "import, derive, ...": for diagnostics.
std::string stageNames();

/// What the caller decides; every other decision is the schedule's.
struct StageOptions {
  std::string chip = defaultTarget;
  std::string tiling; ///< Fields of #replay.tiling to force, "" for none.
  std::string places; ///< Places to force, "" for none.
};

/// What replay-place spreads over threads; all others may have it in registers.
struct Places {
  bool spreadsColumns = true; ///< One number for each token of a window.
  bool spreadsGates = true;   ///< Gates along K.
};

/// Of text like "columns=regs,gates=spread"; an error at `loc` if it is not.
mlir::FailureOr<Places> parsePlaces(llvm::StringRef text, mlir::Location loc);

/// Adds the passes of one stage to a pass manager on builtin.module.
void buildStage(mlir::OpPassManager &pm, Stage stage, const StageOptions &options);

/// Registers replay-derive, -fuse, -tile and -gpu, and replay-compile: all stages
/// (that of schedule is the pass replay-schedule).
void registerReplayPipelines();

} // namespace replayssm
