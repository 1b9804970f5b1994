// Loads, stores and atomics: bounds on every side, padding, strides, alignment, grids.
#include "tests/conformance/Harness.h"
#include "tests/conformance/Reference.h"
#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sectile;
using namespace sectile::conformance;
using tile::Tile;

namespace {

/// Copies a tile of `shape` from `in` at (i, j, k) to `out` at (p, q, r); views of rank 3, tiles of rank 1 to 3.
std::function<void(Trace &)> copyKernel(Type type, const Shape &shape, std::optional<double> padding) {
  return [=](Trace &t) {
    const tile::View in = t.input("in", type, 3), out = t.output("out", type, 3);
    const Tile i = t.scalar("i", Type::i32), j = t.scalar("j", Type::i32), k = t.scalar("k", Type::i32),
               p = t.scalar("p", Type::i32), q = t.scalar("q", Type::i32), r = t.scalar("r", Type::i32);
    const Tile x = padding ? in.load({i, j, k}, shape, *padding) : in.load({i, j, k}, shape);
    out.store({p, q, r}, x);
  };
}

bool inside(const Shape &index, const Index &sizes) {
  for (size_t d = 0; d < sizes.size(); ++d)
    if (index[d] < 0 || index[d] >= sizes[d])
      return false;
  return true;
}

/// What copyKernel leaves in `out`.
Values copied(const Buffer &in, const Buffer &out, const Shape &shape, double padding, const Index &from,
              const Index &to) {
  const Tensor source{in.sizes(), in.values()};
  Values result = out.values();
  forEachIndex(shape, [&](const Shape &index) {
    Shape read(from), write(to);
    for (size_t d = 0; d < shape.size(); ++d) {
      read[3 - shape.size() + d] += index[d];
      write[3 - shape.size() + d] += index[d];
    }
    const double value = inside(read, in.sizes()) ? source.at(read) : padding;
    if (inside(write, out.sizes()))
      result.at((write[0] * out.sizes()[1] + write[1]) * out.sizes()[2] + write[2]) = value;
  });
  return result;
}

bool same(const Values &a, const Values &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::isnan(a[i]) ? !std::isnan(b[i]) : a[i] != b[i] || std::signbit(a[i]) != std::signbit(b[i]))
      return false;
  return a.size() == b.size();
}

struct Layout {
  const char *name;
  Index strides; ///< of sizes {3, 5, 7}; empty: row-major
  int64_t misalignment;
};

const std::vector<Layout> &layouts() {
  static const std::vector<Layout> all{
      {"row-major", {35, 7, 1}, 0},      {"padded rows", {48, 9, 1}, 0},   {"negative outer strides", {-40, -8, 1}, 0},
      {"column-major", {1, 3, 15}, 0},   {"reversed", {-35, -7, -1}, 0},   {"every second element", {100, 16, 2}, 0},
      {"unaligned base", {35, 7, 1}, 1}, {"unaligned by 3", {35, 7, 1}, 3}};
  return all;
}

/// Corners of a tile around a view of sizes {3, 5, 7}: inside, across each border, beyond, far away.
const std::vector<Index> &corners() {
  static const std::vector<Index> all{{0, 0, 0},    {1, 2, 3},   {-1, -1, -1}, {2, 4, 6},          {0, 0, -3},
                                      {0, -2, 0},   {1, 3, 5},   {0, 0, 7},    {0, 5, 0},          {3, 0, 0},
                                      {-100, 0, 0}, {0, 0, 100}, {0, -100, 3}, {0, 0, 2147483647}, {0, -2147483647, 0}};
  return all;
}

} // namespace

