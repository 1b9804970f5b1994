// Arithmetic of arith and math, applied to each register of a tensor; scalars are tensors of one register.
#include "compiler/lower/gpu/KernelLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

Type KernelLowering::heldType(Type element) {
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8 ? code.i8Type() : element;
}

Value KernelLowering::constant(Type element, Attribute number) {
  if (auto real = dyn_cast<FloatAttr>(number); real && heldType(element) != element)
    return code.integer(code.i8Type(), real.getValue().bitcastToAPInt().getZExtValue());
  return code.make<arith::ConstantOp>(cast<TypedAttr>(number));
}

Value KernelLowering::zero(Type held) { return isa<FloatType>(held) ? code.real(held, 0) : code.integer(held, 0); }

LogicalResult KernelLowering::lowerConstant(arith::ConstantOp op) {
  auto tensor = dyn_cast<RankedTensorType>(op.getType());
  if (!tensor) {
    registers[op] = {constant(op.getType(), op.getValue())};
    return success();
  }
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return op.emitError("has no lowering to ") << machine() << ": only constant tiles of one value do";
  registers[op] = Values(layoutOf(op).registers(), constant(tensor.getElementType(), splat.getSplatValue<Attribute>()));
  return success();
}

/// What gives the right result for f32 only: for narrower floats it is computed there and rounded. Choosing needs none
/// of that.
static bool computesFloats(Operation *op) {
  return !isa<arith::SelectOp>(op) && llvm::any_of(op->getOperandTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type)) && !getElementTypeOrSelf(type).isF32();
  });
}

/// Sums and products of f32, of which some machines do two at a time.
static bool isPackable(Operation *op) {
  return isa<arith::MulFOp, arith::AddFOp, arith::SubFOp, math::FmaOp>(op) &&
         llvm::all_of(op->getOperandTypes(), [](Type type) { return getElementTypeOrSelf(type).isF32(); });
}

/// Of registers side by side.
KernelLowering::Values KernelLowering::computePair(Operation *op, ArrayRef<Values> operands, size_t first) {
  Type pair = code.vectorOf(2, code.f32Type());
  Values inputs;
  for (const Values &held : operands) {
    const bool isScalar = held.size() == 1;
    inputs.push_back(code.pack({held[isScalar ? 0 : first], held[isScalar ? 0 : first + 1]}, pair));
  }
  OperationState state(code.loc, op->getName().getStringRef(), inputs, pair, op->getAttrs());
  return code.unpack(code.builder.create(state)->getResult(0), code.f32Type());
}

LogicalResult KernelLowering::lowerElementwise(Operation *op) {
  // 1. The registers of the operands, in f32 where the operation computes; scalars stand for all of them.
  SmallVector<Values> operands;
  size_t count = 1;
  for (Value operand : op->getOperands()) {
    Values held = registers.lookup(operand);
    if (computesFloats(op) && isa<FloatType>(getElementTypeOrSelf(operand.getType())))
      held = widenAll(held, getElementTypeOrSelf(operand.getType()));
    count = std::max(count, held.size());
    operands.push_back(std::move(held));
  }

  // 2. The same operation for each register.
  SmallVector<Values> results(op->getNumResults());
  if (llvm::any_of(operands, [&](const Values &held) { return held.size() != 1 && held.size() != count; }))
    return op->emitError("needs operands of one layout");
  for (size_t i = 0; i < count; ++i) {
    if (packsFloats() && isPackable(op) && i + 1 < count) {
      llvm::append_range(results.front(), computePair(op, operands, i++));
      continue;
    }
    Values inputs;
    for (const Values &held : operands) {
      inputs.push_back(held[held.size() == 1 ? 0 : i]);
    }
    for (auto [list, value] : llvm::zip_equal(results, compute(op, inputs)))
      list.push_back(value);
  }

  // 3. Rounded to the type that was asked for.
  for (auto [result, values] : llvm::zip_equal(op->getResults(), results)) {
    Type element = getElementTypeOrSelf(result.getType());
    registers[result] = computesFloats(op) && isa<FloatType>(element) ? narrowAll(values, element) : values;
  }
  return success();
}

