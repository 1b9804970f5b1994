// What it takes to bring a tensor from one layout to another.
//
//     kind        what moves                        code
//     none        nothing: same register numbers    uses the same values
//     registers   within a thread                   renames values
//     shuffle     between the lanes of a warp       a shfl.sync for each source of each move, then selects
//     shared      between warps                     writes to shared memory, barrier, reads
//
// Example of a shuffle. A pair of neighbours in each lane becomes one row in even, the other in odd lanes:
//
//     from: register = [[0,1]], lane = [[1,0],…]          to: register = [[1,0]], lane = [[0,1],…]
//
//     lane 0 has (0,0) (0,1)    wants (0,0) (1,0)         move 0: from the lane with bit 0 cleared, register 0 in even
//     lane 1 has (1,0) (1,1)    wants (0,1) (1,1)                 lanes, 1 in odd ones
//                                                         move 1: from the lane with bit 0 set, the same registers
//
// Since lanes want different registers of one lane, the moves take four shuffles here, 2^n for each register when n
// bits of lane and register change places. An exchange takes one: senders put what they send to each partner into one
// register, and receivers put what arrived where it belongs.
//
//                         register 0   register 1
//     start    lane 0     (0,0)        (0,1)
//              lane 1     (1,0)        (1,1)
//     before   lane 1     (1,1)        (1,0)        swaps, where bit 0 of the lane is set
//     shuffle  lane 0     (0,0)        (1,0)        register 0 stays, register 1 comes from lane ^ 1
//              lane 1     (1,1)        (0,1)
//     after    lane 1     (0,1)        (1,1)        swaps, where bit 0 of the lane is set
#pragma once

#include "compiler/ir/Layout.h"

#include <optional>

namespace sectile::ir {

struct Conversion {
  enum class Kind { none, registers, shuffle, shared };
  /// A register to read, and the lanes (a bit each, of the receiving ones) that take it. Those whose element is past
  /// the shape may be among them.
  struct Source {
    int64_t reg;
    uint64_t lanes;
  };
  /// How one register of the destination comes to be. Without sources its value is undefined in every lane.
  struct Move {
    llvm::SmallVector<Source, 1> sources;
    int64_t lane = 0; ///< the source lane of lane 0
  };

  /// The moves with at most one shuffle for each register r of the destination:
  /// 1. r starts as source register start[r] (-1: undefined),
  /// 2. the swaps of `before`, in any order,
  /// 3. r is fetched from lane moves[r].lane ^ laneBits[i] for bits i of the lane,
  /// 4. the swaps of `after`, in any order.
  struct Exchange {
    /// In lanes with this bit set, the two registers of each pair change places.
    struct Swap {
      int64_t laneBit;
      llvm::SmallVector<std::pair<int64_t, int64_t>> registers;
    };
    llvm::SmallVector<int64_t> start;
    llvm::SmallVector<Swap, 2> before, after;
    llvm::SmallVector<int64_t, 6> laneBits; ///< as below
  };

  Kind kind = Kind::shared;
  llvm::SmallVector<Move> moves; ///< for each register of the destination; none when shared
  /// What each bit of the receiving lane XORs into the source lane.
  llvm::SmallVector<int64_t, 6> laneBits;
  /// When it takes fewer shuffles. There must be, for every bit of the lane that decides between sources, a bit of the
  /// register to change places with.
  std::optional<Exchange> exchange;

  int64_t sourceLane(const Move &move, int64_t lane) const;
  bool crossesLanes(const Move &move) const; ///< else the source is in the own lane: no shfl, only selects
  /// How many shfl instructions: of the exchange if there is one, else one for each source that crosses lanes.
  int64_t shuffles() const;
};

/// Between layouts of the same shape for as many lanes. The source of a value that several threads hold is the nearest:
/// the own register, else the own lane, else the own warp.
Conversion conversion(const Layout &from, const Layout &to);

} // namespace sectile::ir
