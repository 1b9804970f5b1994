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

/// Whether an operation, or one in it, has to do with shared memory.
static bool touchesShared(Operation &op) {
  return op
      .walk([](Operation *inner) {
        const bool touches = isa<ReadOp, WriteOp, BlockDotOp, CopyAsyncOp, CommitOp, WaitOp, BarrierOp, AcquireOp,
                                 CopyBulkOp, WaitFullOp, ReleaseOp, DotAsyncOp, DotWaitOp>(inner) ||
                             sectile::scratchBytes(inner) != 0;
        return touches ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static void note(Operation &op, Since &since) {
  if (isa<WaitOp>(op))
    since.wait = true;
  else if (isa<CopyAsyncOp>(op))
    since.copy = true;
  else if (!isa<CommitOp>(op))
    since.access |= touchesShared(op);
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
