// VALU instructions that move values between lanes, and between lanes and scalar registers.
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

#include "llvm/ADT/bit.h"

using namespace sectile::emulate;
using u32 = uint32_t;

namespace {

u32 poisonBits(const Wave &wave, const Operand &operand, unsigned lane) {
  if (!operand.isVector())
    return operand.isScalar() ? wave.scalarPoison[operand.reg] : 0;
  const Poison &poison = wave.poison[operand.reg];
  return (poison.low >> lane & 1 ? 0xffff : 0) | (poison.high >> lane & 1 ? 0xffff0000 : 0);
}

void readLaneOf(Wave &wave, const WaveInstruction &inst, unsigned lane) {
  wave.setScalar32(inst[0], laneBits(wave, inst[1], 0, lane), poisonBits(wave, inst[1], lane));
}
void readFirstLane(Wave &wave, const WaveInstruction &inst) {
  const uint64_t on = wave.execMask();
  readLaneOf(wave, inst, on ? llvm::countr_zero(on) : 0);
}
void readLane(Wave &wave, const WaveInstruction &inst) {
  u32 poison = 0;
  const u32 lane = wave.scalar32(inst[2], poison);
  if (poison)
    return wave.faultPoison("the number of the lane", -1, inst[2]);
  readLaneOf(wave, inst, lane % wave.lanes);
}
void writeLane(Wave &wave, const WaveInstruction &inst) { // whatever EXEC is
  u32 poison = 0, lanePoison = 0;
  const u32 value = wave.scalar32(inst[1], poison), lane = wave.scalar32(inst[2], lanePoison) % wave.lanes;
  if (lanePoison)
    return wave.faultPoison("the number of the lane", -1, inst[2]);
  const unsigned reg = inst[0].reg;
  const uint64_t bit = uint64_t(1) << lane;
  wave.v[reg][lane] = value;
  Poison &own = wave.poison[reg];
  own.low = poison & 0xffff ? own.low | bit : own.low & ~bit;
  own.high = poison >> 16 ? own.high | bit : own.high & ~bit;
}

/// D = S1 + how many bits of S0 are below this lane, of the lanes from `first`.
template <unsigned first> void countBelow(Wave &wave, const WaveInstruction &inst) {
  Lanes<U32> a, b, result;
  const u32 *mask = read<U32>(wave, inst, inst[1], a), *addend = read<U32>(wave, inst, inst[2], b);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const u32 below = lane <= first ? 0 : lane - first >= 32 ? ~0u : (1u << (lane - first)) - 1;
    result.at[lane] = u32(llvm::popcount(mask[lane] & below)) + addend[lane];
  }
  write<U32>(wave, inst, inst[0], result);
}

/// Lane i of each row of 16 reads lane sel(i) of its own row, or of its neighbour: sel is a nibble of S1 (lanes 0 to 7)
/// or S2, which `var` forms take from the lane itself.
template <bool otherRow, bool var> void permuteRow(Wave &wave, const WaveInstruction &inst) {
  u32 result[maxLanes];
  Poison poison;
  const Operand &source = inst[1];
  const bool fetchInactive = inst.opSel & 1, boundControl = inst.opSel & 2;
  const uint64_t on = wave.execMask();
  uint64_t mask = on;
  wave.originIn = source.isVector() ? wave.origin[source.reg] : nullptr;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const unsigned i = lane % 16;
    u32 select = 0;
    if (var)
      select = laneBits(wave, inst[2], 0, lane) & 15;
    else
      select = laneBits(wave, inst[i < 8 ? 2 : 3], 0, lane) >> (4 * (i % 8)) & 15;
    const unsigned from = ((lane / 16) ^ (otherRow ? 1 : 0)) * 16 + select;
    if (!fetchInactive && !(on >> from & 1)) {
      result[lane] = 0;
      if (!boundControl)
        mask &= ~(uint64_t(1) << lane);
      continue;
    }
    result[lane] = laneBits(wave, source, 0, from);
    const u32 bits = poisonBits(wave, source, from);
    poison.low |= uint64_t((bits & 0xffff) != 0) << lane;
    poison.high |= uint64_t(bits >> 16 != 0) << lane;
  }
  wave.setDwords(inst, inst[0], 0, result, mask, poison);
}

/// Exchanges the odd rows of the first register with the even rows of the second one.
template <unsigned row> void swapRows(Wave &wave, const WaveInstruction &inst) {
  const unsigned a = inst[0].reg, b = inst[1].reg;
  const uint64_t on = wave.execMask();
  auto exchange = [](uint64_t &x, unsigned i, uint64_t &y, unsigned j) {
    const uint64_t differs = (x >> i ^ y >> j) & 1;
    x ^= differs << i, y ^= differs << j;
  };
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (lane / row % 2 == 0)
      continue;
    const unsigned even = lane - row;
    if (!(on >> lane & 1) || !(on >> even & 1))
      continue;
    std::swap(wave.v[a][lane], wave.v[b][even]);
    exchange(wave.poison[a].low, lane, wave.poison[b].low, even);
    exchange(wave.poison[a].high, lane, wave.poison[b].high, even);
  }
  for (unsigned reg : {a, b})
    if (wave.poison[reg].any() && !wave.origin[reg])
      wave.origin[reg] = wave.origin[a] ? wave.origin[a] : wave.origin[b];
}

void permute64(Wave &wave, const WaveInstruction &inst) { // lane i of a wave of 64 reads lane i ^ 32
  u32 result[maxLanes];
  const Poison own = wave.poison[inst[1].reg];
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result[lane] = wave.v[inst[1].reg][wave.lanes == 64 ? lane ^ 32 : lane];
  const Poison poison = wave.lanes == 64 ? Poison{own.low << 32 | own.low >> 32, own.high << 32 | own.high >> 32} : own;
  wave.setDwords(inst, inst[0], 0, result, wave.execMask(), poison);
}

} // namespace

void sectile::emulate::addCrossLane(SemanticsTable &t) {
  t["v_readfirstlane_b32"] = readFirstLane;
  t["v_readlane_b32"] = readLane;
  t["v_writelane_b32"] = writeLane;
  t["v_mbcnt_lo_u32_b32"] = countBelow<0>;
  t["v_mbcnt_hi_u32_b32"] = countBelow<32>;
  t["v_permlane16_b32"] = permuteRow<false, false>;
  t["v_permlanex16_b32"] = permuteRow<true, false>;
  t["v_permlane16_var_b32"] = permuteRow<false, true>;
  t["v_permlanex16_var_b32"] = permuteRow<true, true>;
  t["v_permlane64_b32"] = permute64;
  t["v_permlane32_swap_b32"] = swapRows<32>;
  t["v_permlane16_swap_b32"] = swapRows<16>;
}
