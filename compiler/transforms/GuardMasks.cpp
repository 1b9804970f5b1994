// Skips masks where they hold everywhere.
//
//   1. Split the mask of a select into its conjuncts.
//   2. For each conjunct, build the scalar "holds for every element" from the ranges of the two compared tiles.
//   3. Put the conjuncts that have one under an scf.if, the others into a select of their own.
//
// In the branch the mask is computed anew, by operations with the attribute `tile.again`: what all iterations of a loop
// share would else be kept in registers for all of it, though few iterations take the branch.
#include "compiler/analysis/TileRange.h"
#include "compiler/ir/Tile.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sectile {
#define GEN_PASS_DEF_GUARDMASKS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

void conjuncts(Value mask, SmallVectorImpl<Value> &parts) {
  if (auto both = mask.getDefiningOp<arith::AndIOp>()) {
    conjuncts(both.getLhs(), parts);
    conjuncts(both.getRhs(), parts);
  } else {
    parts.push_back(mask);
  }
}

Value conjunction(OpBuilder &builder, Location loc, ArrayRef<Value> parts) {
  Value all = parts.front();
  for (Value part : parts.drop_front())
    all = arith::AndIOp::create(builder, loc, all, part);
  return all;
}

/// The tile, from copies of the operations that compute it out of numbers and of other tiles.
Value again(OpBuilder &builder, Value tile, IRMapping &copies) {
  Operation *op = tile.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  if (!op || !type || !type.getElementType().isInteger() || !isPure(op) || op->getNumRegions() != 0 ||
      op->hasTrait<OpTrait::ConstantLike>())
    return tile;
  if (Value copy = copies.lookupOrNull(tile))
    return copy;
  for (Value operand : op->getOperands())
    copies.map(operand, again(builder, operand, copies));
  Operation *copy = builder.clone(*op, copies);
  copy->setDiscardableAttr("tile.again", builder.getUnitAttr());
  return copies.lookup(tile);
}

void guard(arith::SelectOp select) {
  OpBuilder builder(select);
  Location loc = select.getLoc();
  SmallVector<Value> parts, guarded, conditions, others;
  conjuncts(select.getCondition(), parts);
  for (Value part : parts) {
    if (Value holds = sectile::holdsEverywhere(part, builder)) {
      guarded.push_back(part);
      conditions.push_back(holds);
    } else {
      others.push_back(part);
    }
  }
  if (guarded.empty())
    return;
  Value padding = select.getFalseValue();
  auto masked = scf::IfOp::create(
      builder, loc, conjunction(builder, loc, conditions),
      [&](OpBuilder &b, Location l) { scf::YieldOp::create(b, l, select.getTrueValue()); },
      [&](OpBuilder &b, Location l) {
        IRMapping copies;
        for (Value &part : guarded)
          part = again(b, part, copies);
        Value mask = conjunction(b, l, guarded);
        Value value = arith::SelectOp::create(b, l, mask, select.getTrueValue(), padding);
        scf::YieldOp::create(b, l, value);
      });
  Value result = masked.getResult(0);
  if (!others.empty())
    result = arith::SelectOp::create(builder, loc, conjunction(builder, loc, others), result, padding);
  select.replaceAllUsesWith(result);
  select.erase();
}

struct GuardMasks : sectile::impl::GuardMasksBase<GuardMasks> {
  void runOnOperation() override {
    SmallVector<arith::SelectOp> selects;
    getOperation()->walk([&](arith::SelectOp select) {
      // A branch costs more than a mask over a few vectors.
      constexpr int64_t smallest = 256;
      auto mask = dyn_cast<RankedTensorType>(select.getCondition().getType());
      if (mask && mask.getNumElements() >= smallest)
        selects.push_back(select);
    });
    for (arith::SelectOp select : selects)
      guard(select);
  }
};

} // namespace
