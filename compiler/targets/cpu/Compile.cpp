#include "compiler/ir/DiagnosticLog.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/cpu/Cpu.h"
#include "compiler/targets/cpu/Pipeline.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::cpu {
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

/// The one function of a vector stage.
llvm::Expected<mlir::func::FuncOp> kernelFunction(mlir::ModuleOp module) {
  auto functions = module.getOps<mlir::func::FuncOp>();
  if (!llvm::hasSingleElement(functions))
    return userError(llvm::formatv("the vector stage has {0} functions (func.func), a kernel has exactly one",
                                   std::distance(functions.begin(), functions.end())));
  return *functions.begin();
}

} // namespace

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, mlir::cf::ControlFlowDialect, mlir::math::MathDialect, mlir::ub::UBDialect,
                  mlir::vector::VectorDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

llvm::Expected<CompiledKernel> compile(mlir::OwningOpRef<mlir::ModuleOp> module, const Target &target,
                                       const Schedule &schedule, StageRecorder &stages) {
  const CpuPipelineOptions options{target, schedule};

  // 1. tile -> vector.
  if (auto error = run(*module, "vector", [&](auto &passes) { buildTileToVector(passes, options); }))
    return error;
  if (auto error = stages.record("vector", "vector.mlir", module))
    return error;
  llvm::Expected<mlir::func::FuncOp> function = kernelFunction(*module);
  if (!function)
    return function.takeError();
  CompiledKernel kernel;
  kernel.entry = function->getSymName().str();
  auto scratch = (*function)->getAttrOfType<mlir::IntegerAttr>("sectile.scratch_bytes");
  if (!scratch)
    return userError(llvm::formatv("the function @{0} of the vector stage lacks the attribute sectile.scratch_bytes "
                                   "(an i64: the bytes of scratch memory it uses)",
                                   kernel.entry));

  // 2. vector -> llvm.
  int64_t scratchBytes = scratch.getInt();
  if (auto error = run(*module, "llvm", [&](auto &passes) { buildVectorToLlvm(passes, options); }))
    return error;
  if (auto error = stages.record("llvm", "llvm.mlir", module))
    return error;

  // 3. llvm -> object.
  llvm::Expected<std::string> emitted = emitObject(*module, target);
  if (!emitted)
    return emitted.takeError();
  const Stage &object = stages.record("object", "kernel.o", std::move(*emitted));
  llvm::Expected<int64_t> codeBytes = checkObject(object.text, kernel.entry);
  if (!codeBytes)
    return codeBytes.takeError();
  kernel.resources = {{"scratch_bytes", scratchBytes}, {"code_bytes", *codeBytes}};
  return kernel;
}

} // namespace sectile::cpu
