#include "compiler/targets/Pipelines.h"

#include "compiler/ir/Block.h"
#include "compiler/lower/Passes.h"
#include "compiler/lower/amd/BlockToLlvm.h"
#include "compiler/lower/host/TileToVector.h"
#include "compiler/lower/nvidia/BlockToLlvm.h"
#include "compiler/targets/Backend.h"
#include "compiler/targets/amdgcn/Pipeline.h"
#include "compiler/targets/cpu/Pipeline.h"
#include "compiler/targets/nvptx/Pipeline.h"
#include "compiler/transforms/Passes.h"

#include "compiler/support/Diagnostic.h"

#include "sectile/Error.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace sectile {
namespace {

/// The options of every pipeline, as text.
struct PipelineText : mlir::PassPipelineOptions<PipelineText> {
  Option<std::string> processor{*this, "processor", llvm::cl::desc("what a target's name says after its colon")};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("such as \"blockM=64,vectorWidth=8\"")};
};

/// A pipeline cannot be refused while it is being built, so that a wrong option becomes a pass that fails.
struct Refuse : mlir::PassWrapper<Refuse, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Refuse)
  explicit Refuse(std::string reason) : reason(std::move(reason)) {}
  llvm::StringRef getName() const final { return "sectile-refuse"; }
  void runOnOperation() final {
    getOperation()->emitError() << reason;
    signalPassFailure();
  }
  std::string reason;
};

/// A target's name without its processor, and the processor that a pipeline has by default: fixed, so that its output
/// is the same on every machine.
struct Family {
  llvm::StringLiteral name, processor;
};
constexpr Family cpuFamily{"cpu", "x86-64-v3"}, nvptxFamily{"nvptx", "sm_80"}, amdgcnFamily{"amdgcn", "gfx942"};

template <class Options> llvm::Expected<Options> resolve(const Family &family, const PipelineText &text) {
  const llvm::StringRef processor =
      text.processor.empty() ? llvm::StringRef(family.processor) : llvm::StringRef(text.processor);
  llvm::Expected<Target> target = resolveTarget((family.name + ":" + processor).str(), /*toolkit=*/"none");
  if (!target)
    return target.takeError();
  try { // MLIR calls us: an exception must not leave
    llvm::Expected<Schedule> schedule = completeSchedule(parseSchedule(text.schedule.getValue()), *target);
    if (!schedule)
      return schedule.takeError();
    return Options{*target, *schedule};
  } catch (const UserError &error) {
    return userError(error.what());
  }
}

template <class Options>
void registerPipeline(const Family &family, llvm::StringRef name, llvm::StringRef description,
                      void (*build)(mlir::OpPassManager &, const Options &)) {
  mlir::PassPipelineRegistration<PipelineText>(
      name, description, [family, build](mlir::OpPassManager &passes, const PipelineText &text) {
        llvm::Expected<Options> options = resolve<Options>(family, text);
        if (options)
          return build(passes, *options);
        passes.addPass(std::make_unique<Refuse>(llvm::toString(options.takeError())));
      });
}

} // namespace

void registerPipelines() {
  registerPasses();
  registerTileToVector();
  registerBlockToLlvm();
  registerAmdBlockToLlvm();
  registerExpansionPasses();
  registerPipeline(cpuFamily, "sectile-cpu-pipeline", "tile to llvm for the host", cpu::buildCpuPipeline);
  registerPipeline(cpuFamily, "sectile-cpu-tile-to-vector", "the host pipeline's first part", cpu::buildTileToVector);
  registerPipeline(cpuFamily, "sectile-cpu-vector-to-llvm", "the host pipeline's second part", cpu::buildVectorToLlvm);
  registerPipeline(nvptxFamily, "sectile-nvptx-pipeline", "tile to llvm for NVIDIA GPUs", nvptx::buildPipeline);
  registerPipeline(nvptxFamily, "sectile-nvptx-tile-to-block", "the NVIDIA pipeline's first part",
                   nvptx::buildTileToBlock);
  registerPipeline(nvptxFamily, "sectile-nvptx-block-to-llvm", "the NVIDIA pipeline's second part",
                   nvptx::buildBlockToLlvm);
  registerPipeline(amdgcnFamily, "sectile-amdgcn-pipeline", "tile to llvm for AMD GPUs", amdgcn::buildPipeline);
  registerPipeline(amdgcnFamily, "sectile-amdgcn-tile-to-block", "the AMD pipeline's first part",
                   amdgcn::buildTileToBlock);
  registerPipeline(amdgcnFamily, "sectile-amdgcn-block-to-llvm", "the AMD pipeline's second part",
                   amdgcn::buildBlockToLlvm);
}

void registerTargetDialects(mlir::DialectRegistry &registry) {
  ir::registerBlockDialect(registry);
  for (const Backend &backend : backends())
    backend.registerDialects(registry);
}

} // namespace sectile
