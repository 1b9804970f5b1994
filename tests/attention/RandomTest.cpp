// The property test: random problems, options and layouts against the fp64 reference.
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace sectile;
using namespace sectile::test;

namespace {

tile::Tile distance(const ScorePosition &at) { return tile::cast(tile::abs(at.query - at.key), Type::f32); }
tile::Tile nearer(const tile::Tile &score, const ScorePosition &at) {
  return score * 0.75f - distance(at) * 0.03125f + tile::cast(at.head, Type::f32) * 0.25f;
}
tile::Tile noThirdKey(const ScorePosition &at) { return tile::floorMod(at.key + at.batch, 3) != 2; }

const reference::ScoreFunctions twins{[](double score, const reference::Position &at) {
                                        return score * 0.75 -
                                               static_cast<double>(std::abs(at.query - at.key)) * 0.03125 +
                                               static_cast<double>(at.head) * 0.25;
                                      },
                                      [](const reference::Position &at) { return (at.key + at.batch) % 3 != 2; }};

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  int64_t between(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random); }
  bool oneIn(int64_t n) { return between(1, n) == 1; }
  template <class T> T pick(std::initializer_list<T> from) { return from.begin()[between(0, from.size() - 1)]; }
  double real(double least, double most) { return std::uniform_real_distribution<double>(least, most)(random); }

  Layout layout(int rank, bool result) {
    Layout layout;
    if (oneIn(2))
      return layout;
    for (int axis = 0; axis < rank; ++axis)
      layout.order.push_back(axis);
    if (oneIn(2))
      std::shuffle(layout.order.begin(), layout.order.end() - (oneIn(3) ? 0 : 1), random);
    layout.step = oneIn(4) ? between(2, 3) : 1;
    layout.gap = oneIn(2) ? between(0, 9) : 0;
    for (int axis = 0; axis < rank; ++axis) {
      if (oneIn(6))
        layout.reversed.push_back(axis);
      if (!result && oneIn(8))
        layout.broadcast.push_back(axis);
    }
    return layout;
  }

  /// Of an array that TMA can map.
  Layout mappedLayout() {
    Layout layout{.order = {0, 1, 2, 3}, .gap = oneIn(2) ? 8 * between(0, 4) : 0};
    std::shuffle(layout.order.begin(), layout.order.end() - 1, random);
    return layout;
  }

  /// Of a kernel whose warps have roles.
  Schedule rolesSchedule(int64_t headDim) {
    Schedule schedule{.blockM = pick({64, 128}),
                      .blockN = headDim > 128 ? 64 : pick({48, 64, 96}),
                      .order = pick({Order::chosen, Order::heads, Order::longest, Order::paired}),
                      .stages = pick({1, 2}),
                      .specialize = Specialize::producer,
                      .overlap = pick({Overlap::none, Overlap::softmax}),
                      .softmax = pick({Softmax::exact, Softmax::stale}),
                      .persistent = pick({Persistent::off, Persistent::fixed})};
    schedule.warps = schedule.blockM / 16;
    return schedule;
  }

  Random random;
};

/// Any problem, or such that a producer can copy their tiles and wgmma multiply them.
enum class Family { any, roles };

