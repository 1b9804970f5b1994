// global_*, flat_*, scratch_*, buffer_* and s_load: every lane's address is found first, then all is moved.
#include "runtime/emulate/Apertures.h"
#include "runtime/emulate/Atomics.h"
#include "runtime/emulate/Group.h"
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

#include "llvm/ADT/bit.h"

using namespace sectile::emulate;
using u32 = uint32_t;
using u64 = uint64_t;
using Space = Access::Space;

namespace {

/// Where a lane's access goes.
struct Place {
  enum class Kind : uint8_t { global, scratch, lds, nothing } kind = Kind::global; ///< nothing: loads give 0
  u64 address = 0;
};

/// Which operands of an instruction mean what; -1: none.
struct Roles {
  int result = -1, address = -1, data = -1, base = -1, descriptor = -1, offset = -1;
};

Roles rolesOf(const WaveInstruction &inst) {
  const Access &access = inst.access;
  Roles roles;
  int next = 0;
  const bool loads = access.kind == Access::Kind::load && !access.toLds;
  if (access.space == Space::buffer) {
    if (!access.toLds)
      (loads ? roles.result : roles.data) = next++;
    if (access.kind == Access::Kind::atomic && access.returns)
      roles.result = roles.data;
    roles.address = next++, roles.descriptor = next++, roles.offset = next;
    return roles;
  }
  if (loads || (access.kind == Access::Kind::atomic && access.returns))
    roles.result = next++;
  roles.address = next++;
  if (access.kind != Access::Kind::load)
    roles.data = next++;
  if (access.space != Space::flat)
    roles.base = next;
  return roles;
}

bool laneIsDefined(Wave &wave, const Operand &operand) {
  uint64_t undefined = 0;
  for (unsigned part = 0; part < operand.dwords; ++part)
    undefined |= wave.poison[operand.reg + part].any();
  undefined &= wave.execMask();
  if (undefined)
    wave.faultPoison("the address", llvm::countr_zero(undefined), operand);
  return !undefined;
}

bool scalarIsDefined(Wave &wave, const Operand &operand) {
  for (unsigned part = 0; operand.isScalar() && part < operand.dwords; ++part)
    if (operand.reg != nullRegister && wave.scalarPoison[operand.reg + part]) {
      wave.faultPoison("the address", -1, operand);
      return false;
    }
  return true;
}

u64 scalarOf(const Wave &wave, const Operand &operand) {
  u64 poison = 0;
  u32 poison32 = 0;
  if (operand.kind == Operand::Kind::none)
    return 0;
  return operand.dwords > 1 ? wave.scalar64(operand, poison) : wave.scalar32(operand, poison32);
}

Place flatPlace(u64 address) {
  if (address >> 32 == sharedAperture >> 32)
    return {Place::Kind::lds, u32(address)};
  if (address >> 32 == privateAperture >> 32)
    return {Place::Kind::scratch, u32(address)};
  return {Place::Kind::global, address};
}

/// A buffer access: base, stride, size and flags are in the descriptor. `size` bytes must fit.
bool bufferPlaces(Wave &wave, const WaveInstruction &inst, const Roles &roles, Place *places) {
  const Operand &descriptor = inst[roles.descriptor], &vector = inst[roles.address];
  if (descriptor.dwords != 4 || !scalarIsDefined(wave, descriptor) || !scalarIsDefined(wave, inst[roles.offset]))
    return wave.fault("a buffer descriptor has four scalar registers"), false;
  if (vector.isVector() && !laneIsDefined(wave, vector))
    return false;
  const u32 *words = &wave.s[descriptor.reg];
  const u64 base = (words[0] | u64(words[1]) << 32) & 0xffffffffffff;
  const u32 stride = words[1] >> 16 & 0x3fff, records = words[2];
  const u32 scalarOffset = u32(scalarOf(wave, inst[roles.offset]));
  const bool isScratch = base == reinterpret_cast<u64>(wave.scratch) && wave.scratch && words[1] >> 31;
  if (!isScratch && (words[1] >> 31 || words[3] >> 23 & 1))
    return wave.fault("the emulator lacks swizzled buffers"), false;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    u64 index = 0, offset = u32(inst.offset);
    unsigned part = 0;
    if (inst.idxen)
      index = laneBits(wave, vector, part++, lane);
    if (inst.offen)
      offset += laneBits(wave, vector, part, lane);
    if (isScratch) { // the scalar offset counts bytes of the wave
      places[lane] = {Place::Kind::scratch, offset + scalarOffset / wave.lanes};
      continue;
    }
    const u64 end = offset + scalarOffset + (inst.access.bytes);
    const bool outside = stride ? index >= records || offset + inst.access.bytes > stride : end > records;
    places[lane] = {outside ? Place::Kind::nothing : Place::Kind::global,
                    base + index * stride + offset + scalarOffset};
  }
  return true;
}

