#include "runtime/emulate/Operands.h"

#include <algorithm>
#include <cmath>

using namespace sectile::emulate;

/// Bits of a source that SDWA selects, in the low bits.
static void select(const Operand &operand, const uint32_t *row, uint32_t *out, unsigned lanes) {
  const unsigned select = unsigned(operand.select);
  const bool isByte = select >= 1 && select <= 4;
  const unsigned shift = isByte ? 8 * (select - 1) : select == unsigned(Operand::Select::word1) ? 16 : 0;
  const unsigned width = isByte ? 8 : 16;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const uint32_t value = row[lane] >> shift & ((1u << width) - 1);
    out[lane] = operand.signExtend ? uint32_t(int32_t(value << (32 - width)) >> (32 - width)) : value;
  }
}

/// The 32 bits that a type of up to 32 bits reads, with the value of 16-bit types in the low half.
template <class T>
static const uint32_t *rawSource(Wave &wave, const WaveInstruction &inst, const Operand &operand, uint32_t *buffer) {
  const unsigned lanes = wave.lanes;
  if (operand.kind == Operand::Kind::constant) {
    std::fill_n(buffer, lanes, T::bits == 16 ? operand.bits16 : operand.bits32);
    return buffer;
  }
  const Poison undefined = wave.poisonOf(inst, operand, 0);
  if (undefined.any()) {
    const bool selected = operand.select != Operand::Select::dword;
    const bool upper = selected
                           ? operand.select == Operand::Select::word1 || operand.select == Operand::Select::byte2 ||
                                 operand.select == Operand::Select::byte3
                           : operand.high;
    const bool half = T::bits == 16 || selected;
    wave.addPoison(operand, 0,
                   !half   ? undefined.any()
                   : upper ? undefined.high
                           : undefined.low,
                   half ? ~uint64_t(0) : undefined.low);
  }
  const uint32_t *row = wave.dwords(inst, operand, 0, buffer);
  if (operand.select != Operand::Select::dword) {
    select(operand, row, buffer, lanes);
    return buffer;
  }
  if (T::bits == 16) {
    const unsigned shift = operand.high ? 16 : 0;
    for (unsigned lane = 0; lane < lanes; ++lane)
      buffer[lane] = row[lane] >> shift & 0xffff;
    return buffer;
  }
  return row;
}

template <class T>
const typename T::Value *sectile::emulate::read(Wave &wave, const WaveInstruction &inst, const Operand &operand,
                                                Lanes<T> &buffer) {
  const unsigned lanes = wave.lanes;
  alignas(64) uint32_t low[maxLanes], high[maxLanes];
  if constexpr (T::bits == 64) {
    if (operand.kind == Operand::Kind::constant) {
      uint64_t value = operand.bits64;
      if (T::isFloat && operand.literal)
        value = uint64_t(operand.bits32) << 32;
      else if (std::is_same_v<T, I64> && operand.literal)
        value = uint64_t(int64_t(int32_t(operand.bits32)));
      if (operand.absolute)
        value &= ~(uint64_t(1) << 63);
      if (operand.negate)
        value ^= uint64_t(1) << 63;
      std::fill_n(buffer.at, lanes, std::bit_cast<typename T::Value>(value));
      return buffer.at;
    }
    for (unsigned part : {0u, 1u})
      if (const Poison undefined = wave.poisonOf(inst, operand, part); undefined.any())
        wave.addPoison(operand, part, undefined.any());
    const uint32_t *lowRow = wave.dwords(inst, operand, 0, low), *highRow = wave.dwords(inst, operand, 1, high);
    const uint32_t keep = operand.absolute ? 0x7fffffff : 0xffffffff, flip = operand.negate ? 0x80000000 : 0;
    for (unsigned lane = 0; lane < lanes; ++lane)
      buffer.at[lane] = std::bit_cast<typename T::Value>(lowRow[lane] | uint64_t((highRow[lane] & keep) ^ flip) << 32);
    return buffer.at;
  } else {
    const uint32_t *row = rawSource<T>(wave, inst, operand, low);
    if constexpr (T::bits == 32) {
      const bool flush = T::isFloat && wave.flushSingle;
      if (!operand.absolute && !operand.negate && !flush && row != low)
        return reinterpret_cast<const typename T::Value *>(row); // the register's own bits
      const uint32_t keep = operand.absolute ? 0x7fffffff : 0xffffffff, flip = operand.negate ? 0x80000000 : 0;
      for (unsigned lane = 0; lane < lanes; ++lane)
        buffer.at[lane] = std::bit_cast<typename T::Value>((row[lane] & keep) ^ flip);
      if constexpr (T::isFloat)
        if (flush)
          for (unsigned lane = 0; lane < lanes; ++lane)
            buffer.at[lane] = flushed(buffer.at[lane]);
    } else if constexpr (T::isFloat) {
      const uint32_t keep = operand.absolute ? 0x7fff : 0xffff, flip = operand.negate ? 0x8000 : 0;
      for (unsigned lane = 0; lane < lanes; ++lane)
        buffer.at[lane] = halfToFloat((row[lane] & keep) ^ flip);
    } else {
      for (unsigned lane = 0; lane < lanes; ++lane)
        buffer.at[lane] = std::is_same_v<T, I16> ? typename T::Value(int16_t(row[lane])) : row[lane] & 0xffff;
    }
    return buffer.at;
  }
}

