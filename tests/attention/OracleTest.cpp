// The naive CUDA kernel without a device: its source, compiled by the host's compiler, against the host's reference,
// and NVRTC's verdict on it for every architecture.
#include "kernels/reference/cuda/Oracle.h"
#include "kernels/reference/cuda/Nvrtc.h"
#include "tests/attention/Tensor.h"

#include <catch2/catch.hpp>
#include <math.h>

#include "kernels/reference/cuda/attention.cu"

#include <iostream>
#include <limits>

using namespace sectile;
using namespace sectile::test;

namespace {

reference::AttentionResult onHost(reference::oracle::OracleCall call) {
  reference::AttentionResult result;
  result.out.assign(call.batch * call.seqlenQ * call.heads * call.headDimV, std::nan(""));
  result.lse.assign(call.batch * call.heads * call.seqlenQ, std::nan(""));
  call.out = result.out.data();
  call.lse = result.lse.data();
  for (int64_t row = 0; row < static_cast<int64_t>(result.lse.size()); ++row)
    if (call.rounding < 0)
      reference::oracle::computeRow<true>(call, row);
    else
      reference::oracle::computeRow<false>(call, row);
  return result;
}

/// Largest difference; the same NaN or infinity is none.
double distance(const std::vector<double> &a, const std::vector<double> &b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) {
      const double difference = std::abs(a[i] - b[i]);
      largest = std::max(largest, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
    }
  return largest;
}

} // namespace

TEST_CASE("the naive CUDA kernel computes what the host's reference does") {
  Random random(7);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto oneIn = [&](int n) { return between(1, n) == 1; };
  for (int i = 0; i < 300; ++i) {
    const Type type = std::array{Type::f32, Type::f16, Type::bf16}[between(0, 2)];
    const int64_t batch = between(1, 2), headsKv = between(1, 2), heads = headsKv * between(1, 2);
    const int64_t seqlenQ = between(1, 9), seqlenK = between(0, 12), headDim = between(1, 20),
                  headDimV = between(1, 20);
    const Layout columns{.order = {0, 2, 3, 1}, .gap = 3}, reversed{.order = {}, .reversed = {1, 3}}, plain;
    const auto layout = [&] { return std::array{columns, reversed, plain}[between(0, 2)]; };
    Tensor q(type, {batch, seqlenQ, heads, headDim}, layout()), k(type, {batch, seqlenK, headsKv, headDim}, layout()),
        v(type, {batch, seqlenK, headsKv, headDimV}, layout());
    Tensor slopes(Type::f32, {batch, heads}), slopesOfAll(Type::f32, {heads}), sink(Type::f32, {heads}),
        bias(oneIn(2) ? type : Type::f32, {batch, heads, seqlenQ, seqlenK}), lengths(Type::i32, {batch});
    for (Tensor *tensor : {&q, &k, &v, &slopes, &slopesOfAll, &sink, &bias})
      tensor->randomize(random);
    lengths.generate([&] { return static_cast<double>(between(0, seqlenK)); });

    AttentionOptions options;
    options.scale = static_cast<float>(between(-4, 8)) / 8;
    options.causal = oneIn(3);
    options.alignment = oneIn(2) ? MaskAlignment::topLeft : MaskAlignment::bottomRight;
    options.windowLeft = oneIn(3) ? between(0, 6) : -1;
    options.windowRight = !options.causal && oneIn(3) ? between(0, 6) : -1;
    options.softcap = oneIn(3) ? 2.5f : 0;
    options.dropout = oneIn(3) ? 0.25f : 0;
    options.seed = random();
    options.offset = random();
    if (oneIn(3))
      options.alibiSlopes = oneIn(2) ? slopes : slopesOfAll;
    if (oneIn(3))
      options.bias = bias;
    if (oneIn(3))
      options.sink = sink;
    if (oneIn(3))
      options.keyLengths = lengths;

    INFO("problem " << i << ", " << typeName(type));
    const auto exact = onHost(reference::oracle::describeCall(q, k, v, options, std::nullopt));
    const auto expected = reference::attention(q, k, v, options);
    REQUIRE(distance(exact.out, expected.out) < 1e-12);
    REQUIRE(distance(exact.lse, expected.lse) < 1e-12);
    // One rounding that falls the other way is allowed: sums are of f32, in another order.
    const auto naive = onHost(reference::oracle::describeCall(q, k, v, options, type));
    const auto expectedNaive = reference::naiveAttention(q, k, v, options);
    REQUIRE(distance(naive.out, expectedNaive.out) < (type == Type::f32 ? 1e-5 : type == Type::f16 ? 4e-3 : 4e-2));
  }
}

TEST_CASE("the naive CUDA kernel refuses what it cannot call") {
  Tensor t(Type::f32, {1, 1, 1, 1});
  AttentionOptions options;
  options.maskPredicate = [](const ScorePosition &at) { return at.key > 0; };
  CHECK_THROWS_WITH(reference::oracle::describeCall(t, t, t, options, std::nullopt),
                    Catch::Contains("maskPredicate is a C++ function"));
}

TEST_CASE("NVRTC compiles the naive kernel for every architecture") {
  if (const std::string why = reference::oracle::whyNoNvrtc(); !why.empty()) {
    std::cout << "not run: " << why << '\n';
    return;
  }
  for (const char *architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120"}) {
    INFO(architecture);
    const std::string cubin = reference::oracle::compileOracle(architecture);
    CHECK(cubin.substr(1, 3) == "ELF");
    CHECK(cubin.find(reference::oracle::oracleEntry) != std::string::npos);
  }
  CHECK_THROWS_WITH(reference::oracle::compileOracle("sm_1"), Catch::Contains("sm_1"));
}
