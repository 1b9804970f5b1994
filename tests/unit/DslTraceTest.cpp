// Whole kernels through the tracer: what they become, and that they verify.
#include "compiler/dsl/TracedKernel.h"

#include <catch2/catch.hpp>

#include <functional>
#include <limits>
#include <memory>

using namespace sectile;
using namespace sectile::tile;
using Catch::Matchers::Contains;

namespace {

struct FlashConfig {
  Type type;
  int headDim, blockM, blockN;
  bool causal;
};

/// Flash attention forward, with everything the language has for it.
void flashForward(Trace &t, const FlashConfig &c) {
  const float inf = std::numeric_limits<float>::infinity();
  const View q = t.input("q", c.type, 4), k = t.input("k", c.type, 4), v = t.input("v", c.type, 4);
  const View o = t.output("o", c.type, 4), lse = t.output("lse", Type::f32, 3);
  const Tile scale = t.scalar("scale") * 1.44269504f;
  const Tile batch = t.program(2), head = t.program(1), row0 = t.program(0) * c.blockM;
  const Tile kvHead = floorDiv(head, floorDiv(q.dim(1), k.dim(1)));
  const Tile keys = k.dim(2), diagonal = keys - q.dim(2);
  const Tile end = c.causal ? min(keys, row0 + c.blockM + diagonal) : keys;

  const Tile Q = q.load({batch, head, row0, 0}, {c.blockM, c.headDim});
  const Tile rows = column(t.iota(c.blockM)) + row0;
  Var m = t.full(-inf, {c.blockM, 1});
  Var l = t.full(0, {c.blockM, 1});
  Var acc = t.full(0, {c.blockM, c.headDim});

  for (const Tile j : t.range(0, ceilDiv(end, c.blockN))) {
    const Tile col0 = j * c.blockN, cols = row(t.iota(c.blockN)) + col0;
    const Tile K = k.load({batch, kvHead, col0, 0}, {c.blockN, c.headDim});
    const Tile V = v.load({batch, kvHead, col0, 0}, {c.blockN, c.headDim});
    const Tile inside = cols < keys;
    const Tile keep = c.causal ? inside & (rows + diagonal >= cols) : inside;
    const Tile S = select(keep, dot(Q, transpose(K)) * scale, -inf);

    const Tile mNew = max(m, maxRows(S));
    const Tile mSafe = select(mNew > -inf, mNew, 0);
    const Tile P = exp2(S - mSafe), alpha = exp2(m - mSafe);
    l = l * alpha + sumRows(P);
    acc = acc * alpha + dot(cast(P, c.type), V);
    m = mNew;
  }
  const Tile norm = select(l > 0, l, 1);
  o.store({batch, head, row0, 0}, cast(acc / norm, c.type));
  lse.store({batch, head, row0}, reshape((m + log2(norm)) * 0.69314718f, {c.blockM}));
}

TracedKernel traceFlash(const FlashConfig &config) {
  return trace("flash_forward", [&](Trace &t) { flashForward(t, config); }, {}, {{.unitStride = true}});
}

std::string textOf(const std::function<void(Trace &)> &body) { return trace("kernel", body, {}, {}).text(false); }

/// Operations are recorded as they are evaluated: in a braced list, from left to right.
void record(std::initializer_list<Tile>) {}

/// Matches a text that has these pieces, one after the other.
class InOrder : public Catch::MatcherBase<std::string> {
public:
  InOrder(std::vector<std::string> pieces) : pieces(std::move(pieces)) {}
  bool match(const std::string &text) const override {
    size_t position = 0;
    for (const std::string &piece : pieces) {
      position = text.find(piece, position);
      if (position == std::string::npos) {
        missing = piece;
        return false;
      }
      position += piece.size();
    }
    return true;
  }
  std::string describe() const override { return "has no \"" + missing + "\" after what comes before it"; }

private:
  std::vector<std::string> pieces;
  mutable std::string missing;
};

} // namespace

