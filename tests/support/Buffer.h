// An array in host memory for tests: any type and strides, poisoned, and watched for stray writes.
//
//   Buffer x = Buffer::strided(Type::bf16, {3, 5}, {-7, 2});
//   x.set({0, 1, …});                        // row-major, rounded to the type
//   run(x.view());
//   CHECK(x.values() == …);
//   CHECK(x.strayWrites() == 0);             // guards around it and gaps between its elements
#pragma once

#include "sectile/Array.h"

#include <cstdint>
#include <vector>

namespace sectile::test {

using Index = std::vector<int64_t>;

/// Values of every type are held as double: integers and floats are exact in it.
using Values = std::vector<double>;

class Buffer {
public:
  /// Row-major and poisoned.
  Buffer(Type type, Index sizes) : Buffer(type, std::move(sizes), {}, 0) {}
  /// Row-major, with values.
  Buffer(Type type, Index sizes, const Values &values) : Buffer(type, std::move(sizes)) { set(values); }
  /// Any strides, in elements; the base is `misalignment` bytes past a multiple of 64.
  static Buffer strided(Type type, Index sizes, Index strides, int64_t misalignment = 0) {
    return Buffer(type, std::move(sizes), std::move(strides), misalignment);
  }
  Buffer(Buffer &&) = default;

  ArrayView view() const;
  Type type() const { return elementType; }
  const Index &sizes() const { return dims; }
  int64_t elements() const;

  /// One value an element, in row-major order, rounded to the type as tile::cast does; NaN and infinities as they are.
  void set(const Values &values);
  Values values() const;
  /// Bit patterns, in row-major order.
  std::vector<uint32_t> bits() const;
  void setBits(const std::vector<uint32_t> &patterns);
  /// How many bytes changed since the last set() (or construction) that belong to no element.
  int64_t strayWrites() const;
  /// Whether no byte changed at all.
  bool unchanged() const { return storage == before; }

private:
  Buffer(Type type, Index sizes, Index strides, int64_t misalignment);
  template <class F> void forEachElement(F f) const;
  const char *base() const { return storage.data() + origin; }

  Type elementType;
  Index dims, steps;
  std::vector<char> storage, before;
  int64_t origin; ///< of element [0, …, 0] in `storage`
};

/// The value that the type holds nearest to x, as tile::cast rounds.
double roundTo(Type type, double x);
/// The distance between neighbouring values of the type around x.
double unitInLastPlace(Type type, double x);

} // namespace sectile::test
