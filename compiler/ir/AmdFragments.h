// Fragments: how the matrix instructions of AMD GPUs hold their operands, as layouts.
//
// Products are computed transposed: an instruction gets B^T as its first operand and A^T as its second, and gives D^T.
// A lane then holds one row of the result (in attention: a query) and its registers run along the columns, so that what
// is one number a row is one number a lane, and rows are summed up within lanes. In our tensors' terms, for lane l,
// register r, element i of an operand:
//
//     instruction              lanes    accumulator [m, n]                       operand A [m, k]; B [k, n] turned over
//     MFMA 32x32x8  (CDNA)      64      row l % 32, column 8 (r/4) + 4 (l/32)    row l % 32, k = 4 (l/32) + i
//                                       + r % 4
//     WMMA 16x16x16 (RDNA 3)    32      row l % 16, column 2 r + l/16            row l % 16, k = i; lanes 16 to 31 hold
//                                                                                copies
//     WMMA 16x16x16 (RDNA 4)    32      row l % 16, column r + 8 (l/16)          row l % 16, k = 8 (l/16) + i
//
// On CDNA an atom is 16 deep, 8 elements a lane: two instructions of 32x32x8 with four each, or one of 32x32x16
// (gfx950). Which k an element has does not matter as long as A and B agree, so that there are two orders:
//
//     DepthOrder::wide             k = 8 (l/32) + i: 16 bytes in a row, as they are read best from memory
//     DepthOrder::asAccumulator    k = 8 (i/4) + 4 (l/32) + i % 4: where an accumulator has its columns. What was made
//                                  of one, converted to 16 bits, is operand A: nothing moves.
//
// RDNA 4's operand has the accumulator's order as it is; to RDNA 3's lanes send each other half of what they have.
//
// (AMD's ISA documents, "Matrix Arithmetic Instructions" and "Wave Matrix Multiply Accumulate", have the formulas.)
#pragma once

#include "compiler/ir/Fragments.h"

namespace sectile::ir {

enum class AmdUnit { mfma, wmma11, wmma12 };
enum class DepthOrder { wide, asAccumulator };

/// Rows and columns of an instruction's result.
constexpr int64_t amdTile(AmdUnit unit) { return unit == AmdUnit::mfma ? 32 : 16; }
constexpr int64_t amdLanes(AmdUnit unit) { return unit == AmdUnit::mfma ? 64 : 32; }

/// `warps` of them, those beyond the grid holding copies.
Layout amdAccumulator(AmdUnit unit, llvm::ArrayRef<int64_t> shape, WarpGrid grid, int64_t warps);
Layout amdOperandA(AmdUnit unit, DepthOrder order, llvm::ArrayRef<int64_t> shape, WarpGrid grid, int64_t warps);
Layout amdOperandB(AmdUnit unit, DepthOrder order, llvm::ArrayRef<int64_t> shape, WarpGrid grid, int64_t warps);

/// Whose accumulator a layout is, and how warps lie over it; nothing when it is none.
struct AmdProduct {
  AmdUnit unit;
  WarpGrid grid;
};
std::optional<AmdProduct> amdProductOf(const Layout &accumulator);

} // namespace sectile::ir
