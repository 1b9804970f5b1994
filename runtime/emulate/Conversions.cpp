// VALU conversions between number formats.
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sectile::emulate;
using u32 = uint32_t;
using i32 = int32_t;

namespace {

/// Towards zero, saturating; a NaN is 0.
template <class To, class From> To toInteger(From x) {
  constexpr From least = From(std::numeric_limits<To>::min()),
                 beyond = From(2) * From(std::numeric_limits<To>::max() / 2 + 1);
  return x != x        ? To(0)
         : x >= beyond ? std::numeric_limits<To>::max()
         : x < least   ? std::numeric_limits<To>::min()
                       : To(x);
}

u32 floatToHalfTowardsZero(float x) {
  const u32 half = floatToHalf(x);
  if (std::isfinite(x) && std::fabs(halfToFloat(half)) > std::fabs(x))
    return half - 1;
  return half;
}

/// The formats of 8 bits of a generation.
Float8 fp8(const Wave &wave) { return {4, 3, wave.generation == Generation::gfx940}; }
Float8 bf8(const Wave &wave) { return {5, 2, wave.generation == Generation::gfx940}; }
using Format8 = Float8 (*)(const Wave &);

/// A 16-bit result in one half, of which the other one stays.
void writeHalf(Wave &wave, const WaveInstruction &inst, u32 *values) {
  const Operand &to = inst[0];
  const Poison old = wave.poison[to.reg];
  const Poison undefined = to.high ? Poison{old.low, wave.poisonIn} : Poison{wave.poisonIn, old.high};
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const u32 before = wave.v[to.reg][lane], value = values[lane] & 0xffff;
    values[lane] = to.high ? (before & 0xffff) | value << 16 : (before & 0xffff0000) | value;
  }
  wave.setDwords(inst, to, 0, values, wave.written(inst), undefined);
}

template <Format8 format> void packTo8(Wave &wave, const WaveInstruction &inst) {
  Lanes<F32> a, b;
  const float *x = read<F32>(wave, inst, inst[1], a), *y = read<F32>(wave, inst, inst[2], b);
  const Float8 to = format(wave);
  u32 result[maxLanes];
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result[lane] = to.fromFloat(x[lane], inst.clamp) | u32(to.fromFloat(y[lane], inst.clamp)) << 8;
  writeHalf(wave, inst, result);
}

/// With random bits, into one byte, of which the others stay.
template <Format8 format> void stochasticTo8(Wave &wave, const WaveInstruction &inst) {
  Lanes<F32> a;
  Lanes<U32> b;
  const float *x = read<F32>(wave, inst, inst[1], a);
  const u32 *random = read<U32>(wave, inst, inst[2], b);
  const unsigned shift = 8 * (inst.opSel >> 2 & 3);
  const Float8 to = format(wave);
  const Poison old = wave.poison[inst[0].reg];
  u32 result[maxLanes];
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result[lane] = (wave.v[inst[0].reg][lane] & ~(0xffu << shift)) |
                   u32(to.fromFloatStochastic(x[lane], random[lane], inst.clamp)) << shift;
  wave.setDwords(inst, inst[0], 0, result, wave.written(inst),
                 shift < 16 ? Poison{wave.poisonIn, old.high} : Poison{old.low, wave.poisonIn});
}

template <Format8 format> void from8(Wave &wave, const WaveInstruction &inst) {
  Lanes<U32> a;
  Lanes<F32> result;
  const u32 *x = read<U32>(wave, inst, inst[1], a);
  const unsigned shift = inst.sdwa ? 0 : 8 * (inst.opSel >> 2 & 3);
  const Float8 from = format(wave);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result.at[lane] = from.toFloat(uint8_t(x[lane] >> shift));
  write<F32>(wave, inst, inst[0], result);
}

template <Format8 format> void pairFrom8(Wave &wave, const WaveInstruction &inst) {
  Lanes<U16> a;
  const u32 *x = read<U16>(wave, inst, inst[1], a);
  const Float8 from = format(wave);
  u32 result[maxLanes];
  for (unsigned part : {0u, 1u}) {
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      result[lane] = asBits(from.toFloat(uint8_t(x[lane] >> (8 * part))));
    wave.setDwords(inst, inst[0], part, result, wave.written(inst), {wave.poisonIn, wave.poisonIn});
  }
}

u32 stochasticBfloat(float x, u32 random) {
  const u32 bits = asBits(x);
  return (bits & 0x7f800000) == 0x7f800000 ? floatToBfloat(x) : (bits + (random & 0xffff)) >> 16;
}

} // namespace