/// The operations that are one instruction of the machine, which the passes that follow would take apart.
static StringRef instructionFor(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::MaxNumFOp) { return "llvm.maxnum"; })
      .Case([](arith::MinNumFOp) { return "llvm.minnum"; })
      .Case([](arith::MaximumFOp) { return "llvm.maximum"; })
      .Case([](arith::MinimumFOp) { return "llvm.minimum"; })
      .Default(StringRef());
}

/// One operation on scalars. Where arith leaves a result open that the tile dialect defines, it is defined here.
KernelLowering::Values KernelLowering::compute(Operation *op, ValueRange operands) {
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return {divide(op, operands[0], operands[1])};
  if (isa<arith::ShLIOp, arith::ShRUIOp>(op))
    return {shift(op, operands[0], operands[1])};
  if (auto quotient = dyn_cast<arith::DivFOp>(op);
      quotient && bitEnumContainsAll(quotient.getFastmath(), arith::FastMathFlags::arcp)) // 1 ulp
    return {code.make<arith::MulFOp>(operands[0], reciprocal(operands[1]))};
  if (isa<math::Exp2Op>(op))
    return {exp2(operands[0])};
  if (StringRef name = instructionFor(op); !name.empty())
    return {code.intrinsic(name, operands.front().getType(), operands)};

  SmallVector<Type> types;
  for (Type type : op->getResultTypes()) {
    Type element = getElementTypeOrSelf(type);
    types.push_back(isa<FloatType>(element) && computesFloats(op) ? code.f32Type() : heldType(element));
  }
  OperationState state(code.loc, op->getName().getStringRef(), operands, types, op->getAttrs());
  return Values(code.builder.create(state)->getResults());
}

/// Rounded down or up. Registers past a shape may hold any divisor: where the quotient does not exist it is 1, which
/// also makes the smallest number divided by -1 what wrapping around makes of it.
Value KernelLowering::divide(Operation *op, Value a, Value b) {
  using P = arith::CmpIPredicate;
  const int64_t smallest =
      a.getType().isIndex() ? INT64_MIN : -(int64_t{1} << (a.getType().getIntOrFloatBitWidth() - 1));
  auto number = [&](int64_t value) { // of index, too
    return code.make<arith::ConstantOp>(TypedAttr(code.builder.getIntegerAttr(a.getType(), value)));
  };
  Value zero = number(0);
  APInt divisor;
  if (!matchPattern(b, m_ConstantInt(&divisor)) || divisor.isZero() || divisor.isAllOnes()) {
    Value overflows = code.bitAnd(code.compare(P::eq, a, number(smallest)), code.compare(P::eq, b, number(-1)));
    b = code.select(code.bitOr(code.compare(P::eq, b, zero), overflows), number(1), b);
  }
  Value quotient = code.make<arith::DivSIOp>(a, b); // toward zero
  Value isInexact = code.compare(P::ne, code.mul(quotient, b), a);
  Value differ = code.bitXor(code.compare(P::slt, a, zero), code.compare(P::slt, b, zero));
  if (isa<arith::FloorDivSIOp>(op)) {
    Value below = code.bitAnd(isInexact, differ);
    return code.select(below, code.sub(quotient, number(1)), quotient);
  }
  Value above = code.bitAnd(isInexact, code.bitXor(differ, code.truth(true)));
  return code.select(above, code.add(quotient, number(1)), quotient);
}

/// By the width or more gives 0.
Value KernelLowering::shift(Operation *op, Value a, Value b) {
  const bool isLeft = isa<arith::ShLIOp>(op);
  const unsigned width = a.getType().isIndex() ? 64 : a.getType().getIntOrFloatBitWidth();
  auto number = [&](int64_t value) {
    return code.make<arith::ConstantOp>(TypedAttr(code.builder.getIntegerAttr(a.getType(), value)));
  };
  auto shifted = [&](Value count) {
    return isLeft ? code.make<arith::ShLIOp>(a, count) : code.make<arith::ShRUIOp>(a, count);
  };
  if (width == 1) // only by 0
    return code.bitAnd(a, code.bitXor(b, number(1)));
  Value fits = code.compare(arith::CmpIPredicate::ult, b, number(width));
  return code.select(fits, shifted(code.select(fits, b, number(0))), number(0));
}
