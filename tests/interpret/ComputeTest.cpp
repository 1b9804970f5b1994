// reduce, dot and cast.
#include "tests/interpret/InterpretText.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Reduces a 2-D tile along an axis.
Values reduce(const std::string &kind, Type type, Index shape, int axis, const Values &values, int64_t parts = 1) {
  const std::string t = irName(type), view = "!tile.view<2x" + t + ">";
  Index reduced = shape;
  reduced[axis] = parts;
  const auto tensor = [&](const Index &s) {
    return "tensor<" + std::to_string(s[0]) + "x" + std::to_string(s[1]) + "x" + t + ">";
  };
  const Buffer x(type, shape, values);
  Buffer y(type, reduced);
  interpretText("tile.kernel @reduce(%x: " + view + ", %y: " + view + ") {\n%c0 = arith.constant 0 : i32\n" +
                    "%a = tile.load %x[%c0, %c0] : " + view + " -> " + tensor(shape) + "\n%r = tile.reduce " + kind +
                    " %a axis " + std::to_string(axis) + " parts " + std::to_string(parts) + " : " + tensor(shape) +
                    " -> " + tensor(reduced) + "\ntile.store %r, %y[%c0, %c0] : " + tensor(reduced) + ", " + view +
                    "\ntile.return\n}",
                {x.view(), y.view()});
  return y.values();
}

Values dot(Type a, Type b, Index mkn, const Values &left, const Values &right, const Values &accumulator) {
  const std::string ta = irName(a), tb = irName(b);
  const auto tensor = [&](int64_t rows, int64_t columns, const std::string &t) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + t + ">";
  };
  const std::string sa = tensor(mkn[0], mkn[1], ta), sb = tensor(mkn[1], mkn[2], tb),
                    sc = tensor(mkn[0], mkn[2], "f32");
  const Buffer x(a, {mkn[0], mkn[1]}, left), y(b, {mkn[1], mkn[2]}, right);
  Buffer z(Type::f32, {mkn[0], mkn[2]}, accumulator);
  interpretText("tile.kernel @dot(%x: !tile.view<2x" + ta + ">, %y: !tile.view<2x" + tb +
                    ">, %z: !tile.view<2xf32>) {\n%c0 = arith.constant 0 : i32\n" + "%a = tile.load %x[%c0, %c0] : " +
                    "!tile.view<2x" + ta + "> -> " + sa + "\n%b = tile.load %y[%c0, %c0] : !tile.view<2x" + tb +
                    "> -> " + sb + "\n%c = tile.load %z[%c0, %c0] : !tile.view<2xf32> -> " + sc +
                    "\n%r = tile.dot %a, %b, %c : " + sa + ", " + sb + ", " + sc +
                    "\ntile.store %r, %z[%c0, %c0] : " + sc + ", !tile.view<2xf32>\ntile.return\n}",
                {x.view(), y.view(), z.view()});
  return z.values();
}

bool casts(Type from, Type to, const Values &values, const Values &expected) {
  const std::string n = std::to_string(values.size());
  const Values actual = evaluate("%r = tile.cast %a : $ to tensor<" + n + "x" + irName(to) + ">", from, {values}, to);
  INFO(typeName(from) << " to " << typeName(to) << ": " << Catch::Detail::stringify(actual));
  CHECK(identical(actual, expected));
  return identical(actual, expected);
}

} // namespace

TEST_CASE("reduce combines along its axis") {
  const Values x{1, -2, 3, 4, 5, -6};
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::i32}) {
    CHECK(reduce("max", type, {2, 3}, 1, x) == Values{3, 5});
    CHECK(reduce("max", type, {2, 3}, 0, x) == Values{4, 5, 3});
    CHECK(reduce("min", type, {2, 3}, 1, x) == Values{-2, -6});
    CHECK(reduce("min", type, {2, 3}, 0, x) == Values{1, -2, -6});
    CHECK(reduce("sum", type, {2, 3}, 1, x) == Values{2, 3});
    CHECK(reduce("sum", type, {2, 3}, 0, x) == Values{5, 3, -3});
    CHECK(reduce("sum", type, {6, 1}, 1, x) == x);
  }
}

