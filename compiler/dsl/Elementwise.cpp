// Operators and functions that work element by element.
#include "compiler/dsl/Recorder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace sectile;
using namespace sectile::dsl;
using namespace mlir::arith;

namespace {

/// Which element types an operation takes.
enum TypeSet : unsigned { f32Only = 1, halfFloats = 2, floats = f32Only | halfFloats, i32 = 4, i1 = 8 };

unsigned setOf(Type type) {
  switch (type) {
  case Type::f32:
    return f32Only;
  case Type::f16:
  case Type::bf16:
    return halfFloats;
  case Type::i32:
    return i32;
  case Type::i1:
    return i1;
  case Type::f8e4m3:
  case Type::f8e5m2:
    break;
  }
  return 0;
}

void requireType(const Call &call, Type type, unsigned legal) {
  if (setOf(type) & legal)
    return;
  std::string names;
  for (Type candidate : {Type::f32, Type::f16, Type::bf16, Type::i32, Type::i1})
    if (setOf(candidate) & legal)
      names += (names.empty() ? "" : ", ") + std::string(typeName(candidate));
  call.fail("takes " + names + ", got " + std::string(typeName(type)) +
            (isFloat(type) && (legal & floats) ? ": cast it first" : ""));
}

/// Two operands of one type, broadcast to one shape.
struct Pair {
  mlir::Value a, b;
  bool isFloat;
};

Pair align(Call &call, unsigned legal, bool modular) {
  Type type = call.commonType({0, 1});
  requireType(call, type, legal);
  Shape shape = call.commonShape();
  mlir::Value a = call.fit(0, type, shape, modular);
  mlir::Value b = call.fit(1, type, shape, modular);
  return {a, b, isFloat(type)};
}

template <class FloatOp, class IntegerOp>
Tile binary(const char *name, unsigned legal, const Operand &a, const Operand &b, bool modular = false) {
  Call call(name, {a, b});
  Pair pair = align(call, legal, modular);
  mlir::Value result = pair.isFloat ? FloatOp::create(call.builder(), call.loc(), pair.a, pair.b).getResult()
                                    : IntegerOp::create(call.builder(), call.loc(), pair.a, pair.b).getResult();
  return call.result(result);
}

Pair alignDivision(Call &call) {
  if (const Input &divisor = call.operands()[1]; !divisor.tile && !divisor.isReal && divisor.integer == 0)
    call.fail("needs a divisor other than 0, got 0");
  return align(call, i32, false);
}

Pair alignShift(Call &call) {
  const Input &distance = call.operands()[1];
  if (!distance.tile && !distance.isReal && (distance.integer < 0 || distance.integer > 31))
    call.fail("needs a distance from 0 to 31, got " + std::to_string(distance.integer));
  return align(call, i32, true);
}

Tile compare(const char *name, CmpFPredicate real, CmpIPredicate integer, unsigned legal, const Operand &a,
             const Operand &b) {
  Call call(name, {a, b});
  Pair pair = align(call, legal, false);
  mlir::Value result = pair.isFloat ? CmpFOp::create(call.builder(), call.loc(), real, pair.a, pair.b).getResult()
                                    : CmpIOp::create(call.builder(), call.loc(), integer, pair.a, pair.b).getResult();
  return call.result(result);
}

template <class Op> Tile elementary(const char *name, const Operand &a) {
  Call call(name, {a});
  const Value &value = call.tile(0);
  requireType(call, value.type, f32Only);
  return call.result(Op::create(call.builder(), call.loc(), value.ir));
}

/// The integer `number` in the shape of a value.
mlir::Value constantLike(Call &call, const Value &value, int64_t number) {
  Input input;
  input.integer = number;
  return call.number(input, value.type, value.shape, /*modular=*/true);
}

} // namespace

//===-- arithmetic ----------------------------------------------------------------------------------------------===//

Tile tile::operator+(Operand a, Operand b) { return binary<AddFOp, AddIOp>("add", floats | i32, a, b, true); }
Tile tile::operator-(Operand a, Operand b) { return binary<SubFOp, SubIOp>("subtract", floats | i32, a, b, true); }
Tile tile::operator*(Operand a, Operand b) { return binary<MulFOp, MulIOp>("multiply", floats | i32, a, b, true); }
Tile tile::min(Operand a, Operand b) { return binary<MinNumFOp, MinSIOp>("min", floats | i32, a, b); }
Tile tile::max(Operand a, Operand b) { return binary<MaxNumFOp, MaxSIOp>("max", floats | i32, a, b); }

Tile tile::operator/(Operand a, Operand b) {
  Call call("divide", {a, b});
  if (call.commonType({0, 1}) == Type::i32)
    call.fail("takes floating point, got i32: write floorDiv or ceilDiv");
  Pair pair = align(call, floats, false);
  return call.result(DivFOp::create(call.builder(), call.loc(), pair.a, pair.b));
}

Tile tile::operator-(Operand a) {
  Call call("negate", {a});
  const Value &value = call.tile(0);
  requireType(call, value.type, floats | i32);
  if (isFloat(value.type))
    return call.result(NegFOp::create(call.builder(), call.loc(), value.ir));
  return call.result(SubIOp::create(call.builder(), call.loc(), constantLike(call, value, 0), value.ir));
}

Tile tile::abs(Operand a) {
  Call call("abs", {a});
  const Value &value = call.tile(0);
  requireType(call, value.type, floats | i32);
  if (isFloat(value.type))
    return call.result(mlir::math::AbsFOp::create(call.builder(), call.loc(), value.ir));
  return call.result(mlir::math::AbsIOp::create(call.builder(), call.loc(), value.ir));
}