bool findPlaces(Wave &wave, const WaveInstruction &inst, const Roles &roles, Place *places) {
  if (inst.access.space == Space::buffer)
    return bufferPlaces(wave, inst, roles, places);
  const Operand &vector = inst[roles.address];
  if (vector.isVector() && !laneIsDefined(wave, vector))
    return false;
  u64 base = 0;
  bool hasBase = false;
  if (roles.base >= 0 && roles.base < inst.operandCount) {
    const Operand &operand = inst[roles.base];
    hasBase = operand.isScalar() && operand.reg != nullRegister;
    if (hasBase && !scalarIsDefined(wave, operand))
      return false;
    base = hasBase ? scalarOf(wave, operand) : 0;
  }
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    u64 address = base + u64(int64_t(inst.offset));
    if (vector.isVector())
      address += vector.dwords > 1 ? laneBits(wave, vector, 0, lane) | u64(laneBits(wave, vector, 1, lane)) << 32
                                   : laneBits(wave, vector, 0, lane);
    if (inst.access.space == Space::scratch)
      places[lane] = {Place::Kind::scratch, u32(address)};
    else
      places[lane] = inst.access.space == Space::flat ? flatPlace(address) : Place{Place::Kind::global, address};
  }
  return true;
}

/// Dword `part` of a lane's scratch; null after a fault.
uint8_t *scratchAt(Wave &wave, unsigned lane, u64 offset, unsigned size) {
  if (offset + size <= wave.scratchSize)
    return wave.scratch + scratchOffset(u32(offset), lane, wave.lanes);
  wave.fault("scratch offset " + llvm::Twine(offset) + " (" + llvm::Twine(size) + " bytes) is outside of the " +
                 llvm::Twine(wave.scratchSize) + " bytes of a lane",
             int(lane));
  return nullptr;
}

void setPoison(uint64_t &mask, unsigned lane, bool value) {
  mask = (mask & ~(uint64_t(1) << lane)) | uint64_t(value) << lane;
}

/// Puts what a lane loaded into a dword of its register.
void setLoaded(Wave &wave, const WaveInstruction &inst, unsigned reg, unsigned lane, u32 value, bool undefined) {
  const Access &access = inst.access;
  u32 &to = wave.v[reg][lane];
  if (access.bytes == 1)
    value = access.signExtend ? u32(int8_t(value)) : value & 0xff;
  else if (access.bytes == 2)
    value = access.signExtend ? u32(int16_t(value)) : value & 0xffff;
  if (access.half)
    value = access.high ? (to & 0xffff) | value << 16 : (to & 0xffff0000) | (value & 0xffff);
  to = value;
  if (!access.half || !access.high)
    setPoison(wave.poison[reg].low, lane, undefined);
  if (!access.half || access.high)
    setPoison(wave.poison[reg].high, lane, undefined);
  if (undefined)
    wave.origin[reg] = &inst;
}

