// Code generation: MLIR's LLVM and NVVM dialects -> LLVM IR -> PTX.
#include "compiler/targets/GenerateCode.h"
#include "compiler/targets/nvptx/Nvptx.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace sectile::nvptx {
namespace {

constexpr llvm::StringLiteral tripleName = "nvptx64-nvidia-cuda";

/// LLVM's NVPTX code generator, which registers itself with LLVM on first use.
const llvm::Target &nvptxBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  return *llvm::TargetRegistry::lookupTarget(llvm::Triple(tripleName), error);
}

std::unique_ptr<llvm::TargetMachine> targetMachine(const Target &target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast; // a * b + c may be one fma
  const std::string features = "+ptx" + std::to_string(target.nvidia.ptxVersion);
  return std::unique_ptr<llvm::TargetMachine>(
      nvptxBackend().createTargetMachine(llvm::Triple(tripleName), target.processor, features, options, std::nullopt,
                                         std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// What kernels promise, which MLIR cannot say or need not repeat on each operation.
void annotate(llvm::Function &function) {
  function.setDoesNotThrow();
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::FPMathOperator>(instruction)) {
      llvm::FastMathFlags flags = instruction.getFastMathFlags();
      flags.setAllowContract();
      // Approximations of quotients and square roots are off by more than their last bit, which few do not mind.
      const auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      const bool isRounded = (instruction.getOpcode() == llvm::Instruction::FDiv && !flags.allowReciprocal()) ||
                             (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::sqrt);
      flags.setApproxFunc(!isRounded);
      instruction.setFastMathFlags(flags);
    }
    // Assembly may wait for other threads or exchange values with them, and matrix instructions do: no optimization may
    // move them into a branch that some threads do not take, such as the one around a store.
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
    if (call && (call->isInlineAsm() || (callee && callee->getName().starts_with("llvm.nvvm.mma."))))
      call->setConvergent();
  }
}

/// How many loops are around a program, in a kernel whose blocks stay.
unsigned programLoops(mlir::ModuleOp module) {
  unsigned loops = 0;
  module.walk([&](mlir::Operation *function) {
    if (auto number = function->getAttrOfType<mlir::IntegerAttr>("sectile.persistent"))
      loops = static_cast<unsigned>(number.getInt());
  });
  return loops;
}

/// LLVM's O3. What unrolls and vectorizes is left out: kernels come unrolled as far as their registers allow. Nothing
/// moves out of the loops over programs: it would be in a register, or spilled, throughout the loops of a program.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned programLoops) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = tuning.LoopInterleaving = tuning.LoopVectorization = tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback([&](llvm::StringRef pass, llvm::Any unit) {
    const auto *loop = llvm::any_cast<const llvm::Loop *>(&unit);
    return pass != "LICMPass" || !loop || (*loop)->getLoopDepth() > programLoops;
  });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks); // with the target's own passes
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

} // namespace

llvm::Expected<std::string> emitPtx(mlir::ModuleOp module, const Target &target) {
  const std::unique_ptr<llvm::TargetMachine> machine = targetMachine(target);
  return generateCode(module, *machine, llvm::CodeGenFileType::AssemblyFile, target.name(), [&](llvm::Module &ir) {
    for (llvm::Function &function : ir)
      if (!function.isDeclaration())
        annotate(function);
    optimize(ir, *machine, programLoops(module));
  });
}

} // namespace sectile::nvptx
