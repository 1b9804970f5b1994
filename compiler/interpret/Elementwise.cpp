// Arithmetic of arith and math, on scalars and tensors alike. Each float operation is computed in double and rounded
// once to the element type, which is the correctly rounded result for + - * / and sqrt (double has more than twice
// the digits of f32 plus two). For the elementary functions it is, unless the double lies within its own last-place
// error of a midpoint between two f32.
#include "compiler/interpret/Frame.h"
#include "compiler/interpret/Rounding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace sectile;
using namespace sectile::interpreter;
namespace arith = mlir::arith;
namespace math = mlir::math;

namespace {

//===-- integers of every width in int64_t ----------------------------------------------------------------------===//

constexpr int widthOf(Element element) { return element == Element::i1 ? 1 : element == Element::i32 ? 32 : 64; }

uint64_t asUnsigned(Element element, int64_t x) {
  return static_cast<uint64_t>(x) & (~uint64_t{0} >> (64 - widthOf(element)));
}
int64_t asSigned(Element element, int64_t x) { return element == Element::i1 ? -x : x; }
/// The low bits of a result as the element type stores them.
int64_t wrap(Element element, uint64_t x) {
  switch (element) {
  case Element::i1:
    return x & 1;
  case Element::i32:
    return static_cast<int32_t>(x);
  default:
    return static_cast<int64_t>(x);
  }
}

/// Rounds down, or up. The divisor is not 0.
int64_t divideDown(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b != 0 && (a < 0) == (b < 0)); }

//===-- loops over elements -------------------------------------------------------------------------------------===//

/// result = f(operands…), f on doubles, rounded to the operands' type.
template <class F> llvm::Error unaryFloat(mlir::Operation *op, Frame &frame, F f) {
  const Datum &a = frame[op->getOperand(0)];
  if (isF8(a.element()))
    return errorAt(*op, "computes in f32, f16 or bf16: f8 wants a cast first");
  const llvm::ArrayRef<float> x = a.floats();
  Datum result = withRounding(a.element(), [&](auto round) {
    std::vector<float> values(x.size());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = round(f(static_cast<double>(x[i])));
    return Datum(a.element(), a.shape(), std::move(values));
  });
  frame.set(op->getResult(0), std::move(result));
  return llvm::Error::success();
}

template <class F> llvm::Error binaryFloat(mlir::Operation *op, Frame &frame, F f) {
  const Datum &a = frame[op->getOperand(0)], &b = frame[op->getOperand(1)];
  if (isF8(a.element()))
    return errorAt(*op, "computes in f32, f16 or bf16: f8 wants a cast first");
  const llvm::ArrayRef<float> x = a.floats(), y = b.floats();
  Datum result = withRounding(a.element(), [&](auto round) {
    std::vector<float> values(x.size());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = round(f(static_cast<double>(x[i]), static_cast<double>(y[i])));
    return Datum(a.element(), a.shape(), std::move(values));
  });
  frame.set(op->getResult(0), std::move(result));
  return llvm::Error::success();
}

