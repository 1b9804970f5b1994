// What threads decide and sum apart: operations that the compiler makes. Which thread has which part is not said, so
// only what all parts come to is checked.
#include "tests/conformance/Harness.h"
#include "tests/conformance/Reference.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sectile;
using namespace sectile::conformance;

namespace {

std::string tensor(int64_t rows, int64_t columns, const std::string &element) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + element + ">";
}

std::string parameter(const std::string &name, const std::string &access, const std::string &element) {
  return "%" + name + ": !tile.view<2x" + element + "> {tile.name = \"" + name + "\", tile.access = \"" + access +
         "\"}";
}

/// A kernel that loads %x, [m, n] of a type, and stores %r, as %y; with `product`, %x has the layout of an accumulator.
std::string kernelText(const std::string &body, int64_t m, int64_t n, const std::string &element,
                       const std::string &result, const std::string &resultElement, bool product) {
  const std::string x = tensor(m, n, element), view = "!tile.view<2x" + element + ">", zeros = tensor(m, 16, "f16"),
                    wide = tensor(16, n, "f16"), zero = tensor(m, n, "f32");
  std::string text = "tile.kernel @parts(" + parameter("x", "input", element) + ", " + parameter("z", "input", "f16") +
                     ", " + parameter("y", "output", resultElement) + ") {\n" + "%c0 = arith.constant 0 : i32\n" +
                     "%loaded = tile.load %x[%c0, %c0] : " + view + " -> " + x + "\n";
  if (product)
    text += "%a = tile.load %z[%c0, %c0] : !tile.view<2xf16> -> " + zeros +
            "\n%b = tile.load %z[%c0, %c0] : !tile.view<2xf16> -> " + wide +
            "\n%zero = arith.constant dense<0.0> : " + zero + "\n%p = tile.dot %a, %b, %zero : " + zeros + ", " + wide +
            ", " + zero + "\n%t = arith.addf %loaded, %p : " + x + "\n";
  else
    text += "%t = tile.reshape %loaded : " + x + " -> " + x + "\n";
  return text + body + "\ntile.store %r, %y[%c0, %c0] : " + result + ", !tile.view<2x" + resultElement +
         ">\ntile.return\n}\n";
}

/// Row by row, from a tensor of two dimensions.
Tensor rowsOf(const Tensor &x, double initial, double (*combine)(double, double)) {
  return generate({x.shape[0], 1}, [&](const Shape &at) {
    double result = initial;
    for (int64_t j = 0; j < x.shape[1]; ++j)
      result = combine(result, x.at({at[0], j}));
    return result;
  });
}

/// For both operands of the product.
Buffer zerosFor(int64_t m, int64_t n) {
  const int64_t rows = std::max<int64_t>(m, 16), columns = std::max<int64_t>(n, 16);
  return Buffer(Type::f16, {rows, columns}, Values(rows * columns, 0));
}

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Kind {
  const char *name;
  double initial;
  double (*combine)(double, double);
};
constexpr Kind kinds[] = {{"sum", 0, [](double a, double b) { return a + b; }},
                          {"max", -infinity, [](double a, double b) { return std::fmax(a, b); }},
                          {"min", infinity, [](double a, double b) { return std::fmin(a, b); }}};

/// A reduction to parts, and the reduction of those.
void checkParts(const Kind &kind, int64_t m, int64_t n, Type type, int64_t parts, bool product) {
  const std::string element(typeName(type)), x = tensor(m, n, element), split = tensor(m, parts, element),
                                             row = tensor(m, 1, element);
  const std::string reduce = std::string("tile.reduce ") + kind.name;
  const Program program(kernelText("%q = " + reduce + " %t axis 1 parts " + std::to_string(parts) + " : " + x + " -> " +
                                       split + "\n%r = " + reduce + " %q axis 1 : " + split + " -> " + row,
                                   m, n, element, row, element, product));
  Random random(static_cast<uint64_t>(m * 1000 + n));
  const Tensor values = generate({m, n}, [&](const Shape &) { return std::round(random.real(-4, 4)); }); // exact sums
  const Buffer in(type, {m, n}, values.values), zeros = zerosFor(m, n);
  Buffer out(type, {m, 1});
  program.run({in.view(), zeros.view(), out.view()});
  INFO(kind.name << " of " << x << " in " << parts << " parts" << (product ? ", an accumulator" : ""));
  CHECK(out.values() == rowsOf(values, kind.initial, kind.combine).values);
}

} // namespace

TEST_CASE("parts of a reduction come to the whole", "[compute]") {
  for (const Kind &kind : kinds)
    for (const int64_t parts : {1, 2, 4, 8})
      for (const auto &[m, n] :
           {std::pair<int64_t, int64_t>{64, 64}, {128, 40}, {16, 128}, {5, 7}, {33, 2}, {1, 256}}) {
        for (const Type type : arithmeticTypes)
          checkParts(kind, m, n, type, parts, /*product=*/false);
        checkParts(kind, m, n, Type::f32, parts, /*product=*/true);
      }
}

TEST_CASE("a branch on tile.any is taken where it is needed", "[compute]") {
  constexpr double limit = 3;
  for (const bool product : {false, true})
    for (const auto &[m, n] : {std::pair<int64_t, int64_t>{128, 64}, {64, 8}, {16, 40}, {5, 7}, {1, 33}})
      for (const int64_t rows : {int64_t{0}, int64_t{1}, m}) { // how many are above the limit somewhere
        const std::string x = tensor(m, n, "f32");
        const Program program(
            kernelText("%limit = arith.constant dense<3.0> : " + x + "\n%above = arith.cmpf ogt, %t, %limit : " + x +
                           "\n%need = tile.any %above : " + tensor(m, n, "i1") + " -> i1\n%r = scf.if %need -> (" + x +
                           ") {\n%least = arith.minnumf %t, %limit : " + x + "\nscf.yield %least : " + x +
                           "\n} else {\nscf.yield %t : " + x + "\n}",
                       m, n, "f32", x, "f32", product));
        Random random(static_cast<uint64_t>(m + n));
        Tensor values = generate({m, n}, [&](const Shape &) { return random.real(-8, limit); });
        for (double &value : values.values)
          value = static_cast<float>(value);
        for (int64_t row = 0; row < rows; ++row)
          values.values[(rows == 1 ? m / 2 : row) * n + random.integer(0, n - 1)] = 1000;
        const Buffer in(Type::f32, {m, n}, values.values), zeros = zerosFor(m, n);
        Buffer out(Type::f32, {m, n});
        program.run({in.view(), zeros.view(), out.view()});
        Values expected = values.values;
        for (double &value : expected)
          value = std::fmin(value, limit);
        INFO("of " << x << ", " << rows << " rows above" << (product ? ", an accumulator" : ""));
        CHECK(out.values() == expected);
      }
}
