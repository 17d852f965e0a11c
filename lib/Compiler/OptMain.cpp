//===- OptMain.cpp - main of replayssm-opt --------------------------------===//
#include "passes/Passes.h"
#include "replayssm/Compiler.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

int replayssm::optMain(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<replay::ReplayDialect, tile::TileDialect, arith::ArithDialect,
                  math::MathDialect, scf::SCFDialect, gpu::GPUDialect,
                  LLVM::LLVMDialect, NVVM::NVVMDialect, tensor::TensorDialect,
                  vector::VectorDialect>();
  registerReplayPasses();
  registerTransformsPasses();
  return asMainReturnCode(MlirOptMain(argc, argv, "replayssm compiler\n", registry));
}
