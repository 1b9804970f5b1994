// Every option changes the result, the functions of a user among them; a schedule does not.
#include "tests/attention/Trial.h"
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace sectile;
using namespace sectile::test;

namespace {

const Shape shape{.batch = 2, .seqlenQ = 20, .seqlenK = 44, .heads = 4, .headsKv = 2, .headDim = 16, .headDimV = 16};

tile::Tile square(const tile::Tile &score, const ScorePosition &) { return score * score; }
tile::Tile sparse(const ScorePosition &at) { return ((at.key + at.query * 2 + at.head) & 3) != 0; }

const reference::ScoreFunctions twins{
    [](double score, const reference::Position &) { return score * score; },
    [](const reference::Position &at) { return ((at.key + at.query * 2 + at.head) & 3) != 0; }};

} // namespace

TEST_CASE("no option is ignored") {
  Tensor slopes(Type::f32, {4}), bias(Type::f32, {2, 4, 20, 44}), sink(Type::f32, {4}), lengths(Type::i32, {2});
  Random random(3);
  for (Tensor *tensor : {&slopes, &bias, &sink})
    tensor->randomize(random);
  lengths.fill(31);

  using Change = std::function<void(AttentionOptions &)>;
  const Change masked = [](AttentionOptions &o) { o.causal = true; };
  const Change droppedOut = [](AttentionOptions &o) { o.dropout = 0.3f; };
  struct Flip {
    const char *option;
    Change base, change;
  };
  const Flip flips[] = {
      {"scale", {}, [](AttentionOptions &o) { o.scale = 0.1f; }},
      {"causal", {}, masked},
      {"alignment", masked, [](AttentionOptions &o) { o.alignment = MaskAlignment::topLeft; }},
      {"windowLeft", {}, [](AttentionOptions &o) { o.windowLeft = 3; }},
      {"windowRight", {}, [](AttentionOptions &o) { o.windowRight = 3; }},
      {"softcap", {}, [](AttentionOptions &o) { o.softcap = 1; }},
      {"alibiSlopes", {}, [&](AttentionOptions &o) { o.alibiSlopes = slopes; }},
      {"bias", {}, [&](AttentionOptions &o) { o.bias = bias; }},
      {"sink", {}, [&](AttentionOptions &o) { o.sink = sink; }},
      {"keyLengths", {}, [&](AttentionOptions &o) { o.keyLengths = lengths; }},
      {"dropout", {}, droppedOut},
      {"seed", droppedOut, [](AttentionOptions &o) { o.seed = uint64_t{1} << 40; }},
      {"offset", droppedOut, [](AttentionOptions &o) { o.offset = uint64_t{1} << 40; }},
      {"scoreModifier", {}, [](AttentionOptions &o) { o.scoreModifier = square; }},
      {"maskPredicate", {}, [](AttentionOptions &o) { o.maskPredicate = sparse; }},
  };
  for (const Flip &flip : flips) {
    INFO(flip.option);
    Trial trial(shape);
    trial.functions = twins;
    if (flip.base)
      flip.base(trial.options);
    trial.run();
    const auto before = trial.out.bytes();
    flip.change(trial.options);
    trial.check();
    CHECK(trial.out.bytes() != before);
  }
}

TEST_CASE("the numbers that a user's functions read are run-time values") {
  Options options = session().options();
  options.cache = "off";
  Session fresh(options);
  for (const auto &[slope, span] : {std::pair{0.25f, 3.0f}, {-1.5f, 17.0f}}) {
    Trial trial(shape);
    trial.options.scoreModifier = [](const tile::Tile &score, const ScorePosition &at) {
      return score + tile::cast(at.key, Type::f32) * at.scalar(0);
    };
    trial.options.maskPredicate = [](const ScorePosition &at) {
      return at.key - at.query < tile::cast(at.scalar(1), Type::i32);
    };
    trial.options.scalars = {slope, span};
    trial.functions = {
        [slope](double score, const reference::Position &at) { return score + static_cast<double>(at.key) * slope; },
        [span](const reference::Position &at) { return at.key - at.query < std::lround(span); }};
    trial.check();
    runAttention(fresh, trial.q, trial.k, trial.v, trial.out, {}, trial.options);
  }
  CHECK(fresh.counters().compilations == 1);
}

