// VALU arithmetic on integers, and bits.
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <limits>

using namespace sectile::emulate;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

namespace {

template <class T> using V = typename T::Value;

template <class T> constexpr i64 leastOf() { return std::is_signed_v<V<T>> ? -(i64(1) << (T::bits - 1)) : 0; }
template <class T> constexpr i64 mostOf() { return (i64(1) << (std::is_signed_v<V<T>> ? T::bits - 1 : T::bits)) - 1; }

/// Wraps, or saturates for the modifier clamp; F computes in 64 bits.
template <auto F, class T, class... A> void saturating(Wave &wave, const WaveInstruction &inst) {
  if (inst.clamp)
    valu<[](V<A>... in) { return V<T>(std::clamp<i64>(F(i64(in)...), leastOf<T>(), mostOf<T>())); }, T, A...>(wave,
                                                                                                              inst);
  else
    carrying<[](V<A>... in) { return V<T>(F(i64(in)...)); }, T, A...>(wave, inst);
}

/// v_add_co and its like: D, carry out = F(S0, S1, carry in); carry in is an operand if there are five.
template <auto F> void withCarry(Wave &wave, const WaveInstruction &inst) {
  Lanes<U32> a, b, result;
  const u32 *x = read<U32>(wave, inst, inst[2], a), *y = read<U32>(wave, inst, inst[3], b);
  u64 carryPoison = 0, carry = 0, out = 0;
  if (inst.operandCount > 4)
    carry = wave.laneMask(inst[4], carryPoison);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const i64 sum = F(i64(x[lane]), i64(y[lane]), i64(carry >> lane & 1));
    result.at[lane] = u32(sum);
    out |= u64(sum >> 32 & 1) << lane;
  }
  if (carryPoison & wave.execMask())
    wave.addPoison(inst[4], 0, carryPoison & wave.allLanes);
  const u64 on = wave.written(inst), poison = wave.poisonIn & on;
  if (inst.clamp)
    return wave.fault("the emulator lacks clamp for instructions with a carry");
  write<U32>(wave, inst, inst[0], result);
  wave.setLaneMask(inst[1], out & on, poison);
}

/// v_mad_u64_u32 and v_mad_i64_i32: D (64 bits), carry out, S0, S1, S2 (64 bits).
template <class T> void mad64(Wave &wave, const WaveInstruction &inst) {
  Lanes<T> a, b;
  Lanes<U64> c, result;
  const auto *x = read<T>(wave, inst, inst[2], a), *y = read<T>(wave, inst, inst[3], b);
  const u64 poisonOfFactors = wave.poisonIn;
  const u64 *z = read<U64>(wave, inst, inst[4], c);
  u64 carry = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const u64 product = u64(i64(x[lane]) * i64(y[lane]));
    bool overflow = false;
    if constexpr (std::is_same_v<T, I32>) {
      i64 sum = 0;
      overflow = __builtin_add_overflow(i64(product), i64(z[lane]), &sum);
      result.at[lane] = u64(sum);
    } else {
      result.at[lane] = u64(x[lane]) * u64(y[lane]) + z[lane];
      overflow = result.at[lane] < z[lane];
    }
    carry |= u64(overflow) << lane;
  }
  const u64 poison = wave.poisonIn & wave.execMask();
  // Compilers leave the upper half of the addend undefined where they want the lower half of the sum alone.
  const u64 lowPoison = poison & (poisonOfFactors | wave.poisonOf(inst, inst[4], 0).any());
  u32 halves[2][maxLanes];
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    halves[0][lane] = u32(result.at[lane]), halves[1][lane] = u32(result.at[lane] >> 32);
  wave.setDwords(inst, inst[0], 0, halves[0], wave.written(inst), {lowPoison, lowPoison});
  wave.setDwords(inst, inst[0], 1, halves[1], wave.written(inst), {poison, poison});
  wave.setLaneMask(inst[1], carry & wave.execMask(), poison);
}

