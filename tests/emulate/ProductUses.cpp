#include "tests/emulate/ProductUses.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

bool sectile::warps::isProduct(const llvm::CallInst &call) {
  const auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
  return assembly && assembly->getAsmString().contains("wgmma.mma_async");
}

/// Whether the user only hands on what an operand holds.
static bool handsOn(const llvm::Use &use) {
  const llvm::User *user = use.getUser();
  if (const auto *select = llvm::dyn_cast<llvm::SelectInst>(user))
    return use.get() != select->getCondition();
  return llvm::isa<llvm::PHINode, llvm::FreezeInst, llvm::ExtractValueInst, llvm::InsertValueInst>(user);
}

/// Accumulators are the operands that are f32; A in registers comes in words.
static bool isAccumulator(const llvm::Use &use) {
  const auto *call = llvm::dyn_cast<llvm::CallInst>(use.getUser());
  return call && sectile::warps::isProduct(*call) && use->getType()->isFloatTy();
}

void sectile::warps::resolveProductUses(llvm::Function &kernel, Resolve resolve) {
  llvm::SetVector<llvm::Value *> results;
  for (llvm::Instruction &instruction : llvm::instructions(kernel))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && isProduct(*call))
      results.insert(call);
  llvm::SmallVector<llvm::Use *> uses;
  for (size_t i = 0; i < results.size(); ++i)
    for (llvm::Use &use : results[i]->uses()) {
      if (handsOn(use))
        results.insert(use.getUser());
      else if (!isAccumulator(use))
        uses.push_back(&use);
    }
  for (llvm::Use *use : uses)
    use->set(resolve(use->get(), llvm::cast<llvm::Instruction>(use->getUser())));
}
