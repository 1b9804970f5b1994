// Cases in which other libraries went wrong, by their public issue. Sizes are cut where a host would take long.
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sectile;
using namespace sectile::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Makes every visible key weigh the same, so that exp(lse) counts them and `out` shows which they are.
struct KeyCounter {
  Trial trial;
  KeyCounter(int64_t seqlenQ, int64_t seqlenK)
      : trial({.seqlenQ = seqlenQ, .seqlenK = seqlenK, .headDim = 16, .headDimV = seqlenK}) {
    trial.q.fill(0);
    int64_t element = 0;
    trial.v.generate([&] { // the identity
      const bool diagonal = element / seqlenK == element % seqlenK;
      ++element;
      return diagonal;
    });
  }
  bool sees(int64_t query, int64_t key) const { return trial.outAt(0, query, 0, key) > 0; }
  int64_t count(int64_t query) const { return std::lround(std::exp(trial.lseAt(0, 0, query))); }
};

std::vector<std::byte> outBytes(Trial &trial) {
  trial.run();
  return trial.out.bytes();
}

} // namespace

TEST_CASE("A01 flash-attention#1778: causal with more queries than keys") {
  const int64_t keys = reduced() ? 32 : 1024;
  Trial trial({.type = Type::f16, .seqlenQ = 2 * keys, .seqlenK = keys, .heads = 2, .headsKv = 2});
  trial.options.causal = true;
  trial.check();
  for (int64_t query = 0; query < keys; ++query) {
    REQUIRE(trial.outAt(0, query, 1, 63) == 0);
    REQUIRE(trial.lseAt(0, 1, query) == -infinity);
  }
  CHECK(trial.lseAt(0, 1, keys) > -infinity);
}

TEST_CASE("A02 flash-attention#2199: windows that leave rows empty") {
  for (const int64_t keys : {1, 32, 63, 64, 65, 129}) {
    INFO(keys << " keys");
    KeyCounter counter(129, keys);
    counter.trial.options.windowLeft = 32;
    counter.trial.options.windowRight = 64;
    counter.trial.run();
    bool right = true;
    for (int64_t i = 0; i < 129; ++i)
      for (int64_t j = 0; j < keys; ++j)
        right &= counter.sees(i, j) == (i + keys - 129 - 32 <= j && j <= i + keys - 129 + 64);
    CHECK(right);
  }
}

TEST_CASE("A03 flash-attention#895: a right window wider than the keys still hides some") {
  KeyCounter counter(10, 5);
  counter.trial.options.windowRight = 5;
  counter.trial.run();
  CHECK(counter.count(0) == 1);
  CHECK(counter.sees(0, 0));
  for (const auto &[queries, keys, right] : {std::tuple{10, 5, 5}, {10, 5, 7}, {300, 100, 100}}) {
    Trial trial({.type = Type::f16, .seqlenQ = queries, .seqlenK = keys, .heads = 2, .headsKv = 2});
    trial.options.windowRight = right;
    if (!reduced() || queries < 100)
      trial.check();
  }
}

TEST_CASE("A04 flash-attention#1133: windows that mean causal give the same bits") {
  const int64_t length = reduced() ? 48 : 1024;
  Trial trial({.type = Type::f16, .seqlenQ = length, .seqlenK = length, .headDim = 128, .headDimV = 128});
  trial.options.causal = true;
  const auto causal = outBytes(trial);
  trial.options.causal = false;
  trial.options.windowRight = 0;
  for (const int64_t left : {int64_t{-1}, length, length - 1}) {
    trial.options.windowLeft = left;
    CHECK(outBytes(trial) == causal);
  }
}

TEST_CASE("A05 flash-attention#1116: a window of -3 is an error") {
  Trial trial({.type = Type::f16, .seqlenQ = 8, .seqlenK = 8});
  trial.options.causal = true;
  trial.options.windowRight = -3;
  CHECK_THROWS_WITH(trial.run(), Catch::Contains("windowRight is -3"));
}

