// Barriers in shared memory (mbarrier), as the PTX manual has them: each phase ends once so many threads have arrived
// and all bytes that were announced have come; a wait names the parity of a phase, and is over when that phase is.
//
//     init count 2 | arrive | arrive, expect 64 | 64 bytes come | …
//     phase 0 ---------------------------------->| phase 1        wait of parity 0 is over now, that of parity 1 was
//                                                                 before, as the phase before phase 0 counts as over
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sectile::warps {

class Mbarriers {
public:
  /// `shared`: address 0 of shared memory. Barriers keep a mark there, so that it is seen when something else is
  /// written over them. All functions throw InternalError for what the machine leaves undefined.
  explicit Mbarriers(char *shared) : shared(shared) {}

  void clear() { barriers.clear(); }
  void initialize(uint32_t address, uint32_t count, int thread);
  void invalidate(uint32_t address);
  /// Copies may use the barriers that this thread has initialised.
  void fence(int thread);
  void requireFence(uint32_t address);

  /// These say whether the phase has ended by it.
  bool arrive(uint32_t address, uint32_t count = 1);
  bool arriveExpecting(uint32_t address, uint32_t bytes);
  bool receive(uint32_t address, int64_t bytes);
  void expect(uint32_t address, uint32_t bytes) { find(address).bytes += bytes; }

  bool isOver(uint32_t address, uint32_t parity) { return find(address).phase % 2 != parity % 2; }
  /// "the mbarrier at shared address 64, which is in phase 3 and lacks 1 of 2 arrivals and 512 bytes".
  std::string describe(uint32_t address);

private:
  struct Barrier {
    uint32_t count, missing;
    int64_t bytes = 0, phase = 0;
    int initializedBy;
    bool fenced = false;
  };
  Barrier &find(uint32_t address);
  static bool endPhase(Barrier &barrier);
  char *shared;
  std::map<uint32_t, Barrier> barriers;
};

} // namespace sectile::warps
