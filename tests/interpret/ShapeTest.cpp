// iota, splat, broadcast, reshape and transpose.
#include "tests/interpret/InterpretText.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Applies `op`, which maps %a: tensor<…> to %r: tensor<…>, both flat in memory.
Values reshaped(const std::string &op, const std::string &from, const std::string &to, Type type,
                const Values &values) {
  const std::string view = "!tile.view<1x" + irName(type) + ">";
  const auto flat = [](std::string shape) { // "2x3" -> "6"
    std::replace(shape.begin(), shape.end(), 'x', ' ');
    std::istringstream sizes(shape);
    int64_t n = 1;
    for (int64_t size; sizes >> size;)
      n *= size;
    return std::to_string(n);
  };
  const std::string in = flat(from), out = flat(to), element = irName(type);
  const auto tensor = [&](const std::string &shape) { return "tensor<" + shape + "x" + element + ">"; };
  const Buffer x(type, {static_cast<int64_t>(values.size())}, values);
  Buffer y(type, {std::stoll(out)});
  interpretText("tile.kernel @shape(%x: " + view + ", %y: " + view + ") {\n%c0 = arith.constant 0 : i32\n" +
                    "%f = tile.load %x[%c0] : " + view + " -> " + tensor(in) +
                    "\n%a = tile.reshape %f : " + tensor(in) + " -> " + tensor(from) + "\n%r = " + op + " : " +
                    tensor(from) + " -> " + tensor(to) + "\n%g = tile.reshape %r : " + tensor(to) + " -> " +
                    tensor(out) + "\ntile.store %g, %y[%c0] : " + tensor(out) + ", " + view + "\ntile.return\n}",
                {x.view(), y.view()});
  return y.values();
}

} // namespace

TEST_CASE("broadcast stretches dimensions of size 1") {
  for (const Type type : {Type::f32, Type::f8e5m2, Type::i32}) {
    CHECK(reshaped("tile.broadcast %a", "1x3", "2x3", type, {1, 2, 3}) == Values{1, 2, 3, 1, 2, 3});
    CHECK(reshaped("tile.broadcast %a", "2x1", "2x3", type, {1, 2}) == Values{1, 1, 1, 2, 2, 2});
    CHECK(reshaped("tile.broadcast %a", "1x1", "2x2", type, {5}) == Values{5, 5, 5, 5});
    CHECK(reshaped("tile.broadcast %a", "2x1x2", "2x3x2", type, {1, 2, 3, 4}) ==
          Values{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4});
    CHECK(reshaped("tile.broadcast %a", "3", "3", type, {1, 2, 3}) == Values{1, 2, 3});
  }
}

TEST_CASE("transpose: result dimension i is source dimension order[i]") {
  for (const Type type : {Type::bf16, Type::i32}) {
    CHECK(reshaped("tile.transpose %a [1, 0]", "2x3", "3x2", type, {1, 2, 3, 4, 5, 6}) == Values{1, 4, 2, 5, 3, 6});
    CHECK(reshaped("tile.transpose %a [0]", "3", "3", type, {1, 2, 3}) == Values{1, 2, 3});
    // Element [i, j, k] of 2x1x3 is 3i + k + 1; of the result, [k, i, j].
    CHECK(reshaped("tile.transpose %a [2, 0, 1]", "2x1x3", "3x2x1", type, {1, 2, 3, 4, 5, 6}) ==
          Values{1, 4, 2, 5, 3, 6});
    CHECK(reshaped("tile.transpose %a [1, 2, 0]", "2x2x2", "2x2x2", type, {0, 1, 2, 3, 4, 5, 6, 7}) ==
          Values{0, 4, 1, 5, 2, 6, 3, 7});
  }
}

TEST_CASE("reshape keeps the row-major order") {
  CHECK(reshaped("tile.reshape %a", "2x3", "3x2", Type::f16, {1, 2, 3, 4, 5, 6}) == Values{1, 2, 3, 4, 5, 6});
  CHECK(reshaped("tile.reshape %a", "6", "1x2x3", Type::i1, {1, 0, 0, 1, 1, 0}) == Values{1, 0, 0, 1, 1, 0});
}

TEST_CASE("iota counts from 0, splat repeats a scalar") {
  CHECK(evaluate("%r = tile.iota : $", Type::i32, {{9, 9, 9, 9}}) == Values{0, 1, 2, 3});
  CHECK(evaluate("%s = arith.constant -3 : i32\n%r = tile.splat %s : $", Type::i32, {{9, 9}}) == Values{-3, -3});
  CHECK(evaluate("%s = arith.constant true\n%r = tile.splat %s : $", Type::i1, {{0, 0}}) == Values{1, 1});
}
