// VALU instructions on two values of a register (pair), mixed precision, and dot products (VOP3P).
#include "runtime/emulate/Extrema.h"
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

#include <algorithm>
#include <cmath>

using namespace sectile::emulate;
using u32 = uint32_t;
using i32 = int32_t;

namespace {

bool selectsHigh(const WaveInstruction &inst, unsigned source, unsigned half) {
  return (half ? inst.opSelHi : inst.opSel) >> source & 1;
}
bool negates(const WaveInstruction &inst, unsigned source, unsigned half) {
  return (half ? inst.negHi : inst.negLo) >> source & 1;
}

/// What a packed constant is: an integer of 32 bits, or a float in the lower half.
u32 packedConstant(const Operand &operand) { return operand.isFloat ? operand.bits16 : operand.bits32; }

/// Source `source` of half `half` of a packed 16-bit instruction, raw.
void readHalf(Wave &wave, const WaveInstruction &inst, unsigned source, unsigned half, u32 *out) {
  const Operand &operand = inst[source + 1];
  const bool high = selectsHigh(inst, source, half);
  alignas(64) u32 buffer[maxLanes];
  const u32 *row = buffer;
  if (operand.kind == Operand::Kind::constant) {
    std::fill_n(buffer, wave.lanes, packedConstant(operand));
  } else {
    const Poison poison = wave.poisonOf(inst, operand, 0);
    if (poison.any())
      wave.addPoison(operand, 0, high ? poison.high : poison.low);
    row = wave.dwords(inst, operand, 0, buffer);
  }
  const u32 flip = negates(inst, source, half) ? 0x8000 : 0, shift = high ? 16 : 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    out[lane] = (row[lane] >> shift & 0xffff) ^ flip;
}

template <class T> typename T::Value fromHalf(u32 bits) {
  if constexpr (T::isFloat)
    return halfToFloat(bits);
  else if constexpr (std::is_same_v<T, I16>)
    return int16_t(bits);
  else
    return bits;
}
template <class T> u32 toHalf(typename T::Value value, bool clamp) {
  if constexpr (T::isFloat) {
    if (clamp)
      value = value > 0 ? std::min<typename T::Value>(value, 1) : 0;
    if constexpr (std::is_same_v<T, H16>)
      return doubleToHalf(value);
    else
      return floatToHalf(value);
  } else {
    if (clamp)
      value = std::is_same_v<T, I16> ? typename T::Value(std::clamp<i32>(value, -32768, 32767))
                                     : typename T::Value(std::clamp<i32>(value, 0, 65535));
    return u32(value) & 0xffff;
  }
}

/// Both halves of F on 16-bit values of type T.
template <auto F, class T, size_t... I>
void packedOf(Wave &wave, const WaveInstruction &inst, std::index_sequence<I...>) {
  alignas(64) u32 in[sizeof...(I)][maxLanes], result[maxLanes];
  Poison poison;
  for (unsigned half : {0u, 1u}) {
    wave.poisonIn = 0;
    (readHalf(wave, inst, I, half, in[I]), ...);
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      const u32 value = toHalf<T>(F(fromHalf<T>(in[I][lane])...), inst.clamp);
      result[lane] = half ? result[lane] | value << 16 : value;
    }
    (half ? poison.high : poison.low) = wave.poisonIn;
  }
  wave.setDwords(inst, inst[0], 0, result, wave.written(inst), poison);
}
template <auto F, class T, unsigned sources> void packed(Wave &wave, const WaveInstruction &inst) {
  packedOf<F, T>(wave, inst, std::make_index_sequence<sources>());
}

