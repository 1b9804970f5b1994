// Minima and maxima of numbers as the ISA defines them: -0 is less than +0. They vectorize.
#pragma once

#include "runtime/emulate/NumberFormats.h"

#include <cmath>

namespace sectile::emulate {

/// The other one when one is a NaN.
inline float minNum(float a, float b) {
  const float equal = asFloat(asBits(a) | asBits(b));
  return a != a ? (b != b ? a + b : b) : b != b ? a : a < b ? a : b < a ? b : equal;
}
inline float maxNum(float a, float b) {
  const float equal = asFloat(asBits(a) & asBits(b));
  return a != a ? (b != b ? a + b : b) : b != b ? a : a > b ? a : b > a ? b : equal;
}
inline double minNum(double a, double b) {
  return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}
inline double maxNum(double a, double b) {
  return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}

/// NaN when one is a NaN.
template <class V> V minimum(V a, V b) { return a != a || b != b ? a + b : minNum(a, b); }
template <class V> V maximum(V a, V b) { return a != a || b != b ? a + b : maxNum(a, b); }

} // namespace sectile::emulate
