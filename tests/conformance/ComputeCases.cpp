// Reductions and matrix products, within bounds that any order of summation satisfies.
#include "tests/conformance/Harness.h"
#include "tests/conformance/Reference.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sectile;
using namespace sectile::conformance;
using tile::Tile;

namespace {

constexpr double f32Epsilon = 0x1p-23;

/// Folds the elements along an axis.
Tensor fold(const Tensor &a, int axis, const std::function<double(double, double)> &combine) {
  Shape reduced = a.shape;
  reduced[axis] = 1;
  return generate(reduced, [&](const Shape &at) {
    Shape index = at;
    double result = a.at(index);
    for (index[axis] = 1; index[axis] < a.shape[axis]; ++index[axis])
      result = combine(result, a.at(index));
    return result;
  });
}

double larger(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); }
double smaller(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::min(a, b); }

/// Half a unit in the last place of the type for the final rounding, and n f32 roundings of the magnitudes.
Tensor sumBound(Type type, const Tensor &a, int axis, const Tensor &sum) {
  Tensor magnitudes = a;
  for (double &value : magnitudes.values)
    value = std::fabs(value);
  Tensor bound = fold(magnitudes, axis, std::plus<>());
  for (size_t i = 0; i < bound.values.size(); ++i) {
    bound.values[i] *= static_cast<double>(a.shape[axis]) * f32Epsilon;
    bound.values[i] += 0.5 * test::unitInLastPlace(type, std::fabs(sum.values[i]) + bound.values[i]);
  }
  return bound;
}

Tensor transposed(const Tensor &a) {
  return generate({a.shape[1], a.shape[0]}, [&](const Shape &at) { return a.at({at[1], at[0]}); });
}

struct Product {
  Tensor exact, bound;
};

Product multiply(const Tensor &a, const Tensor &b, const Tensor *accumulator) {
  const int64_t k = a.shape[1];
  const auto sum = [&](const Shape &at, bool magnitude) {
    double total = accumulator ? accumulator->at(at) : 0;
    total = magnitude ? std::fabs(total) : total;
    for (int64_t p = 0; p < k; ++p) {
      const double product = a.at({at[0], p}) * b.at({p, at[1]});
      total += magnitude ? std::fabs(product) : product;
    }
    return total;
  };
  const Shape shape{a.shape[0], b.shape[1]};
  return {generate(shape, [&](const Shape &at) { return sum(at, false); }), generate(shape, [&](const Shape &at) {
            return (static_cast<double>(k) + 2) * f32Epsilon * sum(at, true) + 0x1p-149;
          })};
}

/// dot of [m,k] and [k,n], plain and with an accumulator.
void checkDot(Type ta, Type tb, int64_t m, int64_t k, int64_t n) {
  Random random(static_cast<uint64_t>(m * 10007 + k * 101 + n));
  const Tensor a = random.tameTensor(ta, {m, k}), b = random.tameTensor(tb, {k, n}),
               c = random.tameTensor(Type::f32, {m, n});
  const Buffer x = slotsOf(ta, {a}), y = slotsOf(tb, {b}), z = slotsOf(Type::f32, {c});
  Slots out(Type::f32, 2, Shape{m, n});
  run(
      [&](Trace &t) {
        const tile::View xs = t.input("x", ta, 4), ys = t.input("y", tb, 4), zs = t.input("z", Type::f32, 4),
                         os = t.output("out", Type::f32, 4);
        const Tile left = xs.load({0, 0, 0, 0}, {m, k}), right = ys.load({0, 0, 0, 0}, {k, n});
        os.store({0, 0, 0, 0}, dot(left, right));
        os.store({1, 0, 0, 0}, dot(left, right, zs.load({0, 0, 0, 0}, {m, n})));
      },
      {x.view(), y.view(), z.view(), out.view()});
  const std::string what =
      "dot of " + std::string(typeName(ta)) + " and " + std::string(typeName(tb)) + ", k " + std::to_string(k);
  const Product plain = multiply(a, b, nullptr), accumulated = multiply(a, b, &c);
  out.checkWithin(0, what, plain.exact, plain.bound);
  out.checkWithin(1, what + ", with an accumulator", accumulated.exact, accumulated.bound);
  out.checkNothingElse();
}

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A maximum or minimum in which only NaN took part is that of nothing.
Tensor emptyIfNaN(Tensor folded, double nothing) {
  for (double &value : folded.values)
    if (std::isnan(value))
      value = nothing;
  return folded;
}

} // namespace