/// result `index` = the low bits of f(a, b, element type).
template <class F> llvm::Error binaryInteger(mlir::Operation *op, Frame &frame, F f, unsigned index = 0) {
  const Datum &a = frame[op->getOperand(0)], &b = frame[op->getOperand(1)];
  const Element element = a.element();
  const llvm::ArrayRef<int64_t> x = a.integers(), y = b.integers();
  std::vector<int64_t> values(x.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = wrap(element, f(x[i], y[i], element));
  frame.set(op->getResult(index), Datum(element, a.shape(), std::move(values)));
  return llvm::Error::success();
}

template <class F> llvm::Error divideInteger(mlir::Operation *op, Frame &frame, F f) {
  if (llvm::is_contained(frame[op->getOperand(1)].integers(), 0))
    return errorAt(*op, "divides by 0");
  return binaryInteger(op, frame, [f](int64_t a, int64_t b, Element element) -> uint64_t {
    // -1 apart: the smallest index divided by it is not representable.
    return b == -1 ? -static_cast<uint64_t>(a) : f(asSigned(element, a), asSigned(element, b));
  });
}

llvm::Error multiplyExtended(arith::MulUIExtendedOp op, Frame &frame) {
  const auto product = [](int64_t a, int64_t b, Element element) {
    return static_cast<unsigned __int128>(asUnsigned(element, a)) * asUnsigned(element, b);
  };
  const auto low = [&](int64_t a, int64_t b, Element element) { return static_cast<uint64_t>(product(a, b, element)); };
  const auto high = [&](int64_t a, int64_t b, Element element) {
    return static_cast<uint64_t>(product(a, b, element) >> widthOf(element));
  };
  if (llvm::Error error = binaryInteger(op, frame, low, 0))
    return error;
  return binaryInteger(op, frame, high, 1);
}

llvm::Error absoluteInteger(math::AbsIOp op, Frame &frame) {
  const Datum &a = frame[op.getOperand()];
  std::vector<int64_t> values;
  for (const int64_t x : a.integers())
    values.push_back(wrap(a.element(), x < 0 ? -static_cast<uint64_t>(x) : x)); // the smallest one stays itself
  frame.set(op.getResult(), Datum(a.element(), a.shape(), std::move(values)));
  return llvm::Error::success();
}

//===-- comparisons and selection -------------------------------------------------------------------------------===//

/// A predicate of arith as the outcomes that satisfy it.
struct Accepted {
  bool less, equal, greater, unordered;
};

Accepted acceptedBy(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return {false, false, false, false};
  case P::OEQ:
    return {false, true, false, false};
  case P::OGT:
    return {false, false, true, false};
  case P::OGE:
    return {false, true, true, false};
  case P::OLT:
    return {true, false, false, false};
  case P::OLE:
    return {true, true, false, false};
  case P::ONE:
    return {true, false, true, false};
  case P::ORD:
    return {true, true, true, false};
  case P::UEQ:
    return {false, true, false, true};
  case P::UGT:
    return {false, false, true, true};
  case P::UGE:
    return {false, true, true, true};
  case P::ULT:
    return {true, false, false, true};
  case P::ULE:
    return {true, true, false, true};
  case P::UNE:
    return {true, false, true, true};
  case P::UNO:
    return {false, false, false, true};
  case P::AlwaysTrue:
    return {true, true, true, true};
  }
  llvm_unreachable("every predicate is above");
}

llvm::Error compareFloat(arith::CmpFOp op, Frame &frame) {
  const Datum &a = frame[op.getLhs()], &b = frame[op.getRhs()];
  const llvm::ArrayRef<float> x = a.floats(), y = b.floats();
  const Accepted accepted = acceptedBy(op.getPredicate());
  std::vector<int64_t> values(x.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = x[i] < y[i]    ? accepted.less
                : x[i] == y[i] ? accepted.equal
                : x[i] > y[i]  ? accepted.greater
                               : accepted.unordered;
  frame.set(op.getResult(), Datum(Element::i1, a.shape(), std::move(values)));
  return llvm::Error::success();
}

bool holds(arith::CmpIPredicate predicate, int64_t a, int64_t b, uint64_t unsignedA, uint64_t unsignedB) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return unsignedA < unsignedB;
  case P::ule:
    return unsignedA <= unsignedB;
  case P::ugt:
    return unsignedA > unsignedB;
  case P::uge:
    return unsignedA >= unsignedB;
  }
  llvm_unreachable("every predicate is above");
}

