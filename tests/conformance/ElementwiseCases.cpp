// Arithmetic, comparisons, selection and elementary functions: every operation, type and shape.
#include "tests/conformance/Harness.h"
#include "tests/conformance/Reference.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sectile;
using namespace sectile::conformance;
using tile::Tile;

namespace {

/// An operation on up to three tiles of one type, and what it means for one element.
struct Operation {
  std::string name;
  std::function<Tile(const Tile &, const Tile &, const Tile &)> apply;
  std::function<double(double, double, double)> exact;
  Tolerance tolerance = {};
};

/// All operations in one kernel, each result in its slot.
void check(Type in, Type out, const std::vector<Operation> &operations, const Shape &shape,
           const std::vector<Tensor> &operands) {
  const Buffer x = slotsOf(in, operands);
  Slots y(out, static_cast<int64_t>(operations.size()), shape);
  run(
      [&](Trace &t) {
        const tile::View xs = t.input("x", in, 4), ys = t.output("y", out, 4);
        const Tile a = xs.load({0, 0, 0, 0}, shape), b = xs.load({1, 0, 0, 0}, shape), c = xs.load({2, 0, 0, 0}, shape);
        for (size_t i = 0; i < operations.size(); ++i)
          ys.store({i, 0, 0, 0}, operations[i].apply(a, b, c));
      },
      {x.view(), y.view()});
  for (size_t i = 0; i < operations.size(); ++i) {
    Tensor exact{shape, {}};
    for (size_t e = 0; e < operands[0].values.size(); ++e)
      exact.values.push_back(operations[i].exact(operands[0].values[e], operands[1].values[e], operands[2].values[e]));
    y.check(static_cast<int64_t>(i), operations[i].name + " on " + std::string(typeName(in)), exact,
            operations[i].tolerance);
  }
  y.checkNothingElse();
}

#define APPLY(expression)                                                                                              \
  [](const Tile &a, const Tile &b, const Tile &c) -> Tile {                                                            \
    (void)a, (void)b, (void)c;                                                                                         \
    return expression;                                                                                                 \
  }
#define EXACT(expression)                                                                                              \
  [](double a, double b, double c) -> double {                                                                         \
    (void)a, (void)b, (void)c;                                                                                         \
    return expression;                                                                                                 \
  }

double smaller(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::min(a, b); }
double larger(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); }

const std::vector<Operation> &floatOperations() {
  constexpr Tolerance zeros{0, true};
  static const std::vector<Operation> operations{
      {"a + b", APPLY(a + b), EXACT(a + b)},
      {"a - b", APPLY(a - b), EXACT(a - b)},
      {"a * b", APPLY(a * b), EXACT(a * b)},
      {"a / b", APPLY(a / b), EXACT(a / b)},
      {"-a", APPLY(-a), EXACT(-a)},
      {"abs(a)", APPLY(abs(a)), EXACT(std::fabs(a))},
      {"min(a, b)", APPLY(min(a, b)), EXACT(smaller(a, b)), zeros},
      {"max(a, b)", APPLY(max(a, b)), EXACT(larger(a, b)), zeros},
      {"select(a < b, b, c)", APPLY(select(a < b, b, c)), EXACT(a < b ? b : c)},
      {"a + 1.5", APPLY(a + 1.5), EXACT(a + 1.5)},
      {"2 - a", APPLY(2 - a), EXACT(2 - a)},
  };
  return operations;
}

double wrapped(double x) { return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(x))); }
int32_t asInt(double x) { return static_cast<int32_t>(x); }
uint32_t asUnsigned(double x) { return static_cast<uint32_t>(asInt(x)); }
double wrappedProduct(double a, double b) { return static_cast<int32_t>(asUnsigned(a) * asUnsigned(b)); }