/// A kernel a seed, each for a few shapes.
void checkRandomProblems(int firstSeed, int lastSeed, Family family = Family::any) {
  const bool hasRoles = family == Family::roles;
  const int shapesPerKernel = reduced() ? 2 : 3;
  const int64_t longest = reduced() ? (hasRoles ? 150 : 80) : 300, shortest = hasRoles ? 65 : 1;
  for (int seed = firstSeed; seed <= lastSeed; ++seed) {
    Generator g(seed);
    Shape shape;
    shape.type = g.pick({Type::f32, Type::f16, Type::bf16});
    shape.headDim = g.oneIn(4) ? g.between(1, reduced() ? 40 : 576) : g.pick({int64_t{16}, int64_t{32}, int64_t{64}});
    shape.headDimV = g.oneIn(3) ? g.between(1, reduced() ? 40 : 300) : shape.headDim;
    Schedule schedule;
    if (hasRoles) {
      shape.type = g.pick({Type::f16, Type::bf16});
      shape.headDim = g.pick({int64_t{16}, int64_t{64}, int64_t{80}, int64_t{128}, int64_t{256}});
      shape.headDimV = g.oneIn(3) ? g.pick({int64_t{32}, int64_t{64}}) : shape.headDim;
      schedule = g.rolesSchedule(shape.headDim);
    } else if (reduced() || g.oneIn(2)) {
      schedule.blockM = g.pick({16, 32, 64});
      schedule.blockN = g.pick({16, 32, 64});
    }
    AttentionOptions base;
    base.causal = g.oneIn(3);
    base.alignment = g.pick({MaskAlignment::bottomRight, MaskAlignment::topLeft});
    base.softcap = g.oneIn(4) ? static_cast<float>(g.real(1, 30)) : 0;
    base.dropout = g.oneIn(4) ? static_cast<float>(g.real(0.05, 0.6)) : 0;
    base.scoreModifier = g.oneIn(6) ? nearer : nullptr;
    base.maskPredicate = g.oneIn(6) ? noThirdKey : nullptr;
    const bool left = g.oneIn(3), right = g.oneIn(3) && !base.causal;
    const bool alibi = g.oneIn(4), bias = g.oneIn(4), sink = g.oneIn(4), lengths = g.oneIn(4) && !hasRoles;
    const Type biasType = g.pick({Type::f32, shape.type});

    for (int i = 0; i < shapesPerKernel; ++i) {
      shape.batch = g.between(1, 3);
      shape.headsKv = g.between(1, 3);
      shape.heads = shape.headsKv * g.between(1, 3);
      shape.seqlenQ = g.oneIn(6) ? shortest : g.between(shortest, longest);
      shape.seqlenK = g.oneIn(12) ? 0 : g.between(1, longest);
      for (Layout *input : {&shape.q, &shape.k, &shape.v})
        *input = hasRoles ? g.mappedLayout() : g.layout(4, false);
      shape.out = g.layout(4, true);
      shape.lse = g.layout(3, true);
      Trial trial(shape, g.random());
      trial.schedule = schedule;
      trial.options = base;
      trial.functions = twins;
      AttentionOptions &o = trial.options;
      o.scale = g.oneIn(3) ? std::optional(static_cast<float>(g.real(-0.5, 0.5))) : std::nullopt;
      o.windowLeft = left ? g.between(0, longest / 2) : -1;
      o.windowRight = right ? g.between(0, longest / 2) : -1;
      o.seed = g.random();
      o.offset = g.random();

      Tensor slopes(Type::f32, {shape.batch, shape.heads}, g.layout(2, false));
      slopes.generate([&] { return g.real(0, 0.5); });
      Tensor biases(biasType, {shape.batch, shape.heads, shape.seqlenQ, shape.seqlenK}, g.layout(4, false));
      biases.generate([&] { return g.oneIn(20) ? -std::numeric_limits<double>::infinity() : g.real(-2, 2); });
      Tensor sinks(Type::f32, {shape.heads}, g.layout(1, false));
      sinks.generate([&] { return g.real(-2, 3); });
      Tensor keyLengths(Type::i32, {shape.batch}, g.layout(1, false));
      keyLengths.generate([&] { return static_cast<double>(g.between(0, shape.seqlenK)); });
      if (alibi)
        o.alibiSlopes = slopes;
      if (bias)
        o.bias = biases;
      if (sink)
        o.sink = sinks;
      if (lengths)
        o.keyLengths = keyLengths;

      INFO("seed " << seed << ", shape " << i << ": " << describe(shape, o, schedule));
      if (hasRoles && shape.seqlenK > 0) // nothing cannot be mapped
        trial.checkMaps();
      trial.check();
    }
  }
}

} // namespace

// In parts that run side by side on a machine with a GPU.
TEST_CASE("random problems match the reference, seeds 1000 to 1009") { checkRandomProblems(1000, 1009); }
TEST_CASE("random problems match the reference, seeds 1010 to 1019") { checkRandomProblems(1010, 1019); }
TEST_CASE("random problems match the reference, seeds 1020 to 1029") { checkRandomProblems(1020, 1029); }
TEST_CASE("random problems match the reference, seeds 1030 to 1039") { checkRandomProblems(1030, 1039); }

// Other targets refuse the schedule.
TEST_CASE("random problems for warps with roles match the reference, seeds 2000 to 2009") {
  if (session().target().starts_with("nvptx:sm_90a"))
    checkRandomProblems(2000, reduced() ? 2005 : 2009, Family::roles);
}
TEST_CASE("random problems for warps with roles match the reference, seeds 2010 to 2019") {
  if (session().target().starts_with("nvptx:sm_90a") && !reduced())
    checkRandomProblems(2010, 2019, Family::roles);
}
