#include "runtime/emulate/NumberFormats.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sectile::emulate;

float Float8::toFloat(uint8_t bits) const {
  const int bias = (1 << (exponentBits - 1)) - 1 + (negativeZeroIsNan ? 1 : 0), top = (1 << exponentBits) - 1;
  const int exponent = bits >> mantissaBits & top, mantissa = bits & ((1 << mantissaBits) - 1);
  const float sign = bits & 0x80 ? -1 : 1;
  if (negativeZeroIsNan) {
    if (bits == 0x80)
      return std::numeric_limits<float>::quiet_NaN();
  } else if (exponentBits == 5 && exponent == top) {
    return mantissa ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  } else if (exponentBits == 4 && (bits & 0x7f) == 0x7f) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (!exponent)
    return sign * std::ldexp(float(mantissa), 1 - bias - mantissaBits);
  return sign * std::ldexp(float(mantissa + (1 << mantissaBits)), exponent - bias - mantissaBits);
}

/// `fraction(x)` says what becomes of a magnitude in units of the last place.
template <class Round> static uint8_t narrow(const Float8 &format, float value, bool saturate, Round round) {
  const int bias = (1 << (format.exponentBits - 1)) - 1 + (format.negativeZeroIsNan ? 1 : 0);
  const bool fnuz = format.negativeZeroIsNan, infinities = !fnuz && format.exponentBits == 5;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0, nan = fnuz ? 0x80 : sign | 0x7f;
  const uint8_t largest = fnuz ? 0x7f : infinities ? 0x7b : 0x7e;
  const uint8_t overflow = saturate ? sign | largest : infinities ? sign | 0x7c : nan;
  if (std::isnan(value))
    return nan;
  if (std::isinf(value))
    return overflow;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  const double units = round(std::ldexp(std::fabs(double(value)), format.mantissaBits - exponent));
  const uint32_t magnitude = uint32_t((exponent + bias - 1) << format.mantissaBits) + uint32_t(units);
  if (magnitude > largest)
    return overflow;
  return magnitude || !fnuz ? sign | uint8_t(magnitude) : 0;
}

uint8_t Float8::fromFloat(float value, bool saturate) const {
  return narrow(*this, value, saturate, [](double units) { return std::nearbyint(units); });
}

uint8_t Float8::fromFloatStochastic(float value, uint32_t random, bool saturate) const {
  return narrow(*this, value, saturate, [&](double units) { return std::floor(units + random * 0x1p-32); });
}