/// omod and clamp.
template <class T> static void scaleAndClamp(const WaveInstruction &inst, Lanes<T> &result, unsigned lanes) {
  using Value = typename T::Value;
  if (inst.outputScale) {
    const Value factor = inst.outputScale == 1 ? 2 : inst.outputScale == 2 ? 4 : Value(0.5);
    for (unsigned lane = 0; lane < lanes; ++lane)
      result.at[lane] *= factor;
  }
  if (inst.clamp)
    for (unsigned lane = 0; lane < lanes; ++lane)
      result.at[lane] = result.at[lane] > 0 ? std::min(result.at[lane], Value(1)) : Value(0);
}

/// Puts 16 bits of a result in their half: the other one stays, or is cleared by gfx9.
static void mergeHalf(const Wave &wave, const Operand &operand, uint32_t *values) {
  const uint32_t *old = wave.v[operand.reg];
  const bool clears = wave.generation < Generation::gfx11;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const uint32_t value = values[lane] & 0xffff;
    values[lane] = operand.high ? (old[lane] & 0xffff) | value << 16
                   : clears     ? value
                                : (old[lane] & 0xffff0000) | value;
  }
}

static void mergeSdwa(const Wave &wave, const WaveInstruction &inst, const Operand &operand, uint32_t *values) {
  const unsigned select = unsigned(operand.select);
  if (operand.select == Operand::Select::dword)
    return;
  const bool isByte = select >= 1 && select <= 4;
  const unsigned shift = isByte ? 8 * (select - 1) : operand.select == Operand::Select::word1 ? 16 : 0;
  const uint32_t mask = (isByte ? 0xffu : 0xffffu) << shift, above = shift + (isByte ? 8 : 16);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    uint32_t value = values[lane] << shift & mask;
    if (inst.preserve)
      value |= wave.v[operand.reg][lane] & ~mask;
    else if (inst.signExtendUnused && above < 32 && value >> (above - 1) & 1)
      value |= ~uint32_t(0) << above;
    values[lane] = value;
  }
}