TEST_CASE("reductions along every axis", "[compute]") {
  for (const Type type : arithmeticTypes)
    for (const Shape &shape : tileShapes())
      for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
        Random random(1);
        const Tensor wild = random.tensor(type, shape), tame = random.tameTensor(type, shape);
        Shape reduced = shape;
        reduced[axis] = 1;
        const Buffer x = slotsOf(type, {wild, tame});
        Slots y(type, 3, reduced);
        run(
            [&](Trace &t) {
              const tile::View xs = t.input("x", type, 4), ys = t.output("y", type, 4);
              const Tile a = xs.load({0, 0, 0, 0}, shape), b = xs.load({1, 0, 0, 0}, shape);
              ys.store({0, 0, 0, 0}, reduceMax(a, axis));
              ys.store({1, 0, 0, 0}, reduceMin(a, axis));
              ys.store({2, 0, 0, 0}, reduceSum(b, axis));
            },
            {x.view(), y.view()});
        const std::string along = " of " + toString(shape) + " along " + std::to_string(axis);
        y.check(0, "max" + along, emptyIfNaN(fold(wild, axis, larger), -infinity), {0, true});
        y.check(1, "min" + along, emptyIfNaN(fold(wild, axis, smaller), infinity), {0, true});
        const Tensor sum = fold(tame, axis, std::plus<>());
        if (type == Type::i32)
          y.check(2, "sum" + along, sum);
        else
          y.checkWithin(2, "sum" + along, sum, sumBound(type, tame, axis, sum));
        y.checkNothingElse();
      }
}

TEST_CASE("sums of f16 and bf16 are accumulated in f32, sums of i32 wrap around", "[compute]") {
  for (const Type type : {Type::f16, Type::bf16}) {
    // A big number and many units that each alone would be lost.
    const double big = type == Type::f16 ? 2048 : 256;
    Values values(257, 1);
    values[100] = big;
    const Buffer x(type, {257}, values);
    Buffer y(type, {1});
    run([&](Trace &t) { t.output("y", type, 1).store({0}, reduceSum(t.input("x", type, 1).load({0}, {257}), 0)); },
        {y.view(), x.view()});
    CHECK(y.values() == Values{test::roundTo(type, big + 256)});
  }
  const Buffer x(Type::i32, {3}, Values{2147483647, 2147483647, 3});
  Buffer y(Type::i32, {1});
  run([](Trace &t) { t.output("y", Type::i32, 1).store({0}, reduceSum(t.input("x", Type::i32, 1).load({0}, {3}), 0)); },
      {y.view(), x.view()});
  CHECK(y.values() == Values{1});
}

TEST_CASE("rows that are all NaN reduce as if they were empty", "[compute]") {
  const double nan = std::nan("");
  const Tensor a = generate({4, 19}, [&](const Shape &at) {
    return at[0] == 0 ? nan : at[0] == 1 ? -infinity : at[0] == 2 && at[1] == 18 ? 5 : nan;
  });
  const Buffer x = slotsOf(Type::f32, {a});
  Slots y(Type::f32, 2, Shape{4, 1});
  run(
      [](Trace &t) {
        const tile::View ys = t.output("y", Type::f32, 4);
        const Tile a = t.input("x", Type::f32, 4).load({0, 0, 0, 0}, {4, 19});
        ys.store({0, 0, 0, 0}, maxRows(a));
        ys.store({1, 0, 0, 0}, minRows(a));
      },
      {y.view(), x.view()});
  y.check(0, "max", {{4, 1}, {-infinity, -infinity, 5, -infinity}});
  y.check(1, "min", {{4, 1}, {infinity, -infinity, 5, infinity}});
}

TEST_CASE("dot of every size", "[compute]") {
  for (const int64_t m : {1, 3, 16, 17, 64})
    for (const auto &[k, n] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {16, 16}, {17, 33}, {64, 64}, {65, 31}})
      checkDot(Type::f32, Type::f32, m, k, n);
  for (const Type type : {Type::bf16, Type::f16})
    for (const auto &[m, k, n] :
         {std::tuple<int64_t, int64_t, int64_t>{1, 64, 1}, {1, 3, 7}, {5, 7, 1}, {31, 33, 17}, {64, 128, 32}})
      checkDot(type, type, m, k, n);
}

TEST_CASE("dot of every pair of float types", "[compute]") {
  for (const Type a : floatTypes)
    for (const Type b : floatTypes) {
      checkDot(a, b, 16, 32, 16);
      checkDot(a, b, 7, 17, 5);
      checkDot(a, b, 128, 40, 48); // large enough for a matrix unit that multiplies pieces of wider operands
    }
}

TEST_CASE("transposes feed dot on either side", "[compute]") {
  for (const Type type : {Type::f32, Type::bf16, Type::f8e4m3})
    for (const auto &[m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{16, 32, 16}, {7, 5, 33}, {64, 64, 64}}) {
      Random random(3);
      const Tensor a = random.tameTensor(type, {m, k}), b = random.tameTensor(type, {k, n});
      const Buffer x = slotsOf(type, {transposed(a)}), y = slotsOf(type, {transposed(b)});
      Slots out(Type::f32, 2, std::vector<Shape>{{m, n}, {n, m}});
      run(
          [&, m = m, k = k, n = n](Trace &t) {
            const tile::View xs = t.input("x", type, 4), ys = t.input("y", type, 4), os = t.output("out", Type::f32, 4);
            const Tile left = transpose(xs.load({0, 0, 0, 0}, {k, m})),
                       right = transpose(ys.load({0, 0, 0, 0}, {n, k}));
            os.store({0, 0, 0, 0}, dot(left, right));
            os.store({1, 0, 0, 0}, transpose(dot(left, right)));
          },
          {x.view(), y.view(), out.view()});
      const Product product = multiply(a, b, nullptr);
      out.checkWithin(0, "dot of transposes", product.exact, product.bound);
      out.checkWithin(1, "transposed dot of transposes", transposed(product.exact), transposed(product.bound));
      out.checkNothingElse();
    }
}

