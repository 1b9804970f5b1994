// Grids, loops with carried values, branches.
#include "tests/conformance/Harness.h"
#include "tests/conformance/Reference.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::conformance;
using tile::Tile;
using tile::Var;

TEST_CASE("programs know their index along three axes", "[control]") {
  Buffer out(Type::i32, {3, 4, 5, 4});
  run(
      [](Trace &t) {
        const tile::View y = t.output("y", Type::i32, 4);
        const Tile i = t.program(2), j = t.program(1), k = t.program(0), lane = t.iota(4);
        y.store({i, j, k, 0}, select(lane == 0, i, select(lane == 1, j, select(lane == 2, k, -1))));
      },
      {out.view()}, {5, 4, 3});
  Values expected;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 5; ++k)
        expected.insert(expected.end(), {double(i), double(j), double(k), -1});
  CHECK(out.values() == expected);
  CHECK(out.strayWrites() == 0);
}

TEST_CASE("a loop carries scalars; swapped ones change places at once", "[control]") {
  const Program program([](Trace &t) {
    const Tile n = t.scalar("n", Type::i32);
    const tile::View y = t.output("y", Type::i32, 1);
    Var a = t.full(1, {}, Type::i32), b = t.full(2, {}, Type::i32), sum = t.full(0, {}, Type::i32);
    for (const Tile i : t.range(0, n)) {
      const Tile old = a;
      a = b;
      b = old;
      sum = sum * 3 + a + i;
    }
    y.store({0}, broadcast(a, {1}));
    y.store({1}, broadcast(b, {1}));
    y.store({2}, broadcast(sum, {1}));
  });
  for (const int32_t n : {0, 1, 2, 3, 8, -5}) {
    Buffer out(Type::i32, {3});
    program.run({n, out.view()});
    int32_t a = 1, b = 2, sum = 0;
    for (int32_t i = 0; i < n; ++i) {
      std::swap(a, b);
      sum = sum * 3 + a + i;
    }
    INFO("n = " << n);
    CHECK(out.values() == Values{double(a), double(b), double(sum)});
  }
}

TEST_CASE("a loop carries tiles of several types and shapes, and swaps them", "[control]") {
  for (const Type type : {Type::f32, Type::bf16, Type::f16, Type::i32, Type::f8e4m3, Type::i1}) {
    const Program program([&](Trace &t) {
      const Tile n = t.scalar("n", Type::i32);
      const tile::View x = t.input("x", type, 2), y = t.output("y", type, 2), z = t.output("z", Type::i32, 1);
      Var a = x.load({0, 0}, {5, 17}), b = x.load({5, 0}, {5, 17}), c = x.load({10, 0}, {5, 17});
      Var trips = t.full(0, {9}, Type::i32);
      for (const Tile i : t.range(0, n)) {
        (void)i;
        const Tile old = a;
        a = b;
        b = c;
        c = old;
        trips = trips + t.iota(9);
      }
      y.store({0, 0}, a);
      y.store({5, 0}, b);
      y.store({10, 0}, c);
      z.store({0}, trips);
    });
    const Tensor source = Random(1).tameTensor(type, {15, 17});
    const Buffer x(type, {15, 17}, source.values);
    for (const int32_t n : {0, 1, 2, 3, 4}) {
      Buffer y(type, {15, 17}), z(Type::i32, {9});
      program.run({n, x.view(), y.view(), z.view()});
      INFO(typeName(type) << ", n = " << n);
      CHECK(y.values() ==
            generate({15, 17}, [&](const Shape &i) { return source.at({(i[0] + 5 * n) % 15, i[1]}); }).values);
      CHECK(z.values() == generate({9}, [&](const Shape &i) { return double(n) * i[0]; }).values);
      CHECK(y.strayWrites() + z.strayWrites() == 0);
    }
  }
}

TEST_CASE("bounds and steps of loops", "[control]") {
  const Program program([](Trace &t) {
    const Tile begin = t.scalar("begin", Type::i32), end = t.scalar("end", Type::i32);
    const tile::View y = t.output("y", Type::i32, 1);
    Var last = t.full(-99, {}, Type::i32), trips = t.full(0, {}, Type::i32);
    for (const Tile i : t.range(begin, end, 3)) {
      last = i;
      trips = trips + 1;
    }
    y.store({0}, broadcast(last, {1}));
    y.store({1}, broadcast(trips, {1}));
  });
  for (const auto &[begin, end] :
       std::vector<std::pair<int32_t, int32_t>>{{0, 9}, {0, 10}, {-7, 2}, {5, 5}, {6, 5}, {-3, -2}}) {
    Buffer y(Type::i32, {2});
    program.run({begin, end, y.view()});
    int32_t last = -99, trips = 0;
    for (int32_t i = begin; i < end; i += 3, ++trips)
      last = i;
    INFO(begin << " to " << end);
    CHECK(y.values() == Values{double(last), double(trips)});
  }
}

