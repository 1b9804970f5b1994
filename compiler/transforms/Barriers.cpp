#include "compiler/transforms/Barriers.h"

#include "compiler/analysis/Scratch.h"
#include "compiler/ir/Block.h"

using namespace mlir;
using namespace sectile::ir;

/// What happened since the last barrier of a block.
namespace {
struct Since {
  BarrierOp barrier;
  bool wait = false, copy = false, access = false;
};
} // namespace

static void note(Operation &op, Since &since) {
  since.wait |= isa<WaitOp>(op);
  since.copy |= isa<CopyAsyncOp>(op);
  since.access |= isa<ReadOp, WriteOp, BlockDotOp>(op) || op.getNumRegions() != 0 || sectile::scratchBytes(&op) != 0;
}

void sectile::dropRedundantBarriers(Operation *root) {
  SmallVector<BarrierOp> redundant;
  root->walk([&](Block *block) {
    Since since;
    for (Operation &op : *block) {
      auto barrier = dyn_cast<BarrierOp>(op);
      if (!barrier) {
        note(op, since);
        continue;
      }
      if (since.barrier && !since.access && !since.copy) {
        redundant.push_back(since.barrier);
      } else if (since.barrier && !since.access && !since.wait) {
        redundant.push_back(barrier);
        continue;
      }
      since = {barrier};
    }
  });
  for (BarrierOp barrier : redundant)
    barrier.erase();
}
