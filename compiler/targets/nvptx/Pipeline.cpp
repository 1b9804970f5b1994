#include "compiler/targets/nvptx/Pipeline.h"

#include "compiler/lower/Passes.h"
#include "compiler/lower/nvidia/BlockToLlvm.h"
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

#include <algorithm>

namespace sectile::nvptx {

/// Whether warps have roles: a kernel whose tiles TMA cannot bring has none nevertheless.
static bool hasRoles(const PipelineOptions &options) { return options.schedule.specialize == Specialize::producer; }

static AssignLayoutsOptions layouts(const PipelineOptions &options) {
  return {.warps = options.schedule.warps, .sm = options.target.nvidia.sm, .wgmma = hasRoles(options)};
}

static NvidiaLoweringOptions lowering(const Target::Nvidia &gpu) {
  return {.sm = gpu.sm, .archSpecific = gpu.archSpecific, .ptxVersion = gpu.ptxVersion};
}

/// How much shared memory a block that stays can have without keeping away another one, for which there are registers.
static int64_t sharedForTwo(const Schedule &schedule, const Target::Nvidia &gpu) {
  if (schedule.persistent != Persistent::fixed)
    return 0;
  constexpr int64_t threads = 32, producerWarps = 4, producerRegisters = 24, barriers = 1024;
  const int64_t registers = threads * (schedule.warps * schedule.registers + producerWarps * producerRegisters);
  const int64_t blocks = std::max<int64_t>(1, gpu.registersPerSm / registers);
  return std::min(gpu.sharedPerBlock, gpu.sharedPerSm / blocks - gpu.sharedReserved) - barriers;
}

/// Of a kernel that multiplies by wgmma; others pass through.
static void buildRoles(mlir::OpPassManager &passes, const Schedule &schedule, const Target::Nvidia &gpu) {
  passes.addPass(createStageRings({.stages = schedule.stages, .sharedForTwo = sharedForTwo(schedule, gpu)}));
  passes.addPass(createSpecializeWarps({.registers = schedule.registers}));
  passes.addPass(mlir::createCanonicalizerPass()); // before products move: what nobody carries any more is gone
  if (schedule.overlap == Overlap::softmax) {
    passes.addPass(createPipelineProducts());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(createPlaceWaits());
  }
  if (schedule.persistent == Persistent::fixed)
    passes.addPass(createMakePersistent({.chunk = schedule.order == Order::paired ? 2 : 1})); // last: indices change
}

void buildTileToBlock(mlir::OpPassManager &passes, const PipelineOptions &options) {
  const Target::Nvidia &gpu = options.target.nvidia;
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(createFuseAccumulator()); // before masks are guarded: a product and its sum are still side by side
  passes.addPass(createDeferSums());       // half of a softmax's shuffles leave the loop
  if (hasRoles(options)) {
    passes.addPass(createPeelFirst()); // its products overlap with the next pass; it has the exact maximum
    if (options.schedule.softmax == Softmax::stale)
      passes.addPass(createStaleMaximum()); // before masks are guarded: it makes their selects anew
  }
  passes.addPass(createGuardMasks());
  passes.addPass(mlir::createCanonicalizerPass()); // drops masks that are constant and scalars that nobody compares
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createLoopInvariantCodeMotionPass()); // what a loop reads each time is made once
  passes.addPass(createAssignLayouts(layouts(options)));     // from here on block.kernel
  passes.addPass(mlir::createCSEPass());                     // operations that were made anew in the same layout
  passes.addPass(mlir::createLoopInvariantCodeMotionPass()); // before operands are staged: once, if outside of the loop
  if (hasRoles(options))
    buildRoles(passes, options.schedule, gpu);
  passes.addPass(createStageOperands({.asyncCopies = gpu.hasCpAsync}));
  passes.addPass(createPipelineLoads({.stages = options.schedule.stages})); // before memory is planned: it makes rings
  if (options.schedule.stages > 1)
    passes.addPass(createPrefetchLoads()); // of what is not copied asynchronously
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createPlanShared({.limit = gpu.sharedPerBlock})); // last: needs every buffer, in its final order
}

void buildBlockToLlvm(mlir::OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createBlockToLlvm(lowering(options.target.nvidia)));
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

} // namespace sectile::nvptx
