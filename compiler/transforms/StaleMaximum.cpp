// A running maximum that only keeps exponentials in range is raised when they leave it.
//
//   m' = max(m, x)                          p = exp2(y - m)                        the m of the passes before
//   P = exp2(y - m')                        need = any(not reduce sum p <= limit)
//   alpha = exp2(m - m')             ->     P, S, m', l1 = if need { what stands on the left, again }
//   l' = l * alpha + reduce sum P                          else { p, reduce sum p, m, l }
//   …                                       l' = l1 + S
//
//   1. Find the maximum and all that is done with it (RunningMaximum.h).
//   2. Build p and the question. While m is -inf, p is infinite or NaN, so that the first key of a row is always asked
//      for; scores that are NaN or infinite are, too.
//   3. Build the branch. It computes all anew from the operands of products on, so that nothing but them has to be kept
//      while exponentials are computed. Its operations carry `tile.again`, lest cse take the first computation for
//      them.
#include "compiler/ir/Tile.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/RunningMaximum.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace sectile {
#define GEN_PASS_DEF_STALEMAXIMUM
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

/// Computes values of a loop's body again, at a builder's insertion point.
class Repetition {
public:
  Repetition(scf::ForOp loop, OpBuilder &builder) : loop(loop), builder(builder) {}

  /// Operands of products, scalars, and what comes from outside or around the loop are as good as new.
  Value operator()(Value value) {
    Operation *op = value.getDefiningOp();
    if (mapping.contains(value) || !op || op->getBlock() != loop.getBody() || op->getNumRegions() != 0 ||
        !isa<RankedTensorType>(value.getType()))
      return mapping.lookupOrDefault(value);
    auto dot = dyn_cast<DotOp>(op);
    for (Value operand : op->getOperands())
      if (!dot || operand == dot.getAccumulator())
        mapping.map(operand, (*this)(operand));
    builder.clone(*op, mapping)->setDiscardableAttr("tile.again", builder.getUnitAttr());
    return mapping.lookup(value);
  }

private:
  scf::ForOp loop;
  OpBuilder &builder;
  IRMapping mapping;
};

void makeStale(RunningMaximum &softmax, int64_t limit, IRRewriter &rewriter) {
  scf::ForOp loop = softmax.loop;
  const Location loc = softmax.weights.getLoc();
  const auto type = cast<RankedTensorType>(softmax.weights.getType());

  // 1. Exponentials of the old maximum, and their sums.
  rewriter.setInsertionPointAfter(softmax.weights);
  Value reference = softmax.old();
  if (reference.getType() != type)
    reference = BroadcastOp::create(rewriter, loc, type, reference);
  Value difference = arith::SubFOp::create(rewriter, loc, softmax.scores, reference);
  Value weights = math::Exp2Op::create(rewriter, loc, difference);
  SmallVector<Value> stale{weights, softmax.old()}, exact{softmax.weights, softmax.maximum};
  for (ReduceOp sum : softmax.sums) {
    IRMapping mapping;
    mapping.map(sum.getSource(), weights);
    stale.push_back(rewriter.clone(*sum, mapping)->getResult(0));
    exact.push_back(sum);
  }
  for (arith::MulFOp product : softmax.rescaled) {
    const bool isLeft = isa<BlockArgument>(product.getLhs());
    stale.push_back(isLeft ? product.getLhs() : product.getRhs());
    exact.push_back(product);
  }

  // 2. Whether they are in range. NaN is not.
  const auto sums = cast<RankedTensorType>(stale[2].getType());
  Value most =
      arith::ConstantOp::create(rewriter, loc, DenseElementsAttr::get(sums, std::ldexp(1.0f, static_cast<int>(limit))));
  Value isBeyond = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UGT, stale[2], most);
  Value need = AnyOp::create(rewriter, loc, isBeyond);

  // 3. The branch.
  auto branch = scf::IfOp::create(rewriter, loc, ValueRange(exact).getTypes(), need, /*withElseRegion=*/true);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  Repetition again(loop, rewriter);
  const SmallVector<Value> repeated = llvm::map_to_vector(exact, [&](Value value) { return again(value); });
  scf::YieldOp::create(rewriter, loc, repeated);
  rewriter.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(rewriter, loc, stale);

  // 4. The rest of the pass takes what was chosen.
  for (auto [value, chosen] : llvm::zip_equal(exact, branch.getResults()))
    rewriter.replaceUsesWithIf(value, chosen, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      const bool isOld = softmax.between.contains(user) ||
                         llvm::is_contained(exact, user->getNumResults() ? user->getResult(0) : Value());
      return !isOld && !branch->isProperAncestor(user);
    });
  (void)runRegionDCE(rewriter, loop->getRegions());
  sortTopologically(loop.getBody()); // what scales sums may have stood before the exponentials
}

struct StaleMaximum : sectile::impl::StaleMaximumBase<StaleMaximum> {
  using StaleMaximumBase::StaleMaximumBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop.getBody()->getOps<DotOp>().empty())
        return;
      for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
        auto maximum = loop.getYieldedValues()[i].getDefiningOp<arith::MaxNumFOp>();
        if (!maximum || maximum->getBlock() != loop.getBody() || !getElementTypeOrSelf(maximum.getType()).isF32() ||
            !llvm::is_contained(maximum->getOperands(), loop.getRegionIterArg(i)))
          continue;
        std::string reason;
        if (std::optional<RunningMaximum> softmax = findRunningMaximum(loop, i, maximum, reason))
          makeStale(*softmax, limit, rewriter);
        else
          maximum.emitRemark("this maximum is raised in every pass of the loop: ") << reason;
      }
    });
  }
};

} // namespace
