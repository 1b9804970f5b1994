#include "compiler/ir/Block.h"
#include "compiler/ir/DiagnosticLog.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/Nvptx.h"
#include "compiler/targets/nvptx/Pipeline.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::nvptx {
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

/// The registers of 32 bits that a thread holds at least: what the tensors take that a loop carries from pass to pass,
/// with the loops around it.
int64_t carriedRegisters(mlir::Operation *kernel) {
  int64_t most = 0;
  kernel->walk([&](mlir::scf::ForOp inner) {
    int64_t bits = 0;
    for (auto loop = inner; loop; loop = loop->getParentOfType<mlir::scf::ForOp>())
      for (mlir::Type type : loop.getResultTypes())
        if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type); tensor && tensor.getEncoding())
          bits += ir::layoutOf(tensor).registers() * tensor.getElementTypeBitWidth();
    most = std::max(most, bits / 32);
  });
  return most;
}

/// Refuses a kernel of the block stage that no multiprocessor can hold.
llvm::Error checkBlock(mlir::ModuleOp module, const Target &target, const Schedule &schedule) {
  for (auto kernel : module.getOps<ir::BlockKernelOp>()) {
    const Usage usage{.threads = int64_t{kernel.getWarps()} * 32,
                      .sharedBytes = static_cast<int64_t>(kernel.getSharedBytes().value_or(0)),
                      .registers = carriedRegisters(kernel)};
    if (auto error = checkFits(usage, kernel.getSymName(), target, schedule))
      return error;
  }
  return llvm::Error::success();
}

/// What the llvm stage says of its kernel.
struct KernelFunction {
  std::string name;
  Usage usage; ///< threads and shared memory
  std::vector<TensorMap> tensorMaps;
  bool isPersistent = false; ///< launched with as many blocks as run at a time
};

llvm::Expected<KernelFunction> kernelFunction(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> kernels;
  for (mlir::Operation &operation : *module.getBody()) // by names: the LLVM dialect's header is large
    if (operation.getName().getStringRef() == "llvm.func" && operation.hasAttr("nvvm.kernel"))
      kernels.push_back(&operation);
  if (kernels.size() != 1)
    return userError(
        llvm::formatv("the llvm stage has {0} functions with nvvm.kernel, a kernel is exactly one", kernels.size()));
  KernelFunction kernel{mlir::SymbolTable::getSymbolName(kernels.front()).str(), {}, {}};
  kernel.isPersistent = kernels.front()->hasAttr("sectile.persistent");
  for (auto [name, member] :
       {std::pair("sectile.threads", &Usage::threads), {"sectile.shared_bytes", &Usage::sharedBytes}}) {
    auto attribute = kernels.front()->getAttrOfType<mlir::IntegerAttr>(name);
    if (!attribute || attribute.getInt() < (member == &Usage::threads))
      return userError(
          llvm::formatv("the function @{0} of the llvm stage lacks the attribute {1} (an i64)", kernel.name, name));
    kernel.usage.*member = attribute.getInt();
  }
  llvm::Expected<std::vector<TensorMap>> maps = readTensorMaps(kernels.front());
  if (!maps)
    return maps.takeError();
  kernel.tensorMaps = std::move(*maps);
  return kernel;
}

CompiledKernel compiledKernel(KernelFunction kernel, const Usage &usage, const Target &target) {
  Resources resources{{"threads", usage.threads}, {"shared_bytes", usage.sharedBytes}};
  if (!kernel.tensorMaps.empty())
    resources.emplace_back("tensor_maps", kernel.tensorMaps.size());
  if (kernel.isPersistent)
    resources.emplace_back("persistent", 1);
  if (usage.registers) // assembled
    for (auto [name, value] : {std::pair("registers", usage.registers),
                               {"spill_bytes", usage.stackBytes},
                               {"code_bytes", usage.codeBytes},
                               {"occupancy_blocks", occupancy(usage, target)}})
      resources.emplace_back(name, value);
  return {std::move(resources), std::move(kernel.name), std::move(kernel.tensorMaps)};
}

} // namespace

void registerDialects(mlir::DialectRegistry &registry) {
  ir::registerBlockDialect(registry);
  registry.insert<mlir::cf::ControlFlowDialect, mlir::math::MathDialect, mlir::ub::UBDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
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
  llvm::Expected<KernelFunction> kernel = kernelFunction(*module);
  if (!kernel)
    return kernel.takeError();

  // 2. llvm -> PTX.
  llvm::Expected<std::string> emitted = emitPtx(*module, target);
  if (!emitted)
    return emitted.takeError();
  const Stage &ptx = stages.record("ptx", "kernel.ptx", std::move(*emitted));
  if (assemblerFor(ptx.text, target).kind == Target::Nvidia::Assembler::Kind::none)
    return compiledKernel(*kernel, kernel->usage, target);

  // 3. PTX -> cubin.
  llvm::Expected<std::string> assembled = assemble(ptx.text, target);
  if (!assembled)
    return assembled.takeError();
  const Stage &cubin = stages.record("cubin", "kernel.cubin", std::move(*assembled));
  llvm::Expected<Usage> usage = readCubin(cubin.text, kernel->name);
  if (!usage)
    return usage.takeError();
  usage->threads = kernel->usage.threads;
  usage->sharedBytes = kernel->usage.sharedBytes;
  return compiledKernel(*kernel, *usage, target);
}

} // namespace sectile::nvptx
