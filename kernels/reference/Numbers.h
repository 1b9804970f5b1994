// Elements in memory as numbers, on the host and without a compiler: floats and i32.
#pragma once

#include "sectile/Array.h"

namespace sectile::reference {

/// The element at `address` as a number; exact.
double loadElement(Type type, const void *address);
/// Writes `value` rounded to nearest even, f8 saturating; i32 wants an integer that fits.
void storeElement(Type type, void *address, double value);

/// `value` rounded to `type`, f32, f16 or bf16, to nearest even.
float roundTo(Type type, float value);

/// The element at [i, j, …] of an array.
template <class... Index> void *elementAddress(const ArrayView &array, Index... index) {
  int64_t offset = 0;
  int axis = 0;
  ((offset += array.strides[axis++] * static_cast<int64_t>(index)), ...);
  return static_cast<char *>(array.data) + offset * typeBytes(array.type);
}
template <class... Index> double element(const ArrayView &array, Index... index) {
  return loadElement(array.type, elementAddress(array, index...));
}

} // namespace sectile::reference
