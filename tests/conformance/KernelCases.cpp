// Whole kernels: row softmax, matrix product over a grid, attention for one head, layer normalization.
#include "tests/conformance/Harness.h"
#include "tests/conformance/Reference.h"
#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sectile;
using namespace sectile::conformance;
using tile::Tile;
using tile::Var;

namespace {

/// The largest |actual - expected| / bound.
double worst(const Values &actual, const Tensor &expected, const std::function<double(const Shape &)> &bound) {
  double result = 0;
  size_t i = 0;
  forEachIndex(expected.shape, [&](const Shape &at) {
    const double error = std::fabs(actual[i] - expected.values[i]);
    result = std::max(result, std::isnan(error) ? std::numeric_limits<double>::infinity() : error / bound(at));
    ++i;
  });
  return result;
}

constexpr double negativeInfinity = -std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("softmax of rows, in two passes over blocks", "[kernel]") {
  for (const Type type : {Type::f32, Type::bf16})
    for (const auto &[rows, columns] : {std::pair<int64_t, int64_t>{5, 100}, {33, 64}, {1, 1}, {16, 33}}) {
      const Tensor a = Random(1).tameTensor(type, {rows, columns});
      const Buffer x(type, {rows, columns}, a.values);
      Buffer y(Type::f32, {rows, columns});
      run(
          [&](Trace &t) {
            const tile::View in = t.input("x", type, 2), out = t.output("y", Type::f32, 2);
            const Tile first = t.program(0) * 8, n = in.dim(1);
            const auto block = [&](const Tile &j) {
              return cast(in.load({first, j}, {8, 32}, negativeInfinity), Type::f32);
            };
            Var m = t.full(negativeInfinity, {8, 1}), l = t.full(0, {8, 1});
            for (const Tile j : t.range(0, n, 32)) {
              const Tile s = block(j), next = max(m, maxRows(s));
              // Rows past the end are -infinity throughout.
              const Tile shift = select(next == negativeInfinity, 0, next);
              l = l * exp(m - shift) + sumRows(exp(s - shift));
              m = next;
            }
            for (const Tile j : t.range(0, n, 32))
              out.store({first, j}, exp(block(j) - m) / l);
          },
          {x.view(), y.view()}, {(rows + 7) / 8});
      const Tensor expected = generate({rows, columns}, [&, columns = columns](const Shape &at) {
        double sum = 0, largest = negativeInfinity;
        for (int64_t j = 0; j < columns; ++j)
          largest = std::max(largest, a.at({at[0], j}));
        for (int64_t j = 0; j < columns; ++j)
          sum += std::exp(a.at({at[0], j}) - largest);
        return std::exp(a.at(at) - largest) / sum;
      });
      INFO(typeName(type) << ' ' << rows << " x " << columns);
      size_t i = 0;
      CHECK(worst(y.values(), expected, [&](const Shape &) { return expected.values[i++] * 0x1p-23 * 40; }) < 1);
      CHECK(y.strayWrites() == 0);
    }
}

TEST_CASE("matrix product over a grid, of sizes that no tile divides", "[kernel]") {
  for (const auto &[ta, tb] : {std::pair{Type::f32, Type::f32}, {Type::bf16, Type::bf16}, {Type::f16, Type::f8e5m2}})
    for (const auto &[m, k, n] :
         {std::tuple<int64_t, int64_t, int64_t>{33, 70, 17}, {64, 64, 64}, {1, 5, 100}, {7, 1, 3}}) {
      Random random(2);
      const Tensor a = random.tameTensor(ta, {m, k}), b = random.tameTensor(tb, {k, n});
      Buffer x = Buffer::strided(ta, {m, k}, {k + 3, 1}), y = Buffer::strided(tb, {k, n}, {1, k});
      x.set(a.values);
      y.set(b.values);
      Buffer z(Type::f32, {m, n});
      run(
          [ta = ta, tb = tb](Trace &t) {
            const tile::View left = t.input("a", ta, 2), right = t.input("b", tb, 2), out = t.output("c", Type::f32, 2);
            const Tile i = t.program(1) * 16, j = t.program(0) * 32;
            Var sum = t.full(0, {16, 32});
            for (const Tile p : t.range(0, left.dim(1), 16))
              sum = sum + dot(left.load({i, p}, {16, 16}), right.load({p, j}, {16, 32}));
            out.store({i, j}, sum);
          },
          {x.view(), y.view(), z.view()}, {(n + 31) / 32, (m + 15) / 16});
      const auto sum = [&, k = k](const Shape &at, double (*f)(double)) {
        double total = 0;
        for (int64_t p = 0; p < k; ++p)
          total += f(a.at({at[0], p}) * b.at({p, at[1]}));
        return total;
      };
      const Tensor expected = generate({m, n}, [&](const Shape &at) { return sum(at, [](double x) { return x; }); });
      INFO(typeName(ta) << ' ' << m << ' ' << k << ' ' << n);
      CHECK(worst(z.values(), expected, [&, k = k](const Shape &at) {
              return (static_cast<double>(k) + 4) * 0x1p-23 * sum(at, [](double x) { return std::fabs(x); }) + 1e-30;
            }) < 1);
      CHECK(z.strayWrites() == 0);
    }
}

TEST_CASE("matrix product whose loop may copy rows ahead, into one buffer or rings", "[kernel]") {
  const bool isGpu = test::targetUnderTest() != "interpret" && !test::targetUnderTest().starts_with("cpu");
  constexpr int64_t m = 50, k = 100, n = 72, pitch = 104; // in bf16, rows are multiples of 16 bytes
  for (const int32_t stages : isGpu ? std::vector<int32_t>{1, 2, 3} : std::vector<int32_t>{0}) {
    const std::string &target = test::targetUnderTest();
    if (stages == 3 && (target.ends_with("sm_75") || target.starts_with("emulate:gfx"))) // refused there
      continue;
    Random random(5);
    const Tensor a = random.tameTensor(Type::bf16, {m, k}), b = random.tameTensor(Type::bf16, {k, n});
    Buffer x = Buffer::strided(Type::bf16, {m, k}, {pitch, 1}), y(Type::bf16, {k, n}), z(Type::f32, {m, n});
    x.set(a.values);
    y.set(b.values);
    const std::vector<Argument> arguments{x.view(), y.view(), z.view()};
    Schedule schedule;
    schedule.stages = stages;
    const Program program(
        [](Trace &t) {
          const tile::View left = t.input("a", Type::bf16, 2), right = t.input("b", Type::bf16, 2),
                           out = t.output("c", Type::f32, 2);
          const Tile i = t.program(1) * 32, j = t.program(0) * 32;
          Var sum = t.full(0, {32, 32});
          for (const Tile p : t.range(0, left.dim(1), 32))
            sum = dot(left.load({i, p}, {32, 32}), right.load({p, j}, {32, 32}), sum);
          out.store({i, j}, sum);
        },
        factsOf(arguments), schedule);
    program.run(arguments, {(n + 31) / 32, (m + 31) / 32});
    const auto sum = [&](const Shape &at, double (*f)(double)) {
      double total = 0;
      for (int64_t p = 0; p < k; ++p)
        total += f(a.at({at[0], p}) * b.at({p, at[1]}));
      return total;
    };
    const Tensor expected = generate({m, n}, [&](const Shape &at) { return sum(at, [](double x) { return x; }); });
    INFO("stages " << stages);
    CHECK(worst(z.values(), expected, [&](const Shape &at) {
            return (k + 4) * 0x1p-23 * sum(at, [](double x) { return std::fabs(x); });
          }) < 1);
    CHECK(z.strayWrites() == 0);
  }
}

TEST_CASE("causal attention of one head, with an online softmax", "[kernel]") {
  for (const Type type : {Type::f32, Type::f16, Type::bf16})
    for (const auto &[n, d] : {std::pair<int64_t, int64_t>{40, 16}, {17, 33}, {64, 64}}) {
      Random random(3);
      const Tensor q = random.tameTensor(type, {n, d}), k = random.tameTensor(type, {n, d}),
                   v = random.tameTensor(type, {n, d});
      const Buffer qs(type, {n, d}, q.values), ks(type, {n, d}, k.values), vs(type, {n, d}, v.values);
      Buffer out(Type::f32, {n, d});
      const double scale = 0.125;
      run(
          [&, d = d](Trace &t) {
            const tile::View qv = t.input("q", type, 2), kv = t.input("k", type, 2), vv = t.input("v", type, 2),
                             ov = t.output("o", Type::f32, 2);
            const Tile first = t.program(0) * 16, length = kv.dim(0);
            const Tile query = qv.load({first, 0}, {16, d});
            const Tile i = column(t.iota(16) + first);
            Var m = t.full(negativeInfinity, {16, 1}), l = t.full(0, {16, 1}), acc = t.full(0, {16, d});
            for (const Tile j : t.range(0, length, 16)) {
              const Tile keys = row(t.iota(16) + j);
              const Tile s = dot(query, transpose(kv.load({j, 0}, {16, d}))) * scale;
              const Tile masked = select((keys <= i) & (keys < length), s, negativeInfinity);
              const Tile next = max(m, maxRows(masked));
              const Tile p = exp(masked - next), correction = exp(m - next);
              l = l * correction + sumRows(p);
              acc = dot(cast(p, type), vv.load({j, 0}, {16, d}), acc * correction);
              m = next;
            }
            ov.store({first, 0}, acc / l);
          },
          {qs.view(), ks.view(), vs.view(), out.view()}, {(n + 15) / 16});
      const Tensor expected = generate({n, d}, [&, d = d](const Shape &at) {
        std::vector<double> scores;
        double largest = negativeInfinity, sum = 0, result = 0;
        for (int64_t j = 0; j <= at[0]; ++j) {
          double s = 0;
          for (int64_t e = 0; e < d; ++e)
            s += q.at({at[0], e}) * k.at({j, e});
          scores.push_back(s * scale);
          largest = std::max(largest, scores.back());
        }
        for (int64_t j = 0; j <= at[0]; ++j) {
          sum += std::exp(scores[j] - largest);
          result += std::exp(scores[j] - largest) * v.at({j, at[1]});
        }
        return result / sum;
      });
      // Weights are rounded to the type; values are below 4.
      const double tolerance = type == Type::f32 ? 2e-5 : type == Type::f16 ? 4e-3 : 3e-2;
      INFO(typeName(type) << ' ' << n << " x " << d);
      CHECK(worst(out.values(), expected, [&](const Shape &) { return tolerance; }) < 1);
      CHECK(out.strayWrites() == 0);
    }
}

TEST_CASE("normalized rows", "[kernel]") {
  const int64_t rows = 7, columns = 48;
  const Tensor a = Random(4).tameTensor(Type::f16, {rows, columns}), w = Random(5).tameTensor(Type::f32, {columns});
  const Buffer x(Type::f16, {rows, columns}, a.values), ws(Type::f32, {columns}, w.values);
  Buffer y(Type::f16, {rows, columns});
  run(
      [&](Trace &t) {
        const tile::View in = t.input("x", Type::f16, 2), weights = t.input("w", Type::f32, 1),
                         out = t.output("y", Type::f16, 2);
        const Tile v = cast(in.load({t.program(0), 0}, {columns}), Type::f32);
        const Tile mean = reduceSum(v * v, 0) / columns;
        out.store({t.program(0), 0}, cast(v / sqrt(mean + 1e-5) * weights.load({0}, {columns}), Type::f16));
      },
      {x.view(), ws.view(), y.view()}, {rows});
  const Tensor expected = generate({rows, columns}, [&](const Shape &at) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j)
      sum += a.at({at[0], j}) * a.at({at[0], j});
    return a.at(at) / std::sqrt(sum / columns + 1e-5) * w.values[at[1]];
  });
  CHECK(worst(y.values(), expected, [&](const Shape &at) { return std::fabs(expected.at(at)) * 0x1p-10 + 0x1p-24; }) <
        1);
}
