#include "compiler/transforms/RunningMaximum.h"

#include "compiler/transforms/ScaleInvariance.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

bool isConstant(Value value, bool (*is)(const APFloat &)) {
  APFloat number(0.0f);
  return matchPattern(value, m_ConstantFloat(&number)) && is(number);
}
bool isZero(const APFloat &number) { return number.isZero(); }
bool isNegativeInfinity(const APFloat &number) { return number.isInfinity() && number.isNegative(); }

/// Fills a RunningMaximum, or tells what is in the way.
class Search {
public:
  Search(scf::ForOp loop, unsigned index, arith::MaxNumFOp maximum) {
    found = {loop, index, maximum, {}, {}, {}, {}, {}};
  }

  std::optional<RunningMaximum> run() {
    if (findReference() && findExponentials() && findRescaled() && onlyReads() && isInvariant())
      return found;
    return {};
  }
  std::string reason;

private:
  bool fail(const Twine &why) {
    reason = why.str();
    return false;
  }
  bool unexpected(StringRef what, Operation *user) {
    return fail(what + " is used by '" + user->getName().getStringRef() + "'");
  }
  bool findReference();
  bool findExponentials();
  bool findRescaled();
  bool onlyReads();
  bool isInvariant();
  static bool inOrder(Operation *a, Operation *b) { return a->isBeforeInBlock(b); }
  template <class Op> Op onlyUser(Value value) { return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op(); }

  RunningMaximum found;
  Value reference; ///< m', or 0 while that is -inf
  math::Exp2Op alpha;
};

bool Search::findReference() {
  Value next = found.maximum;
  reference = next;
  for (Operation *user : next.getUsers()) {
    auto select = dyn_cast<arith::SelectOp>(user);
    if (!select || select.getTrueValue() != next || !isConstant(select.getFalseValue(), isZero))
      continue;
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!compare || compare.getPredicate() != arith::CmpFPredicate::OGT || compare.getLhs() != next ||
        !isConstant(compare.getRhs(), isNegativeInfinity) || !compare->hasOneUse())
      continue;
    reference = select;
    found.between.insert({compare, select});
  }
  found.between.insert(found.maximum);
  Operation *yield = found.loop.getBody()->getTerminator();
  for (OpOperand &use : next.getUses())
    if (use.getOwner() == yield ? use.getOperandNumber() != found.index
                                : reference != next && !found.between.contains(use.getOwner()))
      return unexpected("the new maximum", use.getOwner());
  return true;
}

bool Search::findExponentials() {
  SmallVector<std::pair<Operation *, Value>> users; // and the reference, stretched or not
  for (Operation *user : reference.getUsers()) {
    if (auto stretched = dyn_cast<BroadcastOp>(user)) {
      found.between.insert(user);
      for (Operation *inner : stretched->getUsers())
        users.emplace_back(inner, stretched);
    } else if (user != found.loop.getBody()->getTerminator()) {
      users.emplace_back(user, reference);
    }
  }
  for (auto [user, subtracted] : users) {
    auto difference = dyn_cast<arith::SubFOp>(user);
    auto exponential = difference ? onlyUser<math::Exp2Op>(difference) : math::Exp2Op();
    if (!exponential || difference.getRhs() != subtracted)
      return unexpected("the reference", user);
    if (difference.getLhs() == found.old() ? alpha : found.weights)
      return fail("it is the reference of several exponentials");
    found.between.insert({difference, exponential});
    if (difference.getLhs() == found.old()) {
      alpha = exponential;
    } else {
      found.weights = exponential;
      found.scores = difference.getLhs();
    }
  }
  if (!alpha || !found.weights)
    return fail("no exponentials, or no factor for the old sums, refer to it");
  for (Operation *user : found.old().getUsers())
    if (!found.between.contains(user))
      return unexpected("the old maximum", user);
  for (Operation *user : found.weights->getUsers())
    if (auto sum = dyn_cast<ReduceOp>(user); sum && sum.getKind() == ReduceKind::sum)
      found.sums.push_back(sum);
  llvm::sort(found.sums, inOrder);
  return !found.sums.empty() ||
         fail("the exponentials are not summed, so that nothing tells whether they are in range");
}

bool Search::findRescaled() {
  SmallVector<Operation *> users;
  for (Operation *user : alpha->getUsers()) {
    if (isa<BroadcastOp>(user)) {
      found.between.insert(user);
      llvm::append_range(users, user->getUsers());
    } else {
      users.push_back(user);
    }
  }
  for (Operation *user : users) {
    auto product = dyn_cast<arith::MulFOp>(user);
    if (!product)
      return unexpected("the factor for the old sums", user);
    bool isCarried = false;
    for (Value operand : product->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      isCarried |= argument && argument.getOwner() == found.loop.getBody() && argument.hasOneUse();
    }
    if (!isCarried)
      return fail("the factor for the old sums scales something else, or what is used elsewhere, too");
    found.rescaled.push_back(product);
  }
  llvm::sort(found.rescaled, inOrder);
  return true;
}

/// What the branch reads again must still be there.
bool Search::onlyReads() {
  Operation *writer = nullptr;
  found.loop.getBody()->walk([&](Operation *op) {
    if (hasEffect<MemoryEffects::Write>(op))
      writer = op;
  });
  return !writer ||
         fail("the loop has '" + writer->getName().getStringRef() + "', and would read again what may have changed");
}

bool Search::isInvariant() {
  scf::ForOp loop = found.loop;
  ScaleInvariance invariance;
  Operation *culprit = nullptr;
  const auto follow = [&](Operation *op) {
    if (!invariance.follow(op))
      culprit = op;
    return culprit ? WalkResult::interrupt() : WalkResult::advance();
  };
  // 1. A pass: sums stay sums of weights, nothing else depends on the reference.
  constexpr ScaleInvariance::Dependence sum{false, 1}, logarithm{true, -1};
  invariance.set(found.weights, sum);
  SmallVector<bool> isSum(loop.getNumRegionIterArgs(), false);
  for (arith::MulFOp product : found.rescaled) {
    invariance.set(product, sum);
    for (Value operand : product->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand); argument && argument.getOwner() == loop.getBody())
        isSum[argument.getArgNumber() - loop.getNumInductionVars()] = true;
  }
  loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    const bool isPart = found.between.contains(op) || llvm::is_contained(found.rescaled, op);
    return isPart || op == loop.getBody()->getTerminator() ? WalkResult::advance() : follow(op);
  });
  if (culprit)
    return unexpected("what depends on it", culprit);
  if (invariance.depends(found.scores) ||
      llvm::any_of(found.maximum->getOperands(), [&](Value operand) { return invariance.depends(operand); }))
    return fail("scores depend on it");
  for (auto [i, next] : llvm::enumerate(loop.getYieldedValues()))
    if (i != found.index && invariance.of(next).power != (isSum[i] ? 1 : 0))
      return fail("what the loop carries depends on it and is not scaled with it");

  // 2. After the loop.
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    if (i == found.index || isSum[i])
      invariance.set(result, i == found.index ? logarithm : sum);
  loop->getParentOfType<KernelOp>()->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { return op == loop ? WalkResult::skip() : follow(op); });
  return !culprit || unexpected("what depends on it", culprit);
}

} // namespace

std::optional<RunningMaximum> sectile::findRunningMaximum(scf::ForOp loop, unsigned index, arith::MaxNumFOp maximum,
                                                          std::string &reason) {
  Search search(loop, index, maximum);
  std::optional<RunningMaximum> found = search.run();
  reason = search.reason;
  return found;
}