/// Bytes at a place into `out`; false after a fault.
/// `undefined`: a bit for each dword.
bool loadLane(Wave &wave, unsigned lane, const Place &place, unsigned bytes, u32 *out, unsigned &undefined) {
  undefined = 0;
  switch (place.kind) {
  case Place::Kind::nothing:
    std::memset(out, 0, bytes);
    return true;
  case Place::Kind::global: {
    const uint8_t *from = wave.group.global(wave, lane, place.address, bytes, false);
    if (from)
      std::memcpy(out, from, bytes);
    return from;
  }
  case Place::Kind::lds:
    if (bool any = false; !wave.group.lds.read(wave, lane, u32(place.address), bytes, false, any))
      return false;
    else
      undefined = any ? ~0u : 0;
    std::memcpy(out, wave.group.lds.data() + place.address, bytes);
    return true;
  case Place::Kind::scratch:
    for (unsigned i = 0; i < bytes; i += 4) {
      const unsigned size = std::min(bytes - i, 4u);
      const uint8_t *from = scratchAt(wave, lane, place.address + i, size);
      if (!from)
        return false;
      std::memcpy(out + i / 4, from, size);
      for (unsigned byte = 0; byte < size; ++byte)
        undefined |= unsigned(!wave.scratchWritten[from - wave.scratch + byte]) << (i / 4);
    }
    return true;
  }
  return false;
}

bool storeLane(Wave &wave, unsigned lane, const Place &place, unsigned bytes, const u32 *in, uint64_t definedDwords) {
  switch (place.kind) {
  case Place::Kind::nothing:
    return true;
  case Place::Kind::global: {
    uint8_t *to = wave.group.global(wave, lane, place.address, bytes, true);
    if (to)
      std::memcpy(to, in, bytes);
    return to;
  }
  case Place::Kind::lds:
    if (!wave.group.lds.write(wave, lane, u32(place.address), bytes, false))
      return false;
    std::memcpy(wave.group.lds.data() + place.address, in, bytes);
    return true;
  case Place::Kind::scratch:
    for (unsigned i = 0; i < bytes; i += 4) {
      const unsigned size = std::min(bytes - i, 4u);
      uint8_t *to = scratchAt(wave, lane, place.address + i, size);
      if (!to)
        return false;
      std::memcpy(to, in + i / 4, size);
      std::memset(wave.scratchWritten + (to - wave.scratch), definedDwords >> (i / 4) & 1, size);
    }
    return true;
  }
  return false;
}

/// Keeps the books of what has to be waited for.
void await(Wave &wave, const WaveInstruction &inst, const Operand *result, u32 ldsBegin = 0, u32 ldsEnd = 0) {
  Waits::Request request{&inst, 0, 0, true, ldsBegin, ldsEnd};
  if (result)
    request.first = result->reg, request.count = result->dwords;
  const bool separateStores = wave.generation >= Generation::gfx11 && !result && !ldsEnd;
  wave.waits.add(separateStores ? Counter::store : Counter::vector, request);
  // Flat accesses may go to LDS, and loads that end there do (but not those of buffers): they count as such, too.
  request.ldsBegin = request.ldsEnd = 0;
  if (inst.access.space == Space::flat || (inst.access.space == Space::global && inst.access.toLds))
    wave.waits.add(Counter::lgkm, request);
}

void count(Wave &wave, const WaveInstruction &inst) {
  if (inst.access.space == Space::scratch)
    ++wave.counters.scratchAccesses;
  else if (inst.access.kind == Access::Kind::load)
    ++wave.counters.globalLoads;
  else
    ++wave.counters.globalStores;
}

void load(Wave &wave, const WaveInstruction &inst) {
  count(wave, inst);
  const Roles roles = rolesOf(inst);
  Place places[maxLanes];
  if (!findPlaces(wave, inst, roles, places))
    return;
  const unsigned bytes = inst.access.bytes, reg = inst[roles.result].reg;
  const uint64_t on = wave.execMask();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(on >> lane & 1))
      continue;
    u32 values[4] = {};
    unsigned undefined = 0;
    if (!loadLane(wave, lane, places[lane], bytes, values, undefined))
      return;
    for (unsigned part = 0; part < (bytes + 3) / 4; ++part)
      setLoaded(wave, inst, reg + part, lane, values[part], undefined >> part & 1);
  }
  await(wave, inst, &inst[roles.result]);
}