//===-- integers ------------------------------------------------------------------------------------------------===//

Tile tile::floorDiv(Operand a, Operand b) {
  Call call("floorDiv", {a, b});
  Pair pair = alignDivision(call);
  return call.result(FloorDivSIOp::create(call.builder(), call.loc(), pair.a, pair.b));
}

Tile tile::ceilDiv(Operand a, Operand b) {
  Call call("ceilDiv", {a, b});
  Pair pair = alignDivision(call);
  return call.result(CeilDivSIOp::create(call.builder(), call.loc(), pair.a, pair.b));
}

Tile tile::floorMod(Operand a, Operand b) {
  Call call("floorMod", {a, b});
  Pair pair = alignDivision(call);
  mlir::Value quotient = FloorDivSIOp::create(call.builder(), call.loc(), pair.a, pair.b);
  mlir::Value multiple = MulIOp::create(call.builder(), call.loc(), quotient, pair.b);
  return call.result(SubIOp::create(call.builder(), call.loc(), pair.a, multiple));
}

Tile tile::mulHigh(Operand a, Operand b) {
  Call call("mulHigh", {a, b});
  Pair pair = align(call, i32, true);
  return call.result(MulUIExtendedOp::create(call.builder(), call.loc(), pair.a, pair.b).getHigh());
}

Tile tile::operator<<(Operand a, Operand b) {
  Call call("<<", {a, b});
  Pair pair = alignShift(call);
  return call.result(ShLIOp::create(call.builder(), call.loc(), pair.a, pair.b));
}

Tile tile::operator>>(Operand a, Operand b) {
  Call call(">>", {a, b});
  Pair pair = alignShift(call);
  return call.result(ShRUIOp::create(call.builder(), call.loc(), pair.a, pair.b));
}

Tile tile::operator&(Operand a, Operand b) { return binary<AndIOp, AndIOp>("&", i32 | i1, a, b, true); }
Tile tile::operator|(Operand a, Operand b) { return binary<OrIOp, OrIOp>("|", i32 | i1, a, b, true); }
Tile tile::operator^(Operand a, Operand b) { return binary<XOrIOp, XOrIOp>("^", i32 | i1, a, b, true); }

Tile tile::operator~(Operand a) {
  Call call("~", {a});
  const Value &value = call.tile(0);
  requireType(call, value.type, i32 | i1);
  mlir::Value ones = constantLike(call, value, value.type == Type::i1 ? 1 : -1);
  return call.result(XOrIOp::create(call.builder(), call.loc(), value.ir, ones));
}

//===-- comparisons ---------------------------------------------------------------------------------------------===//

Tile tile::operator<(Operand a, Operand b) {
  return compare("<", CmpFPredicate::OLT, CmpIPredicate::slt, floats | i32, a, b);
}
Tile tile::operator<=(Operand a, Operand b) {
  return compare("<=", CmpFPredicate::OLE, CmpIPredicate::sle, floats | i32, a, b);
}
Tile tile::operator>(Operand a, Operand b) {
  return compare(">", CmpFPredicate::OGT, CmpIPredicate::sgt, floats | i32, a, b);
}
Tile tile::operator>=(Operand a, Operand b) {
  return compare(">=", CmpFPredicate::OGE, CmpIPredicate::sge, floats | i32, a, b);
}
Tile tile::operator==(Operand a, Operand b) {
  return compare("==", CmpFPredicate::OEQ, CmpIPredicate::eq, floats | i32 | i1, a, b);
}
Tile tile::operator!=(Operand a, Operand b) {
  return compare("!=", CmpFPredicate::UNE, CmpIPredicate::ne, floats | i32 | i1, a, b);
}

Tile tile::select(Operand condition, Operand a, Operand b) {
  Call call("select", {condition, a, b});
  if (const Value &value = call.tile(0); value.type != Type::i1)
    call.fail("needs an i1 condition, got " + describe(value));
  Type type = call.commonType({1, 2});
  Shape shape = call.commonShape();
  mlir::Value chosen = call.fit(0, Type::i1, shape);
  mlir::Value whenTrue = call.fit(1, type, shape), whenFalse = call.fit(2, type, shape);
  return call.result(SelectOp::create(call.builder(), call.loc(), chosen, whenTrue, whenFalse));
}

//===-- elementary functions ------------------------------------------------------------------------------------===//

Tile tile::exp2(Operand a) { return elementary<mlir::math::Exp2Op>("exp2", a); }
Tile tile::exp(Operand a) { return elementary<mlir::math::ExpOp>("exp", a); }
Tile tile::log2(Operand a) { return elementary<mlir::math::Log2Op>("log2", a); }
Tile tile::log(Operand a) { return elementary<mlir::math::LogOp>("log", a); }
Tile tile::tanh(Operand a) { return elementary<mlir::math::TanhOp>("tanh", a); }
Tile tile::sqrt(Operand a) { return elementary<mlir::math::SqrtOp>("sqrt", a); }

Tile tile::reciprocal(Operand a) {
  Call call("reciprocal", {a});
  const Value &value = call.tile(0);
  requireType(call, value.type, f32Only);
  Input one;
  one.isReal = true;
  one.real = 1;
  return call.result(DivFOp::create(call.builder(), call.loc(), call.number(one, value.type, value.shape, false),
                                    value.ir, mlir::arith::FastMathFlags::arcp));
}