llvm::Error compareInteger(arith::CmpIOp op, Frame &frame) {
  const Datum &a = frame[op.getLhs()], &b = frame[op.getRhs()];
  const Element element = a.element();
  const llvm::ArrayRef<int64_t> x = a.integers(), y = b.integers();
  const arith::CmpIPredicate predicate = op.getPredicate();
  std::vector<int64_t> values(x.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = holds(predicate, asSigned(element, x[i]), asSigned(element, y[i]), asUnsigned(element, x[i]),
                      asUnsigned(element, y[i]));
  frame.set(op.getResult(), Datum(Element::i1, a.shape(), std::move(values)));
  return llvm::Error::success();
}

template <class T> std::vector<T> choose(llvm::ArrayRef<int64_t> condition, llvm::ArrayRef<T> a, llvm::ArrayRef<T> b) {
  std::vector<T> values(condition.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = condition[i] ? a[i] : b[i];
  return values;
}

llvm::Error selectElements(arith::SelectOp op, Frame &frame) {
  const Datum &condition = frame[op.getCondition()], &a = frame[op.getTrueValue()], &b = frame[op.getFalseValue()];
  Datum result;
  if (condition.shape().empty())
    result = condition.integer() ? a : b; // of whole values
  else if (isFloat(a.element()))
    result = Datum(a.element(), a.shape(), choose(condition.integers(), a.floats(), b.floats()));
  else
    result = Datum(a.element(), a.shape(), choose(condition.integers(), a.integers(), b.integers()));
  frame.set(op.getResult(), std::move(result));
  return llvm::Error::success();
}

//===-- constants -----------------------------------------------------------------------------------------------===//

float exact(llvm::APFloat value) {
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToFloat();
}

llvm::Error constant(arith::ConstantOp op, Frame &frame) {
  const std::optional<Element> element = elementOf(op.getType());
  const llvm::ArrayRef<int64_t> shape = shapeOf(op.getType());
  const size_t count = elementCount(shape);
  const auto integer = [&](const llvm::APInt &x) {
    return *element == Element::i1 ? static_cast<int64_t>(x.getZExtValue()) : x.getSExtValue();
  };
  std::optional<Datum> datum;
  if (!element)
    return errorAt(*op, "has a type that tiles do not have: those are f32, f16, bf16, f8E4M3FN, f8E5M2, i32 and i1");
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(op.getValue()))
    datum = Datum(*element, {}, std::vector<float>{exact(number.getValue())});
  else if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(op.getValue()))
    datum = Datum::scalar(*element, integer(number.getValue()));
  else if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(op.getValue())) {
    if (isFloat(*element) && dense.isSplat())
      datum = Datum(*element, shape, std::vector<float>(count, exact(dense.getSplatValue<llvm::APFloat>())));
    else if (isFloat(*element)) {
      std::vector<float> values;
      for (const llvm::APFloat &value : dense.getValues<llvm::APFloat>())
        values.push_back(exact(value));
      datum = Datum(*element, shape, std::move(values));
    } else if (dense.isSplat())
      datum = Datum(*element, shape, std::vector<int64_t>(count, integer(dense.getSplatValue<llvm::APInt>())));
    else {
      std::vector<int64_t> values;
      for (const llvm::APInt &value : dense.getValues<llvm::APInt>())
        values.push_back(integer(value));
      datum = Datum(*element, shape, std::move(values));
    }
  }
  if (!datum)
    return errorAt(*op, "holds a value that is neither a number nor a dense tile of numbers");
  frame.set(op.getResult(), std::move(*datum));
  return llvm::Error::success();
}

/// -0 is below +0 and NaN wins.
double maximum(double a, double b) {
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b || a != a ? a : b;
}
double minimum(double a, double b) { return -maximum(-a, -b); }

} // namespace

