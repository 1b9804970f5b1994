// The value of a tile at one position: a vector, or a single element.
#include "compiler/lower/host/KernelLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

Type sectile::host::heldElement(Type element) {
  return isa<FloatType>(element) ? Type(Float32Type::get(element.getContext())) : element;
}

Type KernelLowering::heldType(Type element, const Position &at) {
  Type held = heldElement(element);
  return at.lane < 0 ? held : Type(VectorType::get({vectors.lanes}, held));
}

Value KernelLowering::addressIn(const Buffer &buffer, const Position &at) {
  Index element;
  for (auto [index, stride] : llvm::zip(at.index, buffer.strides))
    element = code.add(element, code.scale(index, stride));
  if (buffer.panels && at.lane < 0) { // a single element: its place in its vector has stride 1
    Index within = code.remainder(at.index[buffer.lane], vectors.lanes);
    element = code.add(element, code.scale(within, 1 - buffer.strides[buffer.lane]));
  }
  return code.address(scratch, element, 4, buffer.offset);
}

Value KernelLowering::read(const Buffer &buffer, const Position &at) {
  Type held = heldType(buffer.type, at);
  if (!buffer.type.isInteger(1))
    return code.load(held, addressIn(buffer, at));
  Type word =
      at.lane < 0 ? Type(code.builder.getI32Type()) : VectorType::get({vectors.lanes}, code.builder.getI32Type());
  Value bits = code.load(word, addressIn(buffer, at));
  return arith::CmpIOp::create(code.builder, code.loc, arith::CmpIPredicate::ne, bits, code.constant(word, 0));
}

void KernelLowering::write(Value held, const Buffer &buffer, const Position &at) {
  if (buffer.type.isInteger(1)) {
    Type word = code.builder.getI32Type();
    if (auto vector = dyn_cast<VectorType>(held.getType()))
      word = vector.clone(word);
    held = arith::ExtUIOp::create(code.builder, code.loc, word, held);
  }
  code.store(held, addressIn(buffer, at));
}

Value KernelLowering::constantAt(Type element, Attribute value, const Position &at) {
  if (auto real = dyn_cast<FloatAttr>(value)) {
    APFloat number = real.getValue();
    bool inexact;
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &inexact); // widens: exact
    value = code.builder.getFloatAttr(code.builder.getF32Type(), number);
  }
  return code.constant(heldType(element, at), value);
}

Value KernelLowering::evaluate(Value tile, const Position &at, Known &known) {
  if (!tileType(tile))
    return scalars.lookup(tile);
  if (Value value = known.lookup(tile))
    return value;
  Value value;
  if (auto turned = turnedBuffers.find({tile, at.lane}); turned != turnedBuffers.end())
    value = read(turned->second, at);
  else if (auto buffer = buffers.find(tile); buffer != buffers.end() && plan.isBuffered(tile))
    value = read(buffer->second, at);
  else
    value = evaluateInline(cast<OpResult>(tile), at, known);
  known[tile] = value;
  return value;
}

Value KernelLowering::evaluateInline(OpResult tile, const Position &at, Known &known) {
  Operation *op = tile.getOwner();
  Type element = tileType(tile).getElementType();
  auto vector = [&](Value scalar) { return at.lane < 0 ? scalar : code.broadcast(scalar, vectors.lanes); };

  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return constantAt(element, cast<DenseElementsAttr>(constant).getSplatValue<Attribute>(), at);
  if (auto splat = dyn_cast<SplatOp>(op))
    return vector(scalars.lookup(splat.getValue()));
  if (isa<IotaOp>(op)) {
    if (at.lane >= 0)
      return code.lanesFrom(at.index[0], vectors.lanes);
    return code.narrow(code.value(at.index[0]));
  }
  if (auto stretch = dyn_cast<BroadcastOp>(op)) {
    Position source = at;
    for (auto [dim, size] : llvm::enumerate(tileType(stretch.getSource()).getShape())) {
      if (size != 1)
        continue;
      source.index[dim] = Index(0);
      if (source.lane == static_cast<int>(dim))
        source.lane = -1;
    }
    Known there; // another position
    Value value = evaluate(stretch.getSource(), source, there);
    return source.lane == at.lane ? value : vector(value);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Position source{SmallVector<Index>(at.index.size(), Index(0)), -1};
    for (auto [dim, from] : llvm::enumerate(transpose.getOrder())) {
      source.index[from] = at.index[dim];
      if (at.lane == static_cast<int>(dim))
        source.lane = static_cast<int>(from);
    }
    Known there;
    return evaluate(transpose.getSource(), source, there);
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    Shape from = tileType(reshape.getSource()).getShape();
    Position source{SmallVector<Index>(from.size(), Index(0)), -1};
    SmallVector<int> map = *unitReshape(reshape);
    for (auto [dim, sourceDim] : llvm::enumerate(map)) {
      if (sourceDim < 0)
        continue;
      source.index[sourceDim] = at.index[dim];
      if (at.lane == static_cast<int>(dim))
        source.lane = sourceDim;
    }
    // Along a dimension of size 1 only the first lane counts: any dimension gives it.
    if (at.lane >= 0 && source.lane < 0)
      source.lane = defaultLane(from);
    Known there;
    return evaluate(reshape.getSource(), source, there);
  }
  Values operands;
  for (Value operand : op->getOperands())
    operands.push_back(evaluate(operand, at, known));
  if (auto cast = dyn_cast<CastOp>(op))
    return convert(cast, operands[0]);
  return compute(op, operands, tile.getResultNumber(), known);
}