/// Lanes' values go to LDS one after another, from m0 and the offset on.
void loadToLds(Wave &wave, const WaveInstruction &inst) {
  count(wave, inst);
  const Roles roles = rolesOf(inst);
  Place places[maxLanes];
  Operand base;
  base.kind = Operand::Kind::scalar, base.reg = m0;
  if (!scalarIsDefined(wave, base) || !findPlaces(wave, inst, roles, places))
    return;
  const unsigned bytes = inst.access.bytes, step = std::max(bytes, 4u);
  const u32 first = wave.s[m0] + u32(inst.offset);
  Lds &lds = wave.group.lds;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(wave.execMask() >> lane & 1))
      continue;
    u32 values[4] = {};
    unsigned undefined = 0;
    const u32 to = first + lane * step;
    // The offset belongs to the LDS address, too; the place has it already.
    if (!loadLane(wave, lane, places[lane], bytes, values, undefined) || !lds.write(wave, lane, to, step, false))
      return;
    if (bytes < 4)
      values[0] &= (1u << (8 * bytes)) - 1;
    std::memcpy(lds.data() + to, values, step);
  }
  lds.addPending(first, first + wave.lanes * step, 1);
  await(wave, inst, nullptr, first, first + wave.lanes * step);
}

void store(Wave &wave, const WaveInstruction &inst) {
  count(wave, inst);
  const Roles roles = rolesOf(inst);
  Place places[maxLanes];
  if (!findPlaces(wave, inst, roles, places))
    return;
  const Access &access = inst.access;
  const Operand &data = inst[roles.data];
  const unsigned bytes = access.bytes, dwords = (bytes + 3) / 4, shift = access.high || data.high ? 16 : 0;
  const uint64_t on = wave.execMask();
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(on >> lane & 1))
      continue;
    u32 values[4];
    uint64_t defined = 0;
    for (unsigned part = 0; part < dwords; ++part) {
      values[part] = wave.v[data.reg + part][lane] >> shift;
      const Poison &poison = wave.poison[data.reg + part];
      const uint64_t undefined = bytes <= 2 ? (shift ? poison.high : poison.low) : poison.any();
      defined |= uint64_t(!(undefined >> lane & 1)) << part;
      if (undefined >> lane & 1 && places[lane].kind == Place::Kind::global) {
        Operand which = data;
        which.reg = uint16_t(data.reg + part);
        return wave.faultPoison("the value stored to 0x" + llvm::Twine::utohexstr(places[lane].address), int(lane),
                                which);
      }
    }
    if (!storeLane(wave, lane, places[lane], bytes, values, defined))
      return;
    if (places[lane].kind == Place::Kind::lds)
      for (unsigned part = 0; part < dwords; ++part)
        if (!(defined >> part & 1))
          wave.group.lds.poisonBytes(u32(places[lane].address) + 4 * part, std::min(bytes, 4u));
  }
  await(wave, inst, nullptr);
}