TEST_CASE("loops nest, with bounds from the outer one and tiles carried through both", "[control]") {
  Buffer y(Type::f32, {3, 33});
  run(
      [](Trace &t) {
        const tile::View out = t.output("y", Type::f32, 2);
        const Tile p = t.program(0);
        Var sum = t.full(0, {33});
        for (const Tile i : t.range(0, p + 2)) {
          Var inner = t.full(1, {33});
          for (const Tile j : t.range(i, p + 3)) {
            inner = inner + cast(j, Type::f32);
            sum = sum + inner * 0.5;
          }
          sum = sum - cast(t.iota(33) * i, Type::f32);
        }
        out.store({p, 0}, sum);
      },
      {y.view()}, {3});
  const Tensor expected = generate({3, 33}, [](const Shape &at) {
    double sum = 0;
    for (int64_t i = 0; i < at[0] + 2; ++i) {
      double inner = 1;
      for (int64_t j = i; j < at[0] + 3; ++j) {
        inner += static_cast<double>(j);
        sum += inner * 0.5;
      }
      sum -= static_cast<double>(at[1] * i);
    }
    return sum;
  });
  CHECK(y.values() == expected.values);
}

TEST_CASE("a branch runs one side, and variables carry out", "[control]") {
  const Program program([](Trace &t) {
    const Tile n = t.scalar("n", Type::i32);
    const tile::View y = t.output("y", Type::i32, 1), z = t.output("z", Type::f32, 2);
    Var kind = t.full(0, {}, Type::i32);
    Var tile = t.full(1, {3, 17});
    t.when(n > 10, [&] { kind = kind + 1; });
    t.when(
        n < 0,
        [&] {
          kind = kind + 10;
          tile = tile * -2;
        },
        [&] {
          tile = tile + cast(n, Type::f32);
          t.when(n == 4, [&] { kind = kind + 100; }, [&] { kind = kind + 1000; });
        });
    t.when(n == 7, [&] { y.store({1}, t.full(77, {1}, Type::i32)); });
    y.store({0}, broadcast(kind, {1}));
    z.store({0, 0}, tile);
  });
  for (const int32_t n : {-3, 0, 4, 7, 11}) {
    Buffer y(Type::i32, {2}, Values{-1, -1}), z(Type::f32, {3, 17});
    program.run({n, y.view(), z.view()});
    INFO("n = " << n);
    CHECK(y.values() == Values{double((n > 10) + (n < 0 ? 10 : n == 4 ? 100 : 1000)), n == 7 ? 77.0 : -1.0});
    CHECK(z.values() == Values(51, n < 0 ? -2 : 1 + n));
  }
}

TEST_CASE("branches in loops, and loops in branches", "[control]") {
  const Program program([](Trace &t) {
    const Tile n = t.scalar("n", Type::i32);
    const tile::View y = t.output("y", Type::i32, 1);
    Var odd = t.full(0, {5}, Type::i32), even = t.full(0, {5}, Type::i32);
    for (const Tile i : t.range(0, n))
      t.when((i & 1) == 1, [&] { odd = odd + i; }, [&] { even = even + i * t.iota(5); });
    t.when(n > 3, [&] {
      for (const Tile i : t.range(0, 3))
        odd = odd * 2 + i;
    });
    y.store({0}, odd);
    y.store({5}, even);
  });
  for (const int32_t n : {0, 1, 3, 4, 9}) {
    Buffer y(Type::i32, {10});
    program.run({n, y.view()});
    Values expected;
    int32_t odd = 0, even = 0;
    for (int32_t i = 0; i < n; ++i)
      (i % 2 ? odd : even) += i;
    if (n > 3)
      for (int32_t i = 0; i < 3; ++i)
        odd = odd * 2 + i;
    for (int k = 0; k < 5; ++k)
      expected.push_back(odd);
    for (int k = 0; k < 5; ++k)
      expected.push_back(even * k);
    INFO("n = " << n);
    CHECK(y.values() == expected);
  }
}

TEST_CASE("loads see what the same program stored before", "[control]") {
  Buffer y(Type::f32, {4, 20}, Values(80, 1));
  run(
      [](Trace &t) {
        const tile::View out = t.inout("y", Type::f32, 2);
        const Tile p = t.program(0);
        for (const Tile i : t.range(0, 5)) {
          const Tile x = out.load({p, 0}, {20});
          out.store({p, 0}, x * 2);
          out.store({p, i}, t.full(0, {1}) + out.load({p, i + 1}, {1}));
        }
      },
      {y.view()}, {4});
  std::vector<double> row(20, 1);
  for (int i = 0; i < 5; ++i) {
    for (double &x : row)
      x *= 2;
    row[i] = row[i + 1];
  }
  Values expected;
  for (int p = 0; p < 4; ++p)
    expected.insert(expected.end(), row.begin(), row.end());
  CHECK(y.values() == expected);
}
