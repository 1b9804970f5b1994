// Which products of a kernel wgmma computes, from tiles that TMA brings.
#pragma once

#include "compiler/ir/Block.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace sectile {

/// Whether TMA can bring the tile: of an input whose view it can map (tile.bulk), padded with zeros, in panels whose
/// rows the matrix unit reads (32, 64 or 128 bytes), in boxes of up to 256 rows.
bool isBulkLoad(ir::LoadOp load);

/// The columns of a panel of such a tile.
int64_t panelColumns(mlir::RankedTensorType tile);

/// The load behind an operand of a product, through its transposes, or null; and whether these transpose it.
std::pair<ir::LoadOp, bool> loadBehind(mlir::Value operand);

/// Whether a branch is taken by some warps alone: its condition is a tile.any.
bool isTakenByWarps(mlir::scf::IfOp branch);

/// The products that `warps` warps of a kernel compute by wgmma: all of them, except those in branches that warps take
/// alone; or none, when one of them cannot, when there are none, or when what is copied where depends on tensors, which
/// the warps that copy do not have.
llvm::SmallPtrSet<mlir::Operation *, 4> wgmmaProducts(ir::KernelOp kernel, int64_t warps);

/// The scalar operations of a kernel that `roots` need, with the loops and branches around both. False when one of them
/// takes something from a tensor.
bool collectScalars(mlir::Operation *kernel, llvm::ArrayRef<mlir::Operation *> roots,
                    llvm::SetVector<mlir::Operation *> &needed);

} // namespace sectile