TEST_CASE("a copied tile is cut at every border, whatever the strides", "[memory]") {
  const Index sizes{3, 5, 7};
  for (const Type type : allTypes)
    for (const Shape &shape :
         {Shape{1}, Shape{7}, Shape{16}, Shape{5, 7}, Shape{3, 17}, Shape{2, 3, 5}, Shape{4, 8, 8}})
      for (const bool unit : {true, false}) {
        const std::optional<double> padding = unit ? std::nullopt : std::optional<double>(type == Type::i1 ? 1 : -2);
        const Program program(copyKernel(type, shape, padding), {{unit}, {unit}});
        Random random(1);
        for (size_t c = 0; c < corners().size(); ++c) {
          const Layout &source = layouts()[unit ? c % 3 : c % layouts().size()];
          const Layout &target = layouts()[unit ? (c / 3) % 3 : (c / 2) % layouts().size()];
          // GPUs need addresses that are multiples of an element; launches refuse others.
          const int64_t step = test::targetUnderTest().find("nvptx") == 0 || test::targetUnderTest().find("cuda") == 0
                                   ? typeBytes(type)
                                   : 1;
          Buffer in = Buffer::strided(type, sizes, source.strides, source.misalignment * step);
          Buffer out = Buffer::strided(type, sizes, target.strides, target.misalignment * step);
          in.set(random.tensor(type, sizes).values);
          out.set(random.tensor(type, sizes).values);
          const Index &from = corners()[c], &to = corners()[(c * 7 + 1) % corners().size()];
          const Values expected = copied(in, out, shape, padding.value_or(0), from, to);
          std::vector<Argument> arguments{in.view(), out.view()};
          for (const Index &corner : {from, to})
            for (const int64_t i : corner)
              arguments.push_back(static_cast<int32_t>(i));
          program.run(arguments);
          INFO(typeName(type) << " tile " << toString(shape) << " from " << toString(from) << " (" << source.name
                              << ") to " << toString(to) << " (" << target.name << ")"
                              << (unit ? ", unit stride known" : ""));
          CHECK(same(out.values(), expected));
          CHECK(out.strayWrites() == 0);
          CHECK(in.unchanged());
        }
      }
}

TEST_CASE("a view may repeat elements by strides of 0, and be empty", "[memory]") {
  for (const Type type : {Type::f32, Type::bf16, Type::f8e4m3, Type::i1}) {
    const Shape shape{4, 8};
    const Program program(copyKernel(type, shape, std::nullopt));
    for (const Index &strides : {Index{0, 0, 1}, Index{0, 1, 0}, Index{0, 0, 0}}) {
      Buffer in = Buffer::strided(type, {3, 5, 7}, strides);
      Random random(2);
      const Tensor base = random.tensor(type, {3, 5, 7});
      in.set(generate(base.shape, [&](const Shape &i) {
               return base.values[i[0] * strides[0] + i[1] * strides[1] + i[2] * strides[2]];
             }).values);
      Buffer out(type, {3, 5, 7}, base.values);
      const Values expected = copied(in, out, shape, 0, {1, -1, 2}, {2, 1, 3});
      program.run({in.view(), out.view(), 1, -1, 2, 2, 1, 3});
      INFO(typeName(type) << " strides " << toString(strides));
      CHECK(same(out.values(), expected));
      CHECK(out.strayWrites() == 0);
    }
    for (const Index &sizes : {Index{0, 5, 7}, Index{3, 0, 7}, Index{3, 5, 0}}) {
      Buffer in(type, sizes), out(type, {3, 5, 7}, Random(3).tensor(type, {3, 5, 7}).values), none(type, sizes);
      const Values expected = copied(in, out, shape, 0, {0, 0, 0}, {0, 0, 0});
      program.run({in.view(), out.view(), 0, 0, 0, 0, 0, 0});
      CHECK(same(out.values(), expected));
      program.run({out.view(), none.view(), 0, 0, 0, 0, 0, 0});
      CHECK(none.unchanged());
    }
  }
}

TEST_CASE("padding takes any value", "[memory]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double padding : {-infinity, infinity, 1e30, -0.0}) {
    const Program program(copyKernel(Type::f32, {16}, padding));
    const Buffer in(Type::f32, {1, 1, 5}, Values{1, 2, 3, 4, 5});
    Buffer out(Type::f32, {1, 1, 16});
    const Values expected = copied(in, out, {16}, test::roundTo(Type::f32, padding), {0, 0, -4}, {0, 0, 0});
    program.run({in.view(), out.view(), 0, 0, -4, 0, 0, 0});
    CHECK(same(out.values(), expected));
  }
}

