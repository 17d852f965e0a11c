//===- Pipelines.cpp - The passes of each stage, in order -----------------===//
#include "passes/Pipelines.h"

#include "passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace replayssm;

namespace {

constexpr std::pair<Stage, llvm::StringLiteral> stageTable[] = {
    {Stage::Import, "import"}, {Stage::Derive, "derive"}, {Stage::Fuse, "fuse"},
    {Stage::Schedule, "schedule"}, {Stage::Tile, "tile"}, {Stage::Gpu, "gpu"}};

void buildDerive(OpPassManager &pm) {
  pm.addPass(createVerifyLayer());
  pm.addPass(createDeriveKernels());
  pm.addPass(createExpandDelta());
  pm.addPass(createFactorScalars());
  pm.addPass(createPushReads());
  // Pushing leaves the virtual states that nothing reads any more.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void buildFuse(OpPassManager &pm) {
  pm.addPass(createMergeReads());
  pm.addPass(createHoistLoads());
  pm.addPass(createEraseKind());
}

void buildSchedule(OpPassManager &pm, const StageOptions &options) {
  ScheduleOptions schedule;
  schedule.chip = options.chip;
  schedule.tiling = options.tiling;
  pm.addPass(createSchedule(schedule));
}

void buildTile(OpPassManager &pm, const StageOptions &options) {
  pm.addPass(createSplit());
  pm.addPass(createOrder());
  PlaceOptions place;
  place.places = options.places;
  pm.addPass(createPlace(place));
  LowerToTileOptions lower;
  lower.chip = options.chip;
  pm.addPass(createLowerToTile(lower));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  OpPassManager &gpu = pm.nest<gpu::GPUModuleOp>();
  gpu.addPass(createAssignLayouts());
  gpu.addPass(createLowerConverts());
  gpu.addPass(createPlanShared());
  gpu.addPass(createInsertBarriers());
  gpu.addPass(createUnrollLoops());
  gpu.addPass(createSinkStores());
  gpu.addPass(createVerifyTile());
}

void buildGpu(OpPassManager &pm) {
  OpPassManager &gpu = pm.nest<gpu::GPUModuleOp>();
  gpu.addPass(createTileToGpu());
  gpu.addPass(createExpandMath());
  gpu.addPass(createCanonicalizerPass());
  gpu.addPass(createCSEPass());
}

/// An option keeps no copy of its description.
StringRef chips() {
  static const std::string list = "one of " + knownTargets();
  return list;
}

/// Options of the registered pipelines; the same for all, so that a stage can
/// be exchanged for another in a command line.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::desc(chips()), llvm::cl::init(defaultTarget)};
  Option<std::string> tiling{*this, "tiling",
                             llvm::cl::desc("fields of #replay.tiling to force, for example bv=64,warps=8"),
                             llvm::cl::init("")};
  Option<std::string> places{*this, "places",
                             llvm::cl::desc("places to force, for example columns=regs"), llvm::cl::init("")};
  StageOptions stage() const { return {chip, tiling, places}; }
};

} // namespace

StringRef replayssm::stageName(Stage stage) {
  for (auto [value, name] : stageTable)
    if (value == stage)
      return name;
  llvm_unreachable("every stage has a name");
}

std::optional<Stage> replayssm::parseStage(StringRef text) {
  for (auto [value, name] : stageTable)
    if (name == text)
      return value;
  return std::nullopt;
}

std::string replayssm::stageNames() {
  std::string names;
  for (auto [value, name] : stageTable)
    names += (names.empty() ? "" : ", ") + name.str();
  return names;
}

void replayssm::buildStage(OpPassManager &pm, Stage stage, const StageOptions &options) {
  switch (stage) {
  case Stage::Import:
    return;
  case Stage::Derive:
    return buildDerive(pm);
  case Stage::Fuse:
    return buildFuse(pm);
  case Stage::Schedule:
    return buildSchedule(pm, options);
  case Stage::Tile:
    return buildTile(pm, options);
  case Stage::Gpu:
    return buildGpu(pm);
  }
}

void replayssm::registerReplayPipelines() {
  // The stage schedule is one pass, which already goes by that name.
  for (auto [stage, name] : stageTable)
    if (stage != Stage::Import && stage != Stage::Schedule)
      PassPipelineRegistration<PipelineOptions>(
          ("replay-" + name).str(), ("The passes of the stage " + name).str(),
          [stage = stage](OpPassManager &pm, const PipelineOptions &options) {
            buildStage(pm, stage, options.stage());
          });
  PassPipelineRegistration<PipelineOptions>(
      "replay-compile", "Every stage from a recurrence to threads of a GPU",
      [](OpPassManager &pm, const PipelineOptions &options) {
        for (auto [stage, name] : stageTable)
          buildStage(pm, stage, options.stage());
      });
}
