// Memory for one array of a test: any layout, poisoned before use, with guard bytes around and in its gaps.
#pragma once

#include "sectile/Array.h"

#include <cstddef>
#include <random>
#include <vector>

namespace sectile::test {

using Random = std::mt19937_64;

/// How an array lies in memory. The default is row-major.
struct Layout {
  std::vector<int> order;                         ///< dimensions from outermost to innermost; empty: 0, 1, 2, …
  int64_t step = 1;                               ///< stride of the innermost dimension
  int64_t gap = 0;                                ///< elements left unused after each run of the innermost dimension
  std::vector<int> reversed = {}, broadcast = {}; ///< dimensions with a negative stride, and with stride 0
};

class Tensor {
public:
  Tensor(Type type, const std::vector<int64_t> &sizes, const Layout &layout = {});
  Tensor(Tensor &&) = default;

  const ArrayView &view() const { return array; }
  operator const ArrayView &() const { return array; }

  /// Every byte becomes 0xff: NaN in every float type.
  void poison();
  void fill(double value);
  void randomize(Random &random, double deviation = 1);
  /// Sets the elements in row-major order.
  template <class Value> void generate(Value value) {
    forEachElement([&](std::byte *element) { store(element, value()); });
  }
  /// The bytes of all elements, in row-major order.
  std::vector<std::byte> bytes() const;
  /// Whether no byte outside the elements has changed since the poisoning.
  bool guardsIntact() const;

private:
  template <class Visit> void forEachElement(Visit visit) const {
    std::vector<int64_t> index(array.rank);
    for (int64_t left = array.elements(); left > 0; --left) {
      int64_t offset = 0;
      for (int axis = 0; axis < array.rank; ++axis)
        offset += index[axis] * array.strides[axis];
      visit(static_cast<std::byte *>(array.data) + offset * typeBytes(array.type));
      for (int axis = array.rank - 1; axis >= 0 && ++index[axis] == array.sizes[axis]; --axis)
        index[axis] = 0;
    }
  }
  void store(std::byte *element, double value);

  std::vector<std::byte> memory;
  ArrayView array;
};

} // namespace sectile::test
