// Loads return late: a register that one writes may be used only after the wait that the ISA asks for. The values are
// there at once here, so only this bookkeeping notices a missing s_waitcnt.
#pragma once

#include "runtime/emulate/WaveInstruction.h"

#include <bitset>
#include <deque>

namespace sectile::emulate {

class Wave;

/// gfx9 has vector and lgkm; gfx11 has store, too; gfx12 has load (here: vector), store, lds (here: lgkm) and scalar.
enum class Counter : uint8_t { vector, lgkm, store, scalar };
constexpr unsigned waitCounters = 4;

class Waits {
public:
  /// A request that returns into `count` registers from `first` (vector, or vectorRegisters + scalar).
  struct Request {
    const WaveInstruction *inst;
    uint16_t first, count;
    bool inOrder;              ///< false: scalar loads, which return in any order
    uint32_t ldsBegin, ldsEnd; ///< LDS that a direct load writes
  };
  void add(Counter counter, Request request);
  /// s_waitcnt and its like: at most `count` requests stay; `released` gets what is done.
  template <class F> void wait(Counter counter, unsigned count, F released);
  /// Registers of an instruction that a request may still write; none: null.
  const WaveInstruction *pendingFor(const WaveInstruction &inst, uint16_t &reg) const;
  bool none() const { return outstanding == 0; }

private:
  void clear(const Request &request);
  std::deque<Request> queues[waitCounters];
  unsigned outstanding = 0;
  uint8_t pending[vectorRegisters + scalarRegisters] = {}; ///< how many requests write a register
};

template <class F> void Waits::wait(Counter counter, unsigned count, F released) {
  std::deque<Request> &queue = queues[unsigned(counter)];
  if (queue.size() <= count)
    return;
  // A request is done if it and all later ones of its order are more than `count`; one without order if none may stay.
  std::deque<Request> stay;
  unsigned laterInOrder = 0;
  for (auto request = queue.rbegin(); request != queue.rend(); ++request) {
    const bool done = request->inOrder ? laterInOrder >= count : count == 0;
    laterInOrder += request->inOrder;
    if (done)
      clear(*request), released(*request);
    else
      stay.push_front(*request);
  }
  queue = std::move(stay);
}

} // namespace sectile::emulate
