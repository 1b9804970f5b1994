#include "compiler/targets/Pipelines.h"

#include "compiler/ir/Block.h"
#include "compiler/lower/Passes.h"
#include "compiler/lower/host/TileToVector.h"
#include "compiler/targets/Backend.h"
#include "compiler/targets/cpu/Pipeline.h"
#include "compiler/transforms/Passes.h"

#include "compiler/support/Diagnostic.h"

#include "sectile/Error.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace sectile {
namespace {

struct CpuOptions : mlir::PassPipelineOptions<CpuOptions> {
  Option<std::string> processor{*this, "processor", llvm::cl::desc("LLVM processor name"), llvm::cl::init("x86-64-v3")};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("such as \"blockM=64,vectorWidth=8\"")};
};

using Build = void (*)(mlir::OpPassManager &, const cpu::CpuPipelineOptions &);

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

llvm::Expected<cpu::CpuPipelineOptions> resolve(const CpuOptions &options) {
  llvm::Expected<Target> target = resolveTarget("cpu:" + options.processor);
  if (!target)
    return target.takeError();
  try { // MLIR calls us: an exception must not leave
    llvm::Expected<Schedule> schedule = completeSchedule(parseSchedule(options.schedule.getValue()), *target);
    if (!schedule)
      return schedule.takeError();
    return cpu::CpuPipelineOptions{*target, *schedule};
  } catch (const UserError &error) {
    return userError(error.what());
  }
}

void registerCpuPipeline(llvm::StringRef name, llvm::StringRef description, Build build) {
  mlir::PassPipelineRegistration<CpuOptions>(
      name, description, [build](mlir::OpPassManager &passes, const CpuOptions &options) {
        auto resolved = resolve(options);
        if (resolved)
          return build(passes, *resolved);
        passes.addPass(std::make_unique<Refuse>(llvm::toString(resolved.takeError())));
      });
}

} // namespace

void registerPipelines() {
  registerPasses();
  registerTileToVector();
  registerExpansionPasses();
  registerCpuPipeline("sectile-cpu-pipeline", "tile to llvm for the host", cpu::buildCpuPipeline);
  registerCpuPipeline("sectile-cpu-tile-to-vector", "the host pipeline's first part", cpu::buildTileToVector);
  registerCpuPipeline("sectile-cpu-vector-to-llvm", "the host pipeline's second part", cpu::buildVectorToLlvm);
}

void registerTargetDialects(mlir::DialectRegistry &registry) {
  ir::registerBlockDialect(registry);
  for (const Backend &backend : backends())
    backend.registerDialects(registry);
}

} // namespace sectile