TEST_CASE("a schedule changes nothing beyond rounding") {
  const Type type = GENERATE(Type::f32, Type::bf16);
  Shape longer = shape;
  longer.type = type;
  longer.seqlenQ = 70;
  longer.seqlenK = 150;
  Trial trial(longer);
  trial.options.causal = true;
  trial.options.dropout = 0.2f;
  for (const auto &[blockM, blockN] : {std::pair{16, 16}, {32, 64}, {64, 32}, {64, 128}, {128, 64}}) {
    trial.schedule.blockM = blockM;
    trial.schedule.blockN = blockN;
    INFO(toString(trial.schedule));
    trial.check();
    if (reduced())
      break;
  }
}

TEST_CASE("nor do the warps and stages of a GPU") {
  const std::string &target = targetUnderTest();
  if (!isCudaTarget(target) && !isEmulated())
    return;
  for (const int32_t stages : {1, 2, 3})
    for (const int32_t warps : {1, 4, 8}) {
      if (stages == 3 && (target.ends_with("sm_75") || target.starts_with("emulate:gfx"))) // refused there
        continue;
      Trial trial({.type = Type::f16, .seqlenQ = 50, .seqlenK = 150, .headDimV = 48});
      trial.options.causal = true;
      trial.schedule.blockM = trial.schedule.blockN = 32;
      trial.schedule.stages = stages;
      trial.schedule.warps = warps;
      INFO(toString(trial.schedule));
      trial.check();
    }
}

TEST_CASE("one executable serves all lengths of a bucket, scales and windows") {
  Options options = session().options();
  options.cache = "off";
  Session fresh(options);
  for (const int64_t keys : {129, 200, 700}) {
    Trial trial({.seqlenQ = 100, .seqlenK = keys, .headDim = 16, .headDimV = 16});
    trial.options.windowLeft = keys / 4;
    trial.options.scale = 1.0f / static_cast<float>(keys);
    runAttention(fresh, trial.q, trial.k, trial.v, trial.out, {}, trial.options);
  }
  CHECK(fresh.counters().compilations == 1);
}

TEST_CASE("prepare compiles what a run uses, and needs no memory") {
  Options options = session().options();
  options.cache = "off";
  Session fresh(options);
  Trial trial(shape);
  const auto shapeOnly = [](ArrayView view) {
    view.data = nullptr;
    return view;
  };
  const auto executable = prepareAttentionForward(fresh, shapeOnly(trial.q), shapeOnly(trial.k), shapeOnly(trial.v),
                                                  shapeOnly(trial.out), shapeOnly(trial.lse), trial.options);
  REQUIRE(executable);
  CHECK(executable->name() == "attention_forward");
  CHECK(executable->schedule().blockM > 0);
  runAttention(fresh, trial.q, trial.k, trial.v, trial.out, trial.lse.view(), trial.options);
  CHECK(fresh.counters().compilations == 1);
}

// Sums are rescaled where the maximum has grown. One key alone has all the weight when scores grow by 40: its value
// then comes out exactly. A bias of hundreds is added to the products' sum: with it as the accumulator, each of them
// would be rounded in proportion to the bias.
TEST_CASE("the maximum of a row may grow slowly, by leaps or not at all") {
  for (const Type type : {Type::f32, Type::f16, Type::bf16})
    for (const double step : {0.02, 1.5, -1.5, 40.0}) {
      Trial trial({.type = type, .seqlenQ = 40, .seqlenK = 200, .headDim = 16, .headDimV = 16});
      Tensor bias(Type::f32, {1, 1, 40, 200});
      int64_t next = 0;
      bias.generate([&] { // the later rows of the step's own sign begin later
        const int64_t row = next / 200, column = next % 200;
        ++next;
        return step * static_cast<double>(std::max<int64_t>(column - 3 * row, 0));
      });
      trial.options.bias = bias;
      INFO(typeName(type) << ", scores grow by " << step << " a key");
      trial.check();
    }
}
