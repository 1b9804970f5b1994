// The matrix products of one group of four warps that are in flight (wgmma), and when their results may be used.
//
// A product is computed when it is issued, but what its result registers hold is only its number, until a wait says
// that it is complete. Compiled code asks resolve() for the result where it uses a register; another product may take
// it over as accumulator while it is in flight. Meanwhile, nobody may write what it reads in shared memory: that is
// checked when it completes, which is as late as it may be.
#pragma once

#include "tests/emulate/Wgmma.h"

#include <deque>
#include <memory>

namespace sectile::warps {

/// What a thread gives to an instruction. A in registers, or the descriptor of it.
struct WgmmaArguments {
  uint64_t descriptorA, descriptorB;
  uint32_t registersA[4];
  bool addsAccumulator; ///< scale-d
  uint32_t accumulator[128];
};

class Products {
public:
  Products(const char *shared, uint32_t sharedBytes) : shared(shared), sharedBytes(sharedBytes) {}

  /// Orders what threads do with registers before products that use them.
  void fence() { fenced = true; }
  /// By all threads; gives each the registers of the result.
  void issue(const Wgmma &instruction, const WgmmaArguments *const (&arguments)[warpGroupSize],
             uint32_t *const (&results)[warpGroupSize]);
  void commit();
  bool mustWait(size_t pendingGroups) const { return groups.size() > pendingGroups; }
  /// All but the last groups are complete.
  void complete(size_t pendingGroups);
  /// What a register holds: itself, or the result that it stands for. Throws InternalError when that is not there.
  uint32_t resolve(uint32_t bits, int thread) const;
  /// Of a product that has not been waited for, if there is one.
  std::optional<std::string> inFlight() const;

private:
  enum class State { inFlight, complete, takenOver };
  struct Product {
    const Wgmma *instruction = nullptr;
    State state = State::inFlight;
    std::vector<SharedOperand> reads;
    Matrix result;
  };
  std::optional<size_t> find(uint32_t bits) const;
  Matrix takeAccumulator(const Wgmma &instruction, const WgmmaArguments *const (&arguments)[warpGroupSize]);
  void forgetOld();

  const char *shared;
  uint32_t sharedBytes;
  bool fenced = false;
  std::deque<Product> products; ///< numbered by issue
  size_t forgotten = 0;         ///< products before the first
  size_t firstUncommitted = 0;
  std::deque<size_t> groups; ///< committed, in flight: the number after the last product of each
};

} // namespace sectile::warps
