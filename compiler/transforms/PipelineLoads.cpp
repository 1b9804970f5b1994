// Copies of a loop run ahead of it, in rings.
//
//     for i                                    slot = 0
//       barrier                                copy k[0] -> K[0], commit; copy v[0] -> V[0], commit      (stages = 2)
//       copy k[i] -> K, commit                 for i
//       copy v[i] -> V, commit                   wait 1, barrier          k[i] is there; nobody reads K[slot - 1]
//       wait 1, barrier                =>        copy k[i + 1] -> K[slot - 1] if i + 1 < end, commit
//       use K                                    use K[slot]
//       wait 0, barrier                          wait 1, barrier
//       use V                                    copy v[i + 1] -> V[slot - 1] if i + 1 < end, commit
//                                                use V[slot]; slot = slot + 1 (modulo stages)
//
// With n copies and s stages, n (s - 1) groups are begun before the loop, and every wait leaves n (s - 1) - 1 pending:
// so many were begun after the one it waits for. Groups are begun even where the copy's condition is false: the count
// stays.
//
// With one stage there is no ring. The buffers take turns: while one is used, the one before it in the iteration is
// filled again, behind the barrier at which its last readers have met.
//
//     copy k[0] -> K, commit
//     for i
//       wait 0, barrier                          k[i] is there; nobody reads V
//       copy v[i] -> V, commit
//       use K
//       wait 0, barrier                          v[i] is there; nobody reads K
//       copy k[i + 1] -> K if i + 1 < end, commit
//       use V
//
// Of n copies, n - 1 are under way at a wait, which leaves n - 2 of them. A buffer that is alone, or still in use at
// the next one's wait, is filled behind a barrier of its own:
//
//     copy k[0] -> K, commit
//     for i
//       wait 0, barrier; use K; barrier; copy k[i + 1] -> K if i + 1 < end, commit
#include "compiler/ir/Block.h"
#include "compiler/transforms/Barriers.h"
#include "compiler/transforms/LoopIndexing.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"

namespace sectile {
#define GEN_PASS_DEF_PIPELINELOADS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

/// A copy of a loop that can run ahead.
struct Ahead {
  CopyAsyncOp copy;
  CommitOp commit;
  WaitOp wait;                           ///< before the first reader
  BarrierOp barrier;                     ///< after the wait
  SmallVector<Operation *> readers;      ///< of the buffer
  Operation *last = nullptr;             ///< of the loop's body, after which the buffer may be filled again
  llvm::SetVector<Operation *> indexing; ///< what computes the indices
};

/// The later one of a block; null stands for none.
Operation *laterOf(Operation *a, Operation *b) { return !a || (b && a->isBeforeInBlock(b)) ? b : a; }

std::optional<Ahead> aheadOf(CopyAsyncOp copy, scf::ForOp loop) {
  Ahead ahead{copy, dyn_cast<CommitOp>(copy->getNextNode()), {}, {}, {}, nullptr, {}};
  auto alloc = copy.getBuffer().getDefiningOp<AllocOp>();
  if (!ahead.commit || !alloc || loop->isAncestor(alloc) || copy.getCondition())
    return {};
  if (!sectile::collectIndexing(copy.getIndices(), loop, ahead.indexing))
    return {};
  Operation *first = nullptr;
  for (Operation *reader : alloc->getUsers()) {
    if (reader == copy)
      continue;
    Operation *inLoop = loop.getBody()->findAncestorOpInBlock(*reader);
    if (!isa<ReadOp, BlockDotOp>(reader) || !inLoop || inLoop->isBeforeInBlock(copy))
      return {};
    ahead.readers.push_back(reader);
    first = first && first->isBeforeInBlock(inLoop) ? first : inLoop;
    ahead.last = laterOf(ahead.last, inLoop);
    for (Operation *user : reader->getUsers()) // a product may read fragments as it goes
      ahead.last = laterOf(ahead.last, loop.getBody()->findAncestorOpInBlock(*user));
  }
  // The wait and the barrier that let the first reader read.
  for (Operation *op = first; op && op != copy && !ahead.wait; op = op->getPrevNode()) {
    if (auto barrier = dyn_cast<BarrierOp>(op))
      ahead.barrier = barrier;
    ahead.wait = dyn_cast<WaitOp>(op);
  }
  return ahead.wait && ahead.barrier ? std::optional(std::move(ahead)) : std::nullopt;
}

class Pipeline {
public:
  Pipeline(scf::ForOp loop, SmallVector<Ahead> copies, int64_t stages)
      : loop(loop), copies(std::move(copies)), stages(stages), lead(std::max<int64_t>(stages - 1, 1)),
        turns(takesTurns()), rewriter(loop.getContext()) {}

