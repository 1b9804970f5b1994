// Code generation: MLIR's LLVM dialect -> LLVM IR -> an ELF object in memory.
//
// The usual O3 pipeline over LLVM IR is left out: our IR is already unrolled and vectorized; that pipeline doubles the
// compile time of attention and makes the code no faster.
#include "compiler/targets/GenerateCode.h"
#include "compiler/targets/cpu/Cpu.h"
#include "compiler/targets/cpu/X86.h"

#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace sectile::cpu {

const llvm::Target &x86Backend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  return *llvm::TargetRegistry::lookupTarget(llvm::Triple(tripleName), error);
}

namespace {

std::unique_ptr<llvm::TargetMachine> targetMachine(const Target &target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast; // a * b + c may be one fma: dots and softmax want it
  return std::unique_ptr<llvm::TargetMachine>(
      x86Backend().createTargetMachine(llvm::Triple(tripleName), target.processor, target.features, options,
                                       llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
}

} // namespace

llvm::Expected<std::string> emitObject(mlir::ModuleOp module, const Target &target) {
  const std::unique_ptr<llvm::TargetMachine> machine = targetMachine(target);
  // No exception passes through a kernel, and no unwind table is needed.
  return generateCode(module, *machine, llvm::CodeGenFileType::ObjectFile, target.name(), [&](llvm::Module &ir) {
    for (llvm::Function &function : ir)
      if (!function.isDeclaration()) {
        function.setDoesNotThrow();
        function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
      }
  });
}

} // namespace sectile::cpu
