// ds_*: loads, stores and atomics in LDS, and the permutations of lanes that go through it.
#include "runtime/emulate/Atomics.h"
#include "runtime/emulate/Group.h"
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

using namespace sectile::emulate;
using u32 = uint32_t;

namespace {

/// Lanes with an undefined address end the launch.
bool addressIsDefined(Wave &wave, const Operand &operand) {
  const uint64_t undefined = wave.poison[operand.reg].any() & wave.execMask();
  if (undefined)
    wave.faultPoison("the address", llvm::countr_zero(undefined), operand);
  return !undefined;
}

/// Cycles that lanes of one instruction wait for each other: 32 lanes of 4 bytes, 16 of 8 or 8 of 16 go together.
void countConflicts(Wave &wave, const u32 *addresses, unsigned bytes) {
  Lds &lds = wave.group.lds;
  const unsigned together = bytes <= 4   ? 32
                            : bytes <= 8 ? 16
                                         : 8,
                 banks = wave.generation == Generation::gfx950 ? 64 : 32;
  const uint64_t on = wave.execMask();
  for (unsigned first = 0; first < wave.lanes; first += together) {
    lds.startPhase();
    for (unsigned lane = first; lane < first + together; ++lane)
      if (on >> lane & 1)
        lds.useBanks(addresses[lane], bytes, banks);
    wave.counters.ldsBankConflictCycles += lds.endPhase();
  }
}

void await(Wave &wave, const WaveInstruction &inst, const Operand *result) {
  Waits::Request request{&inst, 0, 0, true, 0, 0};
  if (result)
    request.first = result->reg, request.count = result->dwords;
  wave.waits.add(Counter::lgkm, request);
}

/// Extends what a load of less than a dword gives, and merges it into the half of a register that it writes.
u32 loaded(const Access &access, u32 value, u32 old) {
  if (access.bytes == 1)
    value = access.signExtend ? u32(int8_t(value)) : value & 0xff;
  else if (access.bytes == 2)
    value = access.signExtend ? u32(int16_t(value)) : value & 0xffff;
  if (!access.half)
    return value;
  return access.high ? (old & 0xffff) | value << 16 : (old & 0xffff0000) | (value & 0xffff);
}

void setPoison(uint64_t &mask, unsigned lane, bool value) {
  mask = (mask & ~(uint64_t(1) << lane)) | uint64_t(value) << lane;
}

/// Loads `bytes` at an address of each lane into the registers from `reg`.
bool loadFrom(Wave &wave, const WaveInstruction &inst, const u32 *addresses, unsigned reg, unsigned bytes) {
  const Access &access = inst.access;
  const uint64_t on = wave.execMask();
  Lds &lds = wave.group.lds;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(on >> lane & 1))
      continue;
    for (unsigned part = 0; part < (bytes + 3) / 4; ++part) {
      const u32 size = std::min(bytes, 4u), address = addresses[lane] + 4 * part;
      bool undefined = false;
      if (!lds.read(wave, lane, address, size, false, undefined))
        return false;
      u32 value = 0;
      std::memcpy(&value, lds.data() + address, size);
      u32 &to = wave.v[reg + part][lane];
      to = loaded(access, value, to);
      Poison &poison = wave.poison[reg + part];
      if (!access.half || !access.high)
        setPoison(poison.low, lane, undefined);
      if (!access.half || access.high)
        setPoison(poison.high, lane, undefined);
      if (undefined)
        wave.origin[reg + part] = &inst;
    }
  }
  countConflicts(wave, addresses, bytes);
  return true;
}

bool storeTo(Wave &wave, const WaveInstruction &inst, const u32 *addresses, const Operand &data, unsigned bytes) {
  const Access &access = inst.access;
  const uint64_t on = wave.execMask();
  Lds &lds = wave.group.lds;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(on >> lane & 1))
      continue;
    u32 values[4];
    for (unsigned part = 0; part < (bytes + 3) / 4; ++part)
      values[part] = laneBits(wave, data, part, lane) >> (access.high || data.high ? 16 : 0);
    if (!lds.write(wave, lane, addresses[lane], bytes, false, reinterpret_cast<const uint8_t *>(values)))
      return false;
    std::memcpy(lds.data() + addresses[lane], values, bytes);
    for (unsigned part = 0; part < (bytes + 3) / 4; ++part) {
      const u32 size = std::min(bytes, 4u), address = addresses[lane] + 4 * part;
      const Poison &poison = wave.poison[data.reg + part];
      const bool upper = access.high || data.high; // that half alone is stored
      if ((upper ? poison.high : poison.low) >> lane & 1)
        lds.poisonBytes(address, std::min(size, 2u));
      if (size > 2 && poison.high >> lane & 1)
        lds.poisonBytes(address + 2, 2);
    }
  }
  countConflicts(wave, addresses, bytes);
  return true;
}

