// What a loop's next pass writes to shared memory first is loaded while this one computes.
//
//     for i                                    t = load k[0]
//       t = load k[i]                          for i, t
//       barrier                                  barrier
//       write t -> K                   =>        write t -> K
//       barrier                                  u = load k[i + 1]
//       use K                                    barrier
//                                                use K; t = u
//
// Past the last iteration the load reads what the loop does not need, or padding; it touches nothing outside of the
// array.
#include "compiler/ir/Block.h"
#include "compiler/transforms/LoopIndexing.h"
#include "compiler/transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace sectile {
#define GEN_PASS_DEF_PREFETCHLOADS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

/// A load of a loop whose value is written to shared memory, and nothing else.
struct Prefetch {
  LoadOp load;
  WriteOp write;
  llvm::SetVector<Operation *> indexing; ///< what computes the indices
};

/// Nobody writes an input, so that it may be read at another time.
bool isInput(TypedValue<ViewType> view) {
  auto argument = cast<BlockArgument>(view);
  auto kernel = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return kernel.getArgAttr(argument.getArgNumber(), "tile.access") == StringAttr::get(view.getContext(), "input");
}

/// The loads that the first product of a pass waits for; what is loaded for later ones is under way already.
SmallVector<Prefetch> prefetchesOf(scf::ForOp loop) {
  SmallVector<Prefetch> found;
  for (Operation &op : *loop.getBody()) {
    if (isa<BlockDotOp>(op) || op.getNumRegions() != 0)
      break;
    auto write = dyn_cast<WriteOp>(op);
    auto load = write ? write.getValue().getDefiningOp<LoadOp>() : LoadOp();
    if (!load || load->getBlock() != loop.getBody() || !load->hasOneUse() || !isInput(load.getView()))
      continue;
    Prefetch prefetch{load, write, {}};
    if (sectile::collectIndexing(load.getIndices(), loop, prefetch.indexing))
      found.push_back(std::move(prefetch));
  }
  return found;
}

void prefetch(scf::ForOp loop, MutableArrayRef<Prefetch> prefetches) {
  IRRewriter rewriter(loop.getContext());
  auto loadAt = [&](Prefetch &prefetch, Value iteration) -> Value {
    LoadOp load = prefetch.load;
    SmallVector<Value> indices = sectile::indicesAt(rewriter, load.getIndices(), loop, prefetch.indexing, iteration);
    return LoadOp::create(rewriter, load.getLoc(), load.getType(), load.getView(), indices, load.getPaddingAttr());
  };
  // 1. The first pass's, before the loop.
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> first, next;
  for (Prefetch &prefetch : prefetches)
    first.push_back(loadAt(prefetch, loop.getLowerBound()));
  // 2. The next pass's, once this one's registers are free.
  for (Prefetch &prefetch : prefetches) {
    rewriter.setInsertionPointAfter(prefetch.write);
    Value later = arith::AddIOp::create(rewriter, loop.getLoc(), loop.getInductionVar(), loop.getStep());
    next.push_back(loadAt(prefetch, later));
  }
  // 3. Carried around.
  auto carried = cast<scf::ForOp>(
      *loop.replaceWithAdditionalYields(rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
                                        [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return next; }));
  auto arguments = carried.getRegionIterArgs().take_back(prefetches.size());
  for (auto [prefetch, argument] : llvm::zip_equal(prefetches, arguments)) {
    rewriter.replaceAllUsesWith(prefetch.load.getResult(), argument);
    rewriter.eraseOp(prefetch.load);
  }
}

struct PrefetchLoads : sectile::impl::PrefetchLoadsBase<PrefetchLoads> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (SmallVector<Prefetch> prefetches = prefetchesOf(loop); !prefetches.empty())
        prefetch(loop, prefetches);
  }
};

} // namespace
