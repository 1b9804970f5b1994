// A view over the caller's memory: what kernels read and write. Sectile never owns tensors.
#pragma once

#include "sectile/Type.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace sectile {

/// A strided array in memory that the caller owns and keeps alive until the stream has run past its use.
/// Strides count elements, may be 0 (broadcast) or negative, and are 64-bit; `data` is the address of element
/// [0, …, 0]. Each size is from 0 to `maxSize`.
struct ArrayView {
  static constexpr int maxRank = 6;
  /// Indices inside a kernel are 32-bit and a tile may reach past the end by its own size, hence the margin.
  static constexpr int64_t maxSize = (int64_t{1} << 31) - (int64_t{1} << 20);

  void *data = nullptr;
  Type type = Type::f32;
  int32_t rank = 0;
  std::array<int64_t, maxRank> sizes{};
  std::array<int64_t, maxRank> strides{};

  ArrayView() = default;
  /// A contiguous (row-major) array. Throws UserError when the rank is over `maxRank`.
  ArrayView(void *data, Type type, std::initializer_list<int64_t> sizes);
  /// Any strides. Throws UserError when the ranks differ or are over `maxRank`.
  ArrayView(void *data, Type type, std::span<const int64_t> sizes, std::span<const int64_t> strides);

  int64_t elements() const;
  /// The same elements with the dimensions in another order: result dimension i is dimension order[i] of this.
  ArrayView permuted(std::initializer_list<int> order) const;
};

} // namespace sectile