u32 bitField(u32 value, u32 offset, u32 width) {
  offset &= 31, width &= 31;
  return width ? value >> offset & ((1u << width) - 1) : 0;
}
i32 signedBitField(u32 value, u32 offset, u32 width) {
  offset &= 31, width &= 31;
  if (!width)
    return 0;
  return offset + width < 32 ? i32(value << (32 - offset - width)) >> (32 - width) : i32(value) >> offset;
}

u32 permute(u32 high, u32 low, u32 selectors) {
  const u64 bytes = u64(high) << 32 | low;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 select = selectors >> (8 * i) & 0xff;
    u32 byte = 0xff;
    if (select < 8)
      byte = u32(bytes >> (8 * select)) & 0xff;
    else if (select < 12) // the sign of bytes 1, 3, 5, 7
      byte = bytes >> (16 * (select - 8) + 15) & 1 ? 0xff : 0;
    else if (select == 12)
      byte = 0;
    result |= byte << (8 * i);
  }
  return result;
}

i32 signed24(u32 x) { return i32(x << 8) >> 8; }
u32 unsigned24(u32 x) { return x & 0xffffff; }

/// v_cndmask_b32 and _b16: modifiers apply to either source.
template <class T> void choose(Wave &wave, const WaveInstruction &inst) {
  Lanes<T> a, b, result;
  u64 maskPoison = 0;
  const u64 mask = wave.laneMask(inst[3], maskPoison);
  // Only what is chosen counts.
  const u32 *x = read<T>(wave, inst, inst[1], a);
  const u64 poisonOfFalse = std::exchange(wave.poisonIn, 0), lowOfFalse = std::exchange(wave.lowPoisonIn, 0);
  const u32 *y = read<T>(wave, inst, inst[2], b);
  wave.poisonIn = (poisonOfFalse & ~mask) | (wave.poisonIn & mask);
  wave.lowPoisonIn = (lowOfFalse & ~mask) | (wave.lowPoisonIn & mask);
  if (maskPoison & wave.execMask())
    wave.addPoison(inst[3], 0, maskPoison & wave.allLanes);
  wave.carriesUp = T::bits == 32; // halves are chosen by themselves
  if (mask == 0 || (mask & wave.allLanes) == wave.allLanes)
    std::memcpy(result.at, mask ? y : x, sizeof(u32) * wave.lanes);
  else
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      result.at[lane] = mask >> lane & 1 ? y[lane] : x[lane];
  write<T>(wave, inst, inst[0], result);
  wave.carriesUp = false;
}

void move64(Wave &wave, const WaveInstruction &inst) {
  alignas(64) u32 buffer[maxLanes];
  const u64 mask = wave.written(inst);
  for (unsigned part : {0u, 1u}) {
    u32 copy[maxLanes];
    const Operand &from = inst[1];
    const u32 *row =
        wave.dwords(inst, from, from.dwords > 1 || from.kind == Operand::Kind::constant ? part : 0, buffer);
    if (from.kind == Operand::Kind::constant)
      std::fill_n(copy, wave.lanes, u32(from.bits64 >> (32 * part)));
    else
      std::memcpy(copy, row, sizeof(u32) * wave.lanes);
    const Poison poison = wave.poisonOf(inst, from, part);
    wave.originIn = from.isVector() ? wave.origin[from.reg + part] : nullptr;
    wave.setDwords(inst, inst[0], part, copy, mask, poison);
  }
}

void swap(Wave &wave, const WaveInstruction &inst) {
  u32 a[maxLanes], b[maxLanes];
  std::memcpy(a, wave.v[inst[0].reg], sizeof a), std::memcpy(b, wave.v[inst[1].reg], sizeof b);
  const Poison poisonA = wave.poison[inst[0].reg], poisonB = wave.poison[inst[1].reg];
  wave.setDwords(inst, inst[0], 0, b, wave.execMask(), poisonB);
  wave.setDwords(inst, inst[1], 0, a, wave.execMask(), poisonA);
}

