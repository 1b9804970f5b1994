// Functions that combine elements or convert them: reductions, dot, cast.
#include "compiler/dsl/Recorder.h"

#include "compiler/ir/ElementType.h"

using namespace sectile;
using namespace sectile::dsl;

static Tile reduce(const char *name, ir::ReduceKind kind, const Operand &a, int axis) {
  Call call(name, {a});
  const Value &value = call.tile(0);
  if (value.type == Type::i1 || isStorageOnly(value.type))
    call.fail("takes f32, f16, bf16, i32, got " + std::string(typeName(value.type)) + ": cast it first");
  int64_t reduced = call.axis(axis, static_cast<int64_t>(value.shape.size()));
  Shape shape = value.shape;
  shape[reduced] = 1;
  return call.result(ir::ReduceOp::create(call.builder(), call.loc(), call.tileType(value.type, shape), kind, value.ir,
                                          static_cast<uint32_t>(reduced)));
}

Tile tile::reduceMax(Operand a, int axis) { return reduce("reduceMax", ir::ReduceKind::max, a, axis); }
Tile tile::reduceMin(Operand a, int axis) { return reduce("reduceMin", ir::ReduceKind::min, a, axis); }
Tile tile::reduceSum(Operand a, int axis) { return reduce("reduceSum", ir::ReduceKind::sum, a, axis); }

/// "[128,64]", as the rule of dot writes shapes.
static std::string compact(const Shape &shape) {
  std::string text = describe(shape);
  std::erase(text, ' ');
  return text;
}

static Tile dot(Call &call) {
  const Value &a = call.tile(0), &b = call.tile(1);
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1] != b.shape[0])
    call.fail("needs [m,k] x [k,n], got " + compact(a.shape) + " x " + compact(b.shape));
  for (const Value *operand : {&a, &b})
    if (!isFloat(operand->type))
      call.fail("multiplies floats, got " + describe(*operand));
  Shape shape{a.shape[0], b.shape[1]};
  mlir::Value accumulator;
  if (call.operands().size() == 3) {
    const Input &input = call.operands()[2];
    if (input.tile && (input.tile->type != Type::f32 || input.tile->shape != shape))
      call.fail("needs an accumulator of f32 " + describe(shape) + ", got " + describe(*input.tile));
    accumulator = call.fit(2, Type::f32, shape);
  } else {
    accumulator = call.number(Input(), Type::f32, shape);
  }
  return call.result(ir::DotOp::create(call.builder(), call.loc(), accumulator.getType(), a.ir, b.ir, accumulator));
}

Tile tile::dot(Operand a, Operand b) {
  Call call("dot", {a, b});
  return ::dot(call);
}

Tile tile::dot(Operand a, Operand b, Operand accumulator) {
  Call call("dot", {a, b, accumulator});
  return ::dot(call);
}

Tile tile::cast(Operand a, Type type) {
  Call call("cast", {a});
  const Value &value = call.tile(0);
  if (value.type == type)
    return call.recorder().wrap(value);
  return call.result(ir::CastOp::create(call.builder(), call.loc(), call.tileType(type, value.shape), value.ir));
}
