// q, k and v of 8 bits, with and without scales.
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Scales of 0.5 … 2, one for each (batch, key head), in a layout of their own.
Tensor scales(int64_t batch, int64_t headsKv, uint64_t seed) {
  Tensor tensor(Type::f32, {batch, headsKv}, {.order = {1, 0}, .step = 2});
  Random random(seed);
  std::uniform_real_distribution<double> exponent(-1, 1);
  tensor.generate([&] { return std::exp2(exponent(random)); });
  return tensor;
}

Tensor scaleOfAll(double value) {
  Tensor tensor(Type::f32, {1});
  tensor.fill(value);
  return tensor;
}

Shape shapeOf(Type type, Type outType) {
  const int64_t length = reduced() ? 40 : 190;
  return {.type = type,
          .batch = 2,
          .seqlenQ = length - 7,
          .seqlenK = length,
          .heads = 4,
          .headsKv = 2,
          .headDim = 64,
          .headDimV = 48,
          .outType = outType};
}

} // namespace

TEST_CASE("f8 inputs match the reference in every type of result") {
  for (const Type type : {Type::f8e4m3, Type::f8e5m2})
    for (const Type outType : {Type::f32, Type::f16, Type::bf16})
      for (const bool causal : {false, true}) {
        const Shape shape = shapeOf(type, outType);
        Trial trial(shape);
        trial.options.causal = causal;
        INFO(describe(shape, trial.options, trial.schedule));
        trial.check();
      }
}

TEST_CASE("f8 scales: one for the tensor, or one for each batch and key head") {
  const Tensor query = scales(2, 2, 1), key = scales(2, 2, 2), value = scales(2, 2, 3);
  const Tensor half = scaleOfAll(0.5), three = scaleOfAll(3), small = scaleOfAll(0.01);
  for (const Type type : {Type::f8e4m3, Type::f8e5m2}) {
    const Shape shape = shapeOf(type, Type::bf16);
    Trial trial(shape);
    trial.options.queryScale = query;
    trial.options.keyScale = key;
    trial.options.valueScale = value;
    INFO(describe(shape, trial.options, trial.schedule));
    trial.check();
    trial.options.queryScale = half;
    trial.options.keyScale = three;
    trial.options.valueScale = small;
    trial.options.softcap = 4;
    trial.check();
  }
}

TEST_CASE("no f8 scale is ignored") {
  const Tensor scale = scales(2, 2, 4);
  for (std::optional<ArrayView> AttentionOptions::*const option :
       {&AttentionOptions::queryScale, &AttentionOptions::keyScale, &AttentionOptions::valueScale}) {
    Trial trial(shapeOf(Type::f8e4m3, Type::f16));
    trial.run();
    const auto before = trial.out.bytes();
    trial.options.*option = scale;
    trial.check();
    CHECK(trial.out.bytes() != before);
  }
}

TEST_CASE("f8 inputs with all other options") {
  const Shape shape = shapeOf(Type::f8e4m3, Type::f16);
  Trial trial(shape);
  Tensor slopes(Type::f32, {4}), bias(Type::f16, {2, 4, shape.seqlenQ, shape.seqlenK}), sink(Type::f32, {4}),
      lengths(Type::i32, {2});
  Random random(3);
  for (Tensor *tensor : {&slopes, &bias, &sink})
    tensor->randomize(random);
  lengths.fill(static_cast<double>(shape.seqlenK - 9));
  const Tensor key = scales(2, 2, 5);
  trial.options.keyScale = key;
  trial.options.alibiSlopes = slopes;
  trial.options.bias = bias;
  trial.options.sink = sink;
  trial.options.keyLengths = lengths;
  trial.options.windowLeft = 25;
  trial.options.windowRight = 11;
  trial.options.dropout = 0.1f;
  trial.options.seed = 99;
  INFO(describe(shape, trial.options, trial.schedule));
  trial.check();
}

TEST_CASE("values of f8 past a key length may be NaN") {
  Trial trial({.type = Type::f8e4m3, .batch = 1, .seqlenQ = 5, .seqlenK = 40, .headDim = 16, .headDimV = 16});
  Tensor lengths(Type::i32, {1});
  lengths.fill(17);
  trial.options.keyLengths = lengths;
  for (Tensor *tensor : {&trial.k, &trial.v}) {
    int64_t element = 0;
    tensor->generate([&] { return element++ / 16 < 17 ? 0.5 : std::nan(""); });
  }
  trial.check();
  CHECK_FALSE(std::isnan(trial.outAt(0, 0, 0, 0)));
}
