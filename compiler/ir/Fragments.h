// Fragments: how the matrix instructions of NVIDIA GPUs hold their operands, as layouts.
//
// All of them are one pattern. A register has 32 bits, `pack` = 32 / bits elements; eight groups of four lanes share a
// block of 8 rows and 4 * pack columns, a group each row, a lane each register of it:
//
//     operand A [m, k]     lane = 4 g + t has row g, columns pack * t …   then row + 8, then column + 4 * pack
//     operand B [k, n]     the same turned over: column n = g, rows k = pack * t …   then row + 4 * pack
//     accumulator [m, n]   pairs of 32-bit numbers: row g, columns 2 t and 2 t + 1, then row + 8
//
//     instruction                        bits   pack   k of A and B    registers of 32 bits: A  B  accumulator
//     mma m16n8k8    f16, bf16            16      2         8                                2  1  4
//     mma m16n8k16   f16, bf16            16      2        16                                4  2  4
//     mma m16n8k8    tf32                 32      1         8                                4  2  4
//     mma m16n8k32   fp8, int8             8      4        32                                4  2  4
//     wgmma m64nNk…  A in registers      any     32/bits   256 bits                          4  -  N / 2
//
// So an accumulator of f32 that is converted to 16 bits is operand A of the next product (k16), register by register:
// conversion() finds that nothing moves. 8 bits need a shuffle.
//
// Warps take their own rows (warpsM) and columns (warpsN); warp = row of warps + warpsM * column of warps. Where an
// operand does not depend on it, warps hold copies.
//
// ldmatrix reads such fragments from shared memory whose rows run along k (A as stored, B from its transpose), and
// ldmatrix.trans those with 16 bits whose rows run across k. It moves up to four matrices of 8 rows of 16 bytes; lane
// 8 i + r gives the address of row r of matrix i. stmatrix writes by the same rule.
//
//     example: operand A, 16 bits, 16x16      matrix 0 at (0,0), 1 at (8,0), 2 at (0,8), 3 at (8,8): lane l gives the
//                                             address of row l % 16, column l / 16 * 8
#pragma once

#include "compiler/ir/Layout.h"

namespace sectile::ir {

/// Shapes of warps over the result of a product.
struct WarpGrid {
  int64_t m = 1, n = 1; ///< powers of two
};

/// The accumulator of mma.sync m16n8k…, f32 or s32 (or f16), of shape [m, n].
Layout mmaAccumulator(llvm::ArrayRef<int64_t> shape, WarpGrid warps);
/// Operand A of shape [m, k] for an instruction with this k: 4 or 8 times 32 / bits. `bits` of an element: 8, 16, 32.
Layout mmaOperandA(llvm::ArrayRef<int64_t> shape, int bits, int64_t instructionK, WarpGrid warps);
/// Operand B of shape [k, n].
Layout mmaOperandB(llvm::ArrayRef<int64_t> shape, int bits, int64_t instructionK, WarpGrid warps);

/// The accumulator of wgmma m64nN: warp groups of four warps, each group takes 64 rows and all columns.
Layout wgmmaAccumulator(llvm::ArrayRef<int64_t> shape, int64_t warpGroups);
/// Operand A of wgmma in registers, k of 256 bits.
Layout wgmmaOperandA(llvm::ArrayRef<int64_t> shape, int bits, int64_t warpGroups);

/// One ldmatrix or stmatrix: `count` (1, 2, 4) matrices to or from as many packed registers. `firstRegister` counts
/// elements, as Layout does: matrix i is registers firstRegister + i * 32 / bits and on.
struct MatrixAccess {
  int64_t firstRegister;
  int count;
  Coordinates base; ///< of the row of lane 0, in elements of the tensor, in warp 0
  llvm::SmallVector<Coordinates, 5>
      laneBits; ///< what each bit of a lane adds to the row's place, bits that nothing else has; warpBits() come on top
  Coordinates row(int64_t lane) const;
};

/// The ldmatrix (stmatrix) instructions that fill (empty) all registers of a layout of rank 2. Rows of 16 bytes run
/// along dimension `contiguous` of the tensor: 1 when shared memory holds it as it is, 0 when it holds the transpose.
/// `trans` says whether the instructions have .trans. Empty when the layout is no such fragment, or 8 or 32 bits would
/// need .trans. Matrices wholly past the shape are left out; a row of another one may lie past it, so the memory must
/// reach as far as the atom does, or the address be clamped.
struct MatrixAccesses {
  bool trans;
  llvm::SmallVector<MatrixAccess, 0> accesses;
};
std::optional<MatrixAccesses> matrixAccesses(const Layout &layout, int bits, size_t contiguous);

} // namespace sectile::ir
