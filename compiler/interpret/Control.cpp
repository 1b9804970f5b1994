// tile.program and return; scf.for and if.
#include "compiler/interpret/Frame.h"
#include "compiler/ir/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace sectile;
using namespace sectile::interpreter;

namespace {

/// Executes a block up to its scf.yield and returns what that yields.
llvm::Expected<std::vector<Datum>> executeBody(mlir::Block &block, Frame &frame) {
  for (mlir::Operation &op : block.without_terminator())
    if (llvm::Error error = execute(op, frame))
      return error;
  std::vector<Datum> yielded;
  for (mlir::Value value : block.getTerminator()->getOperands())
    yielded.push_back(frame[value]);
  return yielded;
}

void setAll(mlir::ValueRange values, const std::vector<Datum> &data, Frame &frame) {
  for (auto [value, datum] : llvm::zip_equal(values, data))
    frame.set(value, datum);
}

llvm::Error execute(mlir::scf::ForOp loop, Frame &frame) {
  const Datum lower = frame[loop.getLowerBound()];
  const int64_t end = frame[loop.getUpperBound()].integer(), step = frame[loop.getStep()].integer();
  if (step <= 0)
    return errorAt(*loop, "needs a positive step, got " + llvm::Twine(step));
  std::vector<Datum> carried;
  for (mlir::Value value : loop.getInitArgs())
    carried.push_back(frame[value]);
  for (int64_t i = lower.integer(); i < end;) {
    frame.set(loop.getInductionVar(), Datum::scalar(lower.element(), i));
    setAll(loop.getRegionIterArgs(), carried, frame);
    llvm::Expected<std::vector<Datum>> yielded = executeBody(*loop.getBody(), frame);
    if (!yielded)
      return yielded.takeError();
    carried = std::move(*yielded);
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  setAll(loop.getResults(), carried, frame);
  return llvm::Error::success();
}

llvm::Error execute(mlir::scf::IfOp branch, Frame &frame) {
  mlir::Region &taken = frame[branch.getCondition()].integer() ? branch.getThenRegion() : branch.getElseRegion();
  if (taken.empty())
    return llvm::Error::success();
  llvm::Expected<std::vector<Datum>> yielded = executeBody(taken.front(), frame);
  if (!yielded)
    return yielded.takeError();
  setAll(branch.getResults(), *yielded, frame);
  return llvm::Error::success();
}

llvm::Error execute(ir::ProgramOp op, Frame &frame) {
  frame.set(op.getResult(), Datum::scalar(Element::i32, frame.program[op.getAxis()]));
  return llvm::Error::success();
}

llvm::Error execute(ir::ReturnOp, Frame &) { return llvm::Error::success(); }

} // namespace

Outcome interpreter::executeControl(mlir::Operation &op, Frame &frame) {
  return llvm::TypeSwitch<mlir::Operation *, Outcome>(&op)
      .Case<mlir::scf::ForOp, mlir::scf::IfOp, ir::ProgramOp, ir::ReturnOp>(
          [&](auto known) -> Outcome { return ::execute(known, frame); })
      .Default([](mlir::Operation *) -> Outcome { return std::nullopt; });
}