  void run();

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(rewriter, loop.getLoc(),
                                     rewriter.getIntegerAttr(loop.getInductionVar().getType(), value));
  }
  Value slotNumber(int64_t value) {
    return arith::ConstantOp::create(rewriter, loop.getLoc(), rewriter.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  template <class Op> Value make(Value a, Value b) { return Op::create(rewriter, loop.getLoc(), a, b); }
  /// slot is `at` ? `wrapped` : slot + `step`
  Value turn(Value slot, int64_t at, int64_t wrapped, int64_t step);
  /// Begins the copy of an iteration, as a group. A null slot: no ring; a null condition: always.
  void copyAt(Ahead &ahead, Value iteration, Value slot, Value condition);
  Value exists(Value iteration);
  bool takesTurns();
  /// How many groups are under way at the loop's beginning, and at each wait with the one it is for.
  int64_t groupsAhead() const { return static_cast<int64_t>(copies.size()) * lead - (turns ? 1 : 0); }
  void insertCopy(size_t which, Value slot);
  Value stageOf(Ahead &ahead, Value slot);
  void setPrologueInsertionPoint();
  void prologue();

  scf::ForOp loop;
  SmallVector<Ahead> copies; ///< in the order of their waits
  int64_t stages, lead;      ///< iterations that copies run ahead
  bool turns;                ///< a single stage, whose last copy is of the same iteration
  IRRewriter rewriter;
  DenseMap<Value, Value> rings; ///< of buffers
};

Value Pipeline::turn(Value slot, int64_t at, int64_t wrapped, int64_t step) {
  Value isLast = arith::CmpIOp::create(rewriter, loop.getLoc(), arith::CmpIPredicate::eq, slot, slotNumber(at));
  Value next = make<arith::AddIOp>(slot, slotNumber(step));
  return arith::SelectOp::create(rewriter, loop.getLoc(), isLast, slotNumber(wrapped), next);
}

void Pipeline::copyAt(Ahead &ahead, Value iteration, Value slot, Value condition) {
  CopyAsyncOp copy = ahead.copy;
  SmallVector<Value> indices = sectile::indicesAt(rewriter, copy.getIndices(), loop, ahead.indexing, iteration);
  CopyAsyncOp::create(rewriter, copy.getLoc(), copy.getView(), indices, stageOf(ahead, slot), condition);
  CommitOp::create(rewriter, copy.getLoc());
}

/// Nothing is copied past the loop's end.
Value Pipeline::exists(Value iteration) {
  return arith::CmpIOp::create(rewriter, loop.getLoc(), arith::CmpIPredicate::slt, iteration, loop.getUpperBound());
}

/// Whether every buffer is free again at the next one's wait.
bool Pipeline::takesTurns() {
  auto isFree = [](const Ahead &ahead, const Ahead &next) { return ahead.last->isBeforeInBlock(next.wait); };
  return stages == 1 && copies.size() > 1 &&
         std::equal(copies.begin(), copies.end() - 1, copies.begin() + 1, copies.end(), isFree);
}

Value Pipeline::stageOf(Ahead &ahead, Value slot) {
  Value buffer = ahead.copy.getBuffer();
  auto ring = cast_or_null<TypedValue<SharedType>>(rings.lookup(buffer));
  return ring ? StageOp::create(rewriter, ring.getLoc(), ring.getType().stage(), ring, slot).getResult() : buffer;
}

/// Before the loop; when that begins with a wait for other copies, before it, so that all of them are under way.
void Pipeline::setPrologueInsertionPoint() {
  rewriter.setInsertionPoint(loop);
  Operation *op = loop->getPrevNode();
  while (op && (isa<BarrierOp, ReadOp>(op) || isMemoryEffectFree(op)))
    op = op->getPrevNode();
  auto wait = dyn_cast_or_null<WaitOp>(op);
  if (!wait)
    return;
  DominanceInfo dominance;
  SmallVector<Value> needed{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  for (Ahead &ahead : copies) {
    needed.append(ahead.copy.getIndices().begin(), ahead.copy.getIndices().end());
    for (Operation *indexing : ahead.indexing)
      needed.append(indexing->operand_begin(), indexing->operand_end());
  }
  for (Value value : needed)
    if (!loop.getRegion().isAncestor(value.getParentRegion()) && !dominance.properlyDominates(value, wait))
      return;
  wait.setPending(wait.getPending() + static_cast<uint32_t>(groupsAhead()));
  rewriter.setInsertionPoint(wait);
}

void Pipeline::prologue() {
  setPrologueInsertionPoint();
  if (!isa<BlockKernelOp>(loop->getParentOp())) // the outer loop's last pass may still be read
    BarrierOp::create(rewriter, loop.getLoc());
  for (int64_t s = 0; s < lead; ++s) {
    Value iteration = make<arith::AddIOp>(loop.getLowerBound(), make<arith::MulIOp>(loop.getStep(), constant(s)));
    for (Ahead &ahead : MutableArrayRef(copies).drop_back(turns ? 1 : 0))
      copyAt(ahead, iteration, stages > 1 ? slotNumber(s) : Value(), exists(iteration));
  }
}

/// In a ring once this iteration's copy is there, else once it was used.
void Pipeline::insertCopy(size_t which, Value slot) {
  Ahead &ahead = copies[which];
  if (turns && which + 1 == copies.size()) {
    rewriter.setInsertionPointAfter(copies.front().barrier);
    copyAt(ahead, loop.getInductionVar(), {}, {});
    return;
  }
  if (slot) {
    rewriter.setInsertionPointAfter(ahead.barrier);
  } else if (turns) {
    rewriter.setInsertionPointAfter(copies[which + 1].barrier);
  } else {
    rewriter.setInsertionPointAfter(ahead.last);
    BarrierOp::create(rewriter, ahead.copy.getLoc());
  }
  Value later = make<arith::AddIOp>(loop.getInductionVar(), make<arith::MulIOp>(loop.getStep(), constant(lead)));
  copyAt(ahead, later, slot ? turn(slot, 0, stages - 1, -1) : Value(), exists(later));
}

void Pipeline::run() {
  // 1. Rings in place of buffers.
  if (stages > 1) {
    for (Ahead &ahead : copies) {
      auto alloc = ahead.copy.getBuffer().getDefiningOp<AllocOp>();
      rewriter.setInsertionPoint(alloc);
      rings[alloc] =
          AllocOp::create(rewriter, alloc.getLoc(), alloc.getType().ring(stages), IntegerAttr(), IntegerAttr());
    }
  }
  // 2. The first copies.
  prologue();
  // 3. The slot of an iteration, carried around.
  Value slot;
  if (stages > 1) {
    rewriter.setInsertionPoint(loop);
    Value first = slotNumber(0);
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> arguments) -> SmallVector<Value> {
          OpBuilder::InsertionGuard guard(rewriter);
          rewriter.setInsertionPoint(builder.getInsertionBlock(), builder.getInsertionPoint());
          return {turn(arguments.front(), stages - 1, 0, 1)};
        }));
    slot = loop.getRegionIterArgs().back();
  }
  // 4. In the loop: the copy of a later iteration, in place of this one's.
  for (size_t i = 0; i < copies.size(); ++i)
    insertCopy(i, slot);
  for (Ahead &ahead : copies) {
    ahead.wait.setPending(static_cast<uint32_t>(groupsAhead() - 1));
    auto alloc = ahead.copy.getBuffer().getDefiningOp<AllocOp>();
    if (slot) {
      rewriter.setInsertionPointToStart(loop.getBody());
      Value stage = stageOf(ahead, slot);
      for (Operation *reader : ahead.readers)
        reader->replaceUsesOfWith(alloc, stage);
    }
    rewriter.eraseOp(ahead.commit);
    rewriter.eraseOp(ahead.copy);
    if (slot)
      rewriter.eraseOp(alloc);
  }
  // 5. Other waits of the loop would count the groups that run ahead.
  for (WaitOp wait : loop.getBody()->getOps<WaitOp>())
    if (llvm::none_of(copies, [&](Ahead &ahead) { return ahead.wait == wait; }))
      wait.setPending(0);
}

struct PipelineLoads : sectile::impl::PipelineLoadsBase<PipelineLoads> {
  using PipelineLoadsBase::PipelineLoadsBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      SmallVector<Ahead> copies; // one for each wait: two copies with one are not waited for by themselves
      for (CopyAsyncOp copy : loop.getBody()->getOps<CopyAsyncOp>())
        if (std::optional<Ahead> ahead = aheadOf(copy, loop); ahead && (stages > 1 || !isa<scf::YieldOp>(ahead->last)))
          if (llvm::none_of(copies, [&](Ahead &other) { return other.wait == ahead->wait; }))
            copies.push_back(std::move(*ahead));
      llvm::sort(copies,
                 [](const Ahead &a, const Ahead &b) { return WaitOp(a.wait)->isBeforeInBlock(WaitOp(b.wait)); });
      if (!copies.empty())
        Pipeline(loop, std::move(copies), stages).run();
    }
    sectile::dropRedundantBarriers(getOperation());
  }
};

} // namespace