void atomic(Wave &wave, const WaveInstruction &inst) {
  count(wave, inst);
  const Roles roles = rolesOf(inst);
  Place places[maxLanes];
  if (!findPlaces(wave, inst, roles, places))
    return;
  const Access &access = inst.access;
  const Operand &data = inst[roles.data];
  const unsigned dwords = access.bytes / 4;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(wave.execMask() >> lane & 1) || places[lane].kind == Place::Kind::nothing)
      continue;
    u64 words[2] = {}; // of compareSwap: the new value, then the comparand
    for (unsigned part = 0; part < data.dwords; ++part) {
      words[part / dwords] |= u64(laneBits(wave, data, part, lane)) << (32 * (part % dwords));
      if (wave.poison[data.reg + part].any() >> lane & 1)
        return wave.faultPoison("the operand of an atomic access", int(lane), data);
    }
    if (places[lane].address % access.bytes)
      return wave.fault("an atomic access at 0x" + llvm::Twine::utohexstr(places[lane].address) +
                            ", which is not a multiple of " + llvm::Twine(unsigned(access.bytes)),
                        int(lane));
    void *cell = nullptr;
    bool undefined = false;
    if (places[lane].kind == Place::Kind::lds) {
      if (!wave.group.lds.read(wave, lane, u32(places[lane].address), access.bytes, true, undefined) ||
          !wave.group.lds.write(wave, lane, u32(places[lane].address), access.bytes, true))
        return;
      cell = wave.group.lds.data() + places[lane].address;
    } else if (places[lane].kind == Place::Kind::global) {
      cell = wave.group.global(wave, lane, places[lane].address, access.bytes, true);
      if (!cell)
        return;
    } else {
      return wave.fault("the emulator lacks atomic accesses to scratch", int(lane));
    }
    const u64 old = atomically(access, cell, words[0], words[1]);
    if (access.returns)
      for (unsigned part = 0; part < dwords; ++part)
        setLoaded(wave, inst, inst[roles.result].reg + part, lane, u32(old >> (32 * part)), undefined);
  }
  Operand result;
  if (access.returns) {
    result = inst[roles.result];
    result.dwords = uint8_t(dwords);
  }
  await(wave, inst, access.returns ? &result : nullptr);
}

/// s_load and s_buffer_load: result, base or descriptor, offset.
void scalarLoad(Wave &wave, const WaveInstruction &inst) {
  ++wave.counters.scalarLoads;
  const Operand &to = inst[0], &base = inst[1];
  if (!scalarIsDefined(wave, base))
    return;
  u64 offset = u64(int64_t(inst.offset));
  for (unsigned i = 2; i < inst.operandCount; ++i) {
    if (!scalarIsDefined(wave, inst[i]))
      return;
    offset += inst[i].kind == Operand::Kind::constant ? inst[i].bits64 : wave.s[inst[i].reg];
  }
  const bool isBuffer = base.dwords == 4;
  const u64 start = isBuffer ? (wave.pair(base.reg) & 0xffffffffffff) : wave.pair(base.reg);
  const unsigned size = std::min<unsigned>(inst.access.bytes, 4);
  for (unsigned part = 0; part < std::max(1u, inst.access.bytes / 4u); ++part) {
    const u64 address = size < 4 ? start + offset : (start + offset + 4 * part) & ~u64(3);
    u32 value = 0;
    if (!isBuffer || offset + 4 * part + size <= wave.s[base.reg + 2]) {
      const uint8_t *from = wave.group.global(wave, 0, address, size, false);
      if (!from)
        return;
      std::memcpy(&value, from, size);
    }
    if (inst.access.signExtend)
      value = size == 1 ? u32(int8_t(value)) : u32(int16_t(value));
    if (to.reg == nullRegister)
      continue;
    wave.s[to.reg + part] = value;
    wave.scalarPoison[to.reg + part] = 0;
  }
  const uint16_t first = uint16_t(vectorRegisters + to.reg);
  wave.waits.add(wave.generation == Generation::gfx12 ? Counter::scalar : Counter::lgkm,
                 {&inst, first, to.dwords, false, 0, 0});
}

} // namespace

Semantics sectile::emulate::findMemory(WaveInstruction &inst) {
  if (inst.access.space == Space::scalar)
    return inst.access.kind == Access::Kind::load ? scalarLoad : nullptr;
  if (inst.access.kind == Access::Kind::atomic)
    return atomic;
  if (inst.access.kind == Access::Kind::store)
    return store;
  if (inst.mnemonic.find("_load_lds_") != std::string::npos)
    inst.access.toLds = true;
  return inst.access.toLds ? loadToLds : load;
}
