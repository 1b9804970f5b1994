// Rounding to an element type, chosen once for a whole tile.
#pragma once

#include "compiler/interpret/Datum.h"
#include "compiler/support/Float.h"

namespace sectile::interpreter {

/// Calls f(round), where round(double) is the nearest value of the float type, ties to even, as a `float`.
template <class F> auto withRounding(Element element, F &&f) {
  switch (element) {
  case Element::f16:
    return f(roundTo<f16>);
  case Element::bf16:
    return f(roundTo<bf16>);
  case Element::f8e4m3:
    return f(roundTo<f8e4m3>);
  case Element::f8e5m2:
    return f(roundTo<f8e5m2>);
  default:
    return f([](double x) { return static_cast<float>(x); });
  }
}

} // namespace sectile::interpreter
