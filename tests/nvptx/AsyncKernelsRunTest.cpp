// Kernels with rings, roles and products in flight, run on the host by the emulator of tests/emulate.
#include "tests/nvptx/AsyncKernels.h"

#include "compiler/support/Diagnostic.h"
#include "compiler/support/Float.h"
#include "tests/emulate/WarpEmulator.h"

#include <catch2/catch.hpp>

#include <random>

using namespace sectile;

namespace {

struct Numbers {
  std::vector<float> values;
  std::vector<uint16_t> held;

  explicit Numbers(size_t count, unsigned seed = 0) : values(count), held(count) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < count; ++i) {
      values[i] = roundTo<bf16>(normal(random));
      held[i] = static_cast<uint16_t>(encode<bf16>(values[i]));
    }
  }
};

warps::BlockProgram programOf(const std::string &block) {
  return warps::BlockProgram(LoweredKernel(block, valueOrThrow(resolveTarget("nvptx:sm_90a", "none"))).text());
}

} // namespace

TEST_CASE("the documented example computes what it says") {
  constexpr int64_t size = 64, tiles = 5;
  Numbers q(size * size, 1), k(tiles * size * size, 2);
  std::vector<float> out(size * size);
  const Argument arguments[] = {ArrayView(q.held.data(), Type::bf16, {size, size}),
                                ArrayView(k.held.data(), Type::bf16, {tiles * size, size}),
                                ArrayView(out.data(), Type::f32, {size, size}), static_cast<int32_t>(tiles)};
  programOf(documentedExample()).launch(arguments, {});
  for (int64_t row = 0; row < size; ++row)
    for (int64_t column = 0; column < size; ++column) {
      double sum = 0;
      for (int64_t tile = 0; tile < tiles; ++tile)
        for (int64_t i = 0; i < size; ++i)
          sum += double{q.values[row * size + i]} * k.values[(tile * size + column) * size + i];
      INFO("row " << row << ", column " << column);
      REQUIRE(out[row * size + column] == Approx(sum).margin(1e-3));
    }
}

TEST_CASE("attention of three key blocks computes what attention is") {
  constexpr int64_t heads = 2, queries = 256, keys = 384, dim = 128, block = 128;
  constexpr float scale = 0.1f; // of exponents of 2
  Numbers q(heads * queries * dim, 1), k(heads * keys * dim, 2), v(heads * keys * dim, 3);
  std::vector<uint16_t> out(heads * queries * dim);
  auto array = [](std::vector<uint16_t> &data, int64_t rows) {
    return ArrayView(data.data(), Type::bf16, {1, heads, rows, dim});
  };
  const Argument arguments[] = {array(q.held, queries),
                                array(k.held, keys),
                                array(v.held, keys),
                                array(out, queries),
                                scale,
                                static_cast<int32_t>(keys / block)};
  programOf(attentionLoop()).launch(arguments, {queries / block, heads, 1});
  double worst = 0;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = 0; row < queries; row += 5) {
      std::vector<double> weights(keys), expected(dim);
      double sum = 0;
      for (int64_t key = 0; key < keys; ++key) {
        double score = 0;
        for (int64_t i = 0; i < dim; ++i)
          score += double{q.values[(head * queries + row) * dim + i]} * k.values[(head * keys + key) * dim + i];
        sum += weights[key] = std::exp2(score * scale);
      }
      for (int64_t i = 0; i < dim; ++i) {
        for (int64_t key = 0; key < keys; ++key)
          expected[i] += weights[key] / sum * v.values[(head * keys + key) * dim + i];
        worst = std::max(worst, std::abs(expected[i] - decode<bf16>(out[(head * queries + row) * dim + i])));
      }
    }
  CHECK(worst < 5e-3);
}