TEST_CASE("flash attention traces and verifies") {
  for (Type type : {Type::f32, Type::f16, Type::bf16})
    for (bool causal : {false, true}) {
      TracedKernel kernel = traceFlash({type, 64, 32, 128, causal});
      CHECK(kernel.name() == "flash_forward");
      REQUIRE(kernel.parameters().size() == 6);
      CHECK(kernel.parameters()[0] == Parameter{"q", Parameter::Access::input, type, 4});
      CHECK(kernel.parameters()[4] == Parameter{"lse", Parameter::Access::output, Type::f32, 3});
      CHECK(kernel.parameters()[5] == Parameter{"scale", Parameter::Access::scalar, Type::f32, 0});
      CHECK_THAT(kernel.text(false), Contains("arith.ceildivsi") && Contains("arith.floordivsi"));
      CHECK((kernel.text(false).find("arith.andi") != std::string::npos) == causal);
    }
  CHECK_THAT(
      traceFlash({Type::bf16, 64, 32, 128, false}).text(false),
      InOrder({"tile.kernel @flash_forward(%arg0: !tile.view<4xbf16> {tile.access = \"input\", tile.name = \"q\", "
               "tile.unit_stride}, %arg1: !tile.view<4xbf16> {tile.access = \"input\", tile.name = \"k\"}",
               "tile.load %arg0[",
               "-> tensor<32x64xbf16>",
               "scf.for",
               "iter_args(",
               "-> (tensor<32x1xf32>, tensor<32x1xf32>, tensor<32x64xf32>)",
               "tile.transpose",
               "[1, 0]",
               "tile.dot",
               "tensor<32x64xbf16>, tensor<64x128xbf16>, tensor<32x128xf32>",
               "arith.select",
               "tile.reduce max",
               "arith.maxnumf",
               "math.exp2",
               "tile.cast",
               "tensor<32x128xf32> to tensor<32x128xbf16>",
               "scf.yield",
               "tile.store",
               "math.log2",
               "tile.store",
               "tile.return"}));
}

TEST_CASE("operators become arith and math operations") {
  const std::string text = textOf([](Trace &t) {
    const Tile f = t.full(2, {4}), h = t.full(2, {4}, Type::f16), i = t.iota(4), b = i < 2;
    record({f + 1, f - 1, f * 1, f / 1, -f, min(f, 1), max(f, 1), abs(f), h + 0.1f});
    record({i + 1, i - 1, i * 1, -i, min(i, 1), max(i, 1), abs(i), floorDiv(i, 2), ceilDiv(i, 2), floorMod(i, 2)});
    record({mulHigh(i, 0xD2511F53u), i << 3, i >> 3, i & 1, b & b, i | 1, i ^ 1, ~i, ~b});
    record({f < 1, f <= 1, f > 1, f >= 1, f == 1, f != 1, i < 1, i <= 1, i > 1, i >= 1, i == 1, b != b});
    record({select(b, f, 0), exp(f), log2(f), log(f), tanh(f), sqrt(f), reciprocal(f)});
    record({reduceMin(f, 0), reduceSum(h, -1)});
  });
  CHECK_THAT(text, InOrder({"arith.addf",      "arith.subf",        "arith.mulf",
                            "arith.divf",      "arith.negf",        "arith.minnumf",
                            "arith.maxnumf",   "math.absf",         "arith.addf",
                            "tensor<4xf16>",   "arith.addi",        "arith.subi",
                            "arith.muli",      "arith.subi",        "arith.minsi",
                            "arith.maxsi",     "math.absi",         "arith.floordivsi",
                            "arith.ceildivsi", "arith.floordivsi",  "arith.muli",
                            "arith.subi",      "dense<-766435501>", "arith.mului_extended",
                            "arith.shli",      "arith.shrui",       "arith.andi",
                            "arith.andi",      "arith.ori",         "arith.xori",
                            "dense<-1>",       "arith.xori",        "dense<true>",
                            "arith.xori",      "cmpf olt",          "cmpf ole",
                            "cmpf ogt",        "cmpf oge",          "cmpf oeq",
                            "cmpf une",        "cmpi slt",          "cmpi sle",
                            "cmpi sgt",        "cmpi sge",          "cmpi eq",
                            "cmpi ne",         "arith.select",      "math.exp ",
                            "math.log2",       "math.log ",         "math.tanh",
                            "math.sqrt",       "fastmath<arcp>",    "reduce min",
                            "axis 0",          "reduce sum",        "tensor<4xf16> -> tensor<1xf16>"}));
}

TEST_CASE("scalars stay scalars until a tile needs them") {
  const std::string text = textOf([](Trace &t) {
    const Tile s = t.scalar("s");
    t.output("y", Type::f32, 1).store({0}, t.full(1, {4}) * (s * 2 + 1));
  });
  CHECK_THAT(text,
             InOrder({"arith.mulf", ": f32", "arith.addf", ": f32", "tile.splat", "arith.mulf", "tensor<4xf32>"}));
}

