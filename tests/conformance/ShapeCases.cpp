// iota, full, broadcast, reshape, transpose: movement is exact.
#include "tests/conformance/Harness.h"
#include "tests/conformance/Reference.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace sectile;
using namespace sectile::conformance;
using tile::Tile;

namespace {

struct Movement {
  std::string name;
  std::function<Tile(const Tile &)> apply;
  Shape shape; ///< of the result
  std::function<double(const Tensor &, const Shape &)> element;
};

void check(Type type, const Shape &shape, const std::vector<Movement> &movements) {
  const Tensor a = Random(1).tensor(type, shape);
  const Buffer x = slotsOf(type, {a});
  std::vector<Shape> shapes;
  for (const Movement &movement : movements)
    shapes.push_back(movement.shape);
  Slots y(type, static_cast<int64_t>(movements.size()), shapes);
  run(
      [&](Trace &t) {
        const tile::View xs = t.input("x", type, 4), ys = t.output("y", type, 4);
        const Tile source = xs.load({0, 0, 0, 0}, shape);
        for (size_t i = 0; i < movements.size(); ++i)
          ys.store({i, 0, 0, 0}, movements[i].apply(source));
      },
      {x.view(), y.view()});
  for (size_t i = 0; i < movements.size(); ++i)
    y.check(static_cast<int64_t>(i), movements[i].name + " of " + toString(shape),
            generate(movements[i].shape, [&](const Shape &index) { return movements[i].element(a, index); }));
  y.checkNothingElse();
}

Movement reshapeTo(const Shape &from, const Shape &to) {
  return {"reshape", [to](const Tile &a) { return reshape(a, to); }, to,
          [from, to](const Tensor &a, const Shape &at) {
            int64_t flat = 0;
            for (size_t d = 0; d < to.size(); ++d)
              flat = flat * to[d] + at[d];
            return a.values[flat];
          }};
}

Movement broadcastTo(const Shape &from, const Shape &to) {
  return {"broadcast", [to](const Tile &a) { return broadcast(a, to); }, to,
          [from, to](const Tensor &a, const Shape &at) {
            Shape source;
            for (size_t d = 0; d < from.size(); ++d)
              source.push_back(from[d] == 1 ? 0 : at[to.size() - from.size() + d]);
            return a.at(source);
          }};
}

} // namespace

TEST_CASE("transpose in every order", "[shape]") {
  for (const Type type : allTypes) {
    for (const Shape &shape : {Shape{5, 7}, Shape{1, 17}, Shape{16, 33}, Shape{64, 64}, Shape{65, 3}})
      check(type, shape,
            {{"transpose",
              [](const Tile &a) { return transpose(a); },
              {shape[1], shape[0]},
              [](const Tensor &a, const Shape &at) { return a.at({at[1], at[0]}); }},
             {"transpose twice", [](const Tile &a) { return transpose(transpose(a)); }, shape,
              [](const Tensor &a, const Shape &at) { return a.at(at); }}});
    for (const Shape &shape : {Shape{2, 3, 5}, Shape{3, 16, 17}, Shape{1, 8, 8}}) {
      std::vector<Movement> movements;
      std::vector<int> order{0, 1, 2};
      do {
        const int i = order[0], j = order[1], k = order[2];
        movements.push_back({"transpose " + std::to_string(i) + std::to_string(j) + std::to_string(k),
                             [=](const Tile &a) { return transpose(a, {i, j, k}); },
                             {shape[i], shape[j], shape[k]},
                             [=](const Tensor &a, const Shape &at) {
                               Shape source(3);
                               source[i] = at[0], source[j] = at[1], source[k] = at[2];
                               return a.at(source);
                             }});
      } while (std::next_permutation(order.begin(), order.end()));
      check(type, shape, movements);
    }
  }
}