template <class T> void addMinMax(SemanticsTable &t, const std::string &suffix) {
  using X = V<T>;
  constexpr auto min = [](X a, X b) { return std::min(a, b); };
  constexpr auto max = [](X a, X b) { return std::max(a, b); };
  t["v_min_" + suffix] = valu<min, T, T, T>;
  t["v_max_" + suffix] = valu<max, T, T, T>;
  t["v_min3_" + suffix] = valu<[](X a, X b, X c) { return std::min(std::min(a, b), c); }, T, T, T, T>;
  t["v_max3_" + suffix] = valu<[](X a, X b, X c) { return std::max(std::max(a, b), c); }, T, T, T, T>;
  t["v_med3_" + suffix] =
      valu<[](X a, X b, X c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }, T, T, T, T>;
  t["v_maxmin_" + suffix] = valu<[](X a, X b, X c) { return std::min(std::max(a, b), c); }, T, T, T, T>;
  t["v_minmax_" + suffix] = valu<[](X a, X b, X c) { return std::max(std::min(a, b), c); }, T, T, T, T>;
}

constexpr auto plus = [](i64 a, i64 b) { return a + b; };
constexpr auto minus = [](i64 a, i64 b) { return a - b; };
constexpr auto minusReversed = [](i64 a, i64 b) { return b - a; };

void addArithmetic(SemanticsTable &t) {
  t["v_add_u32"] = t["v_add_nc_u32"] = saturating<plus, U32, U32, U32>;
  t["v_sub_u32"] = t["v_sub_nc_u32"] = saturating<minus, U32, U32, U32>;
  t["v_subrev_u32"] = t["v_subrev_nc_u32"] = saturating<minusReversed, U32, U32, U32>;
  t["v_add_i32"] = t["v_add_nc_i32"] = saturating<plus, I32, I32, I32>;
  t["v_sub_i32"] = t["v_sub_nc_i32"] = saturating<minus, I32, I32, I32>;
  t["v_add_u16"] = t["v_add_nc_u16"] = saturating<plus, U16, U16, U16>;
  t["v_sub_u16"] = t["v_sub_nc_u16"] = saturating<minus, U16, U16, U16>;
  t["v_subrev_u16"] = saturating<minusReversed, U16, U16, U16>;
  t["v_add_i16"] = t["v_add_nc_i16"] = saturating<plus, I16, I16, I16>;
  t["v_sub_i16"] = t["v_sub_nc_i16"] = saturating<minus, I16, I16, I16>;
  constexpr auto addCarry = [](i64 a, i64 b, i64 c) { return a + b + c; };
  constexpr auto subBorrow = [](i64 a, i64 b, i64 c) { return a - b - c; };
  constexpr auto subBorrowReversed = [](i64 a, i64 b, i64 c) { return b - a - c; };
  t["v_add_co_u32"] = t["v_addc_co_u32"] = t["v_add_co_ci_u32"] = withCarry<addCarry>;
  t["v_sub_co_u32"] = t["v_subb_co_u32"] = t["v_sub_co_ci_u32"] = withCarry<subBorrow>;
  t["v_subrev_co_u32"] = t["v_subbrev_co_u32"] = t["v_subrev_co_ci_u32"] = withCarry<subBorrowReversed>;
  t["v_mul_lo_u32"] = carrying<[](u32 a, u32 b) { return a * b; }, U32, U32, U32>;
  t["v_mul_hi_u32"] = valu<[](u32 a, u32 b) { return u32(u64(a) * b >> 32); }, U32, U32, U32>;
  t["v_mul_hi_i32"] = valu<[](i32 a, i32 b) { return i32(i64(a) * b >> 32); }, I32, I32, I32>;
  t["v_mul_lo_u16"] = valu<[](u32 a, u32 b) { return a * b; }, U16, U16, U16>;
  t["v_mul_i32_i24"] = carrying<[](u32 a, u32 b) { return u32(signed24(a)) * u32(signed24(b)); }, U32, U32, U32>;
  t["v_mul_u32_u24"] = carrying<[](u32 a, u32 b) { return unsigned24(a) * unsigned24(b); }, U32, U32, U32>;
  t["v_mul_hi_i32_i24"] = valu<[](u32 a, u32 b) { return i32(i64(signed24(a)) * signed24(b) >> 32); }, I32, U32, U32>;
  t["v_mul_hi_u32_u24"] =
      valu<[](u32 a, u32 b) { return u32(u64(unsigned24(a)) * unsigned24(b) >> 32); }, U32, U32, U32>;
  t["v_mad_i32_i24"] =
      carrying<[](u32 a, u32 b, u32 c) { return u32(signed24(a)) * u32(signed24(b)) + c; }, U32, U32, U32, U32>;
  t["v_mad_u32_u24"] =
      carrying<[](u32 a, u32 b, u32 c) { return unsigned24(a) * unsigned24(b) + c; }, U32, U32, U32, U32>;
  t["v_mad_u16"] = t["v_mad_legacy_u16"] = valu<[](u32 a, u32 b, u32 c) { return a * b + c; }, U16, U16, U16, U16>;
  t["v_mad_i16"] = valu<[](u32 a, u32 b, u32 c) { return a * b + c; }, U16, U16, U16, U16>;
  t["v_mad_u32_u16"] = valu<[](u32 a, u32 b, u32 c) { return a * b + c; }, U32, U16, U16, U32>;
  t["v_mad_i32_i16"] = valu<[](i32 a, i32 b, u32 c) { return u32(a * b) + c; }, U32, I16, I16, U32>;
  t["v_mad_u64_u32"] = t["v_mad_co_u64_u32"] = mad64<U32>;
  t["v_mad_i64_i32"] = t["v_mad_co_i64_i32"] = mad64<I32>;
  t["v_add3_u32"] = carrying<[](u32 a, u32 b, u32 c) { return a + b + c; }, U32, U32, U32, U32>;
  t["v_lshl_add_u32"] = carrying<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }, U32, U32, U32, U32>;
  t["v_add_lshl_u32"] = carrying<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }, U32, U32, U32, U32>;
  t["v_lshl_add_u64"] = valu<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }, U64, U64, U32, U64>;
  t["v_xad_u32"] = carrying<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }, U32, U32, U32, U32>;
  t["v_sad_u32"] = valu<[](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }, U32, U32, U32, U32>;
  addMinMax<U32>(t, "u32");
  addMinMax<I32>(t, "i32");
  addMinMax<U16>(t, "u16");
  addMinMax<I16>(t, "i16");
}

