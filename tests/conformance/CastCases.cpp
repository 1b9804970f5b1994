// Conversions between every two types; of 8- and 16-bit sources, every pattern.
#include "tests/conformance/Harness.h"
#include "tests/conformance/Reference.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sectile;
using namespace sectile::conformance;
using tile::Tile;

namespace {

/// Tile.h: floats to nearest even and f8 saturating, to i32 toward zero saturating with NaN to 0, to i1 by != 0.
double castExactly(Type to, double x) {
  if (to == Type::i1)
    return x != 0;
  if (to == Type::i32)
    return std::isnan(x) ? 0 : std::clamp(std::trunc(x), -2147483648.0, 2147483647.0);
  return test::roundTo(to, x);
}

/// Casts a vector to every other type, `width` elements a program.
void checkCasts(Type from, const Buffer &x, int64_t width) {
  const int64_t n = x.elements();
  for (const Type to : allTypes) {
    if (to == from)
      continue;
    Slots y(to, 1, Shape{n});
    run(
        [&](Trace &t) {
          const tile::View xs = t.input("x", from, 1), ys = t.output("y", to, 4);
          const Tile start = t.program(0) * width;
          ys.store({0, 0, 0, start}, cast(xs.load({start}, {width}), to));
        },
        {x.view(), y.view()}, {(n + width - 1) / width});
    Tensor exact{{n}, x.values()};
    for (double &value : exact.values)
      value = castExactly(to, value);
    y.check(0, "cast from " + std::string(typeName(from)), exact);
    y.checkNothingElse();
  }
}

} // namespace

TEST_CASE("casts of every pattern of f16, bf16 and f8", "[cast]") {
  for (const Type from : {Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2}) {
    std::vector<uint32_t> patterns(size_t{1} << (8 * typeBytes(from)));
    for (uint32_t i = 0; i < patterns.size(); ++i)
      patterns[i] = i;
    Buffer x(from, {static_cast<int64_t>(patterns.size())});
    x.setBits(patterns);
    checkCasts(from, x, 256);
  }
}

TEST_CASE("casts of f32: every boundary between narrower values, and random ones", "[cast]") {
  std::vector<uint32_t> patterns;
  for (const Type to : {Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2}) {
    // A value, the midpoint to the next one, and the f32 around both; every 37th value of the 16-bit types.
    const uint32_t all = 1u << (8 * typeBytes(to)), step = all > 256 ? 37 : 1;
    for (uint32_t pattern = 0; pattern < all; pattern += step) {
      Buffer pair(to, {2});
      pair.setBits({pattern, (pattern + 1) % all});
      const double low = pair.values()[0], high = pair.values()[1];
      for (const double x : {low, (low + high) / 2}) {
        const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
        patterns.insert(patterns.end(), {bits, bits + 1, bits - 1});
      }
    }
  }
  Random random(1);
  for (int i = 0; i < 2000; ++i)
    patterns.push_back(std::bit_cast<uint32_t>(static_cast<float>(random.any(Type::f32))));
  for (const float edge : {2147483648.0f, 2147483520.0f, -2147483648.0f, -2147483904.0f, 0.99999994f, -0.99999994f})
    patterns.push_back(std::bit_cast<uint32_t>(edge));
  Buffer x(Type::f32, {static_cast<int64_t>(patterns.size())});
  x.setBits(patterns);
  checkCasts(Type::f32, x, 64);
}

TEST_CASE("casts of i32 and i1", "[cast]") {
  Random random(2);
  Values values{0,    1,     -1,    2147483647, -2147483648.0, 16777217, 16777219, 2049,
                2051, 65519, 65520, -65520,     257,           449,      465};
  for (int i = 0; i < 2000; ++i)
    values.push_back(random.any(Type::i32));
  checkCasts(Type::i32, Buffer(Type::i32, {static_cast<int64_t>(values.size())}, values), 64);
  checkCasts(Type::i1, Buffer(Type::i1, {5}, Values{0, 1, 1, 0, 1}), 5);
}

TEST_CASE("casts of tiles of every shape, and of scalars", "[cast]") {
  for (const Type from : {Type::f32, Type::bf16, Type::i32})
    for (const Type to : {Type::f16, Type::bf16, Type::f32, Type::i32}) {
      if (from == to)
        continue;
      for (const Shape &shape : tileShapes()) {
        Random random(3);
        const Tensor a = random.tensor(from, shape);
        const Buffer x = slotsOf(from, {a});
        Slots y(to, 1, shape);
        run(
            [&](Trace &t) {
              const tile::View xs = t.input("x", from, 4), ys = t.output("y", to, 4);
              ys.store({0, 0, 0, 0}, cast(xs.load({0, 0, 0, 0}, shape), to));
            },
            {x.view(), y.view()});
        Tensor exact = a;
        for (double &value : exact.values)
          value = castExactly(to, value);
        y.check(0, "cast from " + std::string(typeName(from)), exact);
        y.checkNothingElse();
      }
    }
  Slots y(Type::i32, 1, Shape{1});
  run(
      [&](Trace &t) {
        const Tile s = t.scalar("s");
        t.output("y", Type::i32, 4).store({0, 0, 0, 0}, broadcast(cast(cast(s, Type::f16), Type::i32), {1}));
      },
      {2049.5f, y.view()});
  y.check(0, "cast of scalars", {{1}, {2050}});
}