/// Both halves of F on f32 (or bits): sources are pairs of registers.
template <auto F, size_t... I> void packed32Of(Wave &wave, const WaveInstruction &inst, std::index_sequence<I...>) {
  alignas(64) u32 buffer[maxLanes], result[2][maxLanes];
  alignas(64) float in[sizeof...(I)][maxLanes];
  u32 poison[2] = {};
  uint64_t undefined[2];
  (void)poison;
  for (unsigned half : {0u, 1u}) {
    wave.poisonIn = 0;
    auto readPart = [&](unsigned source, float *out) {
      const Operand &operand = inst[source + 1];
      const unsigned part = operand.isRegister() && operand.dwords > 1 ? selectsHigh(inst, source, half) : 0;
      if (operand.isRegister())
        if (const Poison p = wave.poisonOf(inst, operand, part); p.any())
          wave.addPoison(operand, part, p.any());
      const u32 *row = buffer;
      if (operand.kind == Operand::Kind::constant)
        std::fill_n(buffer, wave.lanes, operand.bits32);
      else
        row = wave.dwords(inst, operand, part, buffer);
      const u32 flip = negates(inst, source, half) ? 0x80000000 : 0;
      for (unsigned lane = 0; lane < wave.lanes; ++lane)
        out[lane] = asFloat(row[lane] ^ flip);
      if (wave.flushSingle)
        for (unsigned lane = 0; lane < wave.lanes; ++lane)
          out[lane] = flushed(out[lane]);
    };
    (readPart(I, in[I]), ...);
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      float value = F(in[I][lane]...);
      if (inst.clamp)
        value = value > 0 ? std::min(value, 1.0f) : 0;
      result[half][lane] = asBits(wave.flushSingle ? flushed(value) : value);
    }
    undefined[half] = wave.poisonIn;
  }
  for (unsigned half : {0u, 1u})
    wave.setDwords(inst, inst[0], half, result[half], wave.execMask(), {undefined[half], undefined[half]});
}
template <auto F, unsigned sources> void packed32(Wave &wave, const WaveInstruction &inst) {
  packed32Of<F>(wave, inst, std::make_index_sequence<sources>());
}

/// v_pk_mov_b32: a dword of either source.
void packedMove(Wave &wave, const WaveInstruction &inst) {
  u32 result[2][maxLanes], buffer[maxLanes];
  Poison poison[2];
  for (unsigned half : {0u, 1u}) {
    const Operand &operand = inst[1 + half];
    const unsigned part = operand.isRegister() && operand.dwords > 1 ? inst.opSel >> half & 1 : 0;
    std::memcpy(result[half], wave.dwords(inst, operand, part, buffer), sizeof(u32) * wave.lanes);
    if (operand.kind == Operand::Kind::constant)
      std::fill_n(result[half], wave.lanes, operand.bits32);
    poison[half] = wave.poisonOf(inst, operand, part);
  }
  for (unsigned half : {0u, 1u})
    wave.setDwords(inst, inst[0], half, result[half], wave.execMask(), poison[half]);
}

/// v_fma_mix: each source is f32, or the half of a register that op_sel names where op_sel_hi says so.
enum class Mix { single, low, high };
template <Mix to> void mix(Wave &wave, const WaveInstruction &inst) {
  alignas(64) float in[3][maxLanes];
  for (unsigned source = 0; source < 3; ++source) {
    const Operand &operand = inst[source + 1];
    if (inst.opSelHi >> source & 1) {
      alignas(64) u32 half[maxLanes];
      Operand chosen = operand;
      chosen.high = inst.opSel >> source & 1;
      Lanes<F16> buffer;
      const float *values = read<F16>(wave, inst, chosen, buffer);
      std::copy_n(values, wave.lanes, in[source]);
      (void)half;
    } else {
      Lanes<F32> buffer;
      std::copy_n(read<F32>(wave, inst, operand, buffer), wave.lanes, in[source]);
    }
  }
  if constexpr (to == Mix::single) {
    Lanes<F32> result;
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      result.at[lane] = std::fma(in[0][lane], in[1][lane], in[2][lane]);
    write<F32>(wave, inst, inst[0], result);
  } else {
    alignas(64) u32 result[maxLanes];
    const u32 *old = wave.v[inst[0].reg];
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      double value = double(in[0][lane]) * in[1][lane] + in[2][lane];
      if (inst.clamp)
        value = value > 0 ? std::min(value, 1.0) : 0;
      const u32 half = doubleToHalf(value);
      result[lane] = to == Mix::low ? (old[lane] & 0xffff0000) | half : (old[lane] & 0xffff) | half << 16;
    }
    const Poison before = wave.poison[inst[0].reg];
    wave.setDwords(inst, inst[0], 0, result, wave.written(inst),
                   to == Mix::low ? Poison{wave.poisonIn, before.high} : Poison{before.low, wave.poisonIn});
  }
}