const std::vector<Operation> &integerOperations() {
  static const std::vector<Operation> operations{
      {"a + b", APPLY(a + b), EXACT(wrapped(a + b))},
      {"a - b", APPLY(a - b), EXACT(wrapped(a - b))},
      {"a * b", APPLY(a * b), EXACT(wrappedProduct(a, b))},
      {"-a", APPLY(-a), EXACT(wrapped(-a))},
      {"abs(a)", APPLY(abs(a)), EXACT(wrapped(std::fabs(a)))},
      {"min(a, b)", APPLY(min(a, b)), EXACT(std::min(a, b))},
      {"max(a, b)", APPLY(max(a, b)), EXACT(std::max(a, b))},
      {"mulHigh(a, b)", APPLY(mulHigh(a, b)),
       EXACT(static_cast<int32_t>((static_cast<uint64_t>(asUnsigned(a)) * asUnsigned(b)) >> 32))},
      {"a << (b & 31)", APPLY(a << (b & 31)), EXACT(static_cast<int32_t>(asUnsigned(a) << (asInt(b) & 31)))},
      {"a >> (b & 31)", APPLY(a >> (b & 31)), EXACT(static_cast<int32_t>(asUnsigned(a) >> (asInt(b) & 31)))},
      {"a & b", APPLY(a & b), EXACT(asInt(a) & asInt(b))},
      {"a | b", APPLY(a | b), EXACT(asInt(a) | asInt(b))},
      {"a ^ b", APPLY(a ^ b), EXACT(asInt(a) ^ asInt(b))},
      {"~a", APPLY(~a), EXACT(~asInt(a))},
      {"select(a < b, b, c)", APPLY(select(a < b, b, c)), EXACT(a < b ? b : c)},
      {"a * 3", APPLY(a * 3), EXACT(wrappedProduct(a, 3))},
  };
  return operations;
}

/// The third operand is a divisor: neither 0 nor -1.
const std::vector<Operation> &divisionOperations() {
  static const std::vector<Operation> operations{
      {"floorDiv(a, c)", APPLY(floorDiv(a, c)), EXACT(std::floor(a / c))},
      {"ceilDiv(a, c)", APPLY(ceilDiv(a, c)), EXACT(std::ceil(a / c))},
      {"floorMod(a, c)", APPLY(floorMod(a, c)), EXACT(a - c * std::floor(a / c))},
      {"floorDiv(a, 7)", APPLY(floorDiv(a, 7)), EXACT(std::floor(a / 7))},
      {"ceilDiv(a, 8)", APPLY(ceilDiv(a, 8)), EXACT(std::ceil(a / 8))},
  };
  return operations;
}

const std::vector<Operation> &comparisons() {
  static const std::vector<Operation> operations{
      {"a < b", APPLY(a < b), EXACT(a < b)},    {"a <= b", APPLY(a <= b), EXACT(a <= b)},
      {"a > b", APPLY(a > b), EXACT(a > b)},    {"a >= b", APPLY(a >= b), EXACT(a >= b)},
      {"a == b", APPLY(a == b), EXACT(a == b)}, {"a != b", APPLY(a != b), EXACT(a != b)},
  };
  return operations;
}

const std::vector<Operation> &logicalOperations() {
  static const std::vector<Operation> operations{
      {"a & b", APPLY(a & b), EXACT(a != 0 && b != 0)},
      {"a | b", APPLY(a | b), EXACT(a != 0 || b != 0)},
      {"a ^ b", APPLY(a ^ b), EXACT(a != b)},
      {"~a", APPLY(~a), EXACT(a == 0)},
      {"select(a, b, c)", APPLY(select(a, b, c)), EXACT(a != 0 ? b : c)},
  };
  return operations;
}

std::vector<Tensor> anyOperands(Type type, const Shape &shape, uint64_t seed) {
  Random random(seed);
  return {random.tensor(type, shape), random.tensor(type, shape), random.tensor(type, shape)};
}

} // namespace

TEST_CASE("arithmetic of floats is correctly rounded", "[elementwise]") {
  for (const Type type : {Type::f32, Type::f16, Type::bf16})
    for (const Shape &shape : tileShapes())
      check(type, type, floatOperations(), shape, anyOperands(type, shape, 1));
}

TEST_CASE("arithmetic of i32 wraps around", "[elementwise]") {
  for (const Shape &shape : tileShapes()) {
    std::vector<Tensor> operands = anyOperands(Type::i32, shape, 2);
    check(Type::i32, Type::i32, integerOperations(), shape, operands);
    for (double &divisor : operands[2].values)
      if (divisor == 0 || divisor == -1)
        divisor = -3;
    check(Type::i32, Type::i32, divisionOperations(), shape, operands);
  }
}

