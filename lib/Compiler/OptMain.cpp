//===- OptMain.cpp - main of replayssm-opt --------------------------------===//
#include "lib/Compiler/Driver.h"
#include "lib/Compiler/Session.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "replayssm/Compiler.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

int replayssm::optMain(int argc, char **argv) {
  if (isDriverCall(argc, argv))
    return driverMain(argc, argv);
  DialectRegistry registry;
  registerCompilerDialects(registry);
  registerReplayPasses();
  registerReplayPipelines();
  registerTransformsPasses();
  return asMainReturnCode(MlirOptMain(
      argc, argv,
      "replayssm-opt: runs passes; with --emit=mlir|llvm|ptx|cubin it is the compiler "
      "(see --emit --help)\n",
      registry));
}