/// A sum of products of the elements of two registers and an addend, rounded once; the addend is operand 0 for v_dot2c.
template <unsigned elementBits, auto Value, bool accumulates, class T>
void dot(Wave &wave, const WaveInstruction &inst) {
  Lanes<U32> a, b;
  Lanes<T> c, result;
  const u32 *x = read<U32>(wave, inst, inst[1], a), *y = read<U32>(wave, inst, inst[2], b);
  const auto *z = read<T>(wave, inst, inst[accumulates ? 0 : 3], c);
  constexpr u32 mask = u32((uint64_t(1) << elementBits) - 1);
  using Sum = std::conditional_t<T::isFloat, double, int64_t>;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    Sum sum = z[lane];
    for (unsigned i = 0; i < 32; i += elementBits)
      sum += Sum(Value(x[lane] >> i & mask, inst.negLo & 1)) * Sum(Value(y[lane] >> i & mask, inst.negLo >> 1 & 1));
    if constexpr (!T::isFloat)
      if (inst.clamp)
        sum = std::is_same_v<T, I32> ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)
                                     : std::clamp<int64_t>(sum, 0, UINT32_MAX);
    result.at[lane] = typename T::Value(sum);
  }
  write<T>(wave, inst, inst[0], result);
}

constexpr auto half = [](u32 x, bool) { return double(halfToFloat(x)); };
constexpr auto bfloat = [](u32 x, bool) { return double(bfloatToFloat(x)); };
constexpr auto signed8 = [](u32 x, bool) { return int64_t(int8_t(x)); };
constexpr auto unsigned8 = [](u32 x, bool) { return int64_t(x); };
constexpr auto either8 = [](u32 x, bool isSigned) { return isSigned ? int64_t(int8_t(x)) : int64_t(x); };
constexpr auto signed4 = [](u32 x, bool) { return int64_t(int8_t(x << 4) >> 4); };
constexpr auto either4 = [](u32 x, bool isSigned) { return isSigned ? int64_t(int8_t(x << 4) >> 4) : int64_t(x); };
constexpr auto signed16 = [](u32 x, bool) { return int64_t(int16_t(x)); };

/// v_bitop3: any function of three bits, given as the truth table.
u32 byTable(uint8_t table, u32 x, u32 y, u32 z) {
  u32 value = 0;
  for (unsigned row = 0; row < 8; ++row)
    if (table >> row & 1)
      value |= (row & 4 ? x : ~x) & (row & 2 ? y : ~y) & (row & 1 ? z : ~z);
  return value;
}
void bitop3(Wave &wave, const WaveInstruction &inst) {
  spreadBits(wave, inst, 3, [&](const u32 *in) { return byTable(inst.truthTable, in[0], in[1], in[2]); });
}
void bitop3Half(Wave &wave, const WaveInstruction &inst) {
  Lanes<U16> a, b, c, result;
  const u32 *x = read<U16>(wave, inst, inst[1], a), *y = read<U16>(wave, inst, inst[2], b),
            *z = read<U16>(wave, inst, inst[3], c);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result.at[lane] = byTable(inst.truthTable, x[lane], y[lane], z[lane]);
  write<U16>(wave, inst, inst[0], result);
}

} // namespace

