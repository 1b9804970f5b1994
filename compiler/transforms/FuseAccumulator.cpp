// x + dot(a, b, 0) -> dot(a, b, x)
#include "compiler/ir/Tile.h"
#include "compiler/transforms/Passes.h"

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

struct FuseIntoDot : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddFOp add, PatternRewriter &rewriter) const override {
    for (auto [product, other] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
      auto dot = product.getDefiningOp<DotOp>();
      if (!dot || !dot->hasOneUse() || !isZero(dot.getAccumulator()))
        continue;
      // At the addition both sides are known, so the product moves down to it.
      rewriter.replaceOpWithNewOp<DotOp>(add, add.getType(), dot.getA(), dot.getB(), other);
      return success();
    }
    return rewriter.notifyMatchFailure(add, "no side is a product of single use with a zero accumulator");
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