TEST_CASE("A06 transformers#39408: a left window of w shows w + 1 keys") {
  for (const int64_t left : {3, 4}) {
    KeyCounter counter(17, 17);
    counter.trial.options.windowLeft = left;
    counter.trial.options.windowRight = 0;
    counter.trial.run();
    for (int64_t i = 0; i < 17; ++i)
      CHECK(counter.count(i) == std::min(i, left) + 1);
  }
}

TEST_CASE("A07 ROCm/flash-attention#158: the window of a single query ends at the last key") {
  for (const int64_t keys : {1, 2, 127, 128, 129, 130, 256, 300}) {
    KeyCounter counter(1, keys);
    counter.trial.options.windowLeft = 128;
    counter.trial.options.windowRight = 0;
    counter.trial.run();
    CHECK(counter.count(0) == std::min<int64_t>(keys, 129));
    CHECK(counter.sees(0, keys - 1));
    CHECK(counter.sees(0, 0) == (keys <= 129));
  }
}

TEST_CASE("A08 flashinfer#4893: windowRight is honoured") {
  const int64_t length = reduced() ? 40 : 256;
  Trial trial({.type = Type::f16, .seqlenQ = length, .seqlenK = length, .heads = 8, .headsKv = 2});
  const auto unbounded = outBytes(trial);
  trial.options.windowRight = 17;
  trial.check();
  CHECK(trial.out.bytes() != unbounded);
}

TEST_CASE("A11 flash-attention#2470: no keys at all") {
  for (const bool causal : {false, true}) {
    Trial trial({.batch = 2, .seqlenQ = 128, .seqlenK = 0, .heads = 4, .headsKv = 4, .headDim = 128, .headDimV = 128});
    trial.options.causal = causal;
    trial.check();
    CHECK(trial.outAt(1, 127, 3, 127) == 0);
    CHECK(trial.lseAt(1, 3, 127) == -infinity);
  }
}

TEST_CASE("A14 flash-attention#334: one query, one key, one dimension of 16") {
  Trial trial({.type = Type::f16, .headDim = 16, .headDimV = 16}, 352, 3);
  CHECK(outBytes(trial) == trial.v.bytes());
}

TEST_CASE("A19 A20 flash-attention#355 and #2777: transposed and non-unit last strides, one kv head") {
  const Layout transposed{.order = {0, 2, 1, 3}}, columns{.order = {0, 2, 3, 1}};
  const Shape contiguous{
      .type = Type::f16, .batch = 2, .seqlenQ = 32, .seqlenK = 32, .heads = 4, .headDim = 128, .headDimV = 128};
  Shape strided = contiguous;
  strided.q = strided.out = transposed;
  strided.k = strided.v = columns;
  Trial plain(contiguous), other(strided);
  CHECK(outBytes(plain) == outBytes(other));
  strided.out = columns;
  Trial third(strided);
  third.check();
  CHECK(plain.out.bytes() == third.out.bytes());
}

TEST_CASE("A21 pytorch#191937: keys and values shared by all heads through stride 0") {
  for (const int64_t keys : {33, 65, 97}) {
    Shape shape{.seqlenQ = 40, .seqlenK = keys, .heads = 3, .headsKv = 3};
    shape.k.broadcast = shape.v.broadcast = {2};
    Trial shared(shape, 7);
    shape.k = shape.v = {};
    Trial copied(shape, 7);
    for (auto [from, to] : {std::pair{&shared.q, &copied.q}, {&shared.k, &copied.k}, {&shared.v, &copied.v}}) {
      // The same numbers: read in row-major order, in which stride 0 repeats them.
      const auto bytes = from->bytes();
      size_t at = 0;
      to->generate([&] {
        float value;
        std::memcpy(&value, &bytes[at], sizeof value);
        at += sizeof value;
        return value;
      });
    }
    shared.check();
    CHECK(outBytes(shared) == outBytes(copied));
  }
}

