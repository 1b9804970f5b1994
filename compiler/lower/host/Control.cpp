// Loops and conditions: scalars are carried in registers, tiles in buffers.
#include "compiler/lower/host/KernelLowering.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

LogicalResult KernelLowering::lower(scf::ForOp loop) {
  OpBuilder &builder = code.builder;
  // 1. Tiles that are carried get a buffer that holds the initial value.
  Values initial;
  for (auto [init, argument] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs())) {
    if (tileType(argument))
      materialize(init, bufferFor(argument));
    else
      initial.push_back(scalars.lookup(init));
  }
  // 2. The loop over scalars.
  auto result = scf::ForOp::create(builder, code.loc, scalars.lookup(loop.getLowerBound()),
                                   scalars.lookup(loop.getUpperBound()), scalars.lookup(loop.getStep()), initial);
  OpBuilder::InsertionGuard guard(builder);
  if (result.getBody()->mightHaveTerminator()) // made for loops that carry nothing
    result.getBody()->getTerminator()->erase();
  builder.setInsertionPointToEnd(result.getBody());
  scalars[loop.getInductionVar()] = result.getInductionVar();
  unsigned next = 0;
  for (Value argument : loop.getRegionIterArgs())
    if (!tileType(argument))
      scalars[argument] = result.getRegionIterArg(next++);
  nextPass.clear();
  if (failed(lower(*loop.getBody())))
    return failure();
  nextPass.clear();

  // 3. What the next pass carries. All is read before anything is overwritten: loops may swap their tiles.
  code.loc = loop.getLoc();
  turnedBuffers.clear();
  Values yields;
  SmallVector<std::pair<Buffer, Buffer>, 0> copies;
  for (auto [argument, yield] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    if (!tileType(argument)) {
      yields.push_back(scalars.lookup(yield));
      continue;
    }
    const Buffer to = buffers.lookup(argument);
    auto from = buffers.find(yield);
    if (from != buffers.end() && from->second.offset == to.offset)
      continue;
    auto carried = dyn_cast<BlockArgument>(yield);
    if (carried && carried.getOwner() == loop.getBody()) {
      Buffer saved = allocate(to.shape, to.type, to.lane);
      materialize(yield, saved);
      copies.push_back({saved, to});
    } else if (from != buffers.end() && from->second.lane == to.lane) {
      copies.push_back({from->second, to});
    } else {
      Buffer saved = allocate(to.shape, to.type, to.lane);
      materialize(yield, saved);
      copies.push_back({saved, to});
    }
  }
  for (auto &[from, to] : copies)
    copy(from, to);
  scf::YieldOp::create(builder, code.loc, yields);

  // 4. The results are what was carried last.
  next = 0;
  for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), loop.getResults())) {
    if (tileType(argument))
      buffers[value] = buffers.lookup(argument);
    else
      scalars[value] = result.getResult(next++);
  }
  return success();
}

LogicalResult KernelLowering::lower(scf::IfOp branch) {
  OpBuilder &builder = code.builder;
  SmallVector<Type> types;
  for (OpResult result : branch->getResults()) {
    if (!tileType(result))
      types.push_back(heldElement(result.getType()));
    else if (Value overwritten = plan.overwrittenBy(Value(result)))
      buffers[result] = buffers.lookup(overwritten);
    else
      bufferFor(result);
  }
  bool hasElse = !branch.getElseRegion().empty();
  auto lowered = scf::IfOp::create(builder, code.loc, types, scalars.lookup(branch.getCondition()), hasElse);
  OpBuilder::InsertionGuard guard(builder);
  auto lowerInto = [&](Block &from, Block &to) -> LogicalResult {
    if (!to.empty())
      to.back().erase(); // the terminator of a branch that yields nothing
    builder.setInsertionPointToEnd(&to);
    if (failed(lower(from)))
      return failure();
    code.loc = branch.getLoc();
    Values yields;
    for (auto [result, yield] : llvm::zip(branch->getResults(), from.getTerminator()->getOperands())) {
      turnedBuffers.clear();
      if (!tileType(result))
        yields.push_back(scalars.lookup(yield));
      else if (auto buffer = buffers.find(yield);
               buffer == buffers.end() || buffer->second.offset != buffers.lookup(result).offset)
        materialize(yield, buffers.lookup(result));
    }
    scf::YieldOp::create(builder, code.loc, yields);
    return success();
  };
  if (failed(lowerInto(*branch.thenBlock(), *lowered.thenBlock())) ||
      (hasElse && failed(lowerInto(*branch.elseBlock(), *lowered.elseBlock()))))
    return failure();
  unsigned next = 0;
  for (OpResult result : branch->getResults())
    if (!tileType(result))
      scalars[result] = lowered.getResult(next++);
  return success();
}
