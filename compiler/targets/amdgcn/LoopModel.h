// A static model of a kernel's main loop on CDNA: how busy it keeps the matrix cores.
//
// It reads the assembly, finds the loop with the most matrix instructions and lets waves go round it on one SIMD until
// they settle, by these rules (docs/amd.md has the sources and what is left out):
//
//   * Time is counted in slots of 4 clocks: what a SIMD of 16 lanes takes for an instruction of 64. In each slot every
//     wave issues at most one instruction, in order, and the SIMD at most one of each kind: vector (matrix ones
//     included), scalar, LDS, memory, other.
//   * A vector instruction occupies its pipe for a slot, a transcendental or a 32-bit integer product for four.
//   * A matrix instruction occupies the matrix pipe for its passes of 4 clocks; the wave goes on meanwhile. Its result
//     can be added to by the next one at once, and read by others when it is through.
//   * LDS moves 128 bytes a clock for the four SIMDs of a compute unit, which all do the same; a read arrives 16 slots
//     after its turn. Memory always arrives in time: loads are issued an iteration ahead.
//   * s_waitcnt waits for the reads that it names; at a barrier the waves of a group wait for each other, of which those
//     on the other SIMDs come at the same time.
//   * Code that a branch can skip and that has no matrix instruction is skipped.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace sectile::amdgcn {

struct LoopModel {
  int64_t clocks = 0;       ///< of one iteration of all waves on a SIMD
  int64_t matrixClocks = 0; ///< of those that the matrix pipe is busy
  int64_t instructions = 0; ///< of one wave's iteration, and of these:
  int64_t matrix = 0, vector = 0, transcendental = 0, scalar = 0, lds = 0, memory = 0;

  double matrixShare() const { return clocks ? static_cast<double>(matrixClocks) / static_cast<double>(clocks) : 0; }
};

/// Nothing when the assembly has no loop with matrix instructions of CDNA. `waves`: on a SIMD, at least 1, of which
/// `groupWaves` at a time are of one group.
std::optional<LoopModel> modelMainLoop(llvm::StringRef assembly, int64_t waves, int64_t groupWaves);

} // namespace sectile::amdgcn