void sectile::emulate::addPacked(SemanticsTable &t) {
  t["v_pk_add_f16"] = packed<[](float a, float b) { return a + b; }, F16, 2>;
  t["v_pk_mul_f16"] = packed<[](float a, float b) { return a * b; }, F16, 2>;
  t["v_pk_min_f16"] = t["v_pk_min_num_f16"] = packed<[](float a, float b) { return minNum(a, b); }, F16, 2>;
  t["v_pk_max_f16"] = t["v_pk_max_num_f16"] = packed<[](float a, float b) { return maxNum(a, b); }, F16, 2>;
  t["v_pk_minimum_f16"] = packed<minimum<float>, F16, 2>;
  t["v_pk_maximum_f16"] = packed<maximum<float>, F16, 2>;
  t["v_pk_minimum3_f16"] =
      packed<[](float a, float b, float c) { return minimum<float>(minimum<float>(a, b), c); }, F16, 3>;
  t["v_pk_maximum3_f16"] =
      packed<[](float a, float b, float c) { return maximum<float>(maximum<float>(a, b), c); }, F16, 3>;
  t["v_pk_fma_f16"] = packed<[](double a, double b, double c) { return a * b + c; }, H16, 3>;
  t["v_dot8_i32_i4"] = dot<4, signed4, false, I32>;
  t["v_dot8_u32_u4"] = dot<4, unsigned8, false, U32>;
  t["v_dot8_i32_iu4"] = dot<4, either4, false, I32>;
  t["v_pk_add_u16"] = packed<[](u32 a, u32 b) { return a + b; }, U16, 2>;
  t["v_pk_sub_u16"] = packed<[](u32 a, u32 b) { return a - b; }, U16, 2>;
  t["v_pk_add_i16"] = packed<[](i32 a, i32 b) { return a + b; }, I16, 2>;
  t["v_pk_sub_i16"] = packed<[](i32 a, i32 b) { return a - b; }, I16, 2>;
  t["v_pk_mul_lo_u16"] = packed<[](u32 a, u32 b) { return a * b; }, U16, 2>;
  t["v_pk_mad_u16"] = packed<[](u32 a, u32 b, u32 c) { return a * b + c; }, U16, 3>;
  t["v_pk_mad_i16"] = packed<[](i32 a, i32 b, i32 c) { return a * b + c; }, I16, 3>;
  t["v_pk_lshlrev_b16"] = packed<[](u32 n, u32 a) { return a << (n & 15); }, U16, 2>;
  t["v_pk_lshrrev_b16"] = packed<[](u32 n, u32 a) { return (a >> (n & 15)); }, U16, 2>;
  t["v_pk_ashrrev_i16"] = packed<[](i32 n, i32 a) { return (a >> (n & 15)); }, I16, 2>;
  t["v_pk_min_i16"] = packed<[](i32 a, i32 b) { return std::min(a, b); }, I16, 2>;
  t["v_pk_max_i16"] = packed<[](i32 a, i32 b) { return std::max(a, b); }, I16, 2>;
  t["v_pk_min_u16"] = packed<[](u32 a, u32 b) { return std::min(a, b); }, U16, 2>;
  t["v_pk_max_u16"] = packed<[](u32 a, u32 b) { return std::max(a, b); }, U16, 2>;
  t["v_pack_b32_f16"] = [](Wave &wave, const WaveInstruction &inst) {
    alignas(64) u32 result[maxLanes];
    Poison poison;
    for (unsigned i : {0u, 1u}) {
      Lanes<U16> buffer;
      wave.poisonIn = 0;
      const u32 *x = read<U16>(wave, inst, inst[i + 1], buffer);
      const u32 keep = inst[i + 1].absolute ? 0x7fff : 0xffff, flip = inst[i + 1].negate ? 0x8000 : 0;
      for (unsigned lane = 0; lane < wave.lanes; ++lane) {
        const u32 value = (x[lane] & keep) ^ flip;
        result[lane] = i ? result[lane] | value << 16 : value;
      }
      (i ? poison.high : poison.low) = wave.poisonIn;
    }
    wave.setDwords(inst, inst[0], 0, result, wave.written(inst), poison);
  };
  t["v_pk_add_f32"] = packed32<[](float a, float b) { return a + b; }, 2>;
  t["v_pk_mul_f32"] = packed32<[](float a, float b) { return a * b; }, 2>;
  t["v_pk_fma_f32"] = packed32<[](float a, float b, float c) { return std::fma(a, b, c); }, 3>;
  t["v_pk_mov_b32"] = packedMove;
  t["v_fma_mix_f32"] = mix<Mix::single>;
  t["v_fma_mixlo_f16"] = mix<Mix::low>;
  t["v_fma_mixhi_f16"] = mix<Mix::high>;
  t["v_dot2_f32_f16"] = dot<16, half, false, F32>;
  t["v_dot2_f32_bf16"] = dot<16, bfloat, false, F32>;
  t["v_dot2c_f32_f16"] = t["v_dot2acc_f32_f16"] = dot<16, half, true, F32>;
  t["v_dot2c_f32_bf16"] = dot<16, bfloat, true, F32>;
  t["v_dot4_i32_i8"] = dot<8, signed8, false, I32>;
  t["v_dot4_u32_u8"] = dot<8, unsigned8, false, U32>;
  t["v_dot4c_i32_i8"] = dot<8, signed8, true, I32>;
  t["v_dot4_i32_iu8"] = dot<8, either8, false, I32>;
  t["v_dot2_i32_i16"] = dot<16, signed16, false, I32>;
  t["v_dot2_u32_u16"] = dot<16, unsigned8, false, U32>;
  t["v_bitop3_b32"] = bitop3;
  t["v_bitop3_b16"] = bitop3Half;
}
