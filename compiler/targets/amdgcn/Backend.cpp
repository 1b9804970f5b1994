#include "compiler/targets/amdgcn/Backend.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace sectile::amdgcn {

const llvm::Target &backend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
  });
  std::string error;
  return *llvm::TargetRegistry::lookupTarget(llvm::Triple(tripleName), error);
}

std::unique_ptr<llvm::TargetMachine> targetMachine(const Target &target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast; // a * b + c may be one fma
  return std::unique_ptr<llvm::TargetMachine>(
      backend().createTargetMachine(llvm::Triple(tripleName), target.processor, /*Features=*/"", options,
                                    llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

} // namespace sectile::amdgcn
