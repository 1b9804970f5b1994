#include "compiler/targets/GenerateCode.h"

#include "compiler/ir/DiagnosticLog.h"
#include "compiler/support/Diagnostic.h"

#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace sectile;

namespace {

/// LLVM reports through its context; an error there must not end the process.
class CollectErrors : public llvm::DiagnosticHandler {
public:
  explicit CollectErrors(std::string &errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream os(errors);
      llvm::DiagnosticPrinterRawOStream printer(os);
      info.print(printer);
      os << '\n';
    }
    return true;
  }

private:
  std::string &errors;
};

} // namespace

llvm::Expected<std::string> sectile::generateCode(mlir::ModuleOp module, llvm::TargetMachine &machine,
                                                  llvm::CodeGenFileType type, const std::string &target,
                                                  llvm::function_ref<void(llvm::Module &)> prepare) {
  // 1. To LLVM IR.
  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(errors));
  DiagnosticLog diagnostics(*module.getContext());
  std::unique_ptr<llvm::Module> ir = mlir::translateModuleToLLVMIR(module, context, "kernel");
  if (!ir)
    return internalError("the llvm stage does not translate to LLVM IR:\n" + diagnostics.text());

  // 2. For this machine.
  ir->setTargetTriple(machine.getTargetTriple());
  ir->setDataLayout(machine.createDataLayout());
  prepare(*ir);

  // 3. To its code.
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream os(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, type, /*DisableVerify=*/true))
    return internalError("LLVM's code generator for '" + target + "' cannot emit this type of file");
  passes.run(*ir);
  if (!errors.empty())
    return internalError("code generation for '" + target + "' failed:\n" + errors);
  return code.str().str();
}
