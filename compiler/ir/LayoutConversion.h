// What it takes to bring a tensor from one layout to another.
//
//     kind        what moves                        code
//     none        nothing: same register numbers    uses the same values
//     registers   within a thread                   renames values
//     shuffle     between the lanes of a warp       a shfl.sync for each source of each move, then selects
//     shared      between warps                     writes to shared memory, barrier, reads
//
// Example of a shuffle. A pair of neighbours in each lane becomes one row in even, the other in odd registers:
//
//     from: register = [[0,1]], lane = [[1,0],…]          to: register = [[1,0]], lane = [[0,1],…]
//
//     lane 0 has (0,0) (0,1)    wants (0,0) (1,0)         move 0: from lane with bit 0 cleared, register 0 in even
//     lane 1 has (1,0) (1,1)    wants (0,1) (1,1)                 lanes, 1 in odd ones
//                                                         move 1: from lane with bit 0 set, the same registers
#pragma once

#include "compiler/ir/Layout.h"

#include <array>

namespace sectile::ir {

struct Conversion {
  enum class Kind { none, registers, shuffle, shared };
  /// A register to read, and the lanes (a bit each, of the receiving ones) that need it.
  struct Source {
    int64_t reg;
    uint32_t lanes;
  };
  /// How one register of the destination comes to be. Without sources its value is undefined in every lane.
  struct Move {
    llvm::SmallVector<Source, 1> sources;
    int64_t lane = 0; ///< the source lane of lane 0
  };

  Kind kind = Kind::shared;
  llvm::SmallVector<Move> moves;        ///< for each register of the destination; none when shared
  std::array<int64_t, 5> laneBits = {}; ///< what each bit of the receiving lane XORs into the source lane

  int64_t sourceLane(const Move &move, int64_t lane) const;
  bool crossesLanes(const Move &move) const; ///< else the source is in the own lane: no shfl, only selects
  int64_t shuffles() const;                  ///< how many shfl instructions, one for each register that crosses lanes
};

/// Between layouts of the same shape. The source of a value that several threads hold is the nearest: the own register,
/// else the own lane, else the own warp.
Conversion conversion(const Layout &from, const Layout &to);

} // namespace sectile::ir
