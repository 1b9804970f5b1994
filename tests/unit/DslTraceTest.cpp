// Whole kernels through the tracer: what they become, and that they verify.
#include "compiler/dsl/TracedKernel.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <limits>

using namespace sectile;
using Catch::Matchers::Contains;

namespace {

struct FlashConfig {
  Type type;
  int headDim, blockM, blockN;
  bool causal;
};

/// Flash attention forward, with everything the language has for it.
void flashForward(Trace &t, const FlashConfig &c) {
  using namespace tile;
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
  return trace(
      "flash_forward", [&](Trace &t) { flashForward(t, config); }, {}, {{.unitStride = true}});
}

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
    }
}
