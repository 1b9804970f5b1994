// The order of a program's accesses to global memory: threads do their parts of a tile each in their own time, so that
// a load that another thread's store must precede needs a barrier between.
//
// Accesses to different views are not ordered: arrays that a kernel writes do not overlap others.
#include "compiler/lower/gpu/KernelLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

namespace {
enum class Access { none, read, write, add };
} // namespace

/// What an operation does to a view.
static Access accessTo(Operation *op, Value view) {
  if (auto load = dyn_cast<LoadOp>(op))
    return load.getView() == view ? Access::read : Access::none;
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return copy.getView() == view ? Access::read : Access::none;
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getView() == view ? Access::write : Access::none;
  if (auto add = dyn_cast<AtomicAddOp>(op))
    return add.getView() == view ? Access::add : Access::none;
  return Access::none;
}

/// Whether `first` may be executed before `second`: it precedes it, or they share a loop.
static bool mayPrecede(Operation *first, Operation *second) {
  for (auto loop = second->getParentOfType<scf::ForOp>(); loop; loop = loop->getParentOfType<scf::ForOp>())
    if (loop->isAncestor(first))
      return true;
  Operation *a = first, *b = second;
  while (a && !a->getBlock()->findAncestorOpInBlock(*b))
    a = a->getParentOp();
  if (!a)
    return false;
  b = a->getBlock()->findAncestorOpInBlock(*b);
  return a != b && a->isBeforeInBlock(b);
}

/// Reads among each other need no order, nor do additions.
static bool conflict(Access a, Access b) {
  return a != Access::none && b != Access::none && (a != b || a == Access::write);
}

void KernelLowering::orderAccess(Operation *op, Value view) {
  const Access access = accessTo(op, view);
  bool needsOrder = false;
  for (Operation *other : view.getUsers())
    needsOrder |= conflict(accessTo(other, view), access) && mayPrecede(other, op);
  if (needsOrder)
    barrier();
}
