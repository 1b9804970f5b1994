// Indices of a loop's accesses, computed for another iteration.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace sectile {

/// Collects the operations of the loop that indices are computed with, operands first; false when one is not computed
/// from the induction variable and values of before the loop alone.
bool collectIndexing(mlir::ValueRange indices, mlir::scf::ForOp loop, llvm::SetVector<mlir::Operation *> &indexing);

/// The indices as they are when the induction variable is `iteration`, computed at the insertion point.
llvm::SmallVector<mlir::Value> indicesAt(mlir::OpBuilder &builder, mlir::ValueRange indices, mlir::scf::ForOp loop,
                                         const llvm::SetVector<mlir::Operation *> &indexing, mlir::Value iteration);

} // namespace sectile
