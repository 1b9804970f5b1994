// Loops and conditions carry every register of a tensor as a value of its own.
#include "compiler/lower/gpu/KernelLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

/// A product in flight is the registers that it will be in.
static Type tensorOf(Type type) {
  auto token = dyn_cast<TokenType>(type);
  return token ? token.getTensor() : type;
}

SmallVector<Type> KernelLowering::heldTypes(TypeRange types) {
  SmallVector<Type> held;
  for (Type type : llvm::map_range(types, tensorOf))
    held.append(isa<RankedTensorType>(type) ? layoutOf(type).registers() : 1, heldType(getElementTypeOrSelf(type)));
  return held;
}

void KernelLowering::append(Values &list, ValueRange values) {
  for (Value value : values)
    llvm::append_range(list, registers.lookup(value));
}

/// The inverse: hands a list out to the values that it was made for.
void KernelLowering::spread(ValueRange list, ValueRange values) {
  for (Value value : values) {
    Type type = tensorOf(value.getType());
    const size_t count = isa<RankedTensorType>(type) ? layoutOf(type).registers() : 1;
    registers[value] = Values(list.take_front(count));
    list = list.drop_front(count);
  }
}

LogicalResult KernelLowering::lower(scf::ForOp loop) {
  OpBuilder &builder = code.builder;
  Values initial;
  append(initial, loop.getInitArgs());
  auto bound = [&](Value value) { return registers.lookup(value).front(); };
  auto result = scf::ForOp::create(builder, code.loc, bound(loop.getLowerBound()), bound(loop.getUpperBound()),
                                   bound(loop.getStep()), initial);
  OpBuilder::InsertionGuard guard(builder);
  if (initial.empty()) // made with a terminator
    result.getBody()->getTerminator()->erase();
  builder.setInsertionPointToEnd(result.getBody());
  registers[loop.getInductionVar()] = {result.getInductionVar()};
  spread(result.getRegionIterArgs(), loop.getRegionIterArgs());
  if (failed(lower(*loop.getBody())))
    return failure();
  Values yields;
  append(yields, loop.getYieldedValues());
  scf::YieldOp::create(builder, loop.getLoc(), yields);
  spread(result.getResults(), loop.getResults());
  return success();
}

/// A branch that computes again what is known outside, for it is taken seldom.
static bool isSeldom(Block &block) {
  return llvm::any_of(block, [](Operation &op) { return op.hasAttr("tile.again"); });
}

/// Places are found anew in such a branch, from a number of the thread that nobody knows outside: else they would be
/// found before the loop, and take registers in it.
LogicalResult KernelLowering::lowerApart(Block &block) {
  llvm::SaveAndRestore savedThread(thread, opaque(thread));
  llvm::SaveAndRestore savedLane(lane, code.bitAnd(thread, warpLanes - 1));
  llvm::SaveAndRestore savedWarp(warp, code.shiftRight(thread, laneBits()));
  llvm::SaveAndRestore savedEnd(prologueEnd, code.i32(0).getDefiningOp());
  llvm::SaveAndRestore savedKnown(known, {});
  return lower(block);
}

LogicalResult KernelLowering::lower(scf::IfOp branch) {
  OpBuilder &builder = code.builder;
  const bool hasElse = !branch.getElseRegion().empty();
  auto result = scf::IfOp::create(builder, code.loc, heldTypes(branch->getResultTypes()),
                                  registers.lookup(branch.getCondition()).front(), hasElse);
  OpBuilder::InsertionGuard guard(builder);
  auto lowerInto = [&](Block &from, Block &to) -> LogicalResult {
    if (!to.empty())
      to.back().erase(); // the terminator of a branch that yields nothing
    builder.setInsertionPointToEnd(&to);
    if (failed(isSeldom(from) ? lowerApart(from) : lower(from)))
      return failure();
    Values yields;
    append(yields, from.getTerminator()->getOperands());
    scf::YieldOp::create(builder, branch.getLoc(), yields);
    return success();
  };
  if (failed(lowerInto(*branch.thenBlock(), *result.thenBlock())) ||
      (hasElse && failed(lowerInto(*branch.elseBlock(), *result.elseBlock()))))
    return failure();
  spread(result.getResults(), branch->getResults());
  return success();
}
