#include "compiler/transforms/ScaleInvariance.h"

#include "compiler/ir/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

using Dependence = ScaleInvariance::Dependence;

static constexpr Dependence none{false, 0};

static bool isZero(Value value) { return matchPattern(value, m_AnyZeroFloat()); }

/// select(x == 0, anything, x). A sum of exponentials is 0 only where nothing was summed; there s is 1, since nothing
/// has moved the reference.
static bool replacesZero(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  using Predicate = arith::CmpFPredicate;
  return compare && (compare.getPredicate() == Predicate::OEQ || compare.getPredicate() == Predicate::UEQ) &&
         compare.getLhs() == select.getFalseValue() && isZero(compare.getRhs());
}

void ScaleInvariance::set(Value value, Dependence dependence) {
  if (dependence.power != 0)
    dependences[value] = dependence;
}

Dependence ScaleInvariance::of(Value value) const {
  auto found = dependences.find(value);
  return found == dependences.end() ? none : found->second;
}

std::optional<Dependence> ScaleInvariance::resultOf(Operation *op) const {
  using Result = std::optional<Dependence>;
  // What two numbers have in common; 0 is any number times itself.
  auto common = [&](Value a, Value b) -> Result {
    if (of(a) == of(b) || isZero(b))
      return of(a);
    return isZero(a) ? Result(of(b)) : std::nullopt;
  };
  auto product = [&](Value a, Value b, int sign) -> Result {
    if (of(a).logarithm || of(b).logarithm)
      return {};
    return Dependence{false, of(a).power + sign * of(b).power};
  };
  auto sum = [&](Value a, Value b, int sign) -> Result {
    if (!of(a).logarithm && !of(b).logarithm)
      return common(a, b);
    const bool areLogarithms = (of(a).logarithm || !depends(a)) && (of(b).logarithm || !depends(b));
    return areLogarithms ? Result({true, of(a).power + sign * of(b).power}) : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<BroadcastOp, ReshapeOp, TransposeOp>([&](auto moved) { return of(moved.getSource()); })
      .Case([&](CastOp cast) {
        const bool keepsIt = isa<FloatType>(getElementTypeOrSelf(cast.getType()));
        return keepsIt ? Result(of(cast.getSource())) : std::nullopt;
      })
      .Case([&](ReduceOp reduce) {
        const bool keepsIt = reduce.getKind() == ReduceKind::sum && !of(reduce.getSource()).logarithm;
        return keepsIt ? Result(of(reduce.getSource())) : std::nullopt;
      })
      .Case([&](DotOp dot) -> Result {
        Result products = product(dot.getA(), dot.getB(), 1);
        return products == of(dot.getAccumulator()) || isZero(dot.getAccumulator()) ? products : std::nullopt;
      })
      .Case([&](arith::MulFOp op) { return product(op.getLhs(), op.getRhs(), 1); })
      .Case([&](arith::DivFOp op) { return product(op.getLhs(), op.getRhs(), -1); })
      .Case([&](arith::AddFOp op) { return sum(op.getLhs(), op.getRhs(), 1); })
      .Case([&](arith::SubFOp op) { return sum(op.getLhs(), op.getRhs(), -1); })
      .Case([&](math::Log2Op log) {
        const Dependence operand = of(log.getOperand());
        return operand.logarithm ? std::nullopt : Result({true, operand.power});
      })
      .Case([&](arith::CmpFOp compare) { // of a scaled number with 0: s is positive
        const bool isScaled = !of(compare.getLhs()).logarithm && isZero(compare.getRhs());
        return isScaled ? Result(none) : std::nullopt;
      })
      .Case([&](arith::SelectOp select) -> Result {
        if (depends(select.getCondition()))
          return {};
        if (replacesZero(select) && !depends(select.getTrueValue()))
          return of(select.getFalseValue());
        return common(select.getTrueValue(), select.getFalseValue());
      })
      .Default([](Operation *) { return Result(); });
}

bool ScaleInvariance::follow(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return depends(operand); }))
    return true;
  if (auto yield = dyn_cast<scf::YieldOp>(op)) {
    auto branch = dyn_cast<scf::IfOp>(yield->getParentOp());
    if (!branch)
      return false;
    // Where the other branch is taken s is 1.
    for (auto [result, value] : llvm::zip_equal(branch.getResults(), yield.getOperands())) {
      if (depends(result) && depends(value) && of(result) != of(value))
        return false;
      set(result, of(value));
    }
    return true;
  }
  const std::optional<Dependence> dependence = resultOf(op);
  if (!dependence)
    return false;
  set(op->getResult(0), *dependence);
  return true;
}
