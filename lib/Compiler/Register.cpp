//===- Register.cpp - Every dialect of the compiler -----------------------===//
//
// Apart from the rest because NVVMDialect.h is slow to compile.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Emit.h"
#include "lib/Compiler/Session.h"
#include "passes/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

void replayssm::registerCompilerDialects(DialectRegistry &registry) {
  registry.insert<replay::ReplayDialect, tile::TileDialect, arith::ArithDialect,
                  math::MathDialect, scf::SCFDialect, gpu::GPUDialect,
                  LLVM::LLVMDialect, NVVM::NVVMDialect, tensor::TensorDialect,
                  vector::VectorDialect>();
  codegen::registerDialects(registry);
}
