// Formats of numbers that the host lacks, as branch-free functions that vectorize. All round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace sectile::emulate {

inline float asFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t asBits(float value) { return std::bit_cast<uint32_t>(value); }

inline float halfToFloat(uint32_t half) {
  // the exponent is rebiased by a product, which handles subnormals, too
  uint32_t bits = asBits(asFloat((half & 0x7fff) << 13) * asFloat(0x77800000));
  bits |= (half & 0x7c00) == 0x7c00 ? 0x7f800000 | (half & 0x3ff) << 13 : 0;
  return asFloat(bits | (half & 0x8000) << 16);
}

inline uint32_t floatToHalf(float value) {
  const uint32_t bits = asBits(value), magnitude = bits & 0x7fffffff;
  const uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
  const uint32_t subnormal = asBits(asFloat(magnitude) + 0.5f) - 0x3f000000;
  const uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
  half = magnitude >= 0x477ff000 ? special : half; // rounds to 65536 or more
  return half | (bits >> 16 & 0x8000);
}

/// f64 to f16 in one rounding.
inline uint32_t doubleToHalf(double value) {
  // Rounding to odd in f32 first makes the second rounding the only one.
  float narrow = float(value);
  uint32_t bits = asBits(narrow);
  if (double(narrow) != value && (bits & 0x7fffffff) < 0x7f800000 && !(bits & 1)) {
    const bool tooLarge = (narrow < 0 ? -double(narrow) : double(narrow)) > (value < 0 ? -value : value);
    bits += tooLarge ? -1 : 1;
  }
  return floatToHalf(asFloat(bits));
}

inline float bfloatToFloat(uint32_t bits) { return asFloat(bits << 16); }
inline uint32_t floatToBfloat(float value) {
  const uint32_t bits = asBits(value);
  return (bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// A format of 8 bits: fp8 (4 bits of exponent) or bf8 (5), as OCP defines them or, on gfx940, without infinity and -0.
struct Float8 {
  int exponentBits, mantissaBits;
  bool negativeZeroIsNan; ///< the variant of gfx940, whose bias is one more

  float toFloat(uint8_t bits) const;
  uint8_t fromFloat(float value, bool saturate) const;
  uint8_t fromFloatStochastic(float value, uint32_t random, bool saturate) const;
};

} // namespace sectile::emulate
