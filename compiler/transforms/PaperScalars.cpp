#include "compiler/transforms/PaperScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile;

PaperScalar PaperScalars::resolved(PaperScalar value) const {
  auto found = chosen.find(value.symbol);
  return found == chosen.end() ? value : PaperScalar{0, value.number + found->second};
}

PaperScalar PaperScalars::of(Value scalar) {
  APInt constant;
  if (matchPattern(scalar, m_ConstantInt(&constant)))
    return {0, constant.getSExtValue()};
  auto [entry, isNew] = values.try_emplace(scalar);
  if (isNew)
    entry->second = {++symbols, 0};
  return resolved(entry->second);
}

void PaperScalars::run(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0 || !op.getResult(0).getType().isIntOrIndex() ||
      !isMemoryEffectFree(&op))
    return;
  Value result = op.getResult(0);
  values[result] = {++symbols, 0};
  SmallVector<PaperScalar> operands;
  for (Value operand : op.getOperands()) {
    if (!operand.getType().isIntOrIndex())
      return;
    operands.push_back(of(operand));
  }
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    PaperScalar a = operands[0], b = operands[1];
    if (isa<arith::SubIOp>(op)) {
      if (a.symbol == b.symbol)
        values[result] = {0, a.number - b.number};
      else if (b.isNumber())
        values[result] = {a.symbol, a.number - b.number};
    } else if (a.isNumber() || b.isNumber()) {
      values[result] = {a.symbol + b.symbol, a.number + b.number};
    }
    return;
  }
  if (operands.empty() || !llvm::all_of(operands, [](PaperScalar scalar) { return scalar.isNumber(); }))
    return;
  SmallVector<Attribute> constants;
  for (auto [operand, scalar] : llvm::zip_equal(op.getOperands(), operands)) {
    const unsigned bits = operand.getType().isIndex() ? 64 : operand.getType().getIntOrFloatBitWidth();
    constants.push_back(IntegerAttr::get(operand.getType(), APInt(64, scalar.number, true).trunc(bits)));
  }
  SmallVector<OpFoldResult> folded;
  if (failed(op.fold(constants, folded)) || folded.empty())
    return;
  if (auto constant = dyn_cast_or_null<IntegerAttr>(dyn_cast<Attribute>(folded.front())))
    values[result] = {0, constant.getValue().getSExtValue()};
  else if (auto value = dyn_cast<Value>(folded.front()))
    values[result] = of(value);
}
