#include "compiler/ir/Block.h"
#include "compiler/ir/DiagnosticLog.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/amdgcn/Amdgcn.h"
#include "compiler/targets/amdgcn/LoopModel.h"
#include "compiler/targets/amdgcn/Pipeline.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace sectile::amdgcn {
namespace {

/// The part of the pipeline that ends in the stage `name`.
llvm::Error run(mlir::ModuleOp module, llvm::StringRef name, llvm::function_ref<void(mlir::OpPassManager &)> build) {
  DiagnosticLog diagnostics(*module.getContext());
  mlir::PassManager passes(module.getContext());
  build(passes);
  if (mlir::failed(passes.run(module)))
    return internalError(llvm::formatv("lowering to the {0} stage failed:\n{1}", name, diagnostics.text()));
  return llvm::Error::success();
}

/// Refuses a kernel of the block stage that no compute unit can hold.
llvm::Error checkBlock(mlir::ModuleOp module, const Target &target, const Schedule &schedule) {
  for (auto kernel : module.getOps<ir::BlockKernelOp>()) {
    const Usage usage{.threads = kernel.getWarps() * target.amd.lanes,
                      .sharedBytes = static_cast<int64_t>(kernel.getSharedBytes().value_or(0))};
    if (auto error = checkFits(usage, kernel.getSymName(), target, schedule))
      return error;
  }
  return llvm::Error::success();
}

/// The kernel of the llvm stage.
llvm::Expected<std::string> kernelName(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> kernels;
  for (mlir::Operation &operation : *module.getBody()) // by names: the LLVM dialect's header is large
    if (operation.getName().getStringRef() == "llvm.func" && operation.hasAttr("rocdl.kernel"))
      kernels.push_back(&operation);
  if (kernels.size() != 1)
    return userError(
        llvm::formatv("the llvm stage has {0} functions with rocdl.kernel, a kernel is exactly one", kernels.size()));
  return mlir::SymbolTable::getSymbolName(kernels.front()).str();
}

llvm::Expected<std::string> codeObject(llvm::StringRef assembly, const Target &target) {
  llvm::Expected<std::string> object = assemble(assembly, target);
  return object ? link(*object) : object.takeError();
}

/// Two waves on a SIMD hide what one waits for, unless a wave then lacks registers: one that spills has all of them.
llvm::Expected<std::string> emitForMostWaves(mlir::ModuleOp module, const Target &target, llvm::StringRef kernel) {
  for (int64_t waves = target.amd.wavesWanted(); waves > 1; waves /= 2) {
    llvm::Expected<std::string> assembly = emitAssembly(module, target, waves);
    if (!assembly)
      return assembly;
    llvm::Expected<std::string> object = codeObject(*assembly, target);
    if (!object)
      return object;
    llvm::Expected<Usage> usage = readUsage(*object, kernel);
    if (!usage)
      return usage.takeError();
    if (usage->vectorSpills == 0 && usage->scratchBytes == 0 && usage->accumulatorRegisters == 0)
      return assembly;
  }
  return emitAssembly(module, target, 1);
}

CompiledKernel compiledKernel(std::string name, const Usage &usage, llvm::StringRef assembly, const Target &target) {
  Resources resources{{"threads", usage.threads},
                      {"shared_bytes", usage.sharedBytes},
                      {"vgprs", usage.vectorRegisters},
                      {"agprs", usage.accumulatorRegisters},
                      {"sgprs", usage.scalarRegisters},
                      {"vgpr_spills", usage.vectorSpills},
                      {"sgpr_spills", usage.scalarSpills},
                      {"scratch_bytes_per_lane", usage.scratchBytes},
                      {"kernarg_bytes", usage.kernargBytes},
                      {"code_bytes", usage.codeBytes},
                      {"occupancy_groups", occupancy(usage, target)},
                      {"waves_per_simd", wavesPerSimd(usage, target)}};
  const int64_t groupWaves = llvm::divideCeil(usage.threads, target.amd.lanes * target.amd.simdsPerUnit);
  if (std::optional<LoopModel> model = modelMainLoop(assembly, wavesPerSimd(usage, target), groupWaves)) {
    resources.emplace_back("loop_model_clocks", model->clocks);
    resources.emplace_back("loop_model_matrix_percent", std::llround(100 * model->matrixShare()));
    resources.emplace_back("loop_instructions", model->instructions);
    resources.emplace_back("loop_matrix", model->matrix);
    resources.emplace_back("loop_vector", model->vector);
    resources.emplace_back("loop_transcendental", model->transcendental);
    resources.emplace_back("loop_lds", model->lds);
  }
  return {std::move(resources), std::move(name), {}};
}

} // namespace

void registerDialects(mlir::DialectRegistry &registry) {
  ir::registerBlockDialect(registry);
  registry.insert<mlir::cf::ControlFlowDialect, mlir::math::MathDialect, mlir::ub::UBDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerROCDLDialectTranslation(registry);
}

llvm::Expected<CompiledKernel> compile(mlir::OwningOpRef<mlir::ModuleOp> module, const Target &target,
                                       const Schedule &schedule, StageRecorder &stages) {
  const PipelineOptions options{target, schedule};

  // 1. tile -> block -> llvm.
  auto lowered = run(*module, "block", [&](auto &passes) { buildTileToBlock(passes, options); });
  // Also of a kernel that did not get through, as its memory could not be planned.
  if (auto error = checkBlock(*module, target, schedule)) {
    llvm::consumeError(std::move(lowered));
    return error;
  }
  if (lowered)
    return lowered;
  if (auto error = stages.record("block", "block.mlir", module))
    return error;
  if (auto error = checkBlock(*module, target, schedule)) // it may be an edited one
    return error;
  if (auto error = run(*module, "llvm", [&](auto &passes) { buildBlockToLlvm(passes, options); }))
    return error;
  if (auto error = stages.record("llvm", "llvm.mlir", module))
    return error;
  llvm::Expected<std::string> kernel = kernelName(*module);
  if (!kernel)
    return kernel.takeError();

  // 2. llvm -> assembly -> code object.
  llvm::Expected<std::string> emitted = emitForMostWaves(*module, target, *kernel);
  if (!emitted)
    return emitted.takeError();
  const std::string assembly = stages.record("amdgcn", "kernel.s", std::move(*emitted)).text;
  llvm::Expected<std::string> linked = codeObject(assembly, target);
  if (!linked)
    return linked.takeError();
  const Stage &hsaco = stages.record("hsaco", "kernel.hsaco", std::move(*linked));

  // 3. What it takes.
  llvm::Expected<Usage> usage = readUsage(hsaco.text, *kernel);
  if (!usage)
    return usage.takeError();
  if (auto error = checkFits(*usage, *kernel, target, schedule))
    return error;
  return compiledKernel(std::move(*kernel), *usage, assembly, target);
}

} // namespace sectile::amdgcn
