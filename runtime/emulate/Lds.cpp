#include "runtime/emulate/Group.h"

#include "llvm/ADT/StringExtras.h"

using namespace sectile::emulate;

// A touch: epoch << 8 | several << 7 | atomic << 6 | wave
constexpr uint32_t several = 0x80, atomicTouch = 0x40, waveMask = 0x3f;

void Lds::reset(uint32_t size) {
  bytes.assign(size, 0);
  undefinedBytes.assign(size, 1);
  pendingBytes.assign(size, 0);
  writes.assign(size, 0), reads.assign(size, 0);
  writers.assign(size, nullptr), readers.assign(size, nullptr);
  stamps.assign(size / 4 + 1, 0);
  epoch = 1;
  anyPending = false;
}

bool Lds::inBounds(Wave &wave, unsigned lane, uint32_t address, uint32_t size) {
  if (uint64_t(address) + size <= bytes.size())
    return true;
  wave.fault("LDS address " + llvm::Twine(address) + " (" + llvm::Twine(size) + " bytes) is outside of the " +
                 llvm::Twine(bytes.size()) + " bytes that the group has",
             int(lane));
  return false;
}

bool Lds::race(Wave &wave, unsigned lane, uint32_t address, bool writing, bool otherWrites, uint32_t otherWave,
               const WaveInstruction *other) {
  wave.fault("a race in LDS at byte " + llvm::Twine(address) + ": this wave " + (writing ? "writes" : "reads") +
                 " what " + (otherWave & several ? "several waves" : "wave " + llvm::Twine(otherWave & waveMask)) +
                 (otherWrites ? " wrote" : " read") + " since the last barrier with " + wave.group.describe(*other),
             int(lane));
  return false;
}

bool Lds::read(Wave &wave, unsigned lane, uint32_t address, uint32_t size, bool atomic, bool &undefined) {
  if (!inBounds(wave, lane, address, size))
    return false;
  const uint32_t mine = epoch << 8 | (atomic ? atomicTouch : 0) | wave.index;
  uint32_t conflicts = 0, undefinedAny = 0;
  for (uint32_t i = address; i < address + size; ++i) {
    // Others wrote it since the barrier, not both atomically. A group has at most 32 waves: epoch and wave decide.
    const uint32_t write = writes[i];
    conflicts |=
        (write >> 8 == epoch) & ((write & (waveMask | several)) != wave.index) & !(atomic && write & atomicTouch);
    undefinedAny |= undefinedBytes[i];
    const uint32_t old = reads[i];
    const bool current = old >> 8 == epoch;
    readers[i] = current ? readers[i] : wave.current;
    reads[i] = !current                         ? mine
               : (old & waveMask) == wave.index ? old & ~(atomic ? 0 : atomicTouch)
                                                : (old | several) & ~(atomic ? 0 : atomicTouch);
  }
  undefined = undefinedAny;
  if (conflicts)
    for (uint32_t i = address; i < address + size; ++i)
      if (writes[i] >> 8 == epoch && (writes[i] & (waveMask | several)) != wave.index &&
          !(atomic && writes[i] & atomicTouch))
        return race(wave, lane, i, false, true, writes[i], writers[i]);
  if (anyPending)
    for (uint32_t i = address; i < address + size; ++i)
      if (pendingBytes[i]) {
        wave.fault("LDS byte " + llvm::Twine(i) + " is read while a load that goes there directly is not waited for",
                   int(lane));
        return false;
      }
  return true;
}

bool Lds::write(Wave &wave, unsigned lane, uint32_t address, uint32_t size, bool atomic, const uint8_t *value) {
  if (!inBounds(wave, lane, address, size))
    return false;
  const uint32_t mine = epoch << 8 | (atomic ? atomicTouch : 0) | wave.index;
  uint32_t conflicts = 0;
  for (uint32_t i = address; i < address + size; ++i) {
    const uint32_t write = writes[i], read = reads[i];
    conflicts |=
        (write >> 8 == epoch) & ((write & (waveMask | several)) != wave.index) & !(atomic && write & atomicTouch);
    conflicts |= (read >> 8 == epoch) & ((read & (waveMask | several)) != wave.index) & !(atomic && read & atomicTouch);
  }
  if (conflicts)
    for (uint32_t i = address; i < address + size; ++i) {
      auto conflict = [&](Touch touch) {
        return touch >> 8 == epoch && (touch & (waveMask | several)) != wave.index && !(atomic && touch & atomicTouch);
      };
      if (conflict(writes[i]) && !(value && bytes[i] == value[i - address]))
        return race(wave, lane, i, true, true, writes[i], writers[i]);
      if (conflict(reads[i]))
        return race(wave, lane, i, true, false, reads[i], readers[i]);
    }
  for (uint32_t i = address; i < address + size; ++i) {
    const uint32_t old = writes[i];
    writes[i] = old >> 8 == epoch && (old & waveMask) != wave.index ? mine | several : mine;
    writers[i] = wave.current;
  }
  std::memset(&undefinedBytes[address], 0, size);
  return true;
}

void Lds::addPending(uint32_t begin, uint32_t end, int change) {
  for (uint32_t i = begin; i < end && i < pendingBytes.size(); ++i)
    pendingBytes[i] = uint8_t(pendingBytes[i] + change);
  anyPending = true;
}

void Lds::startPhase() {
  ++phase;
  std::fill(std::begin(bankUses), std::end(bankUses), 0);
}

void Lds::useBanks(uint32_t address, uint32_t size, unsigned banks) {
  for (uint32_t dword = address / 4; dword <= (address + size - 1) / 4; ++dword) {
    if (dword >= stamps.size() || stamps[dword] == phase)
      continue; // lanes that read the same dword share it
    stamps[dword] = phase;
    ++bankUses[dword % banks];
  }
}

uint32_t Lds::endPhase() const {
  const uint32_t most = *std::max_element(std::begin(bankUses), std::end(bankUses));
  return most ? most - 1 : 0;
}