Outcome interpreter::executeElementwise(mlir::Operation &op, Frame &frame) {
  const auto unary = [&](auto f) {
    return [&frame, f](mlir::Operation *o) -> Outcome { return unaryFloat(o, frame, f); };
  };
  const auto binary = [&](auto f) {
    return [&frame, f](mlir::Operation *o) -> Outcome { return binaryFloat(o, frame, f); };
  };
  const auto integer = [&](auto f) {
    return [&frame, f](mlir::Operation *o) -> Outcome { return binaryInteger(o, frame, f); };
  };
  const auto divide = [&](auto f) {
    return [&frame, f](mlir::Operation *o) -> Outcome { return divideInteger(o, frame, f); };
  };
  const auto other = [&](auto f) { return [&frame, f](auto o) -> Outcome { return f(o, frame); }; };
  using I = int64_t;
  using U = uint64_t;
  using E = Element;
  return llvm::TypeSwitch<mlir::Operation *, Outcome>(&op)
      .Case<arith::ConstantOp>(other(constant))
      // Floats. maxnumf and minnumf pass over NaN.
      .Case<arith::AddFOp>(binary([](double a, double b) { return a + b; }))
      .Case<arith::SubFOp>(binary([](double a, double b) { return a - b; }))
      .Case<arith::MulFOp>(binary([](double a, double b) { return a * b; }))
      .Case<arith::DivFOp>(binary([](double a, double b) { return a / b; }))
      .Case<arith::MaxNumFOp>(binary([](double a, double b) { return a > b || b != b ? a : b; }))
      .Case<arith::MinNumFOp>(binary([](double a, double b) { return a < b || b != b ? a : b; }))
      .Case<arith::MaximumFOp>(binary(maximum))
      .Case<arith::MinimumFOp>(binary(minimum))
      .Case<arith::NegFOp>(unary([](double a) { return -a; }))
      .Case<math::AbsFOp>(unary([](double a) { return std::fabs(a); }))
      .Case<math::Exp2Op>(unary([](double a) { return std::exp2(a); }))
      .Case<math::ExpOp>(unary([](double a) { return std::exp(a); }))
      .Case<math::Log2Op>(unary([](double a) { return std::log2(a); }))
      .Case<math::LogOp>(unary([](double a) { return std::log(a); }))
      .Case<math::TanhOp>(unary([](double a) { return std::tanh(a); }))
      .Case<math::SqrtOp>(unary([](double a) { return std::sqrt(a); }))
      // Integers. A shift by the width or more gives 0.
      .Case<arith::AddIOp>(integer([](I a, I b, E) { return U(a) + U(b); }))
      .Case<arith::SubIOp>(integer([](I a, I b, E) { return U(a) - U(b); }))
      .Case<arith::MulIOp>(integer([](I a, I b, E) { return U(a) * U(b); }))
      .Case<arith::AndIOp>(integer([](I a, I b, E) { return U(a & b); }))
      .Case<arith::OrIOp>(integer([](I a, I b, E) { return U(a | b); }))
      .Case<arith::XOrIOp>(integer([](I a, I b, E) { return U(a ^ b); }))
      .Case<arith::ShLIOp>(integer([](I a, I b, E e) { return asUnsigned(e, b) < U(widthOf(e)) ? U(a) << b : U(0); }))
      .Case<arith::ShRUIOp>(
          integer([](I a, I b, E e) { return asUnsigned(e, b) < U(widthOf(e)) ? asUnsigned(e, a) >> b : U(0); }))
      .Case<arith::MinSIOp>(integer([](I a, I b, E e) { return U(asSigned(e, a) < asSigned(e, b) ? a : b); }))
      .Case<arith::MaxSIOp>(integer([](I a, I b, E e) { return U(asSigned(e, a) > asSigned(e, b) ? a : b); }))
      .Case<arith::FloorDivSIOp>(divide([](I a, I b) { return U(divideDown(a, b)); }))
      .Case<arith::CeilDivSIOp>(divide([](I a, I b) { return U(divideUp(a, b)); }))
      .Case<arith::MulUIExtendedOp>(other(multiplyExtended))
      .Case<math::AbsIOp>(other(absoluteInteger))
      .Case<arith::CmpFOp>(other(compareFloat))
      .Case<arith::CmpIOp>(other(compareInteger))
      .Case<arith::SelectOp>(other(selectElements))
      .Default([](mlir::Operation *) -> Outcome { return std::nullopt; });
}
