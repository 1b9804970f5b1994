// The llvm stage through an LLVM backend: what every target that ends in one shares.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace sectile {

/// Translates a module of the llvm dialect, has `prepare` annotate and optimize it for the machine, and generates
/// assembly or an object. Errors name `target`.
llvm::Expected<std::string> generateCode(mlir::ModuleOp module, llvm::TargetMachine &machine,
                                         llvm::CodeGenFileType type, const std::string &target,
                                         llvm::function_ref<void(llvm::Module &)> prepare);

} // namespace sectile