void addBits(SemanticsTable &t) {
  t["v_mov_b32"] = t["v_accvgpr_read_b32"] = t["v_accvgpr_write_b32"] = t["v_accvgpr_mov_b32"] =
      bits<[](u32 a) { return a; }, 1>;
  t["v_mov_b16"] = valu<[](u32 a) { return a; }, U16, U16>;
  t["v_mov_b64"] = move64;
  t["v_swap_b32"] = swap;
  t["v_and_b32"] = bits<[](u32 a, u32 b) { return a & b; }, 2>;
  t["v_or_b32"] = bits<[](u32 a, u32 b) { return a | b; }, 2>;
  t["v_xor_b32"] = bits<[](u32 a, u32 b) { return a ^ b; }, 2>;
  t["v_xnor_b32"] = bits<[](u32 a, u32 b) { return ~(a ^ b); }, 2>;
  t["v_not_b32"] = bits<[](u32 a) { return ~a; }, 1>;
  t["v_and_b16"] = valu<[](u32 a, u32 b) { return a & b; }, U16, U16, U16>;
  t["v_or_b16"] = valu<[](u32 a, u32 b) { return a | b; }, U16, U16, U16>;
  t["v_xor_b16"] = valu<[](u32 a, u32 b) { return a ^ b; }, U16, U16, U16>;
  t["v_not_b16"] = valu<[](u32 a) { return ~a; }, U16, U16>;
  t["v_and_or_b32"] = bits<[](u32 a, u32 b, u32 c) { return (a & b) | c; }, 3>;
  t["v_or3_b32"] = bits<[](u32 a, u32 b, u32 c) { return a | b | c; }, 3>;
  t["v_xor3_b32"] = bits<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }, 3>;
  t["v_lshl_or_b32"] = bits<[](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }, 3>;
  t["v_bfi_b32"] = bits<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }, 3>;
  t["v_bfe_u32"] = bits<[](u32 a, u32 b, u32 c) { return bitField(a, b, c); }, 3>;
  t["v_bfe_i32"] = bits<[](u32 a, u32 b, u32 c) { return u32(signedBitField(a, b, c)); }, 3>;
  t["v_perm_b32"] = bits<[](u32 a, u32 b, u32 c) { return permute(a, b, c); }, 3>;
  t["v_alignbit_b32"] = bits<[](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (c & 31)); }, 3>;
  t["v_alignbyte_b32"] = bits<[](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (8 * (c & 3))); }, 3>;
  t["v_lshlrev_b32"] = bits<[](u32 n, u32 a) { return a << (n & 31); }, 2>;
  t["v_lshrrev_b32"] = bits<[](u32 n, u32 a) { return (a >> (n & 31)); }, 2>;
  t["v_ashrrev_i32"] = bits<[](u32 n, u32 a) { return u32(i32(a) >> (n & 31)); }, 2>;
  t["v_lshlrev_b16"] = valu<[](u32 n, u32 a) { return a << (n & 15); }, U16, U16, U16>;
  t["v_lshrrev_b16"] = valu<[](u32 n, u32 a) { return (a >> (n & 15)); }, U16, U16, U16>;
  t["v_ashrrev_i16"] = valu<[](i32 n, i32 a) { return (a >> (n & 15)); }, I16, I16, I16>;
  t["v_lshlrev_b64"] = valu<[](u32 n, u64 a) { return a << (n & 63); }, U64, U32, U64>;
  t["v_lshrrev_b64"] = valu<[](u32 n, u64 a) { return (a >> (n & 63)); }, U64, U32, U64>;
  t["v_ashrrev_i64"] = valu<[](u32 n, i64 a) { return (a >> (n & 63)); }, I64, U32, I64>;
  t["v_bfm_b32"] =
      valu<[](u32 width, u32 offset) { return ((1u << (width & 31)) - 1) << (offset & 31); }, U32, U32, U32>;
  t["v_bfrev_b32"] = bits<[](u32 a) { return llvm::reverseBits(a); }, 1>;
  t["v_bcnt_u32_b32"] = valu<[](u32 a, u32 b) { return u32(llvm::popcount(a)) + b; }, U32, U32, U32>;
  t["v_ffbh_u32"] = t["v_clz_i32_u32"] = valu<[](u32 a) { return a ? u32(llvm::countl_zero(a)) : ~0u; }, U32, U32>;
  t["v_ffbl_b32"] = t["v_ctz_i32_b32"] = valu<[](u32 a) { return a ? u32(llvm::countr_zero(a)) : ~0u; }, U32, U32>;
  t["v_ffbh_i32"] = t["v_cls_i32"] = valu<[](i32 a) {
    const u32 x = u32(a < 0 ? ~a : a);
    return x ? u32(llvm::countl_zero(x)) : ~0u;
  },
                                          U32, I32>;
  t["v_cndmask_b32"] = choose<U32>;
  t["v_cndmask_b16"] = choose<U16>;
  t["v_sat_pk_u8_i16"] = valu<[](u32 a) {
    return u32(std::clamp<i32>(int16_t(a), 0, 255) | std::clamp<i32>(int16_t(a >> 16), 0, 255) << 8);
  },
                              U32, U32>;
}

} // namespace

void sectile::emulate::addVectorInteger(SemanticsTable &t) {
  addArithmetic(t);
  addBits(t);
}