TEST_CASE("reduce deals elements out to parts, one after another") {
  const Values x{1, -2, 3, 4, 5, -6};
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::i32}) {
    CHECK(reduce("sum", type, {2, 3}, 1, x, 2) == Values{4, -2, -2, 5});
    CHECK(reduce("max", type, {1, 6}, 1, x, 4) == Values{5, -2, 3, 4});
    CHECK(reduce("min", type, {6, 1}, 0, x, 2) == Values{1, -6});
    CHECK(reduce("sum", type, {2, 3}, 0, x, 3) == Values{1, -2, 3, 4, 5, -6, 0, 0, 0});
  }
  CHECK(reduce("max", Type::f32, {2, 1}, 1, {7, NaN}, 2) == Values{7, -infinity, -infinity, -infinity});
  CHECK(reduce("min", Type::i32, {1, 1}, 1, {7}, 2) == Values{7, 2147483647});
}

TEST_CASE("any is true where an element is") {
  const auto any = [](const Values &values) {
    return evaluate(
               "%c2 = arith.constant dense<2.0> : $\n%large = arith.cmpf ogt, %a, %c2 : $\n%any = tile.any %large : "
               "tensor<4xi1> -> i1\n%one = arith.constant 1.0 : f32\n%zero = arith.constant 0.0 : f32\n"
               "%n = arith.select %any, %one, %zero : f32\n%r = tile.splat %n : $",
               Type::f32, {values})
        .front();
  };
  CHECK(any({1, 2, -3, NaN}) == 0);
  CHECK(any({1, 2, 3, 0}) == 1);
  CHECK(any({5, 5, 5, 5}) == 1);
}

TEST_CASE("reduce passes over NaN for max and min, not for sum") {
  const Values x{NaN, 1, NaN, NaN, 2, NaN};
  CHECK(identical(reduce("max", Type::f32, {2, 3}, 0, x), {-infinity, 2, -infinity}));
  CHECK(identical(reduce("min", Type::f32, {2, 3}, 0, x), {infinity, 1, infinity}));
  CHECK(identical(reduce("max", Type::f32, {1, 1}, 1, {NaN}), {-infinity}));
  CHECK(identical(reduce("min", Type::f16, {2, 3}, 1, x), {1, 2}));
  CHECK(identical(reduce("sum", Type::bf16, {2, 3}, 1, x), {NaN, NaN}));
  CHECK(identical(reduce("max", Type::f32, {1, 2}, 1, {-infinity, -infinity}), {-infinity}));
  CHECK(identical(reduce("sum", Type::f32, {1, 2}, 1, {-infinity, infinity}), {NaN}));
}

TEST_CASE("sums of narrow floats are rounded once, sums of i32 wrap around") {
  // 2048 + 1 + 1 + 1 + 1: in f16 each step would tie back to 2048.
  CHECK(reduce("sum", Type::f16, {1, 5}, 1, {2048, 1, 1, 1, 1}) == Values{2052});
  CHECK(reduce("sum", Type::bf16, {1, 5}, 1, {256, 1, 1, 1, 1}) == Values{260});
  CHECK(reduce("sum", Type::f16, {1, 3}, 1, {60000, 60000, -60000}) == Values{60000});
  CHECK(reduce("sum", Type::i32, {1, 2}, 1, {2147483647, 2}) == Values{-2147483647});
}

TEST_CASE("dot multiplies every pair of float types and adds the accumulator") {
  for (const Type a : {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2})
    for (const Type b : {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2}) {
      // [1 2 3; 4 5 6] x [1 -1; 0.5 2; 2 0] + [10 20; 30 40]
      CHECK(dot(a, b, {2, 3, 2}, {1, 2, 3, 4, 5, 6}, {1, -1, 0.5, 2, 2, 0}, {10, 20, 30, 40}) ==
            Values{18, 23, 48.5, 46});
    }
  CHECK(dot(Type::f32, Type::f32, {1, 1, 1}, {3}, {-2}, {1}) == Values{-5});
  CHECK(identical(dot(Type::f32, Type::f16, {1, 2, 2}, {0, 1}, {infinity, 1, 1, NaN}, {0, 0}), {NaN, NaN}));
}