template <class T>
void sectile::emulate::write(Wave &wave, const WaveInstruction &inst, const Operand &operand, Lanes<T> &result) {
  const unsigned lanes = wave.lanes;
  if constexpr (T::isFloat)
    if (inst.clamp || inst.outputScale)
      scaleAndClamp(inst, result, lanes);
  alignas(64) uint32_t low[maxLanes];
  const uint64_t mask = inst.dpp ? wave.written(inst) : wave.execMask();
  Poison undefined{wave.carriesUp ? wave.lowPoisonIn : wave.poisonIn, wave.poisonIn};
  if constexpr (T::bits == 64) {
    alignas(64) uint32_t high[maxLanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const uint64_t value = std::bit_cast<uint64_t>(result.at[lane]);
      low[lane] = uint32_t(value), high[lane] = uint32_t(value >> 32);
    }
    wave.setDwords(inst, operand, 0, low, mask, undefined);
    wave.setDwords(inst, operand, 1, high, mask, undefined);
    return;
  } else if constexpr (T::bits == 32) {
    const bool flush = T::isFloat && wave.flushSingle;
    if constexpr (T::isFloat)
      if (flush)
        for (unsigned lane = 0; lane < lanes; ++lane)
          result.at[lane] = flushed(result.at[lane]);
    std::memcpy(low, result.at, lanes * sizeof(uint32_t));
  } else if constexpr (std::is_same_v<T, H16>) {
    for (unsigned lane = 0; lane < lanes; ++lane)
      low[lane] = doubleToHalf(result.at[lane]);
  } else if constexpr (T::isFloat) {
    for (unsigned lane = 0; lane < lanes; ++lane)
      low[lane] = floatToHalf(result.at[lane]);
  } else {
    for (unsigned lane = 0; lane < lanes; ++lane)
      low[lane] = uint32_t(result.at[lane]) & 0xffff;
  }
  const Poison old = wave.poison[operand.reg];
  if (inst.sdwa) {
    mergeSdwa(wave, inst, operand, low);
    if (inst.preserve && operand.select != Operand::Select::dword) {
      const bool upper = operand.select == Operand::Select::word1 || operand.select == Operand::Select::byte2 ||
                         operand.select == Operand::Select::byte3;
      (upper ? undefined.low : undefined.high) = upper ? old.low : old.high;
    }
  } else if (T::bits == 16) {
    mergeHalf(wave, operand, low);
    if (operand.high)
      undefined.low = old.low;
    else
      undefined.high = wave.generation < Generation::gfx11 ? 0 : old.high;
  }
  wave.setDwords(inst, operand, 0, low, mask, undefined);
}

void sectile::emulate::spreadBits(Wave &wave, const WaveInstruction &inst, unsigned sources,
                                  llvm::function_ref<uint32_t(const uint32_t *)> function) {
  alignas(64) uint32_t buffers[4][maxLanes], result[maxLanes];
  const uint32_t *rows[4];
  Poison undefined[4], reached;
  for (unsigned i = 0; i < sources; ++i) {
    const Operand &operand = inst[i + 1];
    rows[i] = wave.dwords(inst, operand, 0, buffers[i]);
    undefined[i] = wave.poisonOf(inst, operand, 0);
    if (undefined[i].any() && wave.registerIn < 0) {
      wave.registerIn = operand.isVector() ? operand.reg : vectorRegisters + operand.reg;
      wave.originIn = operand.isVector() ? wave.origin[operand.reg] : nullptr;
    }
  }
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    uint32_t zeros[4], ones[4];
    for (unsigned i = 0; i < sources; ++i) {
      const uint32_t mask =
          (undefined[i].low >> lane & 1 ? 0xffff : 0) | (undefined[i].high >> lane & 1 ? 0xffff0000 : 0);
      zeros[i] = rows[i][lane] & ~mask, ones[i] = rows[i][lane] | mask;
    }
    result[lane] = function(zeros);
    const uint32_t differs = result[lane] ^ function(ones);
    reached.low |= uint64_t((differs & 0xffff) != 0) << lane;
    reached.high |= uint64_t(differs >> 16 != 0) << lane;
  }
  wave.setDwords(inst, inst[0], 0, result, wave.written(inst), reached);
}

namespace sectile::emulate {
#define INSTANTIATE(T)                                                                                                 \
  template const T::Value *read<T>(Wave &, const WaveInstruction &, const Operand &, Lanes<T> &);                      \
  template void write<T>(Wave &, const WaveInstruction &, const Operand &, Lanes<T> &);
INSTANTIATE(F32)
INSTANTIATE(F16)
INSTANTIATE(H16)
INSTANTIATE(F64)
INSTANTIATE(U32)
INSTANTIATE(I32)
INSTANTIATE(U16)
INSTANTIATE(I16)
INSTANTIATE(U64)
INSTANTIATE(I64)
#undef INSTANTIATE
} // namespace sectile::emulate
