// Code generation: MLIR's LLVM dialect -> LLVM IR -> an ELF object in memory.
//
// The usual O3 pipeline over LLVM IR is left out: our IR is already unrolled and vectorized; that pipeline doubles the
// compile time of attention and makes the code no faster.
#include "compiler/ir/DiagnosticLog.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/CollectErrors.h"
#include "compiler/targets/cpu/Cpu.h"
#include "compiler/targets/cpu/X86.h"

#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
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
  // 1. To LLVM IR.
  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(errors));
  DiagnosticLog diagnostics(*module.getContext());
  std::unique_ptr<llvm::Module> ir = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!ir)
    return internalError("the llvm stage does not translate to LLVM IR:\n" + diagnostics.text());

  // 2. For this processor. No exception passes through a kernel, and no unwind table is needed.
  std::unique_ptr<llvm::TargetMachine> machine = targetMachine(target);
  ir->setTargetTriple(machine->getTargetTriple());
  ir->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *ir) {
    if (function.isDeclaration())
      continue;
    function.setDoesNotThrow();
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
  }

  // 3. To machine code.
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile, /*DisableVerify=*/true))
    return internalError("LLVM's x86 code generator cannot emit an object");
  passes.run(*ir);
  if (!errors.empty())
    return internalError("code generation for '" + target.name() + "' failed:\n" + errors);
  return object.str().str();
}

} // namespace sectile::cpu
