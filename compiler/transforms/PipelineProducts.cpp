// A loop's last product runs beside what comes before the next one.
//
//     O0 = dot_wait(dot_async P0, V[0], A0)                  (P, A) = for j iter_args(P = P0, A = A0)
//     O = for j iter_args(O = O0)                              s = dot_async Q, K[j], 0
//       S = dot_wait(dot_async Q, K[j], 0)                     t = dot_async P, V[j - 1], A
//       P, A = … S … O …                               =>      S = dot_wait s pending 1
//       O = dot_wait(dot_async P, V[j], A)                     … O = dot_wait t … P, A = … S … O …
//                                                            O = dot_wait(dot_async P, V[last], A)
//
// V's stage goes with its product.
#include "compiler/ir/Block.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace sectile {
#define GEN_PASS_DEF_PIPELINEPRODUCTS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

/// A product with a stage as B, between its wait for the stage and its release, all in one block.
struct StagedProduct {
  WaitFullOp full;
  DotAsyncOp dot;
  DotWaitOp wait;
  ReleaseOp release;
};

/// The product that makes a tensor, if nothing else does anything with its stage and token.
std::optional<StagedProduct> productOf(Value tensor) {
  auto wait = tensor.getDefiningOp<DotWaitOp>();
  auto dot = wait ? wait.getToken().getDefiningOp<DotAsyncOp>() : DotAsyncOp();
  auto full = dot ? dot.getB().getDefiningOp<WaitFullOp>() : WaitFullOp();
  if (!full || !dot->hasOneUse() || !full->hasOneUse() || dot->getBlock() != wait->getBlock() ||
      full->getBlock() != wait->getBlock() || !isa<RankedTensorType>(dot.getA().getType()))
    return {};
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode())
    if (auto release = dyn_cast<ReleaseOp>(op); release && release.getRing() == full.getRing())
      return StagedProduct{full, dot, wait, release};
  return {};
}

/// A loop, what it yields as number `index`, and the same product before the loop.
struct Rotation {
  scf::ForOp loop;
  size_t index;
  StagedProduct before, last;
};

std::optional<Rotation> rotationOf(scf::ForOp loop) {
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues())) {
    std::optional<StagedProduct> last = productOf(yielded), before = productOf(loop.getInitArgs()[i]);
    if (last && before && last->dot->getBlock() == loop.getBody() && last->wait->hasOneUse() &&
        before->dot->getBlock() == loop->getBlock() && before->wait->hasOneUse() &&
        last->full.getRing() == before->full.getRing() && last->dot.getTransposedB() == before->dot.getTransposedB())
      return Rotation{loop, i, *before, *last};
  }
  return {};
}

/// Where the product of the iteration before is begun: after the first one that this iteration begins.
Operation *placeFor(scf::ForOp loop, DotAsyncOp last) {
  for (auto dot : loop.getBody()->getOps<DotAsyncOp>())
    if (dot != last)
      return dot;
  return nullptr;
}

/// The operations of the loop that compute the index of a ring's iteration, for another one.
Value indexAt(OpBuilder &builder, Value index, scf::ForOp loop, Value iteration) {
  if (index == loop.getInductionVar())
    return iteration;
  Operation *op = index.getDefiningOp();
  if (!op || op->getBlock() != loop.getBody())
    return index;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, indexAt(builder, operand, loop, iteration));
  return builder.clone(*op, mapping)->getResult(0);
}

/// One iteration of a ring before `index`.
Value previous(OpBuilder &builder, Location loc, Value index) {
  Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  return arith::SubIOp::create(builder, loc, index, one);
}

/// The product of iteration `index`, waited for at once.
Value multiply(OpBuilder &builder, StagedProduct &like, Value index, Value a, Value accumulator) {
  Location loc = like.dot.getLoc();
  Value ring = like.full.getRing();
  auto full = WaitFullOp::create(builder, loc, like.full.getStage().getType(), ring, index);
  auto dot =
      DotAsyncOp::create(builder, loc, like.dot.getToken().getType(), a, full, accumulator, like.dot.getTransposedB());
  auto wait = DotWaitOp::create(builder, loc, like.wait.getResult().getType(), dot, 0);
  ReleaseOp::create(builder, loc, ring, index);
  return wait;
}

void erase(StagedProduct &product) {
  product.release.erase();
  product.wait.erase();
  product.dot.erase();
  product.full.erase();
}

void rotate(Rotation rotation) {
  auto &[loop, number, before, last] = rotation;
  Operation *place = placeFor(loop, last.dot);
  if (!place)
    return;
  IRRewriter rewriter(loop.getContext());
  Location loc = last.dot.getLoc();

  // 1. What the product needs goes around instead of its result.
  rewriter.setInsertionPoint(loop);
  Value a = last.dot.getA(), sum = last.dot.getAccumulator();
  auto carried = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, {before.dot.getA(), before.dot.getAccumulator()}, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) -> SmallVector<Value> { return {a, sum}; }));
  const size_t extra = carried.getNumResults() - 2;

  // 2. In the loop: begun after this iteration's first product.
  rewriter.setInsertionPointAfter(place);
  Value index = previous(rewriter, loc, indexAt(rewriter, last.full.getIndex(), carried, carried.getInductionVar()));
  Value result = multiply(rewriter, last, index, carried.getRegionIterArg(extra), carried.getRegionIterArg(extra + 1));
  rewriter.replaceAllUsesWith(carried.getRegionIterArg(number), result);

  // 3. After the loop, for its last iteration.
  rewriter.setInsertionPointAfter(carried);
  Value end = previous(rewriter, loc, indexAt(rewriter, last.full.getIndex(), carried, carried.getUpperBound()));
  Value final = multiply(rewriter, last, end, carried.getResult(extra), carried.getResult(extra + 1));
  rewriter.replaceAllUsesWith(carried.getResult(number), final);

  // 4. Without the products in their old places. What carried their result goes around untouched: it folds.
  carried.getBody()->getTerminator()->setOperand(number, carried.getRegionIterArg(number));
  carried.getInitArgsMutable()[number].set(before.dot.getAccumulator());
  erase(last);
  erase(before);
}

struct PipelineProducts : sectile::impl::PipelineProductsBase<PipelineProducts> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (std::optional<Rotation> rotation = rotationOf(loop))
        rotate(*rotation);
  }
};

} // namespace
