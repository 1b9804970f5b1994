// What threads would do apart, and the host does not: one thread has the whole tile.
#pragma once

#include "compiler/ir/Tile.h"

namespace sectile::host {

/// Rewrites operations in terms of those that have a lowering:
///
///     reduce sum x axis 1 parts 4  ->  all of it is the first part: select(iota == 0, reduce sum x axis 1, -0.0)
///     any x                        ->  the maximum of x as integers is not 0
void expandParts(ir::KernelOp kernel);

} // namespace sectile::host
