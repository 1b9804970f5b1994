// Which tiles may be written over another one that nobody reads any more: loops that accumulate in place, masks applied
// in place, exponentials over the scores they came from.
#include "compiler/lower/host/Plan.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

namespace {
/// Whether every use of `tile` is an elementwise step toward `sink`, so that reading and writing one position at a time
/// never meets an element that was already written.
bool onlyFeeds(Value tile, llvm::function_ref<bool(OpOperand &)> isSink, const Plan &plan) {
  return llvm::all_of(tile.getUses(), [&](OpOperand &use) {
    if (isSink(use))
      return true;
    Operation *user = use.getOwner();
    return isElementwise(user) && user->getNumResults() == 1 && !plan.isBuffered(user->getResult(0)) &&
           !plan.isAbsorbed(user) && onlyFeeds(user->getResult(0), isSink, plan);
  });
}
} // namespace

// acc = dot(p, v, f(acc)): the product may overwrite the carried tile when nothing else reads it.
void Plan::findOverwrites(scf::ForOp loop) {
  for (auto [argument, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    auto dot = next.getDefiningOp<DotOp>();
    if (!dot || dot->getBlock() != loop.getBody() || !next.hasOneUse() || storedBy(dot) != next)
      continue;
    auto isAccumulator = [&](OpOperand &use) {
      return use.getOwner() == dot && use.getOperandNumber() == dot.getAccumulatorMutable().getOperandNumber();
    };
    if (onlyFeeds(argument, isAccumulator, *this))
      overwritten[dot] = argument;
  }
}

// if (c) { x } else { f(x) }: the result may overwrite x when all uses of x are in here.
void Plan::findOverwrites(scf::IfOp branch) {
  for (OpResult result : branch->getResults()) {
    if (!tileType(result) || branch.getElseRegion().empty())
      continue;
    unsigned i = result.getResultNumber();
    Value yields[] = {branch.thenYield().getOperand(i), branch.elseYield().getOperand(i)};
    for (Value candidate : yields) {
      Operation *definition = candidate.getDefiningOp();
      if (!isBuffered(candidate) || !definition || definition->getBlock() != branch->getBlock())
        continue;
      bool inside = llvm::all_of(candidate.getUsers(), [&](Operation *user) { return branch->isProperAncestor(user); });
      auto isYield = [&](OpOperand &use) {
        return isa<scf::YieldOp>(use.getOwner()) && use.getOwner()->getParentOp() == branch &&
               use.getOperandNumber() == i;
      };
      bool taken = llvm::any_of(overwrittenByTile, [&](auto &entry) { return entry.second == candidate; });
      if (inside && !taken && onlyFeeds(candidate, isYield, *this)) {
        overwrittenByTile[result] = candidate;
        break;
      }
    }
  }
}

namespace {
/// Whether every statement that reads `tile`, directly or through inline tiles, stands at or before `last` in its
/// block.
bool isReadUntil(Value tile, Operation *last, const Plan &plan) {
  return llvm::all_of(tile.getUsers(), [&](Operation *user) {
    if (user == last)
      return true;
    bool isInline = user->getNumRegions() == 0 && user->getNumResults() > 0 && tileType(user->getResult(0)) &&
                    !isa<LoadOp, ReduceOp, DotOp>(user) &&
                    llvm::none_of(user->getResults(), [&](Value result) { return plan.isBuffered(result); });
    if (isInline && !plan.isAbsorbed(user))
      return llvm::all_of(user->getResults(), [&](Value result) { return isReadUntil(result, last, plan); });
    return user->getBlock() == last->getBlock() && user->isBeforeInBlock(last);
  });
}
} // namespace

/// The buffered tile made in the same block that `tile` reads position by position, and that nobody reads after `by`.
Value Plan::lastReadHere(Value tile, Value by) const {
  Operation *op = tile.getDefiningOp(), *last = by.getDefiningOp();
  if (!op || op->getBlock() != last->getBlock() || tileType(tile).getShape() != tileType(by).getShape())
    return {};
  if (isBuffered(tile) && tile != by) {
    bool isComputed = isa<scf::IfOp, DotOp>(op) || isElementwise(op);
    bool taken = llvm::any_of(overwrittenByTile, [&](auto &entry) { return entry.second == tile; });
    return isComputed && !taken && isReadUntil(tile, last, *this) ? tile : Value();
  }
  if (!isElementwise(op))
    return {};
  for (Value operand : op->getOperands())
    if (tileType(operand))
      if (Value found = lastReadHere(operand, by))
        return found;
  return {};
}

// p = f(s): p may overwrite s when this is the last that is read of it.
void Plan::findOverwrites(Operation *definition) {
  if (!isElementwise(definition) || definition->getNumResults() != 1 || isAbsorbed(definition) ||
      !isBuffered(definition->getResult(0)))
    return;
  Value tile = definition->getResult(0);
  if (Value overwrites = lastReadHere(tile, tile))
    overwrittenByTile[tile] = overwrites;
}