TEST_CASE("cast to narrower floats rounds to nearest even; f8 saturates") {
  casts(Type::f32, Type::f16, {2049, 2051, 65519, 65520, -1e9, 0x1p-25, 0x1.8p-25, NaN, -infinity},
        {2048, 2052, 65504, infinity, -infinity, 0, 0x1p-24, NaN, -infinity});
  casts(Type::f32, Type::bf16, {257, 259, 3.4e38, -0.0}, {256, 260, infinity, -0.0});
  // e4m3: 3 mantissa bits, largest 448, smallest 2^-9.
  casts(Type::f32, Type::f8e4m3, {17, 19, 448, 464, 465, 1e9, -infinity, NaN, 0x1p-10, 0x1.8p-10, -0x1p-9},
        {16, 20, 448, 448, 448, 448, -448, NaN, 0, 0x1p-9, -0x1p-9});
  // e5m2: 2 mantissa bits, largest 57344, smallest 2^-16.
  casts(Type::f32, Type::f8e5m2, {9, 11, 57344, 61440, infinity, -1e9, NaN, 0x1p-17, 0x1.8p-17},
        {8, 12, 57344, 57344, 57344, -57344, NaN, 0, 0x1p-16});
  casts(Type::f16, Type::f8e5m2, {infinity, 65504, 1.125}, {57344, 57344, 1});
  casts(Type::f16, Type::bf16, {1.00390625, 65504}, {1, 65536});
  casts(Type::f8e5m2, Type::f8e4m3, {infinity, -57344, 0x1p-16, NaN}, {448, -448, 0, NaN});
  casts(Type::f8e4m3, Type::f8e5m2, {448, 1.125, NaN}, {448, 1, NaN});
}

TEST_CASE("cast to wider floats is exact") {
  casts(Type::f16, Type::f32, {0x1p-24, 65504, infinity, NaN, -0.0}, {0x1p-24, 65504, infinity, NaN, -0.0});
  casts(Type::f8e5m2, Type::f16, {0x1p-16, 57344, -infinity}, {0x1p-16, 57344, -infinity});
  casts(Type::f8e4m3, Type::bf16, {0x1p-9, -448, NaN}, {0x1p-9, -448, NaN});
}

TEST_CASE("cast between floats and i32 truncates, saturates and rounds") {
  casts(Type::f32, Type::i32, {1.9, -1.9, 3e9, -3e9, NaN, infinity, -2147483648.0, 2147483520},
        {1, -1, 2147483647, -2147483648.0, 0, 2147483647, -2147483648.0, 2147483520});
  casts(Type::f16, Type::i32, {-0.5, 65504, -infinity}, {0, 65504, -2147483648.0});
  casts(Type::f8e4m3, Type::i32, {-1.75, 448, NaN}, {-1, 448, 0});
  casts(Type::i32, Type::f32, {16777217, 16777219, -2147483648.0}, {16777216, 16777220, -2147483648.0});
  casts(Type::i32, Type::f16, {2049, 65519, 65520, -65520}, {2048, 65504, infinity, -infinity});
  casts(Type::i32, Type::bf16, {257, 2147483647}, {256, 2147483648.0});
  casts(Type::i32, Type::f8e4m3, {17, 449, -1000000}, {16, 448, -448});
}

TEST_CASE("cast to and from i1") {
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2}) {
    casts(Type::i1, type, {0, 1}, {0, 1});
    casts(type, Type::i1, {0, -0.0, 0.0625, -2, NaN}, {0, 0, 1, 1, 1});
  }
  casts(Type::i1, Type::i32, {0, 1}, {0, 1});
  casts(Type::i32, Type::i1, {0, 2, -1}, {0, 1, 1});
}

TEST_CASE("a scalar is cast as a tile is") {
  CHECK(evaluate("%s = arith.constant 300.0 : f32\n%q = tile.cast %s : f32 to i32\n%r = tile.splat %q : $", Type::i32,
                 {{0}}) == Values{300});
}
