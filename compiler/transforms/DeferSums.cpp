// l' = l * f + reduce sum x                in each pass of a loop
//
//   -> L' = L * f + reduce sum x parts n   in each pass, l = reduce sum L after the loop
//
// Threads that share a row have a part of L each and need not meet in the loop.
#include "compiler/ir/Tile.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace sectile {
#define GEN_PASS_DEF_DEFERSUMS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

/// A sum over passes and along an axis. What is carried is used for nothing else.
struct CarriedSum {
  unsigned index;       ///< among what the loop carries
  arith::AddFOp next;   ///< l'
  ReduceOp reduce;      ///< what is added
  arith::MulFOp scaled; ///< l * f; null when there is no f
  Value factor;         ///< f
};

std::optional<CarriedSum> findSum(scf::ForOp loop, unsigned index) {
  BlockArgument carried = loop.getRegionIterArg(index);
  auto next = loop.getYieldedValues()[index].getDefiningOp<arith::AddFOp>();
  if (!next || !next->hasOneUse() || !carried.hasOneUse() || next->getBlock() != loop.getBody())
    return {};
  for (auto [old, added] : {std::pair(next.getLhs(), next.getRhs()), std::pair(next.getRhs(), next.getLhs())}) {
    auto reduce = added.getDefiningOp<ReduceOp>();
    if (!reduce || reduce.getKind() != ReduceKind::sum || reduce.getParts() != 1)
      continue;
    if (old == carried)
      return CarriedSum{index, next, reduce, {}, {}};
    auto scaled = old.getDefiningOp<arith::MulFOp>();
    if (scaled && scaled->hasOneUse() && (scaled.getLhs() == carried || scaled.getRhs() == carried))
      return CarriedSum{index, next, reduce, scaled, scaled.getLhs() == carried ? scaled.getRhs() : scaled.getLhs()};
  }
  return {};
}

/// The numbers as a sum of parts: the first of them, and zeros. Zeros stay a constant.
Value inFirstPart(Value numbers, RankedTensorType type, int64_t axis, Location loc, IRRewriter &rewriter) {
  Value zeros = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type));
  if (matchPattern(numbers, m_AnyZeroFloat()))
    return zeros;
  Type i32 = rewriter.getI32Type();
  SmallVector<int64_t> along(type.getRank(), 1);
  along[axis] = type.getDimSize(axis);
  Value part = IotaOp::create(rewriter, loc, RankedTensorType::get(along[axis], i32));
  part = ReshapeOp::create(rewriter, loc, RankedTensorType::get(along, i32), part);
  part = BroadcastOp::create(rewriter, loc, type.clone(i32), part);
  Value first = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type.clone(i32)));
  Value isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, part, first);
  Value stretched = BroadcastOp::create(rewriter, loc, type, numbers);
  return arith::SelectOp::create(rewriter, loc, isFirst, stretched, zeros);
}

void defer(CarriedSum sum, scf::ForOp loop, int64_t parts, IRRewriter &rewriter) {
  const Location loc = sum.next.getLoc();
  const auto axis = static_cast<int64_t>(sum.reduce.getAxis());
  RankedTensorType line = sum.reduce.getType();
  SmallVector<int64_t> shape(line.getShape());
  shape[axis] = parts;
  RankedTensorType type = line.clone(shape);

  // 1. What the loop starts from, and carries.
  BlockArgument carried = loop.getRegionIterArg(sum.index);
  OpResult result = loop->getResult(static_cast<unsigned>(sum.index));
  rewriter.setInsertionPoint(loop);
  OpOperand &init = loop.getInitArgsMutable()[sum.index];
  init.set(inFirstPart(init.get(), type, axis, loop.getLoc(), rewriter));
  carried.setType(type);
  result.setType(type);

  // 2. A pass.
  rewriter.setInsertionPoint(sum.next);
  Value old = carried;
  if (sum.factor)
    old = arith::MulFOp::create(rewriter, loc, old, BroadcastOp::create(rewriter, loc, type, sum.factor));
  Value added = ReduceOp::create(rewriter, sum.reduce.getLoc(), type, ReduceKind::sum, sum.reduce.getSource(),
                                 sum.reduce.getAxis(), static_cast<uint32_t>(parts));
  rewriter.replaceOpWithNewOp<arith::AddFOp>(sum.next, old, added);
  if (sum.scaled)
    rewriter.eraseOp(sum.scaled);
  if (sum.reduce->use_empty())
    rewriter.eraseOp(sum.reduce);

  // 3. All parts, once.
  rewriter.setInsertionPointAfter(loop);
  auto all = ReduceOp::create(rewriter, loc, line, ReduceKind::sum, result, static_cast<uint32_t>(axis));
  rewriter.replaceAllUsesExcept(result, all, all);
}

struct DeferSums : sectile::impl::DeferSumsBase<DeferSums> {
  using DeferSumsBase::DeferSumsBase;

  void runOnOperation() override {
    if (parts < 2) {
      getOperation()->emitError("sums are deferred in 2 parts or more, got ") << static_cast<int32_t>(parts);
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](scf::ForOp loop) {
      for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
        std::optional<CarriedSum> sum = findSum(loop, i);
        // A row of few elements has no parts to speak of.
        if (sum && sum->reduce.getSource().getType().getDimSize(sum->reduce.getAxis()) > parts)
          defer(*sum, loop, parts, rewriter);
      }
    });
  }
};

} // namespace
