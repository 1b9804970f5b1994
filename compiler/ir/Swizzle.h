// Tiles in shared memory: rows of bytes whose 16-byte chunks are permuted, so that no access meets a bank twice.
//
// Shared memory has 32 banks of 4 bytes: 8 chunks of 16 bytes side by side. Rows written one after another in chunks
// keep all banks busy; but 8 rows read at the same column (what ldmatrix does) would find their chunks in as few banks
// as the length of a row allows. The remedy: in row r, chunk c is stored at place c ^ (r / step % span). With rows of
// 64 bytes (step 2, span 4), where each line below is the 128 bytes that the banks serve at once:
//
//            chunk 0 1 2 3        0 1 2 3
//     row 0:       0 1 2 3 row 1: 0 1 2 3        A column of chunks, say 0: without the swizzle, places 0 and 4 only,
//     row 2:       1 0 3 2 row 3: 1 0 3 2        four rows to each; with it, places 0 4 1 5 2 6 3 7: one row to each.
//     row 4:       2 3 0 1 row 5: 2 3 0 1
//     row 6:       3 2 1 0 row 7: 3 2 1 0
//
//     bytes a row     chunks      step   span     also known as
//     128 * k         8 * k         1      8      128-byte swizzle of TMA and wgmma (rows of 128 bytes)
//      64 * odd       4 * odd       2      4       64-byte swizzle (64)
//      32 * odd       2 * odd       4      2       32-byte swizzle (32)
//      16 * odd       odd           -      1       none: an odd number of chunks does it by itself
//
// The table is Swizzle::forRows; it serves ldmatrix, ldmatrix.trans, stmatrix and rows of 16-byte chunks of cp.async
// alike. Other accesses are counted, not guessed: bankConflicts() and chooseSwizzle().
#pragma once

#include "compiler/ir/Layout.h"

namespace sectile::ir {

struct Swizzle {
  int64_t rowBytes;  ///< from row to row; a multiple of unit * span
  int64_t step = 1;  ///< rows that share a permutation
  int64_t span = 1;  ///< chunks that change places; 1: plain row-major
  int64_t unit = 16; ///< bytes of a chunk; vectors of up to 16 bytes stay whole in chunks that are no shorter

  static Swizzle plain(int64_t rowBytes) { return {rowBytes}; }
  /// Free of conflicts for rows of 16 bytes and for ldmatrix, when rowBytes is a multiple of 16; else plain.
  static Swizzle forRows(int64_t rowBytes);
  /// What is wrong: a row that is no multiple of the chunks that change places, numbers that are no powers of two.
  std::optional<std::string> verify() const;

  /// In bytes, of a byte of a row.
  int64_t offset(int64_t row, int64_t byte) const;
  /// From Axis::offset, in elements, to dim(0), dim(1); sizes are powers of two, `bits` of an element at least 8.
  LinearLayout linear(int64_t rows, int64_t columns, int bits) const;
  bool operator==(const Swizzle &) const = default;
};

/// How the registers of a tensor go to or come from shared memory.
struct SharedAccess {
  Layout layout;   ///< of the tensor, rank 2
  int bits;        ///< of an element
  bool transposed; ///< the buffer holds the transpose of the tensor
  /// By ld.shared/st.shared of so many bytes (at most vectorBytes()), or 0: by ldmatrix/stmatrix.
  int64_t bytes;
};
/// The longest vectors of at most 16 bytes: neighbours in the layout and in every swizzle of this unit.
int64_t vectorBytes(const Layout &layout, int bits, bool transposed, int64_t unit = 16);

/// Extra passes over the banks of one access: lane i reads or writes `bytes` (1 to 16) at offsets[i]. A pass serves 32
/// lanes (16 when they access 8 bytes each, 8 when 16) as long as no two of them need different words of one bank.
int64_t bankConflicts(llvm::ArrayRef<int64_t> offsets, int64_t bytes);
/// The sum over all instructions of one warp. ldmatrix must be possible where the access asks for it.
int64_t bankConflicts(const Swizzle &swizzle, const SharedAccess &access);

/// Of all swizzles of rows with so many bytes the one with the fewest conflicts in both accesses together; the chunks
/// are not shorter than the longest vector of either. The simplest one when several are equal.
Swizzle chooseSwizzle(int64_t rowBytes, const SharedAccess &write, const SharedAccess &read);

} // namespace sectile::ir