TEST_CASE("comparisons give i1", "[elementwise]") {
  for (const Type type : arithmeticTypes)
    for (const Shape &shape : tileShapes()) {
      std::vector<Tensor> operands = anyOperands(type, shape, 3);
      for (size_t i = 0; i < operands[1].values.size(); i += 3)
        operands[1].values[i] = operands[0].values[i]; // equal ones
      check(type, Type::i1, comparisons(), shape, operands);
    }
}

TEST_CASE("i1 is logical", "[elementwise]") {
  for (const Shape &shape : tileShapes())
    check(Type::i1, Type::i1, logicalOperations(), shape, anyOperands(Type::i1, shape, 4));
}

TEST_CASE("select moves elements of every type", "[elementwise]") {
  for (const Type type : allTypes)
    for (const Shape &shape : {Shape{7}, Shape{16, 33}, Shape{2, 3, 5}}) {
      Random random(5);
      const Tensor a = random.tensor(type, shape), b = random.tensor(type, shape), m = random.tensor(Type::i1, shape);
      const Buffer x = slotsOf(type, {a, b}), mask = slotsOf(Type::i1, {m});
      Slots y(type, 2, shape);
      run(
          [&](Trace &t) {
            const tile::View xs = t.input("x", type, 4), ms = t.input("m", Type::i1, 4), ys = t.output("y", type, 4);
            const Tile ta = xs.load({0, 0, 0, 0}, shape), tb = xs.load({1, 0, 0, 0}, shape);
            ys.store({0, 0, 0, 0}, select(ms.load({0, 0, 0, 0}, shape), ta, tb));
            ys.store({1, 0, 0, 0}, select(t.program(0) == 0, ta, tb));
          },
          {x.view(), mask.view(), y.view()});
      Tensor chosen = a;
      for (size_t i = 0; i < chosen.values.size(); ++i)
        chosen.values[i] = m.values[i] != 0 ? a.values[i] : b.values[i];
      y.check(0, "select", chosen);
      y.check(1, "select by a scalar", a);
      y.checkNothingElse();
    }
}

TEST_CASE("each operation on f16 and bf16 rounds, not only the last", "[elementwise]") {
  for (const Type type : {Type::f16, Type::bf16}) {
    Random random(8);
    const Tensor a = random.tameTensor(type, {4, 33}), b = random.tameTensor(type, {4, 33});
    const Buffer x = slotsOf(type, {a, b});
    Slots y(type, 1, Shape{4, 33});
    run(
        [&](Trace &t) {
          const tile::View xs = t.input("x", type, 4);
          const Tile a = xs.load({0, 0, 0, 0}, {4, 33}), b = xs.load({1, 0, 0, 0}, {4, 33});
          t.output("y", type, 4).store({0, 0, 0, 0}, (a * b + b) - a);
        },
        {x.view(), y.view()});
    y.check(0, "(a * b + b) - a of " + std::string(typeName(type)), generate({4, 33}, [&](const Shape &at) {
              const double product = test::roundTo(type, a.at(at) * b.at(at));
              const double sum = test::roundTo(type, product + b.at(at));
              return test::roundTo(type, sum - a.at(at));
            }));
    y.checkNothingElse();
  }
}

