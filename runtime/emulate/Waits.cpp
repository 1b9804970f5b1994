#include "runtime/emulate/Waits.h"

using namespace sectile::emulate;

void Waits::add(Counter counter, Request request) {
  queues[unsigned(counter)].push_back(request);
  for (unsigned i = 0; i < request.count; ++i)
    ++pending[request.first + i];
  outstanding += request.count;
}

void Waits::clear(const Request &request) {
  for (unsigned i = 0; i < request.count; ++i)
    --pending[request.first + i];
  outstanding -= request.count;
}

/// Loads of LDS return in their order, and so do those of all vector memory.
static bool order(const WaveInstruction &inst) { return inst.access.space == Access::Space::lds; }

const WaveInstruction *Waits::pendingFor(const WaveInstruction &inst, uint16_t &reg) const {
  for (unsigned i = 0; i < inst.operandCount; ++i) {
    const Operand &operand = inst[i];
    if (!operand.isRegister())
      continue;
    const unsigned base = operand.isVector() ? operand.reg : vectorRegisters + operand.reg;
    for (unsigned part = 0; part < operand.dwords; ++part) {
      if (!pending[base + part])
        continue;
      // Find who writes it. A load over a load of the same counter returns after it.
      for (const std::deque<Request> &queue : queues)
        for (const Request &request : queue)
          if (base + part >= request.first && base + part < unsigned(request.first + request.count)) {
            const bool loads = inst.access.space != Access::Space::none && inst.access.kind == Access::Kind::load;
            const bool sameOrder = i == 0 && loads && request.inOrder && order(*request.inst) == order(inst);
            if (sameOrder)
              continue;
            reg = uint16_t(base + part);
            return request.inst;
          }
    }
  }
  return nullptr;
}