TEST_CASE("every program of a grid copies its own tile, of sizes that no tile divides", "[memory]") {
  for (const Type type : {Type::f32, Type::f16, Type::i32})
    for (const Index &sizes : {Index{2, 33, 65}, Index{3, 16, 64}, Index{1, 1, 1}, Index{2, 31, 127}}) {
      const Buffer in(type, sizes, Random(4).tensor(type, sizes).values);
      Buffer out(type, sizes);
      run(
          [&](Trace &t) {
            const tile::View x = t.input("x", type, 3), y = t.output("y", type, 3);
            const Tile i = t.program(2), j = t.program(1) * 16, k = t.program(0) * 32;
            y.store({i, j, k}, x.load({i, j, k}, {16, 32}));
          },
          {in.view(), out.view()}, {(sizes[2] + 31) / 32, (sizes[1] + 15) / 16, sizes[0]});
      INFO(typeName(type) << ' ' << toString(sizes));
      CHECK(same(out.values(), in.values()));
      CHECK(out.strayWrites() == 0);
    }
}

TEST_CASE("a scalar read from memory bounds what is stored", "[memory]") {
  const Buffer lengths(Type::i32, {4}, Values{0, 5, 16, 9});
  Buffer out(Type::i32, {4, 16}, Values(64, -1));
  run(
      [](Trace &t) {
        const tile::View lengths = t.input("lengths", Type::i32, 1), y = t.inout("y", Type::i32, 2);
        const Tile p = t.program(0), n = reshape(lengths.load({p}, {1}), {});
        const Tile i = t.iota(16);
        y.store({p, 0}, select(i < n, i, y.load({p, 0}, {16})));
      },
      {lengths.view(), out.view()}, {4});
  Values expected(64, -1);
  for (const auto &[p, n] : {std::pair{1, 5}, {2, 16}, {3, 9}})
    for (int i = 0; i < n; ++i)
      expected[p * 16 + i] = i;
  CHECK(out.values() == expected);
}

TEST_CASE("dim gives the sizes", "[memory]") {
  const Buffer in(Type::f16, Index{3, 0, 7});
  Buffer out(Type::i32, {3});
  run(
      [](Trace &t) {
        const tile::View x = t.input("x", Type::f16, 3), y = t.output("y", Type::i32, 1);
        for (int d = 0; d < 3; ++d)
          y.store({d}, broadcast(x.dim(d), {1}));
      },
      {in.view(), out.view()});
  CHECK(out.values() == Values{3, 0, 7});
}

TEST_CASE("offsets are 64-bit", "[memory]") {
  // Row 3 of each view is there; the rows are 2^32 elements apart.
  const Buffer in(Type::f16, {1, 1, 8}, Random(5).tensor(Type::f16, {8}).values);
  Buffer out(Type::f16, {1, 1, 8});
  const auto moveAway = [](std::vector<Argument> &arguments) {
    for (Argument &argument : arguments)
      if (auto *view = std::get_if<ArrayView>(&argument)) {
        view->sizes[0] = 4;
        view->strides[0] = int64_t{1} << 32;
        view->data = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(view->data) - (uintptr_t{6} << 32));
      }
  };
  Program(copyKernel(Type::f16, {8}, std::nullopt)).run({in.view(), out.view(), 3, 0, 0, 3, 0, 0}, {}, moveAway);
  CHECK(same(out.values(), in.values()));
}

TEST_CASE("atomic additions of many programs all arrive", "[memory]") {
  for (const Type type : {Type::f32, Type::i32})
    for (const Index &strides : {Index{1}, Index{3}, Index{-2}}) {
      Buffer out = Buffer::strided(type, {21}, strides);
      out.set(Values(21, 100));
      run(
          [&](Trace &t) {
            const tile::View y = t.inout("y", type, 1);
            const Tile p = t.program(0);
            // Programs overlap, and the last ones reach past both ends.
            y.atomicAdd({p - 4}, t.full(2, {17}, type) + cast(t.iota(17), type));
          },
          {out.view()}, {24});
      Values expected(21, 100);
      for (int p = 0; p < 24; ++p)
        for (int i = 0; i < 17; ++i)
          if (p - 4 + i >= 0 && p - 4 + i < 21)
            expected[p - 4 + i] += 2 + i;
      CHECK(out.values() == expected);
      CHECK(out.strayWrites() == 0);
    }
  Buffer counter(Type::i32, {1}, Values{0});
  run([](Trace &t) { t.inout("y", Type::i32, 1).atomicAdd({0}, t.full(1, {1}, Type::i32)); }, {counter.view()},
      {100, 10, 5});
  CHECK(counter.values() == Values{5000});
}
