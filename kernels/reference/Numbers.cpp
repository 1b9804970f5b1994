#include "kernels/reference/Numbers.h"

#include "sectile/Error.h"

#include <bit>
#include <cmath>
#include <cstring>
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

[[noreturn]] void refuse(Type type) {
  throw UserError("reference: type " + std::string(typeName(type)) +
                  " has no host arithmetic: legal are f32, f16, bf16 " + "and i32");
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
