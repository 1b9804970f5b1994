// Code generation: MLIR's LLVM and ROCDL dialects -> LLVM IR -> assembly.
#include "compiler/targets/GenerateCode.h"
#include "compiler/targets/amdgcn/Backend.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace sectile::amdgcn {
namespace {

/// What kernels promise, which MLIR cannot say or need not repeat on each operation.
void annotate(llvm::Function &function, int64_t waves) {
  function.setDoesNotThrow();
  function.addFnAttr("amdgpu-waves-per-eu", std::to_string(waves) + "," + std::to_string(waves));
  function.addFnAttr("uniform-work-group-size", "true");
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::FPMathOperator>(instruction)) {
      llvm::FastMathFlags flags = instruction.getFastMathFlags();
      flags.setAllowContract();
      instruction.setFastMathFlags(flags);
    }
    // An empty assembly hides where a number comes from; it must not be moved across what other lanes do.
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
      call->setConvergent();
  }
}

/// LLVM's O3 with the target's own passes, which find out what a kernel needs of its launch (amdgpu-attributor):
/// without them accumulators are copied between register files. What unrolls and vectorizes is left out: kernels come
/// unrolled as far as their registers allow.
void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = tuning.LoopInterleaving = tuning.LoopVectorization = tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

/// By itself or in a vector.
bool isRoundedToHalf(const llvm::Value *value) {
  return llvm::any_of(value->users(), [](const llvm::User *user) {
    if (llvm::isa<llvm::FPTruncInst>(user))
      return user->getType()->getScalarType()->isHalfTy();
    return llvm::isa<llvm::InsertElementInst, llvm::ShuffleVectorInst>(user) && isRoundedToHalf(user);
  });
}

/// Code generation makes a product that is rounded to f16 an fma with +0 (v_fma_mixlo_f16), which turns -0 into 0. With
/// -0 as the addend, which it leaves alone, products are what they are.
void keepSignsOfZero(llvm::Function &function) {
  llvm::SmallVector<llvm::Instruction *> products;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (instruction.getOpcode() == llvm::Instruction::FMul && isRoundedToHalf(&instruction))
      products.push_back(&instruction);
  for (llvm::Instruction *product : products) {
    llvm::IRBuilder<> builder(product);
    llvm::Type *type = product->getType();
    product->replaceAllUsesWith(builder.CreateIntrinsic(
        llvm::Intrinsic::fma, type,
        {product->getOperand(0), product->getOperand(1), llvm::ConstantFP::getNegativeZero(type)}));
    product->eraseFromParent();
  }
}

} // namespace

llvm::Expected<std::string> emitAssembly(mlir::ModuleOp module, const Target &target, int64_t waves) {
  const std::unique_ptr<llvm::TargetMachine> machine = targetMachine(target);
  return generateCode(module, *machine, llvm::CodeGenFileType::AssemblyFile, target.name(), [&](llvm::Module &ir) {
    for (llvm::Function &function : ir)
      if (!function.isDeclaration())
        annotate(function, waves);
    optimize(ir, *machine);
    for (llvm::Function &function : ir)
      keepSignsOfZero(function);
  });
}

} // namespace sectile::amdgcn
