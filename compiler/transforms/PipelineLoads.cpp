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
  llvm::SetVector<Operation *> indexing; ///< what computes the indices
};

std::optional<Ahead> aheadOf(CopyAsyncOp copy, scf::ForOp loop) {
  Ahead ahead{copy, dyn_cast<CommitOp>(copy->getNextNode()), {}, {}, {}, {}};
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
      : loop(loop), copies(std::move(copies)), stages(stages), rewriter(loop.getContext()) {}

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
  void copyAt(Ahead &ahead, Value iteration, Value slot);
  void setPrologueInsertionPoint();
  void prologue();

  scf::ForOp loop;
  SmallVector<Ahead> copies; ///< in the order of their waits
  int64_t stages;
  IRRewriter rewriter;
  DenseMap<Value, Value> rings; ///< of buffers
};

Value Pipeline::turn(Value slot, int64_t at, int64_t wrapped, int64_t step) {
  Value isLast = arith::CmpIOp::create(rewriter, loop.getLoc(), arith::CmpIPredicate::eq, slot, slotNumber(at));
  Value next = make<arith::AddIOp>(slot, slotNumber(step));
  return arith::SelectOp::create(rewriter, loop.getLoc(), isLast, slotNumber(wrapped), next);
}

/// Begins the copy of an iteration, as a group; nothing is copied past the loop's end.
void Pipeline::copyAt(Ahead &ahead, Value iteration, Value slot) {
  CopyAsyncOp copy = ahead.copy;
  SmallVector<Value> indices = sectile::indicesAt(rewriter, copy.getIndices(), loop, ahead.indexing, iteration);
  Value exists =
      arith::CmpIOp::create(rewriter, loop.getLoc(), arith::CmpIPredicate::slt, iteration, loop.getUpperBound());
  auto ring = cast<TypedValue<SharedType>>(rings.lookup(copy.getBuffer()));
  Value stage = StageOp::create(rewriter, copy.getLoc(), ring.getType().stage(), ring, slot);
  CopyAsyncOp::create(rewriter, copy.getLoc(), copy.getView(), indices, stage, exists);
  CommitOp::create(rewriter, copy.getLoc());
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
  wait.setPending(wait.getPending() + static_cast<uint32_t>(static_cast<int64_t>(copies.size()) * (stages - 1)));
  rewriter.setInsertionPoint(wait);
}

void Pipeline::prologue() {
  setPrologueInsertionPoint();
  if (!isa<BlockKernelOp>(loop->getParentOp())) // the outer loop's last pass may still be read
    BarrierOp::create(rewriter, loop.getLoc());
  for (int64_t s = 0; s < stages - 1; ++s) {
    Value iteration = make<arith::AddIOp>(loop.getLowerBound(), make<arith::MulIOp>(loop.getStep(), constant(s)));
    for (Ahead &ahead : copies)
      copyAt(ahead, iteration, slotNumber(s));
  }
}

void Pipeline::run() {
  // 1. Rings in place of buffers.
  for (Ahead &ahead : copies) {
    auto alloc = ahead.copy.getBuffer().getDefiningOp<AllocOp>();
    rewriter.setInsertionPoint(alloc);
    rings[alloc] = AllocOp::create(rewriter, alloc.getLoc(), alloc.getType().ring(stages), IntegerAttr());
  }
  // 2. The first copies.
  prologue();
  // 3. The slot of an iteration, carried around.
  rewriter.setInsertionPoint(loop);
  Value first = slotNumber(0);
  auto carried = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> arguments) -> SmallVector<Value> {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPoint(builder.getInsertionBlock(), builder.getInsertionPoint());
        return {turn(arguments.front(), stages - 1, 0, 1)};
      }));
  loop = carried;
  Value slot = loop.getRegionIterArgs().back();
  // 4. In the loop: the copy of a later iteration once this one's is there.
  for (Ahead &ahead : copies) {
    ahead.wait.setPending(static_cast<uint32_t>(static_cast<int64_t>(copies.size()) * (stages - 1) - 1));
    rewriter.setInsertionPointAfter(ahead.barrier);
    Value later =
        make<arith::AddIOp>(loop.getInductionVar(), make<arith::MulIOp>(loop.getStep(), constant(stages - 1)));
    copyAt(ahead, later, turn(slot, 0, stages - 1, -1));
    auto alloc = ahead.copy.getBuffer().getDefiningOp<AllocOp>();
    auto ring = cast<TypedValue<SharedType>>(rings.lookup(alloc));
    rewriter.setInsertionPointToStart(loop.getBody());
    Value stage = StageOp::create(rewriter, alloc.getLoc(), ring.getType().stage(), ring, slot);
    for (Operation *reader : ahead.readers)
      reader->replaceUsesOfWith(alloc, stage);
    rewriter.eraseOp(ahead.commit);
    rewriter.eraseOp(ahead.copy);
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
    if (stages < 2)
      return;
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      SmallVector<Ahead> copies; // one for each wait: two copies with one are not waited for by themselves
      for (CopyAsyncOp copy : loop.getBody()->getOps<CopyAsyncOp>())
        if (std::optional<Ahead> ahead = aheadOf(copy, loop))
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
