// Linear layouts: which bit of an index moves which coordinate.
//
// Where does lane 13 of a warp find its part of a tile? Where in shared memory is element (3, 5)? On a GPU the answers
// are made of powers of two, so they are linear over GF(2): the place of index x is the XOR of the places of the bits
// that are set in x. A layout is therefore a short table with one row, the *basis*, for each bit of the input:
//
//     index -> (row, column)                     L(0)  = (0, 0)
//       1   -> (0, 1)                            L(1)  = (0, 1)
//       2   -> (0, 2)                            L(5)  = L(4) ^ L(1) = (1, 1) ^ (0, 1) = (1, 0)
//       4   -> (1, 1)                            L(14) = L(8) ^ L(4) ^ L(2) = (2, 2) ^ (1, 1) ^ (0, 2) = (3, 1)
//       8   -> (2, 2)
//
// and the four rows say all there is to say about a 4x4 tile in shared memory whose rows are swizzled, so that neither
// reading a row nor reading a column meets one bank twice:
//
//               offset 0 1 2 3                              column 0  1  2  3
//         0 ..  3:    00 01 02 03       the inverse:   row 0:      0  1  2  3
//         4 ..  7:    11 10 13 12       (row, column)  row 1:      5  4  7  6
//         8 .. 11:    22 23 20 21       -> offset      row 2:     10 11  8  9
//        12 .. 15:    33 32 31 30                      row 3:     15 14 13 12
//
// Inputs and outputs are split into named axes. How one warp holds the 16x8 result of a matrix instruction, four
// numbers in each of 32 lanes, is
//
//     register=1 -> (0, 1)    lane=1 -> (0, 2)    lane=4  -> (1, 0)      lane 13, register 2: 13 = 8 + 4 + 1, so
//     register=2 -> (8, 0)    lane=2 -> (0, 4)    lane=8  -> (2, 0)      (8, 0) ^ (2, 0) ^ (1, 0) ^ (0, 2) = (11, 2)
//                                                 lane=16 -> (4, 0)
//
// Questions about layouts become linear algebra:
//
//     question                                    answer
//     who holds element (i, j)?                   L.inverse(), L.rightInverse()
//     where does a value go from layout A to B?   A.compose(B.inverse())
//     does every lane hold something else?        L.isInjective(); a basis that is 0 marks copies
//     four warps, 16 rows each                    L * LinearLayout::identity(Axis::warp, dim(0), 4)
//     is L made of whole vectors of four?         L.quotient(LinearLayout::identity(Axis::reg, dim(1), 4))
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sectile::ir {

/// What an input or an output of a layout counts. `dim0 + i` is coordinate i of a tile: see dim().
enum class Axis : uint8_t { reg, lane, warp, block, offset, dim0 };
constexpr Axis dim(size_t index) { return static_cast<Axis>(static_cast<size_t>(Axis::dim0) + index); }
std::string toString(Axis axis); ///< "register", "lane", …, "dim1"

/// One number for each output axis of a layout, or each dimension of a tile.
using Coordinates = llvm::SmallVector<int64_t, 3>;

class LinearLayout {
public:
  /// An input axis: basis i is where bit i goes, a coordinate for each output.
  struct Input {
    Axis axis;
    llvm::SmallVector<Coordinates, 5> bases;
    bool operator==(const Input &) const = default;
  };
  /// An output axis: coordinates from 0 to size - 1, size a power of two.
  struct Output {
    Axis axis;
    int64_t size;
    bool operator==(const Output &) const = default;
  };
  using Point = llvm::ArrayRef<std::pair<Axis, int64_t>>;

  /// The map from nothing to nothing, neutral in products.
  LinearLayout() = default;
  /// Of parts that verify() accepts.
  LinearLayout(llvm::SmallVector<Input, 4> inputs, llvm::SmallVector<Output, 3> outputs);
  /// What is wrong with the parts of a layout: an axis given twice, a size that is no power of two, a basis with too
  /// few coordinates or one outside of its axis.
  static std::optional<std::string> verify(llvm::ArrayRef<Input> inputs, llvm::ArrayRef<Output> outputs);

  /// x -> x, of `size` values (a power of two).
  static LinearLayout identity(Axis input, Axis output, int64_t size);
  /// x -> 0: `size` copies of the same thing.
  static LinearLayout zeros(Axis input, Axis output, int64_t size);

  // --- what it is ---
  llvm::ArrayRef<Input> inputs() const { return ins; }
  llvm::ArrayRef<Output> outputs() const { return outs; }
  /// The bases of an axis, none when the layout lacks it.
  llvm::ArrayRef<Coordinates> bases(Axis input) const;
  int64_t inputSize(Axis axis) const;  ///< 1 when the layout lacks it
  int64_t outputSize(Axis axis) const; ///< 1 when the layout lacks it
  int inputBits() const;               ///< of all axes together
  int outputBits() const;              ///< of all axes together
  /// Same axes in the same order, same bases.
  bool operator==(const LinearLayout &other) const = default;
  /// "register=1 -> (0, 1)", a line for each basis, after a line that names the outputs.
  std::string toString() const;

  /// The place of one input; axes left out are 0.
  Coordinates apply(Point input) const;
  /// Number of input bits that count: the dimension of the image.
  int rank() const;
  bool isInjective() const { return rank() == inputBits(); }
  bool isSurjective() const { return rank() == outputBits(); }
  bool isInvertible() const { return isInjective() && isSurjective(); }

  // --- algebra ---
  /// First this map, then `next`, whose inputs are the outputs of this one (same axes in any order, not smaller).
  LinearLayout compose(const LinearLayout &next) const;
  /// The map back; only when isInvertible().
  LinearLayout inverse() const;
  /// What undoes it: compose(leftInverse()) is the identity; only when isInjective(). Places that it never reaches go
  /// to wherever is simplest.
  LinearLayout leftInverse() const;
  /// One holder of every place: rightInverse().compose(*this) is the identity; only when isSurjective(). Of several
  /// holders it is the one that leaves the later bits 0.
  LinearLayout rightInverse() const;
  /// Both at once, `right` in the higher bits: of each input axis that both have, and of each output axis.
  LinearLayout operator*(const LinearLayout &right) const;
  /// The Q with `left * Q` equal to this one, when there is one. It keeps every axis of this layout.
  std::optional<LinearLayout> quotient(const LinearLayout &left) const;
  /// Coordinate i of the result is coordinate `order[i]` of this one; the axes keep their places.
  LinearLayout transpose(llvm::ArrayRef<int64_t> order) const;
  /// The same places counted by other axes, row-major: the last axis runs fastest. Sizes have the same product.
  LinearLayout reshape(llvm::ArrayRef<Output> outputs) const;

private:
  /// A basis as one number, the last output in the lowest bits.
  uint64_t flat(llvm::ArrayRef<int64_t> coordinates) const;
  Coordinates unflat(uint64_t bits) const;
  LinearLayout pseudoInverse() const;

  llvm::SmallVector<Input, 4> ins;
  llvm::SmallVector<Output, 3> outs;
};

} // namespace sectile::ir