TEST_CASE("A22 pytorch#128348 and #143331: values narrower and wider than keys") {
  const int64_t length = reduced() ? 24 : 400;
  Trial({.seqlenQ = length, .seqlenK = length, .headDim = 128, .headDimV = 64}).check();
  Trial({.type = Type::bf16, .seqlenQ = length, .seqlenK = length, .heads = 8, .headsKv = 4, .headDimV = 128}).check();
}

TEST_CASE("A23 flash-attention#2427: a head dimension of 512") {
  const int64_t length = reduced() ? 20 : 160;
  Trial trial({.type = Type::bf16,
               .seqlenQ = length,
               .seqlenK = length,
               .heads = 8,
               .headsKv = 4,
               .headDim = 512,
               .headDimV = 512});
  trial.options.causal = true;
  trial.check();
}

TEST_CASE("A24 pytorch#133321 and flash-attention#1141: head dimensions that are no power of two") {
  const int64_t length = reduced() ? 20 : 257;
  for (const int64_t headDim : {1, 8, 40, 72, 80, 96, 111, 132, 576}) {
    if (reduced() && headDim > 100)
      continue;
    INFO("headDim " << headDim);
    Trial({.type = Type::f16, .seqlenQ = length, .seqlenK = length, .headDim = headDim, .headDimV = headDim}).check();
  }
}

TEST_CASE("A28 flash-attention#907 and #1585: ALiBi in cross attention, and lse of the documented scores") {
  Tensor slopes(Type::f32, {8});
  int exponent = 0;
  slopes.generate([&] { return std::exp2(-++exponent); });
  for (const bool causal : {false, true}) {
    Trial trial({.seqlenQ = 24, .seqlenK = 70, .heads = 8, .headsKv = 8, .headDim = 16, .headDimV = 16});
    trial.options.alibiSlopes = slopes;
    trial.options.causal = causal;
    trial.q.fill(0); // scores are the bias alone
    trial.check();
    for (int64_t i = 0; i < 24; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < (causal ? i + 70 - 24 + 1 : 70); ++j)
        sum += std::exp(-0.5 * static_cast<double>(std::abs(i + 70 - 24 - j)));
      CHECK(trial.lseAt(0, 0, i) == Approx(std::log(sum)).margin(1e-5));
    }
  }
}

TEST_CASE("A32 flash-attention#1772: the output of a sequence does not depend on its neighbours or layout") {
  const int64_t length = reduced() ? 20 : 140, heads = reduced() ? 2 : 28;
  Shape shape{.type = Type::bf16,
              .batch = 3,
              .seqlenQ = length,
              .seqlenK = length,
              .heads = heads,
              .headsKv = heads,
              .headDim = 128,
              .headDimV = 128};
  Trial batched(shape);
  batched.options.causal = true;
  const auto together = outBytes(batched);

  Layout headsFirst{.order = {0, 2, 1, 3}};
  shape.batch = 1;
  shape.out = headsFirst;
  for (int64_t b = 0; b < 3; ++b) {
    Trial alone(shape);
    const auto slice = [&](const Tensor &all) {
      ArrayView view = all;
      view.data = static_cast<char *>(view.data) + b * view.strides[0] * typeBytes(view.type);
      view.sizes[0] = 1;
      return view;
    };
    runAttention(session(), slice(batched.q), slice(batched.k), slice(batched.v), alone.out, {}, batched.options);
    const auto bytes = alone.out.bytes();
    CHECK(std::equal(bytes.begin(), bytes.end(), together.begin() + b * static_cast<int64_t>(bytes.size())));
  }
}

TEST_CASE("A49: softcap changes the result") {
  Trial trial({.type = Type::bf16, .seqlenQ = 30, .seqlenK = 50}, 1, 3);
  const auto without = outBytes(trial);
  trial.options.softcap = 5;
  trial.check();
  CHECK(trial.out.bytes() != without);
}