TEST_CASE("reshape of every kind", "[shape]") {
  const std::vector<std::pair<Shape, std::vector<Shape>>> table{
      {{1}, {{1, 1}, {1, 1, 1}}},
      {{17}, {{1, 17}, {17, 1}, {1, 17, 1}}},
      {{64}, {{8, 8}, {4, 4, 4}, {1, 64}, {64, 1}, {2, 32}, {64}}},
      {{60}, {{3, 20}, {5, 3, 4}}},
      {{6, 10}, {{60}, {10, 6}, {2, 3, 10}, {6, 5, 2}, {1, 60}, {60, 1}}},
      {{16, 32}, {{512}, {32, 16}, {4, 4, 32}, {16, 2, 16}, {8, 64}}},
      {{2, 3, 5}, {{30}, {6, 5}, {2, 15}, {5, 3, 2}, {1, 30}}},
      {{4, 1, 16}, {{4, 16}, {64}, {1, 4, 16}, {4, 16, 1}}}};
  for (const Type type : {Type::f32, Type::bf16, Type::f8e5m2, Type::i32, Type::i1})
    for (const auto &[from, targets] : table) {
      std::vector<Movement> movements;
      for (const Shape &to : targets)
        movements.push_back(reshapeTo(from, to));
      check(type, from, movements);
    }
}

TEST_CASE("broadcast of every dimension", "[shape]") {
  const std::vector<std::pair<Shape, std::vector<Shape>>> table{{{1}, {{7}, {5, 7}, {2, 3, 5}, {64}}},
                                                                {{17}, {{3, 17}, {1, 17}, {2, 3, 17}}},
                                                                {{1, 17}, {{16, 17}, {5, 17}, {2, 16, 17}}},
                                                                {{16, 1}, {{16, 33}, {16, 64}, {3, 16, 5}}},
                                                                {{1, 1}, {{8, 8}, {2, 3, 4}}},
                                                                {{2, 1, 5}, {{2, 3, 5}, {2, 16, 5}}},
                                                                {{1, 3, 1}, {{4, 3, 8}, {1, 3, 33}}}};
  for (const Type type : allTypes)
    for (const auto &[from, targets] : table) {
      std::vector<Movement> movements;
      for (const Shape &to : targets)
        movements.push_back(broadcastTo(from, to));
      check(type, from, movements);
    }
}

TEST_CASE("row and column", "[shape]") {
  for (const int64_t n : {1, 5, 16, 33})
    check(Type::f32, {n},
          {{"row",
            [](const Tile &a) { return row(a); },
            {1, n},
            [](const Tensor &a, const Shape &at) { return a.at({at[1]}); }},
           {"column",
            [](const Tile &a) { return column(a); },
            {n, 1},
            [](const Tensor &a, const Shape &at) { return a.at({at[0]}); }},
           {"columns",
            [n](const Tile &a) { return broadcast(column(a), {n, 9}); },
            {n, 9},
            [](const Tensor &a, const Shape &at) { return a.at({at[0]}); }},
           {"transposed columns",
            [n](const Tile &a) { return transpose(broadcast(column(a), {n, 9})); },
            {9, n},
            [](const Tensor &a, const Shape &at) { return a.at({at[1]}); }}});
}

TEST_CASE("iota and full", "[shape]") {
  for (const int64_t n : {1, 3, 16, 17, 64, 65}) {
    Slots y(Type::i32, 2, Shape{n});
    run(
        [&](Trace &t) {
          const tile::View ys = t.output("y", Type::i32, 4);
          ys.store({0, 0, 0, 0}, t.iota(n));
          ys.store({1, 0, 0, 0}, t.iota(n) * -3 + 1000000000);
        },
        {y.view()});
    y.check(0, "iota", generate({n}, [](const Shape &i) { return i[0]; }));
    y.check(1, "iota * -3 + 1000000000", generate({n}, [](const Shape &i) { return i[0] * -3.0 + 1000000000; }));
    y.checkNothingElse();
  }
  for (const Type type : allTypes)
    for (const Shape &shape : tileShapes()) {
      Slots y(type, 1, shape);
      run([&](Trace &t) { t.output("y", type, 4).store({0, 0, 0, 0}, t.full(1, shape, type)); }, {y.view()});
      y.check(0, "full", generate(shape, [](const Shape &) { return 1; }));
      y.checkNothingElse();
    }
}
