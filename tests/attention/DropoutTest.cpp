// Dropout: the random numbers are Philox's, the kernel and the host agree bit by bit, tile sizes do not matter.
#include "kernels/attention/Philox.h"
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Every weight is 1/keys and the values are the identity: out[query, key] > 0 exactly where the weight was kept.
Trial maskTrial(int64_t queries, int64_t keys) {
  Trial trial(
      {.batch = 2, .seqlenQ = queries, .seqlenK = keys, .heads = 3, .headsKv = 1, .headDim = 16, .headDimV = keys});
  trial.q.fill(0);
  int64_t element = 0;
  trial.v.generate([&] {
    const bool diagonal = element / keys % keys == element % keys;
    ++element;
    return diagonal;
  });
  trial.options.dropout = 0.1f;
  trial.options.seed = 0x123456789abcdef0;
  trial.options.offset = 0xfedcba9876543210;
  return trial;
}

} // namespace

TEST_CASE("philox gives the published numbers") {
  using Words = std::array<uint32_t, 4>;
  CHECK(attention::philox<uint32_t>({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint32_t ones = 0xffffffff;
  CHECK(attention::philox<uint32_t>({ones, ones, ones, ones}, {ones, ones}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(attention::philox<uint32_t>({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the threshold has 32 bits") {
  CHECK(attention::dropoutThreshold(0.5f) == 0x80000000);
  CHECK(attention::dropoutThreshold(0.25f) == 0xc0000000);
  CHECK(attention::dropoutThreshold(1e-9f) == 0xfffffffc);
  CHECK(attention::dropoutThreshold(1e-20f) == 0xffffffff);
}

TEST_CASE("A30 flash-attention#2088 and #771: the kernel drops what dropoutKeeps says, with any schedule") {
  for (const auto &[blockM, blockN] : {std::pair{16, 32}, {64, 64}}) {
    Trial trial = maskTrial(40, 72);
    trial.schedule.blockM = blockM;
    trial.schedule.blockN = blockN;
    trial.check();
    const AttentionOptions &o = trial.options;
    bool agrees = true;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t i = 0; i < 40; ++i)
          for (int64_t j = 0; j < 72; ++j)
            agrees &= (trial.outAt(b, i, h, j) > 0) == dropoutKeeps(o.seed, o.offset, o.dropout, b, h, i, j);
    CHECK(agrees);
    CHECK(trial.outAt(0, 0, 0, 0) == Approx(1 / (72 * 0.9)));
    CHECK(trial.lseAt(1, 2, 39) == Approx(std::log(72.0))); // of all weights
  }
}

TEST_CASE("A30: the same seed repeats, another one does not, and the rate is right") {
  Trial trial = maskTrial(40, 72);
  trial.run();
  const auto first = trial.out.bytes();
  trial.run();
  CHECK(trial.out.bytes() == first);
  for (const bool seed : {false, true}) { // either word of both numbers counts
    for (const int bit : {0, 63}) {
      (seed ? trial.options.seed : trial.options.offset) ^= uint64_t{1} << bit;
      trial.run();
      CHECK(trial.out.bytes() != first);
    }
  }

  const int64_t queries = 512, keys = 512;
  int64_t kept = 0, sameAsNextHead = 0;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      const bool keeps = dropoutKeeps(1, 0, 0.1f, 0, 0, i, j);
      kept += keeps;
      sameAsNextHead += keeps == dropoutKeeps(1, 0, 0.1f, 0, 1, i, j);
    }
  const double count = queries * keys, agreement = 0.9 * 0.9 + 0.1 * 0.1;
  CHECK(std::abs(static_cast<double>(kept) - 0.9 * count) < 4 * std::sqrt(0.9 * 0.1 * count));
  CHECK(std::abs(static_cast<double>(sameAsNextHead) - agreement * count) <
        4 * std::sqrt(agreement * (1 - agreement) * count));
}
