// x + dot(a, b, 0) -> dot(a, b, x)     where x is what a loop carries, or that times something
//
// Such an x is a sum of products itself. Anything else, a bias of scores for one, may be far larger than the product:
// each of the products would be rounded in proportion to it.
#include "compiler/ir/Tile.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sectile {
#define GEN_PASS_DEF_FUSEACCUMULATOR
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

bool isZero(Value tile) {
  if (auto splat = tile.getDefiningOp<SplatOp>())
    return matchPattern(splat.getValue(), m_AnyZeroFloat());
  return matchPattern(tile, m_AnyZeroFloat());
}

bool isCarried(Value tile) {
  if (auto scaled = tile.getDefiningOp<arith::MulFOp>())
    return isCarried(scaled.getLhs()) || isCarried(scaled.getRhs());
  auto argument = dyn_cast<BlockArgument>(tile);
  return argument && isa<scf::ForOp>(argument.getOwner()->getParentOp());
}

struct FuseIntoDot : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddFOp add, PatternRewriter &rewriter) const override {
    for (auto [product, other] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
      auto dot = product.getDefiningOp<DotOp>();
      if (!dot || !dot->hasOneUse() || !isZero(dot.getAccumulator()) || !isCarried(other))
        continue;
      // At the addition both sides are known, so the product moves down to it.
      rewriter.replaceOpWithNewOp<DotOp>(add, add.getType(), dot.getA(), dot.getB(), other);
      return success();
    }
    return rewriter.notifyMatchFailure(
        add, "no side is a product of single use with a zero accumulator, the other one carried by a loop");
  }
};

struct FuseAccumulator : sectile::impl::FuseAccumulatorBase<FuseAccumulator> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseIntoDot>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
