#include "compiler/transforms/LoopIndexing.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

bool sectile::collectIndexing(ValueRange indices, scf::ForOp loop, llvm::SetVector<Operation *> &indexing) {
  for (Value value : indices) {
    if (value == loop.getInductionVar() || !loop.getRegion().isAncestor(value.getParentRegion()))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || !isMemoryEffectFree(op) || op->getNumRegions() != 0 || op->getBlock() != loop.getBody() ||
        !collectIndexing(op->getOperands(), loop, indexing))
      return false;
    indexing.insert(op);
  }
  return true;
}

SmallVector<Value> sectile::indicesAt(OpBuilder &builder, ValueRange indices, scf::ForOp loop,
                                      const llvm::SetVector<Operation *> &indexing, Value iteration) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), iteration);
  for (Operation *op : indexing)
    builder.clone(*op, mapping);
  SmallVector<Value> result;
  for (Value index : indices)
    result.push_back(mapping.lookupOrDefault(index));
  return result;
}