void addressesOf(const Wave &wave, const Operand &base, u32 offset, u32 *addresses) {
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    addresses[lane] = wave.v[base.reg][lane] + offset;
}

void load(Wave &wave, const WaveInstruction &inst) {
  ++wave.counters.ldsReads;
  const Access &access = inst.access;
  u32 addresses[maxLanes];
  if (!addressIsDefined(wave, inst[1]))
    return;
  if (!access.pair) {
    addressesOf(wave, inst[1], u32(inst.offset), addresses);
    loadFrom(wave, inst, addresses, inst[0].reg, access.bytes);
    return await(wave, inst, &inst[0]);
  }
  u32 second[maxLanes];
  addressesOf(wave, inst[1], u32(inst.offset0) * access.bytes * access.stride, addresses);
  addressesOf(wave, inst[1], u32(inst.offset1) * access.bytes * access.stride, second);
  if (loadFrom(wave, inst, addresses, inst[0].reg, access.bytes))
    loadFrom(wave, inst, second, inst[0].reg + access.bytes / 4, access.bytes);
  await(wave, inst, &inst[0]);
}

void store(Wave &wave, const WaveInstruction &inst) {
  ++wave.counters.ldsWrites;
  const Access &access = inst.access;
  u32 addresses[maxLanes];
  if (!addressIsDefined(wave, inst[0]))
    return;
  if (!access.pair) {
    addressesOf(wave, inst[0], u32(inst.offset), addresses);
    storeTo(wave, inst, addresses, inst[1], access.bytes);
  } else {
    addressesOf(wave, inst[0], u32(inst.offset0) * access.bytes * access.stride, addresses);
    if (storeTo(wave, inst, addresses, inst[1], access.bytes)) {
      addressesOf(wave, inst[0], u32(inst.offset1) * access.bytes * access.stride, addresses);
      storeTo(wave, inst, addresses, inst[2], access.bytes);
    }
  }
  await(wave, inst, nullptr);
}

void atomic(Wave &wave, const WaveInstruction &inst) {
  ++wave.counters.ldsWrites;
  const Access &access = inst.access;
  const unsigned base = access.returns ? 1 : 0;
  if (!addressIsDefined(wave, inst[base]))
    return;
  u32 addresses[maxLanes];
  addressesOf(wave, inst[base], u32(inst.offset), addresses);
  const uint64_t on = wave.execMask();
  Lds &lds = wave.group.lds;
  const bool comparesFirst = inst.mnemonic.find("cmpst_") != std::string::npos; // gfx9: the comparand comes first
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(on >> lane & 1))
      continue;
    if (addresses[lane] % access.bytes)
      return wave.fault("an atomic access to LDS at " + llvm::Twine(addresses[lane]) + ", which is not a multiple of " +
                            llvm::Twine(unsigned(access.bytes)),
                        int(lane));
    bool undefined = false;
    if (!lds.read(wave, lane, addresses[lane], access.bytes, true, undefined) ||
        !lds.write(wave, lane, addresses[lane], access.bytes, true))
      return;
    uint64_t data[2] = {};
    for (unsigned i = 0; i < 2 && base + 1 + i < inst.operandCount; ++i)
      for (unsigned part = 0; part < access.bytes / 4u; ++part)
        data[i] |= uint64_t(laneBits(wave, inst[base + 1 + i], part, lane)) << (32 * part);
    if (comparesFirst)
      std::swap(data[0], data[1]);
    const uint64_t old = atomically(access, lds.data() + addresses[lane], data[0], data[1]);
    if (undefined && access.atomic != Access::Atomic::swap)
      lds.poisonBytes(addresses[lane], access.bytes);
    if (access.returns)
      for (unsigned part = 0; part < access.bytes / 4u; ++part) {
        wave.v[inst[0].reg + part][lane] = u32(old >> (32 * part));
        setPoison(wave.poison[inst[0].reg + part].low, lane, undefined);
        setPoison(wave.poison[inst[0].reg + part].high, lane, undefined);
      }
  }
  countConflicts(wave, addresses, access.bytes);
  await(wave, inst, access.returns ? &inst[0] : nullptr);
}

//===-- lanes ----------------------------------------------------------------------------------------------------===//

/// Each lane gets the value of lane `from[lane]`; -1 and lanes that are off give 0.
void gather(Wave &wave, const WaveInstruction &inst, const Operand &source, const int *from) {
  u32 result[maxLanes];
  Poison poison;
  const Poison own = wave.poison[source.reg];
  const uint64_t on = wave.execMask();
  wave.originIn = wave.origin[source.reg];
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const bool valid = from[lane] >= 0 && (on >> from[lane] & 1);
    result[lane] = valid ? wave.v[source.reg][from[lane]] : 0;
    poison.low |= uint64_t(valid && own.low >> from[lane] & 1) << lane;
    poison.high |= uint64_t(valid && own.high >> from[lane] & 1) << lane;
  }
  wave.setDwords(inst, inst[0], 0, result, on, poison);
  await(wave, inst, &inst[0]);
}