TEST_CASE("elementary functions are within their bounds", "[elementwise]") {
  const std::vector<Operation> operations{
      {"exp2(a)", APPLY(exp2(a)), EXACT(std::exp2(a)), {4}},
      {"exp(a)", APPLY(exp(a)), EXACT(std::exp(a)), {4}},
      {"tanh(a)", APPLY(tanh(a)), EXACT(std::tanh(a)), {8}},
      {"log2(b)", APPLY(log2(b)), EXACT(std::log2(b)), {4}},
      {"log(b)", APPLY(log(b)), EXACT(std::log(b)), {4}},
      {"sqrt(b)", APPLY(sqrt(b)), EXACT(std::sqrt(b))},
      {"reciprocal(a)", APPLY(reciprocal(a)), EXACT(1 / a), {4}},
      {"reciprocal(b)", APPLY(reciprocal(b)), EXACT(1 / b), {4}},
      {"exp2(c)", APPLY(exp2(c)), EXACT(std::exp2(c)), {4}},
      {"exp(c)", APPLY(exp(c)), EXACT(std::exp(c)), {4}},
      {"tanh(c)", APPLY(tanh(c)), EXACT(std::tanh(c)), {8}},
      {"log2(c)", APPLY(log2(c)), EXACT(std::log2(c)), {4}},
      {"log(c)", APPLY(log(c)), EXACT(std::log(c)), {4}},
      {"sqrt(c)", APPLY(sqrt(c)), EXACT(std::sqrt(c))},
  };
  for (const Shape &shape : tileShapes()) {
    Random random(6);
    const auto uniform = [&](double low, double high) {
      return generate(shape, [&](const Shape &) { return test::roundTo(Type::f32, random.real(low, high)); });
    };
    // Where exp2 goes from 0 over subnormals to infinity; around 1 for logarithms; anything.
    check(Type::f32, Type::f32, operations, shape,
          {uniform(-155, 130), uniform(0, 4), random.tensor(Type::f32, shape)});
  }
}

TEST_CASE("operands of different shapes broadcast", "[elementwise]") {
  for (const Type type : arithmeticTypes) {
    Random random(7);
    const Tensor a = random.tameTensor(type, {5}), b = random.tameTensor(type, {33});
    const Buffer x = Buffer(type, {5}, a.values), z = Buffer(type, {33}, b.values);
    Slots y(type, 4, Shape{5, 33});
    run(
        [&](Trace &t) {
          const tile::View xs = t.input("x", type, 1), zs = t.input("z", type, 1), ys = t.output("y", type, 4);
          const Tile ta = xs.load({0}, {5}), tb = zs.load({0}, {33});
          ys.store({0, 0, 0, 0}, column(ta) + row(tb));
          ys.store({1, 0, 0, 0}, column(ta) - tb);
          ys.store({2, 0, 0, 0}, broadcast(tb, {5, 33}) + xs.load({2}, {1}));
          ys.store({3, 0, 0, 0}, reshape(xs.load({1}, {1}), {1, 1}) - broadcast(row(tb), {5, 33}));
        },
        {x.view(), z.view(), y.view()});
    const auto expect = [&](const std::function<double(int64_t, int64_t)> &f) {
      return generate({5, 33}, [&](const Shape &i) { return f(i[0], i[1]); });
    };
    y.check(0, "column + row", expect([&](int64_t i, int64_t j) { return a.values[i] + b.values[j]; }));
    y.check(1, "column - vector", expect([&](int64_t i, int64_t j) { return a.values[i] - b.values[j]; }));
    y.check(2, "tile + element", expect([&](int64_t, int64_t j) { return b.values[j] + a.values[2]; }));
    y.check(3, "element - tile", expect([&](int64_t, int64_t j) { return a.values[1] - b.values[j]; }));
    y.checkNothingElse();
  }
}

TEST_CASE("scalars are computed as tiles are", "[elementwise]") {
  Slots y(Type::f32, 2, Shape{3}), z(Type::i32, 2, Shape{3});
  run(
      [&](Trace &t) {
        const Tile s = t.scalar("s"), n = t.scalar("n", Type::i32);
        const tile::View ys = t.output("y", Type::f32, 4), zs = t.output("z", Type::i32, 4);
        ys.store({0, 0, 0, 0}, broadcast(s * s - 1, {3}));
        ys.store({1, 0, 0, 0}, broadcast(select(s < 0, cast(n, Type::f32), sqrt(s)), {3}));
        zs.store({0, 0, 0, 0}, broadcast(floorDiv(n * 5 + 3, 4), {3}));
        zs.store({1, 0, 0, 0}, t.iota(3) + n);
      },
      {-2.5f, -7, y.view(), z.view()});
  y.check(0, "s * s - 1", {{3}, {5.25, 5.25, 5.25}});
  y.check(1, "select of scalars", {{3}, {-7, -7, -7}});
  z.check(0, "floorDiv of scalars", {{3}, {-8, -8, -8}});
  z.check(1, "iota + scalar", {{3}, {-7, -6, -5}});
  y.checkNothingElse();
  z.checkNothingElse();
}
