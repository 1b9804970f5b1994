// tile.cast: conversions between element types, each rounded once.
#include "compiler/lower/gpu/KernelLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

static bool isFloat8(Type element) { return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8; }

void KernelLowering::lower(CastOp cast) {
  registers[cast.getResult()] =
      convertElements(registers.lookup(cast.getSource()), getElementTypeOrSelf(cast.getSource().getType()),
                      getElementTypeOrSelf(cast.getResult().getType()));
}

KernelLowering::Values KernelLowering::convertElements(Values values, Type from, Type to) {
  if (from == to)
    return values;
  auto each = [&](llvm::function_ref<Value(Value)> convert) {
    return llvm::map_to_vector(values, [&](Value value) { return convert(value); });
  };
  using arith::CmpFPredicate;
  using arith::CmpIPredicate;
  if (isa<FloatType>(from)) {
    Values wide = widenAll(values, from);
    if (isa<FloatType>(to))
      return narrowAll(wide, to);
    values = wide;
    if (to.isInteger(1)) // NaN is true
      return each([&](Value x) { return code.compare(CmpFPredicate::UNE, x, code.f32(0)); });
    return each([&](Value x) { return floatToInteger(x); });
  }
  if (isa<FloatType>(to)) {
    Values wide = from.isInteger(1) ? each([&](Value x) { return code.select(x, code.f32(1), code.f32(0)); })
                                    : each([&](Value x) { return integerToFloat(x, to); });
    return narrowAll(wide, to);
  }
  if (to.isInteger(1))
    return each([&](Value x) { return code.compare(CmpIPredicate::ne, x, 0); });
  return each([&](Value x) { return code.zeroExtend(x, to); }); // from i1
}

//===-- floats --------------------------------------------------------------------------------------------------===//

Value KernelLowering::widen(Value held, Type element) { return widenAll(ValueRange(held), element).front(); }

KernelLowering::Values KernelLowering::widenAll(ValueRange held, Type element) {
  if (element.isF32())
    return Values(held);
  Values wide;
  if (!isFloat8(element)) {
    for (Value x : held)
      wide.push_back(code.widenFloat(x));
    return wide;
  }
  return widenFloat8(held, element);
}

KernelLowering::Values KernelLowering::narrowAll(ValueRange wide, Type element) {
  if (element.isF32())
    return Values(wide);
  Values held;
  if (!isFloat8(element)) {
    // Two at a time where the machine has that: neighbours, which share a word wherever they go.
    for (size_t i = 0; i < wide.size(); i += 2)
      if (roundsPairs() && i + 1 < wide.size())
        llvm::append_range(held, code.narrowPair(wide[i], wide[i + 1], element));
      else
        for (Value x : wide.slice(i, std::min<size_t>(2, wide.size() - i)))
          held.push_back(code.narrowFloat(x, element));
    return held;
  }
  return narrowFloat8(wide, element);
}

// Of machines without such instructions.
KernelLowering::Values KernelLowering::widenFloat8(ValueRange held, Type element) {
  return llvm::map_to_vector(held, [&](Value x) -> Value {
    return code.make<arith::ExtFOp>(code.f32Type(), code.make<arith::BitcastOp>(element, x));
  });
}

KernelLowering::Values KernelLowering::narrowFloat8(ValueRange wide, Type element) {
  return llvm::map_to_vector(wide, [&](Value x) -> Value {
    return code.make<arith::BitcastOp>(code.i8Type(), code.make<arith::TruncFOp>(element, x));
  });
}

//===-- integers ------------------------------------------------------------------------------------------------===//

/// Toward zero, saturating, NaN gives 0: what the intrinsic does, and the machine in one instruction.
Value KernelLowering::floatToInteger(Value wide) { return code.intrinsic("llvm.fptosi.sat", code.i32Type(), {wide}); }

/// To f32, such that rounding on to a narrower type is as good as rounding once. From 2^24 on, the bits that f32 drops
/// only tell ties apart for a narrower type: they are gathered in one bit that f32 keeps.
Value KernelLowering::integerToFloat(Value integer, Type to) {
  if (!to.isF32()) {
    using P = arith::CmpIPredicate;
    Value low = code.bitAnd(integer, 0xff);
    Value sticky = code.bitOr(code.sub(integer, low), code.i32(0x80));
    Value gathered = code.select(code.compare(P::eq, low, 0), integer, sticky);
    Value magnitude = code.make<math::AbsIOp>(integer);
    integer = code.select(code.compare(P::uge, magnitude, int64_t{1} << 24), gathered, integer);
  }
  return code.make<arith::SIToFPOp>(code.f32Type(), integer);
}
