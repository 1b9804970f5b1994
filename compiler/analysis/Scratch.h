// The shared memory that an operation of the block dialect takes while it runs.
//
//     operation                     when                                               bytes
//     block.convert                 data crosses warps                                 all elements
//     tile.reshape                  the layouts differ in more than the shape          all elements
//     tile.reduce                   warps hold different parts of the reduced axis     4 a line, times those warps
//
// Such an operation begins with a barrier (others may still read what was there), and has another between its writes
// and its reads; none at the end. i1 takes a byte. Where the scratch memory begins is the operation's attribute
// `block.scratch`, once planned, a multiple of 16 bytes.
#pragma once

#include <cstdint>

namespace mlir {
class Operation;
}

namespace sectile {

/// 0 when the operation takes none.
int64_t scratchBytes(mlir::Operation *op);

} // namespace sectile
