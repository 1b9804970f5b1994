// Loops of matrix products: the first pass stands before the loop.
#include "compiler/ir/Tile.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace sectile {
#define GEN_PASS_DEF_PEELFIRST
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

void peelFirst(scf::ForOp loop, IRRewriter &rewriter) {
  const Location loc = loop.getLoc();
  Value first = loop.getLowerBound(), end = loop.getUpperBound(), step = loop.getStep();
  rewriter.setInsertionPoint(loop);
  const auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value any = arith::CmpIOp::create(rewriter, loc, less, first, end);
  auto branch = scf::IfOp::create(rewriter, loc, loop.getResultTypes(), any, /*withElseRegion=*/true);

  // 1. The passes after the first: the same loop. What it starts from is known in a moment.
  rewriter.setInsertionPointToStart(branch.thenBlock());
  Value second = arith::AddIOp::create(rewriter, loc, first, step);
  auto rest = cast<scf::ForOp>(rewriter.clone(*loop));
  rest.getLowerBoundMutable().assign(second);

  // 2. The first pass.
  SmallVector<Value> arguments{first};
  llvm::append_range(arguments, loop.getInitArgs());
  Operation *yield = loop.getBody()->getTerminator();
  rewriter.inlineBlockBefore(loop.getBody(), rest, arguments);
  rest.getInitArgsMutable().assign(yield->getOperands());
  rewriter.eraseOp(yield);

  // 3. The results.
  if (loop.getNumResults() != 0) { // else the branches were made with their ends
    rewriter.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(rewriter, loc, rest.getResults());
    rewriter.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(rewriter, loc, loop.getInitArgs());
  }
  rewriter.replaceOp(loop, branch.getResults());
}

struct PeelFirst : sectile::impl::PeelFirstBase<PeelFirst> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (!loop.getBody()->getOps<DotOp>().empty())
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    for (scf::ForOp loop : loops)
      peelFirst(loop, rewriter);
  }
};

} // namespace