/// The same operation on held values. All results become known at once.
Value KernelLowering::compute(Operation *op, ValueRange operands, unsigned result, Known &known) {
  VectorType vector;
  for (Value operand : operands)
    if (auto type = dyn_cast<VectorType>(operand.getType()))
      vector = type;
  SmallVector<Type> types;
  for (OpResult value : op->getResults()) {
    Type held = heldElement(getElementTypeOrSelf(value.getType()));
    types.push_back(vector ? Type(vector.clone(held)) : held);
  }
  SmallVector<Value> inputs(operands);
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp, arith::RemSIOp>(op))
    inputs[1] = safeDivisor(inputs[0], inputs[1]);
  OperationState state(code.loc, op->getName().getStringRef(), inputs, types, op->getAttrs());
  Operation *copy = code.builder.create(state);
  // Choosing or negating an element needs no rounding.
  bool exact = isa<arith::SelectOp, arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp,
                   arith::NegFOp, math::AbsFOp>(op);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    known[from] = exact ? Value(to) : roundTo(to, getElementTypeOrSelf(from.getType()));
  return known.lookup(op->getResult(result));
}

/// The processor traps where a quotient does not exist, also in lanes past a row's end that nobody reads: there the
/// divisor becomes 1.
Value KernelLowering::safeDivisor(Value dividend, Value divisor) {
  APInt constant;
  if (matchPattern(divisor, m_ConstantInt(&constant)) && !constant.isZero() && !constant.isAllOnes())
    return divisor;
  OpBuilder &b = code.builder;
  auto equals = [&](Value a, double number) -> Value {
    return arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::eq, a, code.constant(a.getType(), number));
  };
  Value overflows = code.both(equals(dividend, -2147483648.0), equals(divisor, -1));
  Value none = arith::OrIOp::create(b, code.loc, equals(divisor, 0), overflows);
  return arith::SelectOp::create(b, code.loc, none, code.constant(divisor.getType(), 1), divisor);
}

Value KernelLowering::roundTo(Value held, Type element) {
  if (!isa<FloatType>(element) || element.isF32())
    return held;
  Type narrow = element;
  if (auto vector = dyn_cast<VectorType>(held.getType()))
    narrow = vector.clone(element);
  if (element.getIntOrFloatBitWidth() == 8) { // saturates; NaN stays NaN
    auto most = APFloat::getLargest(cast<FloatType>(element).getFloatSemantics()).convertToDouble();
    held = arith::MaximumFOp::create(code.builder, code.loc, held, code.constant(held.getType(), -most));
    held = arith::MinimumFOp::create(code.builder, code.loc, held, code.constant(held.getType(), most));
  }
  Value rounded = arith::TruncFOp::create(code.builder, code.loc, narrow, held);
  return arith::ExtFOp::create(code.builder, code.loc, held.getType(), rounded);
}

Value KernelLowering::convert(CastOp cast, Value source) {
  OpBuilder &b = code.builder;
  Location loc = code.loc;
  Type from = getElementTypeOrSelf(cast.getSource().getType()), to = getElementTypeOrSelf(cast.getType());
  Type held = heldElement(to), result = held;
  if (auto vector = dyn_cast<VectorType>(source.getType()))
    result = vector.clone(held);
  auto number = [&](double value) { return code.constant(source.getType(), value); };
  using arith::CmpFPredicate;
  auto compare = [&](CmpFPredicate predicate, Value a, Value c) {
    return arith::CmpFOp::create(b, loc, predicate, a, c);
  };
  auto choose = [&](Value condition, Value a, Value c) { return arith::SelectOp::create(b, loc, condition, a, c); };

  if (isa<FloatType>(from) && isa<FloatType>(to))
    return roundTo(source, to);
  if (isa<FloatType>(from) && to.isInteger(1))
    return compare(CmpFPredicate::UNE, source, number(0));
  if (isa<FloatType>(from)) { // toward zero, saturating, NaN gives 0
    constexpr double limit = 2147483648.0;
    Value clamped = arith::MaxNumFOp::create(b, loc, source, number(-limit));
    Value fits = arith::MinNumFOp::create(b, loc, clamped, number(2147483520.0)); // the largest f32 below the limit
    Value integer = arith::FPToSIOp::create(b, loc, result, fits);
    Value high = compare(CmpFPredicate::OGE, source, number(limit));
    Value saturated = choose(high, code.constant(result, 2147483647.0), integer);
    return choose(compare(CmpFPredicate::UNO, source, source), code.constant(result, 0), saturated);
  }
  if (from.isInteger(1) && isa<FloatType>(to))
    return choose(source, code.constant(result, 1), code.constant(result, 0));
  if (from.isInteger(1))
    return to.isInteger(1) ? source : Value(arith::ExtUIOp::create(b, loc, result, source));
  if (to.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, source, number(0));
  if (to.isInteger(32))
    return source;
  if (!to.isF32()) {
    // Rounding to f32 first could round twice. From 2^24 on, the bits that f32 drops only tell ties apart for a
    // narrower type: gather them in one bit that f32 keeps.
    Value low = arith::AndIOp::create(b, loc, source, number(0xff));
    Value high = arith::SubIOp::create(b, loc, source, low);
    Value sticky = arith::OrIOp::create(b, loc, high, number(0x80));
    Value isTie = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, low, number(0));
    Value gathered = choose(isTie, source, sticky);
    Value magnitude = math::AbsIOp::create(b, loc, source);
    Value large = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, magnitude, number(1 << 24));
    source = choose(large, gathered, source);
  }
  return roundTo(arith::SIToFPOp::create(b, loc, result, source), to);
}
