// The narrow float formats on the host: f16, bf16, f8e4m3, f8e5m2. A value of any of them is held in a `float`,
// which represents all of them exactly; what a format adds is rounding, encoding and decoding.
//
//   roundTo(f16, 2049.0)  == 2048.0f     to nearest even, in one step from the double
//   roundTo(f8e4m3, 1e9)  == 448.0f      f8 saturates, f16 and bf16 overflow to infinity
//   encode(bf16, -2.0f)   == 0xC000      of a value that the format represents
//   decode(f8e5m2, 0x7B)  == 57344.0f
//
// The formats are template arguments where speed matters, `roundTo<f16>(x)`. Tested against llvm::APFloat: every bit
// pattern, every midpoint between neighbours and its two neighbours in double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sectile {

/// A binary float of 8 or 16 bits: sign, exponent, mantissa.
struct NarrowFloat {
  int exponentBits, mantissaBits;
  bool hasInfinity; ///< else the all-ones pattern alone is NaN
  bool saturates;   ///< roundTo() gives the largest finite value instead of infinity

  constexpr int bias() const { return (1 << (exponentBits - 1)) - 1; }
  constexpr int minExponent() const { return 1 - bias(); }
  constexpr int bits() const { return 1 + exponentBits + mantissaBits; }
  /// The pattern of the largest finite value, sign clear.
  constexpr uint32_t maxPattern() const {
    return ((1u << (exponentBits + mantissaBits)) - 1) - (hasInfinity ? (1u << mantissaBits) : 1u);
  }
  /// Of normal and subnormal finite patterns with the sign clear.
  constexpr double magnitude(uint32_t pattern) const {
    const uint32_t mantissa = pattern & ((1u << mantissaBits) - 1), exponent = pattern >> mantissaBits;
    const double significand = exponent ? mantissa + double(1u << mantissaBits) : mantissa;
    return significand * powerOfTwo((exponent ? static_cast<int>(exponent) : 1) - bias() - mantissaBits);
  }
  static constexpr double powerOfTwo(int exponent) { // of a normal double
    return std::bit_cast<double>(static_cast<uint64_t>(1023 + exponent) << 52);
  }
  bool operator==(const NarrowFloat &) const = default;
};

inline constexpr NarrowFloat f16{5, 10, true, false};
inline constexpr NarrowFloat bf16{8, 7, true, false};
inline constexpr NarrowFloat f8e4m3{4, 3, false, true};
inline constexpr NarrowFloat f8e5m2{5, 2, true, true};

/// The nearest value of the format, ties to even. NaN stays NaN.
template <NarrowFloat format> inline float roundTo(double x) {
  constexpr double maxValue = format.magnitude(format.maxPattern());
  constexpr double minNormal = NarrowFloat::powerOfTwo(format.minExponent());
  constexpr double overflow = format.saturates ? maxValue : std::numeric_limits<double>::infinity();
  // Adding 2^52 units of the last subnormal place leaves exactly the integer number of those units, rounded.
  constexpr double subnormalMagic = NarrowFloat::powerOfTwo(format.minExponent() - format.mantissaBits + 52);
  constexpr int drop = 52 - format.mantissaBits;

  const uint64_t bits = std::bit_cast<uint64_t>(std::fabs(x));
  // A carry out of the mantissa rightly increments the exponent.
  const uint64_t rounded = (bits + ((uint64_t{1} << (drop - 1)) - 1) + ((bits >> drop) & 1)) >> drop << drop;
  double magnitude = std::bit_cast<double>(rounded);
  magnitude = std::fabs(x) < minNormal ? (std::fabs(x) + subnormalMagic) - subnormalMagic : magnitude;
  magnitude = magnitude > maxValue ? overflow : magnitude;
  return static_cast<float>(x != x ? x : std::copysign(magnitude, x));
}

/// The bit pattern of a value that the format represents.
template <NarrowFloat format> inline uint32_t encode(float x) {
  constexpr uint32_t infinity = ((1u << format.exponentBits) - 1) << format.mantissaBits;
  const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const uint32_t sign = (bits >> 31) << (format.bits() - 1);
  if (magnitude >= 0x7f800000u) {
    const bool isNaN = magnitude > 0x7f800000u;
    if (!format.hasInfinity)
      return sign | infinity | ((1u << format.mantissaBits) - 1);
    return sign | infinity | (isNaN ? 1u << (format.mantissaBits - 1) : 0u);
  }
  constexpr float minNormal = static_cast<float>(NarrowFloat::powerOfTwo(format.minExponent()));
  if (std::fabs(x) < minNormal) {
    constexpr double unitsPerOne = NarrowFloat::powerOfTwo(format.mantissaBits - format.minExponent());
    return sign | static_cast<uint32_t>(static_cast<double>(std::fabs(x)) * unitsPerOne);
  }
  return sign | ((magnitude >> (23 - format.mantissaBits)) -
                 (static_cast<uint32_t>(127 - format.bias()) << format.mantissaBits));
}

/// The value of a bit pattern.
template <NarrowFloat format> inline float decode(uint32_t pattern) {
  constexpr uint32_t signBit = 1u << (format.bits() - 1);
  const uint32_t magnitude = pattern & (signBit - 1);
  float value;
  if (magnitude <= format.maxPattern())
    value = static_cast<float>(format.magnitude(magnitude));
  else if (format.hasInfinity && magnitude == format.maxPattern() + 1)
    value = std::numeric_limits<float>::infinity();
  else
    value = std::numeric_limits<float>::quiet_NaN();
  return pattern & signBit ? -value : value;
}

} // namespace sectile
