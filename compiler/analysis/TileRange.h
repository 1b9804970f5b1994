// The smallest and largest element of an i32 tile, as scalars of the program.
//
// For tiles made of scalars, iota, additions, subtractions, products with constants, minima and maxima:
//
//   rows = iota(64) + row0              ->  [row0, row0 + 63]
//   cols = iota(128) + j * 128          ->  [j * 128, j * 128 + 127]
//   rows >= cols holds everywhere       <=  row0 >= j * 128 + 127
#pragma once

#include "mlir/IR/Builders.h"

#include <optional>

namespace sectile {

struct TileRange {
  mlir::Value least, greatest; ///< i32 scalars
};

/// The range of an i32 scalar or tile, or nothing when it is not of a form listed above. Scalars are built at the
/// insertion point, which the tile's operands must dominate. The bounds are attained or wider, never narrower.
std::optional<TileRange> rangeOf(mlir::Value tile, mlir::OpBuilder &builder);

/// An i1 scalar that, when true, proves that every element of the i1 tile `mask` is true; null when none can be built.
mlir::Value holdsEverywhere(mlir::Value mask, mlir::OpBuilder &builder);

} // namespace sectile
