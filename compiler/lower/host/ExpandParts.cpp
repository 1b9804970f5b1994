#include "compiler/lower/host/ExpandParts.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

/// What combining with changes nothing.
static TypedAttr neutral(ReduceKind kind, Type element) {
  if (auto real = dyn_cast<FloatType>(element)) {
    if (kind == ReduceKind::sum)
      return FloatAttr::get(real, APFloat::getZero(real.getFloatSemantics(), /*Negative=*/true));
    return FloatAttr::get(real, APFloat::getInf(real.getFloatSemantics(), /*Negative=*/kind == ReduceKind::max));
  }
  const APInt number = kind == ReduceKind::sum   ? APInt(32, 0)
                       : kind == ReduceKind::max ? APInt::getSignedMinValue(32)
                                                 : APInt::getSignedMaxValue(32);
  return IntegerAttr::get(element, number);
}

static void expand(ReduceOp reduce, OpBuilder &builder) {
  const Location loc = reduce.getLoc();
  RankedTensorType type = reduce.getType();
  const auto axis = static_cast<int64_t>(reduce.getAxis()), parts = static_cast<int64_t>(reduce.getParts());
  SmallVector<int64_t> line(type.getShape()), numbers(type.getRank(), 1);
  line[axis] = 1;
  numbers[axis] = parts;
  Value all = ReduceOp::create(builder, loc, type.clone(line), reduce.getKind(), reduce.getSource(), axis);
  Value part = IotaOp::create(builder, loc, RankedTensorType::get(parts, builder.getI32Type()));
  part = ReshapeOp::create(builder, loc, RankedTensorType::get(numbers, builder.getI32Type()), part);
  part = BroadcastOp::create(builder, loc, RankedTensorType::get(type.getShape(), builder.getI32Type()), part);
  auto constant = [&](RankedTensorType tile, TypedAttr number) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(tile, Attribute(number)));
  };
  Value first = constant(cast<RankedTensorType>(part.getType()), builder.getI32IntegerAttr(0));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, part, first);
  Value stretched = BroadcastOp::create(builder, loc, type, all);
  Value others = constant(type, neutral(reduce.getKind(), type.getElementType()));
  reduce.replaceAllUsesWith(Value(arith::SelectOp::create(builder, loc, isFirst, stretched, others)));
  reduce.erase();
}

static void expand(AnyOp any, OpBuilder &builder) {
  const Location loc = any.getLoc();
  RankedTensorType type = any.getSource().getType();
  SmallVector<int64_t> shape(type.getShape());
  Value most = CastOp::create(builder, loc, type.clone(builder.getI32Type()), any.getSource());
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    shape[axis] = 1;
    most = ReduceOp::create(builder, loc, RankedTensorType::get(shape, builder.getI32Type()), ReduceKind::max, most,
                            static_cast<uint32_t>(axis));
  }
  Value number = ExtractOp::create(builder, loc, builder.getI32Type(), most);
  any.replaceAllUsesWith(Value(CastOp::create(builder, loc, builder.getI1Type(), number)));
  any.erase();
}

void host::expandParts(KernelOp kernel) {
  OpBuilder builder(kernel.getContext());
  kernel.walk([&](Operation *op) {
    builder.setInsertionPoint(op);
    if (auto any = dyn_cast<AnyOp>(op))
      expand(any, builder);
    else if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getParts() != 1)
      expand(reduce, builder);
  });
}