TEST_CASE("dot takes one operand twice, and chains", "[compute]") {
  Random random(4);
  const Tensor a = random.tameTensor(Type::f32, {16, 16});
  const Buffer x = slotsOf(Type::f32, {a});
  Slots out(Type::f32, 2, Shape{16, 16});
  run(
      [](Trace &t) {
        const tile::View xs = t.input("x", Type::f32, 4), os = t.output("out", Type::f32, 4);
        const Tile a = xs.load({0, 0, 0, 0}, {16, 16});
        os.store({0, 0, 0, 0}, dot(a, transpose(a)));
        os.store({1, 0, 0, 0}, dot(a, a, dot(a, a)) - 1);
      },
      {x.view(), out.view()});
  const Product square = multiply(a, transposed(a), nullptr);
  out.checkWithin(0, "a a^T", square.exact, square.bound);
  Product twice = multiply(a, a, nullptr);
  for (double &value : twice.exact.values)
    value = 2 * value - 1;
  for (double &value : twice.bound.values)
    value = 4 * value + f32Epsilon;
  out.checkWithin(1, "dot into dot", twice.exact, twice.bound);
  out.checkNothingElse();
}

TEST_CASE("operands of dot that are cast are rounded, and saturate", "[compute]") {
  Random random(6);
  for (const Type ta : floatTypes)
    for (const Type tb : floatTypes) {
      Tensor a = random.tameTensor(Type::f32, {16, 16}), b = random.tameTensor(Type::f32, {16, 16});
      a.values[5] = 1e6;
      b.values[40] = -3e5;
      const Buffer x = slotsOf(Type::f32, {a, b});
      Slots out(Type::f32, 1, Shape{16, 16});
      run(
          [&](Trace &t) {
            const tile::View xs = t.input("x", Type::f32, 4), os = t.output("out", Type::f32, 4);
            const Tile a = xs.load({0, 0, 0, 0}, {16, 16}), b = xs.load({1, 0, 0, 0}, {16, 16});
            os.store({0, 0, 0, 0}, dot(cast(a * 2, ta), transpose(cast(abs(b), tb))));
          },
          {x.view(), out.view()});
      const auto map = [](Type type, const Tensor &source, const std::function<double(double)> &f) {
        return generate(source.shape, [&](const Shape &at) { return test::roundTo(type, f(source.at(at))); });
      };
      const Product product = multiply(map(ta, a, [](double x) { return x * 2; }),
                                       transposed(map(tb, b, [](double x) { return std::fabs(x); })), nullptr);
      const auto magnitude = [](double x) { return std::fabs(x); };
      const Product magnitudes = multiply(map(Type::f32, a, [](double x) { return std::fabs(x * 2); }),
                                          transposed(map(Type::f32, b, magnitude)), nullptr);
      Tensor bound = product.bound; // bf16 operands may be used before they are rounded
      for (const Type type : {ta, tb})
        if (type == Type::bf16)
          for (size_t i = 0; i < bound.values.size(); ++i)
            bound.values[i] += magnitudes.exact.values[i] / 256;
      out.checkWithin(0, "dot of casts to " + std::string(typeName(ta)) + " and " + std::string(typeName(tb)),
                      product.exact, bound);
      out.checkNothingElse();
    }
}

TEST_CASE("dot passes NaN and infinity on, into their row and column only", "[compute]") {
  for (const auto &[type, m, n] : {std::tuple<Type, int64_t, int64_t>{Type::f32, 16, 16},
                                   {Type::f32, 128, 32},
                                   {Type::f16, 128, 32},
                                   {Type::bf16, 128, 32}}) {
    constexpr int64_t k = 32;
    Tensor a = generate({m, k}, [](const Shape &at) { return at[0] % 16 + 1.0; });
    Tensor b = generate({k, n}, [](const Shape &at) { return at[1] % 16 + 1.0; });
    a.values[3 * k + 2] = std::nan("");
    a.values[9 * k + 2] = -infinity;
    b.values[5 * n + 7] = infinity;
    const Buffer x = slotsOf(type, {a}), y = slotsOf(type, {b});
    Slots out(Type::f32, 1, Shape{m, n});
    run(
        [&, type = type, m = m, n = n](Trace &t) {
          const tile::View xs = t.input("x", type, 4), ys = t.input("y", type, 4);
          t.output("out", Type::f32, 4)
              .store({0, 0, 0, 0}, dot(xs.load({0, 0, 0, 0}, {m, k}), ys.load({0, 0, 0, 0}, {k, n})));
        },
        {x.view(), y.view(), out.view()});
    const Product product = multiply(a, b, nullptr);
    out.checkWithin(0, "dot", product.exact, product.bound);
  }
}
