// What may be done to an iteration of a ring, after what was.
#include "compiler/transforms/RoleRun.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

bool RingRecord::canCome(Operation *op, int64_t stages, int64_t index, StringRef what, Faults &refuse) {
  const int64_t before = index - stages;
  if (before < 0 || before >= full || (*this)[before].released)
    return true;
  wrong(refuse, op,
        Twine(what) + " iteration " + Twine(index) + " of a ring of " + Twine(stages) + " stages while iteration " +
            Twine(before) + " is not released: it waits forever",
        (*this)[before].full, "waited for here");
  return false;
}

void RingRecord::acquire(AcquireOp op, int64_t index, Faults &refuse) {
  if (index != acquired)
    return wrong(refuse, op,
                 "acquires iteration " + Twine(index) + " of a ring, where " + Twine(acquired) +
                     " comes next: rings count from 0, one by one",
                 op.getRing().getDefiningOp(), "the ring");
  if (!canCome(op, op.getRing().getType().getStages(), index, "acquires", refuse))
    return;
  (*this)[index].acquired = op;
  ++acquired;
}

void RingRecord::copy(CopyBulkOp op, int64_t index, Faults &refuse) {
  if (index < 0 || index >= acquired)
    return wrong(refuse, op,
                 "copies iteration " + Twine(index) +
                     " of a ring into a stage that was not acquired: others may still read it",
                 op.getRing().getDefiningOp(), "the ring");
  Iteration &iteration = (*this)[index];
  if (iteration.copied)
    return wrong(refuse, op, "copies iteration " + Twine(index) + " of a ring for the second time", iteration.copied,
                 "copied here");
  iteration.copied = op;
}

void RingRecord::waitFull(WaitFullOp op, int64_t index, Faults &refuse) {
  if (index < 0 || index > full)
    return wrong(refuse, op,
                 "waits for iteration " + Twine(index) + " of a ring, where " + Twine(full) +
                     " comes next: rings count from 0, one by one",
                 op.getRing().getDefiningOp(), "the ring");
  Iteration &iteration = (*this)[index];
  if (index < full) { // once more, which is no harm
    if (iteration.released)
      wrong(refuse, op, "waits for a stage that was released", iteration.released, "released here");
    return;
  }
  if (!canCome(op, op.getRing().getType().getStages(), index, "waits for", refuse))
    return;
  if (acquired > 0 && !iteration.copied)
    wrong(refuse, op, "waits for iteration " + Twine(index) + " of a ring that is not copied before: it waits forever",
          op.getRing().getDefiningOp(), "the ring");
  iteration.full = op;
  ++full;
}

void RingRecord::release(ReleaseOp op, int64_t index, Faults &refuse) {
  if (index < 0 || index >= full)
    return wrong(refuse, op,
                 "releases iteration " + Twine(index) + " of a ring that was not waited for: it may not be there",
                 op.getRing().getDefiningOp(), "the ring");
  Iteration &iteration = (*this)[index];
  if (iteration.released)
    return wrong(refuse, op, "releases a stage for the second time", iteration.released, "released here");
  iteration.released = op;
}

void RingRecord::finish(Faults &refuse) {
  for (const Iteration &iteration : iterations) {
    if (isWrong)
      return;
    if (iteration.acquired && !iteration.copied)
      wrong(refuse, iteration.acquired, "acquires a stage of a ring that is not filled: who waits for it waits forever",
            cast<AcquireOp>(iteration.acquired).getRing().getDefiningOp(), "the ring");
    else if (iteration.full && !iteration.released)
      wrong(refuse, iteration.full, "waits for a stage that is never released: its producer waits forever",
            cast<WaitFullOp>(iteration.full).getRing().getDefiningOp(), "the ring");
  }
}
