// Where compiled code uses the results of wgmma.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class CallInst;
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace sectile::warps {

bool isProduct(const llvm::CallInst &call);

/// Results of products are numbers that stand for them (Products.h), and stay so through loops, branches, and further
/// products. Every other operation gets what `resolve` makes of them.
using Resolve = llvm::function_ref<llvm::Value *(llvm::Value *value, llvm::Instruction *before)>;
void resolveProductUses(llvm::Function &kernel, Resolve resolve);

} // namespace sectile::warps
