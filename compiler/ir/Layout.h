// The layout of a tensor: which thread holds which element, and in which of its registers.
//
// A layout is an *atom* repeated until it covers the shape. The atom is a LinearLayout from register, lane and warp
// bits to coordinates, its sizes are powers of two; the shape need not be one. Every bit of an atom moves one
// coordinate by one power of two, or none at all: then lanes (or warps) that differ in it hold copies. So coordinates
// add up, in registers and lanes and warps alike, and part of the sum is a constant:
//
//     element(reg, lane, warp) = base(reg) + sum of laneBits()[i] for bits i of lane + the same with warpBits()
//
// Example: 16x24 results of matrix instructions in one warp. The atom is 16x8 with 4 registers, the layout has 12:
//
//     register = [[0,1],[8,0]], lane = [[0,2],[0,4],[1,0],[2,0],[4,0]]
//
//     register    0      1      2      3      4      5      6      7      8      …   11
//     base      (0,0)  (0,1)  (8,0)  (8,1)  (0,8)  (0,9)  (8,8)  (8,9)  (0,16)  …  (8,17)
//                '------- repeat 0 ------'  '------- repeat 1 ------'  '--- repeat 2 ---'
//
// Repeats follow one another in row-major order (the last dimension fastest) and the registers of one atom stay
// together. Elements past the shape (column 20 of 16x20 in this atom) have registers, too, whose values are undefined.
//
//     the code for                      needs
//     loads and stores                  base, laneBits, warpBits; vectorWidth; presence; replicated…Bits (store once)
//     elementwise operations            registers()
//     reduction along d                 reduced(d, parts): registers that differ in d, then lanes, then warps
//     broadcast along d                 registerAt(base with coordinate d set to 0) of sliced(d)
//     another layout                    conversion() in LayoutConversion.h
//     matrix instructions               Fragments.h
//     shared memory                     Swizzle.h
#pragma once

#include "compiler/ir/LinearLayout.h"

namespace sectile::ir {

class Layout {
public:
  using Bases = llvm::ArrayRef<Coordinates>;
  /// Where an element is held. Of several holders locate() gives the one whose replicated bits are 0.
  struct Place {
    int64_t reg, lane, warp;
    bool operator==(const Place &) const = default;
  };

  /// Of bases and a shape that verify() accepts.
  Layout(Bases registers, Bases lanes, Bases warps, llvm::ArrayRef<int64_t> shape);
  /// What is wrong: a basis with too few coordinates, one that moves two coordinates or by no power of two, a bit that
  /// two bases move or none does, a number of lanes that is not 32 or 64, a shape that is empty.
  static std::optional<std::string> verify(Bases registers, Bases lanes, Bases warps, llvm::ArrayRef<int64_t> shape);

  // --- what it is ---
  /// From Axis::reg, lane, warp to dim(0), dim(1), …
  const LinearLayout &atom() const { return linear; }
  llvm::ArrayRef<int64_t> shape() const { return sizes; }
  size_t rank() const { return sizes.size(); }
  Bases registerBits() const { return linear.bases(Axis::reg); } ///< of the atom
  Bases laneBits() const { return linear.bases(Axis::lane); }    ///< five, or six where warps have 64 lanes
  Bases warpBits() const { return linear.bases(Axis::warp); }
  int64_t lanes() const { return linear.inputSize(Axis::lane); } ///< of a warp: 32 or 64
  int64_t warps() const { return linear.inputSize(Axis::warp); }
  int64_t atomSize(size_t d) const { return linear.outputSize(dim(d)); }
  int64_t repeats(size_t d) const { return (sizes[d] + atomSize(d) - 1) / atomSize(d); }
  bool operator==(const Layout &other) const = default;
  /// As in the attribute: "register = [[0, 1], [8, 0]], lane = [[0, 2], …], warp = []".
  std::string toString() const;
  /// A drawing of a layout of rank 1 or 2: for each element "warp:lane.register" of its first holder.
  std::string table() const;

  // --- registers ---
  int64_t registers() const; ///< of each thread, the undefined ones included
  /// The coordinates of a register in lane 0 of warp 0.
  Coordinates base(int64_t reg) const;
  /// The register with this base, or -1. Registers with the same base do not exist.
  int64_t registerAt(llvm::ArrayRef<int64_t> base) const;
  Coordinates coordinates(int64_t reg, int64_t lane, int64_t warp) const;
  bool contains(llvm::ArrayRef<int64_t> coordinates) const; ///< whether they are inside of the shape
  Place locate(llvm::ArrayRef<int64_t> coordinates) const;
  /// Whether the elements of a register, over all lanes and warps, are inside of the shape.
  enum class Presence { all, some, none };
  Presence presence(int64_t reg) const;
  /// How many registers, from every multiple of that number on, run along the last dimension: 8 when registers 8 i to
  /// 8 i + 7 are neighbours in it. A power of two; the shape may end within a vector.
  int64_t vectorWidth() const { return vectorWidth(rank() - 1); }
  int64_t vectorWidth(size_t d) const;

  // --- copies ---
  int64_t replicatedLaneBits() const; ///< mask of the lane bits that move nothing: only lanes without them store
  int64_t replicatedWarpBits() const;

  // --- layouts made of it ---
  /// Of a tensor with size 1 in these dimensions (the result of a reduction, the source of a broadcast): the bits that
  /// moved them move nothing, and registers that now hold the same are one.
  Layout sliced(llvm::ArrayRef<int64_t> axes) const;
  /// Of what is reduced along an axis to so many parts: where lanes of one warp hold as many parts of a line, what each
  /// lane holds is one, and the bits that move lanes along the axis number the parts. Otherwise sliced: each thread has
  /// all parts.
  Layout reduced(int64_t axis, int64_t parts) const;
  /// Dimension i of the result is dimension `order[i]` of this. Registers are renumbered where repeats change order:
  /// registerAt() tells.
  Layout transposed(llvm::ArrayRef<int64_t> order) const;
  /// The layout in which the row-major reshape to this shape moves nothing and keeps the numbers of the registers, when
  /// there is one: dimensions of size 1 come or go, or all sizes are powers of two.
  std::optional<Layout> reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// The same atom over another shape of the same rank.
  Layout over(llvm::ArrayRef<int64_t> shape) const { return {registerBits(), laneBits(), warpBits(), shape}; }

  /// For loads and stores: `vector` neighbours along the last dimension in each thread; along it as many lanes as leave
  /// the fewest idle, but at least four; the other lanes, then the warps, along the dimensions before it. What is left
  /// over holds copies. `warps` and `vector` are powers of two, `lanes` is 32 or 64.
  static Layout blocked(llvm::ArrayRef<int64_t> shape, int64_t warps, int64_t vector, int64_t lanes = 32);

private:
  LinearLayout linear;
  llvm::SmallVector<int64_t, 3> sizes;
};

} // namespace sectile::ir
