#include "compiler/targets/cpu/Pipeline.h"

#include "compiler/lower/Passes.h"
#include "compiler/lower/host/TileToVector.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace sectile::cpu {

/// Transposes as shuffles of whole registers (89 instructions for 16 x 16; the default takes 467), sums in any order.
static mlir::ConvertVectorToLLVMPassOptions vectorLowering() {
  mlir::ConvertVectorToLLVMPassOptions options;
  options.reassociateFPReductions = true;
  options.vectorTransposeLowering = mlir::vector::VectorTransposeLowering::Shuffle16x16;
  return options;
}

static ExpandMathOptions mathExpansion(const Target &target) { return {.avx512 = target.vectorBits == 512}; }

static host::HostVectors hostVectors(const CpuPipelineOptions &options) {
  const Target &target = options.target;
  host::HostVectors vectors;
  vectors.lanes = options.schedule.vectorWidth;
  vectors.registers = target.vectorRegisters;
  vectors.narrowMasks = target.vectorBits == 512; // AVX-512 BW and VL
  vectors.matrixUnit = target.hasAmxBf16 && target.hasAvx512Bf16 && vectors.lanes == 16;
  return vectors;
}

void buildTileToVector(mlir::OpPassManager &passes, const CpuPipelineOptions &options) {
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(createFuseAccumulator()); // before masks are guarded: a product and its sum are still side by side
  passes.addPass(createGuardMasks());
  passes.addPass(mlir::createCanonicalizerPass()); // drops masks that are constant and scalars that nobody compares
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createLoopInvariantCodeMotionPass()); // what a loop reads each time is made once
  passes.addPass(createTileToVector(hostVectors(options)));
  passes.addPass(mlir::arith::createArithExpandOpsPass()); // floor and ceiling divisions of indices
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createLoopInvariantCodeMotionPass()); // addresses and broadcasts leave the inner loops
}

void buildVectorToLlvm(mlir::OpPassManager &passes, const CpuPipelineOptions &options) {
  passes.addPass(createExpandMath(mathExpansion(options.target)));
  passes.addPass(createExpandConversions());       // after ExpandMath: what is rounded may be a function's value
  passes.addPass(mlir::createCanonicalizerPass()); // casts to f8 and back by way of i8 fold
  passes.addPass(mlir::createCSEPass());           // expansions share their constants
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass(vectorLowering())); // before arith: it makes arith operations
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createUBToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass()); // last: every cast between dialects cancels
}

void buildCpuPipeline(mlir::OpPassManager &passes, const CpuPipelineOptions &options) {
  buildTileToVector(passes, options);
  buildVectorToLlvm(passes, options);
}

} // namespace sectile::cpu
