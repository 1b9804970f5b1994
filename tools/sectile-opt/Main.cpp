// sectile-opt: runs the compiler's passes and pipelines, by name, on IR in text form.
//
//   sectile-opt kernel.mlir --canonicalize
//   sectile-opt kernel.mlir --sectile-cpu-pipeline="processor=x86-64-v3 schedule=blockM=64"
//   sectile-opt kernel.mlir --sectile-nvptx-pipeline="processor=sm_90a schedule=warps=8,stages=3"
#include "compiler/ir/Tile.h"
#include "compiler/targets/Pipelines.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sectile::ir::registerTileDialects(registry);
  sectile::registerTargetDialects(registry);
  registry.insert<mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::vector::VectorDialect>();

  mlir::registerTransformsPasses(); // canonicalize, cse, …
  sectile::registerPasses();
  sectile::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Sectile's optimizer driver\n", registry));
}
