#include "compiler/analysis/TileRange.h"

#include "compiler/ir/Tile.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

using Range = std::optional<TileRange>;

/// Applies a function that grows with each operand.
template <class Op> Range monotone(Op op, OpBuilder &builder) {
  Range a = rangeOf(op.getLhs(), builder), b = a ? rangeOf(op.getRhs(), builder) : std::nullopt;
  if (!b)
    return {};
  return TileRange{Op::create(builder, op.getLoc(), a->least, b->least),
                   Op::create(builder, op.getLoc(), a->greatest, b->greatest)};
}

Range difference(arith::SubIOp op, OpBuilder &builder) {
  Range a = rangeOf(op.getLhs(), builder), b = a ? rangeOf(op.getRhs(), builder) : std::nullopt;
  if (!b)
    return {};
  return TileRange{arith::SubIOp::create(builder, op.getLoc(), a->least, b->greatest),
                   arith::SubIOp::create(builder, op.getLoc(), a->greatest, b->least)};
}

Range product(arith::MulIOp op, OpBuilder &builder) {
  for (auto [factor, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    APInt value;
    if (!matchPattern(factor, m_ConstantInt(&value)) || value.isNegative())
      continue;
    Range range = rangeOf(other, builder);
    if (!range)
      return {};
    Value scale = constant(builder, op.getLoc(), value.getSExtValue());
    return TileRange{arith::MulIOp::create(builder, op.getLoc(), range->least, scale),
                     arith::MulIOp::create(builder, op.getLoc(), range->greatest, scale)};
  }
  return {};
}

} // namespace

Range sectile::rangeOf(Value tile, OpBuilder &builder) {
  if (!isa<RankedTensorType>(tile.getType()))
    return tile.getType().isInteger(32) ? Range(TileRange{tile, tile}) : Range();
  Operation *op = tile.getDefiningOp();
  if (!op || !cast<RankedTensorType>(tile.getType()).getElementType().isInteger(32))
    return {};
  APInt value;
  if (matchPattern(tile, m_ConstantInt(&value))) {
    Value scalar = constant(builder, op->getLoc(), value.getSExtValue());
    return TileRange{scalar, scalar};
  }
  return llvm::TypeSwitch<Operation *, Range>(op)
      .Case([&](SplatOp splat) { return rangeOf(splat.getValue(), builder); })
      .Case([&](IotaOp iota) {
        int64_t size = cast<RankedTensorType>(iota.getType()).getNumElements();
        return TileRange{constant(builder, op->getLoc(), 0), constant(builder, op->getLoc(), size - 1)};
      })
      .Case<BroadcastOp, ReshapeOp, TransposeOp>([&](auto moved) { return rangeOf(moved.getSource(), builder); })
      .Case<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp>([&](auto op) { return monotone(op, builder); })
      .Case([&](arith::SubIOp op) { return difference(op, builder); })
      .Case([&](arith::MulIOp op) { return product(op, builder); })
      .Default([](Operation *) { return Range(); });
}

Value sectile::holdsEverywhere(Value mask, OpBuilder &builder) {
  if (mask.getType().isInteger(1))
    return mask;
  Operation *op = mask.getDefiningOp();
  if (!op)
    return {};
  Location loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](SplatOp splat) { return splat.getValue(); })
      .Case<BroadcastOp, ReshapeOp, TransposeOp>(
          [&](auto moved) { return holdsEverywhere(moved.getSource(), builder); })
      .Case<arith::AndIOp, arith::OrIOp>([&](auto both) -> Value {
        Value a = holdsEverywhere(both.getLhs(), builder), b = a ? holdsEverywhere(both.getRhs(), builder) : Value();
        return b ? decltype(both)::create(builder, loc, a, b) : Value();
      })
      .Case([&](arith::CmpIOp compare) -> Value {
        using Predicate = arith::CmpIPredicate;
        Predicate predicate = compare.getPredicate();
        bool ascending = predicate == Predicate::sle || predicate == Predicate::slt;
        if (!ascending && predicate != Predicate::sge && predicate != Predicate::sgt)
          return {};
        Range a = rangeOf(compare.getLhs(), builder), b = a ? rangeOf(compare.getRhs(), builder) : std::nullopt;
        if (!b)
          return {};
        return arith::CmpIOp::create(builder, loc, predicate, ascending ? a->greatest : a->least,
                                     ascending ? b->least : b->greatest);
      })
      .Default([](Operation *) { return Value(); });
}