void sectile::emulate::addConversions(SemanticsTable &t) {
  t["v_cvt_f32_i32"] = valu<[](i32 a) { return float(a); }, F32, I32>;
  t["v_cvt_f32_u32"] = valu<[](u32 a) { return float(a); }, F32, U32>;
  t["v_cvt_i32_f32"] = valu<toInteger<i32, float>, I32, F32>;
  t["v_cvt_u32_f32"] = valu<toInteger<u32, float>, U32, F32>;
  t["v_cvt_rpi_i32_f32"] = t["v_cvt_nearest_i32_f32"] =
      valu<[](float a) { return toInteger<i32>(std::floor(a + 0.5f)); }, I32, F32>;
  t["v_cvt_flr_i32_f32"] = t["v_cvt_floor_i32_f32"] =
      valu<[](float a) { return toInteger<i32>(std::floor(a)); }, I32, F32>;
  t["v_cvt_f16_f32"] = valu<[](float a) { return a; }, F16, F32>;
  t["v_cvt_f32_f16"] = valu<[](float a) { return a; }, F32, F16>;
  t["v_cvt_f64_f32"] = valu<[](float a) { return double(a); }, F64, F32>;
  t["v_cvt_f32_f64"] = valu<[](double a) { return float(a); }, F32, F64>;
  t["v_cvt_f64_i32"] = valu<[](i32 a) { return double(a); }, F64, I32>;
  t["v_cvt_f64_u32"] = valu<[](u32 a) { return double(a); }, F64, U32>;
  t["v_cvt_i32_f64"] = valu<toInteger<i32, double>, I32, F64>;
  t["v_cvt_u32_f64"] = valu<toInteger<u32, double>, U32, F64>;
  t["v_cvt_f16_u16"] = valu<[](u32 a) { return float(a); }, F16, U16>;
  t["v_cvt_f16_i16"] = valu<[](i32 a) { return float(a); }, F16, I16>;
  t["v_cvt_u16_f16"] = valu<[](float a) { return u32(toInteger<uint16_t>(a)); }, U16, F16>;
  t["v_cvt_i16_f16"] = valu<[](float a) { return i32(toInteger<int16_t>(a)); }, I16, F16>;
  t["v_cvt_u32_u16"] = valu<[](u32 a) { return a; }, U32, U16>;
  t["v_cvt_i32_i16"] = valu<[](i32 a) { return a; }, I32, I16>;
  t["v_cvt_f32_ubyte0"] = valu<[](u32 a) { return float(a & 0xff); }, F32, U32>;
  t["v_cvt_f32_ubyte1"] = valu<[](u32 a) { return float(a >> 8 & 0xff); }, F32, U32>;
  t["v_cvt_f32_ubyte2"] = valu<[](u32 a) { return float(a >> 16 & 0xff); }, F32, U32>;
  t["v_cvt_f32_ubyte3"] = valu<[](u32 a) { return float(a >> 24); }, F32, U32>;
  t["v_cvt_pkrtz_f16_f32"] = t["v_cvt_pk_rtz_f16_f32"] =
      valu<[](float a, float b) { return floatToHalfTowardsZero(a) | floatToHalfTowardsZero(b) << 16; }, U32, F32, F32>;
  t["v_cvt_pk_f16_f32"] = valu<[](float a, float b) { return floatToHalf(a) | floatToHalf(b) << 16; }, U32, F32, F32>;
  t["v_cvt_pk_bf16_f32"] =
      valu<[](float a, float b) { return floatToBfloat(a) | floatToBfloat(b) << 16; }, U32, F32, F32>;
  t["v_cvt_sr_pk_bf16_f32"] = valu<[](float a, float b, u32 random) {
    return stochasticBfloat(a, random & 0xffff) | stochasticBfloat(b, random >> 16) << 16;
  },
                                   U32, F32, F32, U32>;
  t["v_cvt_pk_u16_u32"] =
      valu<[](u32 a, u32 b) { return std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16; }, U32, U32, U32>;
  t["v_cvt_pk_i16_i32"] = valu<[](i32 a, i32 b) {
    return (u32(std::clamp(a, -32768, 32767)) & 0xffff) | u32(std::clamp(b, -32768, 32767)) << 16;
  },
                               U32, I32, I32>;
  t["v_cvt_pk_i16_f32"] = valu<[](float a, float b) {
    return u32(uint16_t(toInteger<int16_t>(a))) | u32(uint16_t(toInteger<int16_t>(b))) << 16;
  },
                               U32, F32, F32>;
  t["v_cvt_pk_u16_f32"] =
      valu<[](float a, float b) { return u32(toInteger<uint16_t>(a)) | u32(toInteger<uint16_t>(b)) << 16; }, U32, F32,
           F32>;
  t["v_ashr_pk_i8_i32"] = valu<[](i32 a, i32 b, u32 n) {
    return (u32(std::clamp(a >> (n & 31), -128, 127)) & 0xff) | (u32(std::clamp(b >> (n & 31), -128, 127)) & 0xff) << 8;
  },
                               U32, I32, I32, U32>;
  t["v_ashr_pk_u8_i32"] = valu<[](i32 a, i32 b, u32 n) {
    return u32(std::clamp(a >> (n & 31), 0, 255)) | u32(std::clamp(b >> (n & 31), 0, 255)) << 8;
  },
                               U32, I32, I32, U32>;
  t["v_cvt_pk_u8_f32"] = valu<[](float a, u32 byte, u32 old) {
    const unsigned shift = 8 * (byte & 3);
    return (old & ~(0xffu << shift)) | u32(toInteger<uint8_t>(std::nearbyint(a))) << shift;
  },
                              U32, F32, U32, U32>;
  t["v_cvt_pk_fp8_f32"] = packTo8<fp8>;
  t["v_cvt_pk_bf8_f32"] = packTo8<bf8>;
  t["v_cvt_sr_fp8_f32"] = stochasticTo8<fp8>;
  t["v_cvt_sr_bf8_f32"] = stochasticTo8<bf8>;
  t["v_cvt_f32_fp8"] = from8<fp8>;
  t["v_cvt_f32_bf8"] = from8<bf8>;
  t["v_cvt_pk_f32_fp8"] = pairFrom8<fp8>;
  t["v_cvt_pk_f32_bf8"] = pairFrom8<bf8>;
}