TEST_CASE("scalars are read and written as tiles of one element") {
  const std::string text = textOf([](Trace &t) {
    const View x = t.inout("x", Type::i32, 2);
    const Tile n = x.load({1, 2}, {});
    CHECK(n.rank() == 0);
    x.store({n, 0}, n + 1);
    x.atomicAdd({0, 0}, n);
    CHECK(reshape(reshape(n, {1, 1}), {}).shape().empty());
  });
  CHECK_THAT(text, InOrder({"tile.load", "-> tensor<1xi32>", "tile.extract", "arith.addi", ": i32", "tile.splat",
                            "tensor<1xi32>", "tile.store", "tile.atomic_add", "tile.splat", "tensor<1x1xi32>",
                            "tile.extract"}));
}

TEST_CASE("padding has the view's type") {
  const std::string text = textOf([](Trace &t) {
    t.input("x", Type::f16, 1).load({0}, {4}, -std::numeric_limits<double>::infinity());
    t.input("y", Type::i32, 1).load({0}, {4}, 7);
  });
  CHECK_THAT(text, InOrder({"pad 0xFC00 : f16", "pad 7 : i32"}));
}

//===-- variables -----------------------------------------------------------------------------------------------===//

TEST_CASE("a loop carries what its body assigns, and nothing else") {
  const std::string text = textOf([](Trace &t) {
    const View y = t.output("y", Type::i32, 1);
    Var untouched = t.full(1, {4}, Type::i32), a = t.full(2, {4}, Type::i32), b = t.full(3, {4}, Type::i32);
    for (const Tile i : t.range(0, 8, 2)) {
      const Tile old = a;
      a = b + untouched + i;
      b = old;
    }
    y.store({0}, a);
    y.store({4}, b);
    y.store({8}, untouched);
  });
  CHECK_THAT(text, InOrder({"scf.for %arg1", "iter_args(%arg2 = %cst_0, %arg3 = %cst_1)", "arith.addi %arg3, %cst :",
                            "scf.yield %", ", %arg2 :", "tile.store %0#0", "tile.store %0#1", "tile.store %cst,"}));
}

TEST_CASE("loops nest") {
  const std::string text = textOf([](Trace &t) {
    const View y = t.output("y", Type::i32, 1);
    Var sum = t.full(0, {}, Type::i32);
    for (const Tile i : t.range(0, 4)) {
      Var inner = i;
      for (const Tile j : t.range(i, 4)) {
        inner = inner + j;
        sum = sum + 1;
      }
      sum = sum + inner;
    }
    y.store({0}, sum);
  });
  CHECK_THAT(text, InOrder({"%0 = scf.for", "iter_args(%arg2 = %c0_i32)", ":2 = scf.for", "scf.yield", ": i32, i32",
                            "scf.yield", ": i32", "tile.splat %0"}));
}

TEST_CASE("conditions yield what either side assigns") {
  const std::string text = textOf([](Trace &t) {
    const View y = t.output("y", Type::i32, 1);
    Var a = t.full(1, {4}, Type::i32), b = t.full(2, {4}, Type::i32), c = t.full(3, {4}, Type::i32);
    t.when(t.program(0) < 4, [&] { a = a + 1; }, [&] { b = b + 2; });
    t.when(t.program(0) < 2, [&] { y.store({0}, c); });
    y.store({4}, a);
    y.store({8}, b);
  });
  CHECK_THAT(text, InOrder({":2 = scf.if", "(tensor<4xi32>, tensor<4xi32>)", "arith.addi %cst,", "scf.yield %",
                            ", %cst_0", "} else {", "arith.addi %cst_0,", "scf.yield %cst, %", "scf.if", "tile.store",
                            "}", "tile.store", "#0", "tile.store", "#1"}));
  CHECK(text.find("else", text.find("else") + 1) == std::string::npos);
}

TEST_CASE("a variable that dies inside a body is not carried") {
  const std::string text = textOf([](Trace &t) {
    auto gone = std::make_unique<Var>(t.full(1, {4}, Type::i32));
    for (const Tile i : t.range(0, 4)) {
      *gone = *gone + i;
      gone.reset();
    }
  });
  CHECK(text.find("iter_args") == std::string::npos);
}

TEST_CASE("an empty condition leaves nothing behind that does not verify") {
  CHECK_THAT(textOf([](Trace &t) { t.when(t.program(0) < 1, [] {}, [] {}); }), Contains("scf.if"));
}
