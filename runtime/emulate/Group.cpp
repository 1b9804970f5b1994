#include "runtime/emulate/Group.h"
#include "runtime/emulate/Apertures.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace sectile::emulate;

/// How many instructions a wave may execute before others get their turn.
constexpr uint64_t timeSlice = 1 << 16;

//===-- memory ---------------------------------------------------------------------------------------------------===//

static std::string describeRange(const MemoryRange &range) {
  return "'" + range.name + "' at [0x" + llvm::utohexstr(range.begin) + ", 0x" + llvm::utohexstr(range.end) + ")";
}

uint8_t *Group::global(Wave &wave, unsigned lane, uint64_t address, uint32_t size, bool write) {
  auto holds = [&](const MemoryRange &range) { return address >= range.begin && address + size <= range.end; };
  const MemoryRange *found = lastRange && holds(*lastRange) && (!write || lastRange->writable) ? lastRange : nullptr;
  if (!found) {
    const MemoryRange *nearest = nullptr, *constant = nullptr;
    uint64_t distance = ~uint64_t(0);
    for (const MemoryRange &range : context.ranges) {
      if (holds(range) && (!write || range.writable)) {
        found = &range;
        break;
      }
      if (holds(range))
        constant = &range;
      const uint64_t gap = address < range.begin  ? range.begin - address
                           : address >= range.end ? address - range.end
                                                  : 0;
      if (gap < distance)
        nearest = &range, distance = gap;
    }
    if (!found) {
      std::string text;
      llvm::raw_string_ostream os(text);
      os << (write ? "a store of " : "a load of ") << size << " bytes at 0x" << llvm::utohexstr(address);
      if (constant)
        os << ", in " << describeRange(*constant) << ", which is read-only";
      else if (!nearest)
        os << ": the kernel has no memory";
      else if (address < nearest->begin)
        os << ", " << nearest->begin - address << " bytes before " << describeRange(*nearest);
      else if (address >= nearest->end)
        os << ", " << address - nearest->end << " bytes behind " << describeRange(*nearest);
      else
        os << ", across the end of " << describeRange(*nearest);
      wave.fault(text, int(lane));
      return nullptr;
    }
    lastRange = found;
  }
  return reinterpret_cast<uint8_t *>(address);
}

//===-- barriers -------------------------------------------------------------------------------------------------===//

void Group::signalBarrier(Wave &wave) { ++wave.signalled; }

/// Lets the waves go on when all of them wait; false after a fault.
bool Group::releaseBarrier() {
  Wave *waiting = nullptr, *ended = nullptr;
  for (auto &wave : waves) {
    if (wave->state == Wave::State::running)
      return true;
    (wave->state == Wave::State::ended ? ended : waiting) = wave.get();
  }
  if (!waiting)
    return true;
  if (ended) {
    waiting->fault("wave " + llvm::Twine(waiting->index) + " waits at a barrier that wave " +
                   llvm::Twine(ended->index) + ", which has ended, never reaches");
    return report(*waiting);
  }
  for (auto &wave : waves) {
    --wave->signalled;
    wave->state = Wave::State::running;
  }
  lds.barrier();
  return true;
}

//===-- running --------------------------------------------------------------------------------------------------===//

std::string Group::describe(const WaveInstruction &inst) const {
  return "'" + inst.text + "' at +0x" + llvm::utohexstr(inst.address - context.kernel.entry, true);
}

bool Group::report(Wave &wave) {
  llvm::raw_string_ostream os(error);
  os << "emulation of kernel '" << context.kernelName << "': group " << number << ", wave " << wave.index;
  if (wave.errorLane >= 0)
    os << ", lane " << wave.errorLane;
  if (wave.current)
    os << ", " << describe(*wave.current);
  os << ": " << *wave.error;
  return false;
}

