// A tile's place in a view.
#pragma once

#include "compiler/lower/gpu/KernelLowering.h"

namespace sectile::gpu {

struct KernelLowering::Window {
  explicit Window(const ViewArgument &array) : array(array), bytes(memoryBits(array.element) / 8) {}

  const ViewArgument &array;
  int64_t bytes;                         ///< of an element in memory
  mlir::Value origin;                    ///< address of index 0 in the tile's dimensions
  mlir::Value leadingInside;             ///< whether the dimensions that are indexed only are inside; null: none are
  LaneCode::Values corner, sizes, steps; ///< of the tile's dimensions: first index, view's size, bytes to the next
};

} // namespace sectile::gpu
