// How a kernel copies boxes of an array by the hardware (TMA): what a launch has to encode for it.
#pragma once

#include "sectile/Type.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sectile {

/// One map of an array that a kernel's parameter begins with. Boxes are `columns` elements of the last dimension by
/// `rows` of the one before, one of all others; their rows are swizzled in patterns of so many bytes.
struct TensorMap {
  static constexpr int words = 16; ///< of 64 bits, that a launch encodes it in

  uint32_t parameter; ///< the number of the view among the kernel's parameters
  uint32_t rows, columns;
  uint32_t swizzle; ///< 0, 32, 64 or 128
  bool operator==(const TensorMap &) const = default;
};

/// What the hardware cannot do of a map of arrays of this type and rank: "has 512 rows; legal: 1 to 256".
std::optional<std::string> whyIllegal(const TensorMap &map, Type type, int rank);

} // namespace sectile
