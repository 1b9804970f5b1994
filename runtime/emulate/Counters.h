// What a launch did, counted in instructions of waves.
#pragma once

#include <cstdint>

namespace sectile::emulate {

struct Counters {
  uint64_t waveInstructions = 0;
  uint64_t valu = 0, salu = 0, mfma = 0; ///< mfma: all matrix instructions
  uint64_t ldsReads = 0, ldsWrites = 0;
  uint64_t ldsBankConflictCycles = 0; ///< beyond the cycles that an access without a conflict takes
  uint64_t globalLoads = 0, globalStores = 0, scratchAccesses = 0;
  uint64_t scalarLoads = 0, barriers = 0, branches = 0, waits = 0, other = 0;

  Counters &operator+=(const Counters &b) {
    waveInstructions += b.waveInstructions, valu += b.valu, salu += b.salu, mfma += b.mfma;
    ldsReads += b.ldsReads, ldsWrites += b.ldsWrites, ldsBankConflictCycles += b.ldsBankConflictCycles;
    globalLoads += b.globalLoads, globalStores += b.globalStores, scratchAccesses += b.scratchAccesses;
    scalarLoads += b.scalarLoads, barriers += b.barriers, branches += b.branches, waits += b.waits, other += b.other;
    return *this;
  }
};

} // namespace sectile::emulate
