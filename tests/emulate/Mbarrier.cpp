#include "tests/emulate/Mbarrier.h"

#include "sectile/Error.h"

#include <cstring>

using namespace sectile;
using namespace sectile::warps;

namespace {

constexpr uint32_t maxCount = (1u << 20) - 1;

uint64_t markOf(uint32_t address) { return 0x6d62617200000000u | address; } // "mbar"

std::string nameOf(uint32_t address) { return "the mbarrier at shared address " + std::to_string(address); }

} // namespace

void Mbarriers::initialize(uint32_t address, uint32_t count, int thread) {
  if (address % 8 != 0)
    throw InternalError(nameOf(address) + " is not at a multiple of 8");
  if (count < 1 || count > maxCount)
    throw InternalError(nameOf(address) + " is initialised with a count of " + std::to_string(count) +
                        "; legal: 1 to " + std::to_string(maxCount));
  if (barriers.contains(address))
    throw InternalError(nameOf(address) + " is initialised a second time");
  barriers[address] = {.count = count, .missing = count, .initializedBy = thread};
  const uint64_t mark = markOf(address);
  std::memcpy(shared + address, &mark, sizeof mark);
}

void Mbarriers::invalidate(uint32_t address) {
  find(address);
  barriers.erase(address);
}

void Mbarriers::fence(int thread) {
  for (auto &[address, barrier] : barriers)
    barrier.fenced |= barrier.initializedBy == thread;
}

void Mbarriers::requireFence(uint32_t address) {
  if (!find(address).fenced)
    throw InternalError("a copy is to arrive at " + nameOf(address) +
                        ", but there was no fence after its initialisation (fence.mbarrier_init, fence.proxy.async)");
}

Mbarriers::Barrier &Mbarriers::find(uint32_t address) {
  const auto found = barriers.find(address);
  if (found == barriers.end())
    throw InternalError(nameOf(address) + " is used, but was not initialised");
  uint64_t mark;
  std::memcpy(&mark, shared + address, sizeof mark);
  if (mark != markOf(address))
    throw InternalError(nameOf(address) + " has been overwritten");
  return found->second;
}

bool Mbarriers::endPhase(Barrier &barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0)
    return false;
  barrier.missing = barrier.count;
  ++barrier.phase;
  return true;
}

bool Mbarriers::arrive(uint32_t address, uint32_t count) {
  Barrier &barrier = find(address);
  if (count > barrier.missing)
    throw InternalError("more threads arrive than the count allows at " + describe(address));
  barrier.missing -= count;
  return endPhase(barrier);
}

bool Mbarriers::arriveExpecting(uint32_t address, uint32_t bytes) {
  expect(address, bytes);
  return arrive(address);
}

bool Mbarriers::receive(uint32_t address, int64_t bytes) {
  Barrier &barrier = find(address);
  barrier.bytes -= bytes;
  return endPhase(barrier);
}

std::string Mbarriers::describe(uint32_t address) {
  const Barrier &barrier = find(address);
  return nameOf(address) + ", which is in phase " + std::to_string(barrier.phase) + " and lacks " +
         std::to_string(barrier.missing) + " of " + std::to_string(barrier.count) + " arrivals and " +
         std::to_string(barrier.bytes) + " bytes";
}
