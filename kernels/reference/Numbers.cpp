#include "kernels/reference/Numbers.h"

#include "sectile/Error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace sectile::reference {
namespace {

constexpr uint32_t signBit = 0x80000000, infinityBits = 0x7f800000;

template <class T> T read(const void *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}
template <class T> void write(void *address, T value) { std::memcpy(address, &value, sizeof value); }

uint16_t toBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40); // quiet, and not rounded to infinity
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBf16(uint16_t half) { return std::bit_cast<float>(static_cast<uint32_t>(half) << 16); }

uint16_t toF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits & signBit) >> 16);
  const uint32_t magnitude = bits & ~signBit;
  if (magnitude > infinityBits)
    return sign | 0x7e00;
  if (magnitude >= std::bit_cast<uint32_t>(65520.0f)) // half way past the largest: infinity
    return sign | 0x7c00;
  if (magnitude < std::bit_cast<uint32_t>(0x1p-14f)) { // subnormal: the addition rounds at 2^-24, the last place of 0.5
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t rebased = magnitude - ((127u - 15u) << 23);
  return static_cast<uint16_t>(sign | ((rebased + 0xfff + (rebased >> 13 & 1)) >> 13));
}

float fromF16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 0)
    return (sign ? -1.0f : 1.0f) * static_cast<float>(fraction) * 0x1p-24f;
  const uint32_t magnitude =
      exponent == 31 ? infinityBits | fraction << 13 : (exponent + 127 - 15) << 23 | fraction << 13;
  return std::bit_cast<float>(sign | magnitude);
}

/// f8: sign, exponent, mantissa. The finite patterns without sign are in order, and few enough for a table.
template <int exponentBits, int mantissaBits, int finitePatterns> struct Eighth {
  static constexpr std::array<float, finitePatterns> values = [] {
    std::array<float, finitePatterns> result{};
    for (int pattern = 0; pattern < finitePatterns; ++pattern) {
      const int exponent = pattern >> mantissaBits, mantissa = pattern & ((1 << mantissaBits) - 1);
      float value = static_cast<float>(exponent ? mantissa + (1 << mantissaBits) : mantissa);
      for (int power = (exponent ? exponent : 1) - (1 << (exponentBits - 1)) + 1 - mantissaBits; power != 0;
           power += power < 0 ? 1 : -1)
        value = power < 0 ? value / 2 : value * 2;
      result[pattern] = value;
    }
    return result;
  }();

  static uint8_t encode(float value) {
    const uint8_t sign = std::signbit(value) ? 0x80 : 0;
    if (std::isnan(value))
      return sign | 0x7f;
    const float magnitude = std::min(std::abs(value), values.back());
    const auto above = std::ranges::lower_bound(values, magnitude);
    const auto pattern = static_cast<uint8_t>(above - values.begin());
    if (*above == magnitude)
      return sign | pattern;
    const float toBelow = magnitude - values[pattern - 1], toAbove = *above - magnitude; // exact
    const bool down = toBelow < toAbove || (toBelow == toAbove && pattern % 2 == 1);
    return sign | (down ? pattern - 1 : pattern);
  }
  static float decode(uint8_t bits) {
    const int pattern = bits & 0x7f;
    const bool infinite = pattern == finitePatterns && finitePatterns < 0x7f;
    const float magnitude = pattern < finitePatterns ? values[pattern]
                            : infinite               ? std::numeric_limits<float>::infinity()
                                                     : std::numeric_limits<float>::quiet_NaN();
    return bits & 0x80 ? -magnitude : magnitude;
  }
};
using F8e4m3 = Eighth<4, 3, 0x7f>;
using F8e5m2 = Eighth<5, 2, 0x7c>;

[[noreturn]] void refuse(Type type) {
  throw UserError("reference: type " + std::string(typeName(type)) + " has no host arithmetic here");
}

} // namespace

double loadElement(Type type, const void *address) {
  switch (type) {
  case Type::f32:
    return read<float>(address);
  case Type::f16:
    return fromF16(read<uint16_t>(address));
  case Type::bf16:
    return fromBf16(read<uint16_t>(address));
  case Type::f8e4m3:
    return F8e4m3::decode(read<uint8_t>(address));
  case Type::f8e5m2:
    return F8e5m2::decode(read<uint8_t>(address));
  case Type::i32:
    return read<int32_t>(address);
  default:
    refuse(type);
  }
}

void storeElement(Type type, void *address, double value) {
  switch (type) {
  case Type::f32:
    return write(address, static_cast<float>(value));
  case Type::f16:
    return write(address, toF16(static_cast<float>(value)));
  case Type::bf16:
    return write(address, toBf16(static_cast<float>(value)));
  case Type::f8e4m3:
    return write(address, F8e4m3::encode(static_cast<float>(value)));
  case Type::f8e5m2:
    return write(address, F8e5m2::encode(static_cast<float>(value)));
  case Type::i32:
    return write(address, static_cast<int32_t>(value));
  default:
    refuse(type);
  }
}

float roundTo(Type type, float value) {
  switch (type) {
  case Type::f32:
    return value;
  case Type::f16:
    return fromF16(toF16(value));
  case Type::bf16:
    return fromBf16(toBf16(value));
  default:
    refuse(type);
  }
}

} // namespace sectile::reference
