// That the layouts of operands and results agree: the table in Block.td.
#include "compiler/ir/Block.h"
#include "compiler/transforms/LayoutChoice.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sectile {
#define GEN_PASS_DEF_CHECKLAYOUTS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

LogicalResult expect(Operation *op, StringRef rule, Type type, const Layout &expected) {
  auto tensor = cast<RankedTensorType>(type);
  if (layoutOf(tensor) == expected)
    return success();
  return op->emitOpError() << rule << ": needs " << withLayout(tensor, expected) << ", got " << tensor;
}

LogicalResult expectSame(Operation *op, Type type, Type other) {
  auto tensor = dyn_cast<RankedTensorType>(type), reference = dyn_cast<RankedTensorType>(other);
  if (!tensor || !reference)
    return success();
  return expect(op, "keeps the layout", tensor, layoutOf(reference));
}

LogicalResult check(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ReduceOp reduce) {
        return expect(op, "makes the source's layout, reduced along the axis", reduce.getType(),
                      layoutOf(reduce.getSource()).reduced(reduce.getAxis(), reduce.getParts()));
      })
      .Case<BroadcastOp, TransposeOp>([&](auto moving) {
        return expect(op, "moves nothing", moving.getSource().getType(),
                      *sourceLayout(op, layoutOf(moving.getResult())));
      })
      .Case([&](ExtractOp extract) {
        const Layout layout = layoutOf(extract.getSource());
        const Coordinates nothing(layout.rank(), 0);
        return expect(op, "needs an element that every thread holds", extract.getSource().getType(),
                      {{},
                       SmallVector<Coordinates>(layout.laneBits().size(), nothing),
                       SmallVector<Coordinates>(layout.warpBits().size(), nothing),
                       layout.shape()});
      })
      .Case([&](scf::ForOp loop) {
        for (auto [argument, init, yielded] :
             llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getYieldedValues()))
          if (failed(expectSame(op, init.getType(), argument.getType())) ||
              failed(expectSame(op, yielded.getType(), argument.getType())))
            return failure();
        return success();
      })
      .Case([&](scf::IfOp branch) {
        if (branch.getNumResults() != 0)
          for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
            for (auto [result, yielded] : llvm::zip_equal(branch.getResults(), yield.getOperands()))
              if (failed(expectSame(op, yielded.getType(), result.getType())))
                return failure();
        return success();
      })
      .Default([&](Operation *op) {
        if (isElementwise(op))
          for (Value operand : op->getOperands())
            if (failed(expectSame(op, operand.getType(), op->getResult(0).getType())))
              return failure();
        return success();
      });
}

struct CheckLayouts : sectile::impl::CheckLayoutsBase<CheckLayouts> {
  void runOnOperation() override {
    bool failedAny = false;
    getOperation()->walk(
        [&](BlockKernelOp kernel) { kernel.walk([&](Operation *op) { failedAny |= failed(check(op)); }); });
    if (failedAny)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