/// Sets the registers that a wave starts with, as the descriptor asks.
void Group::start(Wave &wave, uint32_t group) {
  const KernelDescriptor &kernel = context.kernel;
  wave.pc = kernel.entry;
  wave.flushSingle = (kernel.rsrc1 >> 16 & 3) != 3;
  wave.flushHalf = (kernel.rsrc1 >> 18 & 3) != 3;
  auto set = [&](unsigned reg, uint32_t value) {
    if (reg < scalarRegisters)
      wave.s[reg] = value, wave.scalarPoison[reg] = 0;
  };
  auto setPair = [&](unsigned reg, uint64_t value) { set(reg, uint32_t(value)), set(reg + 1, uint32_t(value >> 32)); };

  // 1. User registers, in the order of the property bits.
  unsigned next = 0;
  const uint64_t scratchBase = reinterpret_cast<uint64_t>(wave.scratch);
  if (kernel.properties & 1) { // the descriptor of scratch: swizzled, with the lane's number added
    setPair(next, scratchBase | uint64_t(1) << 63);
    set(next + 2, ~0u), set(next + 3, 1u << 23);
    next += 4;
  }
  for (unsigned bit : {1, 2}) // dispatch and queue packet: none here
    if (kernel.properties >> bit & 1)
      next += 2;
  if (kernel.properties >> 3 & 1) {
    setPair(next, reinterpret_cast<uint64_t>(context.kernarg.data()));
    next += 2;
  }
  if (kernel.properties >> 4 & 1)
    setPair(next, 0), next += 2;
  if (kernel.properties >> 5 & 1)
    setPair(next, 0), next += 2;
  if (kernel.properties >> 6 & 1)
    set(next++, kernel.privateSize);
  for (unsigned i = 0; i < (kernel.preload & 0x7fu); ++i) {
    uint32_t word = 0;
    const size_t offset = 4 * (i + (kernel.preload >> 7));
    if (offset + 4 <= context.kernarg.size())
      std::memcpy(&word, context.kernarg.data() + offset, 4);
    set(next++, word);
  }

  // 2. System registers: the group's numbers, then where scratch is.
  next = kernel.rsrc2 >> 1 & 0x1f;
  if (wave.generation == Generation::gfx12) {
    set(ttmp + 9, group), set(ttmp + 7, 0), set(ttmp + 8, wave.index);
  } else {
    for (unsigned axis = 0; axis < 3; ++axis)
      if (kernel.rsrc2 >> (7 + axis) & 1)
        set(next++, axis ? 0 : group);
    if (kernel.rsrc2 >> 10 & 1)
      set(next++, wave.index);
    if (kernel.rsrc2 & 1)
      set(next++, 0);
  }

  // 3. EXEC and the numbers of the lanes.
  const uint32_t threads = context.launch.threads, first = wave.index * wave.lanes;
  uint64_t on = wave.allLanes;
  if (threads - first < wave.lanes)
    on = (uint64_t(1) << (threads - first)) - 1;
  setPair(exec, on);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    wave.v[0][lane] = first + lane;
  wave.poison[0] = {};
}

/// Executes up to `count` instructions; false after a fault.
bool Group::step(Wave &wave, uint64_t count) {
  std::string whyNot;
  uint64_t &done = executed[wave.index];
  while (count-- && wave.state == Wave::State::running) {
    const WaveInstruction *inst = context.code.at(wave.pc, whyNot);
    if (!inst) {
      wave.fault(whyNot + " (at +0x" + llvm::Twine::utohexstr(wave.pc - context.kernel.entry) + ")");
      return report(wave);
    }
    wave.current = inst;
    if (++done > context.launch.budget) {
      wave.fault("the wave does not end: it has executed " + llvm::Twine(context.launch.budget) + " instructions");
      return report(wave);
    }
    if (!wave.waits.none()) {
      uint16_t reg = 0;
      for (const WaveInstruction *part = inst; part; part = part->second)
        if (const WaveInstruction *load = wave.waits.pendingFor(*part, reg)) {
          const bool scalar = reg >= vectorRegisters;
          wave.fault("register " +
                     llvm::Twine(scalar                    ? "s"
                                 : reg >= firstAccumulator ? "a"
                                                           : "v") +
                     llvm::Twine(scalar ? reg - vectorRegisters : reg % firstAccumulator) +
                     " is used before the wait for " + describe(*load));
          return report(wave);
        }
    }
    wave.clearPoisonIn();
    wave.pc += inst->size;
    ++classes[unsigned(inst->kind)];
    inst->execute(wave, *inst);
    if (wave.failed())
      return report(wave);
  }
  return true;
}

bool Group::run(uint32_t group) {
  number = group;
  const KernelDescriptor &kernel = context.kernel;
  const unsigned lanes = kernel.wave32 ? 32 : 64, count = (context.launch.threads + lanes - 1) / lanes;
  lds.reset(kernel.ldsSize);
  waves.clear();
  scratch.resize(count), scratchWritten.resize(count);
  executed.assign(count, 0);
  for (unsigned i = 0; i < count; ++i) {
    waves.push_back(std::make_unique<Wave>(*this, i, lanes, context.code.generation()));
    const size_t size = (size_t(kernel.privateSize) + 3) / 4 * 4 * lanes;
    scratch[i].assign(size, 0), scratchWritten[i].assign(size, 0);
    waves[i]->scratch = scratch[i].data(), waves[i]->scratchWritten = scratchWritten[i].data();
    waves[i]->scratchSize = kernel.privateSize;
    start(*waves[i], group);
  }
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(context.launch.seed * 0x9e3779b97f4a7c15 + group);
  auto ended = [&] {
    return std::all_of(waves.begin(), waves.end(), [](auto &wave) { return wave->state == Wave::State::ended; });
  };
  while (!ended()) {
    if (context.launch.seed)
      std::shuffle(order.begin(), order.end(), random);
    for (unsigned i : order)
      if (waves[i]->state == Wave::State::running && !step(*waves[i], timeSlice))
        return false;
    if (!releaseBarrier())
      return false;
  }
  for (auto &wave : waves)
    counters += wave->counters;
  auto of = [&](Class kind) { return std::exchange(classes[unsigned(kind)], 0); };
  counters.valu += of(Class::valu), counters.salu += of(Class::salu), counters.mfma += of(Class::matrix);
  counters.branches += of(Class::branch), counters.waits += of(Class::wait), counters.other += of(Class::other);
  counters.waveInstructions += std::accumulate(executed.begin(), executed.end(), uint64_t(0));
  return true;
}
