// Barriers that order nothing.
//
//     barrier                      barrier
//     …      no access             copy_async, commit
//     barrier                      barrier                 no wait between: nobody may read the copy before it
//
// On the left the first is redundant, on the right the second: what it would order came before the first.
#pragma once

namespace mlir {
class Operation;
}

namespace sectile {

void dropRedundantBarriers(mlir::Operation *root);

} // namespace sectile
