// The block dialect in C++: see Block.td for what each operation means, Layout.h for what a layout is.
#pragma once

#include "compiler/ir/Fragments.h"
#include "compiler/ir/Swizzle.h"
#include "compiler/ir/Tile.h"

#include "mlir/IR/TensorEncoding.h"

namespace sectile::ir {

/// What reads and writes of shared memory touch, as side effects.
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SharedMemory)
  llvm::StringRef getName() final { return "SharedMemory"; }
};

/// On operations that take scratch memory (compiler/analysis/Scratch.h): where it begins in the block's shared memory.
constexpr llvm::StringLiteral scratchAttribute = "block.scratch";

} // namespace sectile::ir

#include "compiler/ir/BlockDialect.h.inc"
#include "compiler/ir/BlockEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/BlockAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/BlockTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/ir/BlockOps.h.inc"

namespace sectile::ir {

/// The layout of a tensor, which has one.
Layout layoutOf(mlir::RankedTensorType type);
Layout layoutOf(mlir::Value tensor);
/// The tensor type with this layout, of the same shape.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, const Layout &layout);

/// How the warps of an `mma` lie over the result of a product, read from the accumulator's layout; nothing when it is
/// no accumulator of mma.sync. Warps beyond m * n hold copies.
std::optional<WarpGrid> warpGridOf(const Layout &accumulator);
/// The layouts of an `mma` in which `warps` warps lie like that, those beyond holding copies. `bits` of an element of
/// the operands.
Layout accumulatorLayout(llvm::ArrayRef<int64_t> shape, WarpGrid grid, int64_t warps);
Layout operandALayout(llvm::ArrayRef<int64_t> shape, int bits, WarpGrid grid, int64_t warps);
Layout operandBLayout(llvm::ArrayRef<int64_t> shape, int bits, WarpGrid grid, int64_t warps);

/// That a launch guarantees what an asynchronous copy needs: the facts ("tile.aligned16", …) about its view.
llvm::LogicalResult verifyFacts(mlir::Operation *op, mlir::Value view, llvm::ArrayRef<llvm::StringRef> facts);

void registerBlockDialect(mlir::DialectRegistry &registry);

} // namespace sectile::ir
