// A traced kernel as text, and back.
#include "compiler/dsl/TracedKernel.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::tile;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

namespace {

const int firstLine = __LINE__ + 2;
void scale(Trace &t) {
  const View x = t.input("x", Type::bf16, 2);
  const View y = t.inout("y", Type::f8e4m3, 1);
  const Tile s = t.scalar("s"), n = t.scalar("n", Type::i32);
  const Tile row = t.program(0);
  y.store({row}, cast(reshape(sumRows(cast(x.load({row, 0}, {8, 4}), Type::f32)) * s, {8}), Type::f8e4m3));
  for (const Tile i : t.range(0, n))
    y.load({i}, {8});
}

TracedKernel traceScale() { return trace("scale", scale, {}, {{.unitStride = true}}); }

std::string parseError(const std::string &text) {
  try {
    TracedKernel::parse(text, "tile.mlir");
  } catch (const UserError &error) {
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("operations carry their source line") {
  const std::string text = traceScale().text(true);
  CHECK_THAT(text, Contains("\"TracedKernelTest.cpp\":" + std::to_string(firstLine + 3) + ":"));
  CHECK_THAT(text, Contains("\"TracedKernelTest.cpp\":" + std::to_string(firstLine + 4) + ":"));
  CHECK_THAT(text, Contains("\"TracedKernelTest.cpp\":" + std::to_string(firstLine + 5) + ":"));
  CHECK_THAT(text, !Contains("/"));
  CHECK_THAT(traceScale().text(false), !Contains("loc(") && !Contains("TracedKernelTest"));
}

TEST_CASE("parsing restores text and parameters") {
  const TracedKernel kernel = traceScale();
  const std::vector<Parameter> parameters = {{"x", Parameter::Access::input, Type::bf16, 2},
                                             {"y", Parameter::Access::inout, Type::f8e4m3, 1},
                                             {"s", Parameter::Access::scalar, Type::f32, 0},
                                             {"n", Parameter::Access::scalar, Type::i32, 0}};
  CHECK(kernel.parameters() == parameters);
  for (bool locations : {false, true}) {
    const TracedKernel parsed = TracedKernel::parse(kernel.text(locations), "tile.mlir");
    CHECK(parsed.name() == "scale");
    CHECK(parsed.parameters() == parameters);
    CHECK_THAT(parsed.text(locations), Equals(kernel.text(locations)) || Contains("loc("));
    CHECK_THAT(parsed.text(false), Equals(kernel.text(false)));
  }
}

TEST_CASE("a trace is reproducible") { CHECK_THAT(traceScale().text(true), Equals(traceScale().text(true))); }

TEST_CASE("facts are part of the text") {
  CHECK_THAT(traceScale().text(false), Contains("tile.name = \"x\", tile.unit_stride}"));
  CHECK_THAT(trace("scale", scale, {}, {}).text(false), !Contains("unit_stride"));
  const std::string aligned = trace("scale", scale, {}, {{.unitStride = true}, {.aligned16 = true}}).text(false);
  CHECK_THAT(aligned, Contains("tile.aligned16, tile.name = \"y\"}"));
  CHECK_THAT(aligned, !Contains("tile.aligned16, tile.name = \"x\""));
  const ArgumentFacts all{.unitStride = true, .aligned16 = true, .bulk = true};
  CHECK_THAT(trace("scale", scale, {}, {all}).text(false),
             Contains("tile.aligned16, tile.bulk, tile.name = \"x\", tile.unit_stride}"));
  CHECK_THROWS_AS(trace("scale", scale, {}, {{}, all}), InternalError); // of rank 1
  CHECK_THROWS_AS(trace("scale", scale, {}, {{}, {}, {.bulk = true}}), InternalError);
}

TEST_CASE("parsing reports line, column and reason") {
  CHECK_THAT(parseError("tile.kernel @k() {\n  %p = tile.program 3\n  tile.return\n}\n"),
             StartsWith("tile.mlir:2:8: error: 'tile.program' op needs a grid axis from 0 to 2, got 3"));
  CHECK_THAT(parseError("tile.kernel @k( {"), StartsWith("tile.mlir:1:16: error: "));
  CHECK_THAT(parseError("module {}"), Equals("tile.mlir: error: needs one tile.kernel, got 0"));
  CHECK_THAT(parseError(""), Equals("tile.mlir: error: needs one tile.kernel, got 0"));
  CHECK_THAT(parseError("tile.kernel @a() {\n  tile.return\n}\ntile.kernel @b() {\n  tile.return\n}\n"),
             Equals("tile.mlir: error: needs one tile.kernel, got 2"));
  CHECK_THAT(parseError("tile.kernel @k(%x: f32) {\n  tile.return\n}\n"),
             Equals("tile.mlir: error: argument 0 needs the attributes tile.name and tile.access"));
}

TEST_CASE("a name that is empty is refused") { CHECK_THROWS_AS(trace("", scale, {}, {}), UserError); }