void backwardPermute(Wave &wave, const WaveInstruction &inst) {
  ++wave.counters.ldsReads;
  if (!addressIsDefined(wave, inst[1]))
    return;
  int from[maxLanes];
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    from[lane] = int((wave.v[inst[1].reg][lane] + u32(inst.offset)) / 4 % wave.lanes);
  if (wave.lanes == 32 || wave.generation < Generation::gfx11)
    return gather(wave, inst, inst[2], from);
  wave.fault("the emulator lacks ds_bpermute_b32 for waves of 64 lanes on this processor");
}

void forwardPermute(Wave &wave, const WaveInstruction &inst) {
  ++wave.counters.ldsReads;
  if (!addressIsDefined(wave, inst[1]))
    return;
  int from[maxLanes];
  std::fill(std::begin(from), std::end(from), -1);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (wave.execMask() >> lane & 1)
      from[(wave.v[inst[1].reg][lane] + u32(inst.offset)) / 4 % wave.lanes] = int(lane);
  gather(wave, inst, inst[2], from);
}

void swizzle(Wave &wave, const WaveInstruction &inst) {
  ++wave.counters.ldsReads;
  const u32 pattern = inst.immediate;
  int from[maxLanes];
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const u32 half = lane & ~31u, i = lane & 31;
    if (pattern >> 15 & 1) // four lanes: two bits each
      from[lane] = int((lane & ~3u) + (pattern >> (2 * (lane & 3)) & 3));
    else
      from[lane] = int(half + (((i & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31)));
  }
  if (wave.generation >= Generation::gfx90a && pattern >> 14 == 3)
    return wave.fault("the emulator lacks the rotating and FFT modes of ds_swizzle_b32");
  gather(wave, inst, inst[1], from);
}

/// gfx950: rows of 16 lanes load a block and get it transposed. Lane i has column i: element j of its result is element
/// i % n of what lane (16 / n') j + i / n loaded, with n elements of `bits` in a lane.
template <unsigned bits> void loadTransposed(Wave &wave, const WaveInstruction &inst) {
  ++wave.counters.ldsReads;
  if (!addressIsDefined(wave, inst[1]))
    return;
  if (wave.execMask() != wave.allLanes)
    return wave.fault("a transposed load needs all lanes on");
  u32 addresses[maxLanes];
  addressesOf(wave, inst[1], u32(inst.offset), addresses);
  const unsigned reg = inst[0].reg, dwords = inst[0].dwords, perLane = dwords * 32 / bits, lanesOfRow = 16 / perLane;
  if (!loadFrom(wave, inst, addresses, reg, dwords * 4))
    return;
  static_assert(bits == 4 || bits == 8 || bits == 16);
  u32 in[4][maxLanes], out[4][maxLanes] = {};
  uint64_t undefined = 0;
  for (unsigned part = 0; part < dwords; ++part) {
    std::memcpy(in[part], wave.v[reg + part], sizeof in[part]);
    undefined |= wave.poison[reg + part].any();
  }
  auto element = [&](unsigned lane, unsigned i) {
    return in[i * bits / 32][lane] >> (i * bits % 32) & ((1u << bits) - 1);
  };
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    for (unsigned j = 0; j < perLane; ++j) {
      const unsigned i = lane % 16, from = lane / 16 * 16 + j * lanesOfRow + i / perLane;
      out[j * bits / 32][lane] |= element(from, i % perLane) << (j * bits % 32);
    }
  for (unsigned part = 0; part < dwords; ++part) {
    std::memcpy(wave.v[reg + part], out[part], sizeof out[part]);
    if (undefined) // whoever is in the row
      wave.poison[reg + part] = {wave.allLanes, wave.allLanes};
  }
  await(wave, inst, &inst[0]);
}

} // namespace

Semantics sectile::emulate::findLds(WaveInstruction &inst) {
  switch (inst.access.kind) {
  case Access::Kind::load:
    return load;
  case Access::Kind::store:
    return store;
  case Access::Kind::atomic:
    return atomic;
  }
  return nullptr;
}

void sectile::emulate::addLdsLanes(SemanticsTable &t) {
  t["ds_bpermute_b32"] = backwardPermute;
  t["ds_permute_b32"] = forwardPermute;
  t["ds_swizzle_b32"] = swizzle;
  t["ds_read_b64_tr_b16"] = loadTransposed<16>;
  t["ds_read_b64_tr_b8"] = loadTransposed<8>;
  t["ds_read_b64_tr_b4"] = loadTransposed<4>;
  t["ds_nop"] = [](Wave &, const WaveInstruction &) {};
}
