#include "compiler/targets/amdgcn/Pipeline.h"

#include "compiler/lower/Passes.h"
#include "compiler/lower/amd/BlockToLlvm.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace sectile::amdgcn {

static AmdLoweringOptions lowering(const Target &target) {
  using Unit = Target::Amd::MatrixUnit;
  return {.processor = target.processor,
          .lanes = target.amd.lanes,
          .hasWideMfma = target.amd.unit == Unit::mfmaWide,
          .hasPermlane32Swap = target.amd.unit == Unit::mfmaWide,
          .hasRowXmask = !target.amd.isCdna()};
}

static AssignLayoutsOptions layouts(const PipelineOptions &options) {
  using Unit = Target::Amd::MatrixUnit;
  const Target::Amd &gpu = options.target.amd;
  AssignLayoutsOptions layouts;
  layouts.warps = options.schedule.warps;
  layouts.amd = gpu.isCdna() ? "mfma" : gpu.unit == Unit::wmma11 ? "wmma11" : "wmma12";
  return layouts;
}

void buildTileToBlock(mlir::OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(createFuseAccumulator()); // before masks are guarded: a product and its sum are still side by side
  passes.addPass(createDeferSums());       // half of a softmax's exchanges leave the loop
  passes.addPass(createGuardMasks());
  passes.addPass(mlir::createCanonicalizerPass()); // drops masks that are constant and scalars that nobody compares
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createLoopInvariantCodeMotionPass()); // what a loop reads each time is made once
  passes.addPass(createAssignLayouts(layouts(options)));     // from here on block.kernel
  passes.addPass(mlir::createCSEPass());                     // operations that were made anew in the same layout
  passes.addPass(mlir::createLoopInvariantCodeMotionPass()); // before operands are staged: once, if outside of the loop
  passes.addPass(createStageOperands({.asyncCopies = false}));
  passes.addPass(createPipelineLoads({.stages = options.schedule.stages})); // before memory is planned: it makes rings
  if (options.schedule.stages > 1)
    passes.addPass(createPrefetchLoads());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createPlanShared({.limit = options.target.amd.ldsPerGroup})); // last: needs every buffer, in order
}

void buildBlockToLlvm(mlir::OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createBlockToLlvm(lowering(options.target)));
  passes.addPass(createExpandMath({}));
  passes.addPass(createExpandConversions());       // after ExpandMath: what is rounded may be a function's value
  passes.addPass(mlir::createCanonicalizerPass()); // casts to f8 and back by way of i8 fold
  passes.addPass(mlir::createCSEPass());           // expansions share their constants
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createUBToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass()); // last: every cast between dialects cancels
}

void buildPipeline(mlir::OpPassManager &passes, const PipelineOptions &options) {
  buildTileToBlock(passes, options);
  buildBlockToLlvm(passes, options);
}

} // namespace sectile::amdgcn
