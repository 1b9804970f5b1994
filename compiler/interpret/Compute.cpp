// tile.reduce, any, dot and cast.
#include "compiler/interpret/Frame.h"
#include "compiler/interpret/Rounding.h"
#include "compiler/ir/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <cstdint>
#include <limits>

using namespace sectile;
using namespace sectile::interpreter;

namespace {

/// Folds each line of a tile along an axis, from `initial` on: combine(accumulated, element). Element k of a line goes
/// to part k modulo `parts`.
template <class Accumulator, class T, class Combine>
std::vector<Accumulator> foldAxis(llvm::ArrayRef<T> source, llvm::ArrayRef<int64_t> shape, int64_t axis, int64_t parts,
                                  Accumulator initial, Combine combine) {
  const int64_t outer = elementCount(shape.take_front(axis)), length = shape[axis],
                inner = elementCount(shape.drop_front(axis + 1));
  std::vector<Accumulator> result(outer * parts * inner, initial);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < length; ++k) {
      const T *line = source.data() + (o * length + k) * inner;
      Accumulator *into = result.data() + (o * parts + k % parts) * inner;
      for (int64_t i = 0; i < inner; ++i)
        into[i] = combine(into[i], line[i]);
    }
  return result;
}

/// Sums of floats are accumulated in double and rounded once to the element type.
Datum evaluate(ir::ReduceOp op, Frame &frame) {
  const Datum &source = frame[op.getSource()];
  const llvm::ArrayRef<int64_t> shape = shapeOf(op.getType());
  const int64_t axis = op.getAxis(), parts = op.getParts();
  const Element element = source.element();
  if (isFloat(element)) {
    const llvm::ArrayRef<float> in = source.floats();
    // From infinity on, and written so that a NaN changes nothing.
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (op.getKind() == ir::ReduceKind::max)
      return Datum(element, shape, foldAxis<float>(in, source.shape(), axis, parts, -infinity, [](float a, float b) {
                     return b > a ? b : a;
                   }));
    if (op.getKind() == ir::ReduceKind::min)
      return Datum(element, shape, foldAxis<float>(in, source.shape(), axis, parts, infinity, [](float a, float b) {
                     return b < a ? b : a;
                   }));
    const std::vector<double> sums =
        foldAxis<double>(in, source.shape(), axis, parts, -0.0, [](double a, float b) { return a + b; });
    return withRounding(element, [&](auto round) {
      std::vector<float> result(sums.size());
      for (size_t i = 0; i < sums.size(); ++i)
        result[i] = round(sums[i]);
      return Datum(element, shape, std::move(result));
    });
  }
  const llvm::ArrayRef<int64_t> in = source.integers();
  if (op.getKind() == ir::ReduceKind::max)
    return Datum(element, shape,
                 foldAxis<int64_t>(in, source.shape(), axis, parts, INT32_MIN,
                                   [](int64_t a, int64_t b) { return std::max(a, b); }));
  if (op.getKind() == ir::ReduceKind::min)
    return Datum(element, shape,
                 foldAxis<int64_t>(in, source.shape(), axis, parts, INT32_MAX,
                                   [](int64_t a, int64_t b) { return std::min(a, b); }));
  return Datum(element, shape, foldAxis<int64_t>(in, source.shape(), axis, parts, 0, [](int64_t a, int64_t b) {
                 return static_cast<int64_t>(static_cast<int32_t>(a + b)); // i32 wraps around
               }));
}

/// One warp holds everything.
Datum evaluate(ir::AnyOp op, Frame &frame) {
  return Datum::scalar(Element::i1, llvm::is_contained(frame[op.getSource()].integers(), 1));
}

/// Products are exact in double; sums are accumulated in double, from the accumulator on, and rounded once to f32.
Datum evaluate(ir::DotOp op, Frame &frame) {
  const Datum &a = frame[op.getA()], &b = frame[op.getB()], &accumulator = frame[op.getAccumulator()];
  const int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  const std::vector<double> right(b.floats().begin(), b.floats().end());
  std::vector<float> result(m * n);
  std::vector<double> row(n);
  for (int64_t i = 0; i < m; ++i) {
    const llvm::ArrayRef<float> start = accumulator.floats().slice(i * n, n);
    std::copy(start.begin(), start.end(), row.begin());
    for (int64_t p = 0; p < k; ++p) {
      const double left = a.floats()[i * k + p];
      const double *line = right.data() + p * n;
      for (int64_t j = 0; j < n; ++j)
        row[j] += left * line[j];
    }
    for (int64_t j = 0; j < n; ++j)
      result[i * n + j] = static_cast<float>(row[j]);
  }
  return Datum(Element::f32, accumulator.shape(), std::move(result));
}

/// Toward zero, saturating, NaN gives 0.
int64_t toI32(float x) {
  if (x != x)
    return 0;
  if (x >= 0x1p31f)
    return INT32_MAX;
  if (x < -0x1p31f)
    return INT32_MIN;
  return static_cast<int32_t>(x);
}

template <class To, class From, class Convert> std::vector<To> convert(llvm::ArrayRef<From> source, Convert element) {
  std::vector<To> result(source.size());
  for (size_t i = 0; i < source.size(); ++i)
    result[i] = element(source[i]);
  return result;
}

Datum evaluate(ir::CastOp op, Frame &frame) {
  const Datum &source = frame[op.getSource()];
  const Element to = *elementOf(op.getType());
  const llvm::ArrayRef<int64_t> shape = source.shape();
  if (source.element() == to)
    return source;
  if (isFloat(to))
    return withRounding(to, [&](auto round) {
      if (isFloat(source.element()))
        return Datum(to, shape, convert<float>(source.floats(), round));
      return Datum(to, shape, convert<float>(source.integers(), round)); // an i32 is exact in double
    });
  if (!isFloat(source.element())) {
    if (to == Element::i32) // from i1
      return Datum(to, shape, convert<int64_t>(source.integers(), [](int64_t x) { return x; }));
    return Datum(to, shape, convert<int64_t>(source.integers(), [](int64_t x) { return x != 0; }));
  }
  if (to == Element::i32)
    return Datum(to, shape, convert<int64_t>(source.floats(), toI32));
  return Datum(to, shape, convert<int64_t>(source.floats(), [](float x) { return x != 0; }));
}

} // namespace

Outcome interpreter::executeCompute(mlir::Operation &op, Frame &frame) {
  return llvm::TypeSwitch<mlir::Operation *, Outcome>(&op)
      .Case<ir::ReduceOp, ir::AnyOp, ir::DotOp, ir::CastOp>([&](auto known) -> Outcome {
        frame.set(known.getResult(), evaluate(known, frame));
        return llvm::Error::success();
      })
      .Default([](mlir::Operation *) -> Outcome { return std::nullopt; });
}
