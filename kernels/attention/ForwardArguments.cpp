#include "kernels/attention/ForwardArguments.h"

#include "kernels/attention/Philox.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace sectile::attention {
namespace {

template <class Declare> auto only(bool on, Declare declare) -> std::optional<decltype(declare())> {
  if (on)
    return declare();
  return std::nullopt;
}

/// An array of rank 1 as one of rank 2.
ArrayView stretched(ArrayView array, std::array<int64_t, 2> sizes, std::array<int64_t, 2> strides) {
  array.rank = 2;
  std::ranges::copy(sizes, array.sizes.begin());
  std::ranges::copy(strides, array.strides.begin());
  return array;
}

int64_t roundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// How many heads have their longest blocks first: two to four turns of the multiprocessors' worth of programs even
/// out, as far as their keys and values stay in the L2 cache (40 MB of sm_80, 50 of sm_90) beside queries and results.
int32_t lastHeads(const ForwardProblem &problem, int64_t blocks) {
  constexpr int64_t programs = 512, cacheBytes = 16 << 20;
  const int64_t bytes = problem.seqlenK * (problem.headDim + problem.headDimV) * typeBytes(problem.type);
  const int64_t cached = cacheBytes / std::max<int64_t>(bytes, 1) * (problem.headsQ / problem.headsKv);
  const int64_t wanted = std::min((programs + blocks - 1) / blocks, std::max<int64_t>(cached, 1));
  return static_cast<int32_t>(std::min(wanted, problem.headsQ * problem.batch));
}

} // namespace

DropoutArguments::DropoutArguments(Trace &t)
    : seedLow(t.scalar("seed_low", Type::i32)), seedHigh(t.scalar("seed_high", Type::i32)),
      offsetLow(t.scalar("offset_low", Type::i32)), offsetHigh(t.scalar("offset_high", Type::i32)),
      threshold(t.scalar("dropout_threshold", Type::i32)), keepScale(t.scalar("keep_scale")) {}

ForwardArguments::ForwardArguments(Trace &t, const ForwardConfig &c)
    : q(t.input("q", c.type, 4)), k(t.input("k", c.type, 4)), v(t.input("v", c.type, 4)),
      queryScale(only(c.queryScale, [&] { return t.input("query_scale", Type::f32, 2); })),
      keyScale(only(c.keyScale, [&] { return t.input("key_scale", Type::f32, 2); })),
      valueScale(only(c.valueScale, [&] { return t.input("value_scale", Type::f32, 2); })),
      bias(only(c.bias, [&] { return t.input("bias", c.biasType, 4); })),
      alibiSlopes(only(c.alibi, [&] { return t.input("alibi_slopes", Type::f32, 2); })),
      sink(only(c.sink, [&] { return t.input("sink", Type::f32, 1); })),
      keyLengths(only(c.keyLengths, [&] { return t.input("key_lengths", Type::i32, 1); })),
      out(t.output("out", c.outType, 4)), lse(only(c.lse, [&] { return t.output("lse", Type::f32, 3); })),
      scale(t.scalar("scale")), softcap(only(c.softcap, [&] { return t.scalar("softcap"); })),
      left(only(c.left, [&] { return t.scalar("left", Type::i32); })),
      right(only(c.right, [&] { return t.scalar("right", Type::i32); })),
      dropout(only(c.dropout, [&] { return DropoutArguments(t); })),
      lastHeads(only(c.longestFirst, [&] { return t.scalar("last_heads", Type::i32); })) {
  for (int64_t i = 0; i < c.scalars; ++i)
    scalars.push_back(t.scalar("scalar" + std::to_string(i)));
}

ForwardCall::ForwardCall(const ForwardProblem &problem, const ForwardArrays &arrays, const AttentionOptions &options,
                         const Schedule &schedule)
    : schedule(schedule) {
  const Band band = bandOf(options, problem.seqlenQ, problem.seqlenK);
  const float scale = options.scale.value_or(1 / std::sqrt(static_cast<float>(problem.headDim)));
  config.scoreModifier = options.scoreModifier;
  config.maskPredicate = options.maskPredicate;
  config.scalars = static_cast<int64_t>(options.scalars.size());
  config.headDim = static_cast<int32_t>(roundUp(problem.headDim, ForwardConfig::headDimStep));
  config.headDimV = static_cast<int32_t>(roundUp(problem.headDimV, ForwardConfig::headDimStep));
  config.type = problem.type;
  config.outType = problem.outType;
  config.queryScale = options.queryScale.has_value();
  config.keyScale = options.keyScale.has_value();
  config.valueScale = options.valueScale.has_value();
  config.bias = options.bias.has_value();
  config.biasType = config.bias ? options.bias->type : Type::f32;
  config.alibi = options.alibiSlopes.has_value();
  config.sink = options.sink.has_value();
  config.softcap = options.softcap > 0;
  config.dropout = options.dropout > 0;
  config.lse = arrays.lse != nullptr;
  config.keyLengths = options.keyLengths.has_value();
  config.left = band.hasLeft;
  config.right = band.hasRight;
  config.keyTail = problem.seqlenK % schedule.blockN != 0;
  config.positiveScale = scale > 0;
  const int64_t blocks = (problem.seqlenQ + schedule.blockM - 1) / schedule.blockM;
  const int64_t heads = std::max<int64_t>(problem.headsQ * problem.batch, 1);
  constexpr int64_t mostPrograms = std::numeric_limits<int32_t>::max(); // in one dimension
  config.longestFirst = schedule.order == Order::longest && heads <= mostPrograms && blocks <= mostPrograms / heads;
  config.paired = schedule.order == Order::paired;
  grid = config.longestFirst ? Grid{blocks * heads, 1, 1} : Grid{blocks, problem.headsQ, problem.batch};

  const auto headsFirst = [](const ArrayView &array) { return array.permuted({0, 2, 1, 3}); };
  bind(headsFirst(arrays.q));
  bind(headsFirst(arrays.k));
  bind(headsFirst(arrays.v));
  for (const std::optional<ArrayView> *scale : {&options.queryScale, &options.keyScale, &options.valueScale})
    if (*scale)
      bind((*scale)->rank == 2 ? **scale : stretched(**scale, {problem.batch, problem.headsKv}, {0, 0}));
  if (config.bias)
    bind(*options.bias);
  if (config.alibi) {
    const ArrayView &slopes = *options.alibiSlopes;
    bind(slopes.rank == 2 ? slopes : stretched(slopes, {problem.batch, problem.headsQ}, {0, slopes.strides[0]}));
  }
  if (config.sink)
    bind(*options.sink);
  if (config.keyLengths)
    bind(*options.keyLengths);
  bind(headsFirst(arrays.out));
  if (config.lse)
    bind(*arrays.lse);
  bind(scale);
  if (config.softcap)
    bind(options.softcap);
  if (config.left)
    bind(band.left);
  if (config.right)
    bind(band.right);
  if (config.dropout) {
    for (const uint64_t number : {options.seed, options.offset}) {
      bind(static_cast<int32_t>(number));
      bind(static_cast<int32_t>(number >> 32));
    }
    bind(static_cast<int32_t>(dropoutThreshold(options.dropout) ^ 0x80000000u));
    bind(1 / (1 - options.dropout));
  }
  if (config.longestFirst)
    bind(lastHeads(problem, blocks));
  for (const float number : options.scalars)
    bind(number);
}

} // namespace sectile::attention
