// Head dimensions of every kind: rows of all alignments, and tiles that are an odd number of layouts wide.
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;

TEST_CASE("head dimensions of every kind") {
  const std::pair<int64_t, int64_t> sizes[] = {{1, 1},    {8, 17},    {17, 8},   {40, 72},   {72, 40},
                                               {64, 38},  {64, 194},  {194, 64}, {208, 240}, {250, 30},
                                               {30, 250}, {320, 576}, {576, 320}};
  for (const auto &[headDim, headDimV] : sizes)
    for (const Type type : {Type::f16, Type::f32})
      for (const int32_t block : {0, 16, 32}) { // 0: Sectile's choice
        const int64_t width = headDim + headDimV;
        const bool isLarge = width > 500 && block == 32; // not every GPU has so much shared memory
        const bool isSlow = width > 300 && (type == Type::f32 || block == 16);
        if (isLarge || (reduced() && isSlow))
          continue;
        const Shape shape{.type = type, .seqlenQ = 19, .seqlenK = 41, .headDim = headDim, .headDimV = headDimV};
        Trial trial(shape);
        trial.schedule.blockM = trial.schedule.blockN = block;
        INFO(describe(shape, trial.options, trial.schedule));
        trial.check();
      }
}

TEST_CASE("a tile of 13 pieces, two warps to each, and values whose rows begin anywhere") {
  const Shape shape{.type = Type::f16, .batch = 2, .seqlenK = 30, .heads = 2, .headDimV = 194};
  Trial trial(shape);
  Tensor slopes(Type::f32, {2, 2}), sink(Type::f32, {2});
  slopes.fill(0.25);
  sink.fill(0.5);
  trial.schedule.blockM = trial.schedule.blockN = 32;
  trial.options.alignment = MaskAlignment::topLeft;
  trial.options.windowLeft = 45;
  trial.options.windowRight = 48;
  trial.options.alibiSlopes = slopes;
  trial.options.sink = sink;
  trial.check();
}