TEST_CASE("what lies past a key length may be anything") {
  for (const Type type : {Type::f32, Type::bf16}) {
    Trial trial({.type = type, .batch = 3, .seqlenQ = 5, .seqlenK = 40, .headDim = 16, .headDimV = 16});
    Tensor lengths(Type::i32, {3});
    int64_t next = 0;
    lengths.generate([&] { return static_cast<double>(std::array{0, 17, 33}[next++]); });
    trial.options.keyLengths = lengths;
    for (Tensor *tensor : {&trial.k, &trial.v}) {
      int64_t element = 0;
      Random random(5);
      std::normal_distribution<double> normal;
      Tensor &t = *tensor;
      t.generate([&] {
        const int64_t row = element / 16, batch = row / 40, key = row % 40;
        ++element;
        return key < std::array{0, 17, 33}[batch] ? normal(random) : std::nan("");
      });
    }
    trial.check();
    CHECK(trial.outAt(0, 0, 0, 0) == 0);
    CHECK(trial.lseAt(0, 0, 0) == -infinity);
    CHECK_FALSE(std::isnan(trial.outAt(1, 0, 0, 0)));
  }
}

TEST_CASE("key lengths outside 0 to seqlenK are cut to it") {
  Trial trial({.batch = 2, .seqlenQ = 5, .seqlenK = 20, .headDim = 16, .headDimV = 16});
  const auto all = outBytes(trial);
  Tensor lengths(Type::i32, {2});
  lengths.generate([&] { return 1000.0; });
  trial.options.keyLengths = lengths;
  CHECK(outBytes(trial) == all);
  lengths.fill(-4);
  trial.run();
  CHECK(trial.outAt(0, 0, 0, 0) == 0);
}

TEST_CASE("NaN in, NaN out") {
  Trial trial({.seqlenQ = 20, .seqlenK = 40, .headDim = 16, .headDimV = 16});
  trial.options.causal = true;
  int64_t element = 0;
  trial.q.generate([&] { return element++ == 3 * 16 ? std::nan("") : 0.5; });
  trial.check(); // the reference has NaN in row 3 alone
  CHECK(std::isnan(trial.outAt(0, 3, 0, 0)));
  CHECK(std::isnan(trial.lseAt(0, 0, 3)));
  CHECK_FALSE(std::isnan(trial.outAt(0, 4, 0, 0)));
}

TEST_CASE("scores that are large, all -infinity, or scaled by 0 or less") {
  Trial large({.type = Type::f16, .seqlenQ = 33, .seqlenK = 60}, 3, 3);
  large.options.scale = 1.0f;
  large.check();
  for (const float scale : {0.0f, -1.0f}) {
    Trial trial({.seqlenQ = 33, .seqlenK = 60});
    trial.options.scale = scale;
    trial.check();
  }
  Trial hidden({.seqlenQ = 4, .seqlenK = 60});
  Tensor bias(Type::f32, {1, 1, 4, 60});
  bias.fill(-infinity);
  hidden.options.bias = bias;
  hidden.check();
  CHECK(hidden.outAt(0, 0, 0, 0) == 0);
  CHECK(hidden.lseAt(0, 0, 0) == -infinity);
}

TEST_CASE("a sink alone") {
  Tensor sink(Type::f32, {2});
  sink.fill(1.5);
  Trial trial({.seqlenQ = 3, .seqlenK = 0, .heads = 2, .headsKv = 2});
  trial.options.sink = sink;
  trial.check();
  CHECK(trial.lseAt(0, 1, 2) == Approx(1.5));
  CHECK(trial.outAt(0, 2, 1, 0) == 0);
}

TEST_CASE("nothing to do") {
  for (const Shape &shape : {Shape{.batch = 0, .seqlenQ = 4, .seqlenK = 4}, Shape{.seqlenQ = 0, .seqlenK = 4},
                             Shape{.seqlenQ = 4, .seqlenK = 4, .heads = 0, .headsKv = 0}}) {
    Trial trial(shape);
    trial.run();
    CHECK(trial.out.guardsIntact());
    CHECK(trial.lse.guardsIntact());
  }
}
