// Kernels of sm_90a whose warps have roles: each tile size, with and without what runs beside the products, and every
// option, on arrays that TMA can map.
#include "tests/attention/Trial.h"

#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>

#include <array>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Whether the target can run them: others refuse the schedule.
bool hasRoles() { return session().target().starts_with("nvptx:sm_90a"); }

Schedule roles(int32_t blockM, int32_t blockN, int32_t stages, Softmax softmax, Overlap overlap = Overlap::softmax) {
  return {.blockM = blockM,
          .blockN = blockN,
          .warps = blockM / 16,
          .stages = stages,
          .specialize = Specialize::producer,
          .overlap = overlap,
          .softmax = softmax};
}

void check(Trial &trial) {
  trial.checkMaps();
  trial.check();
}

} // namespace

TEST_CASE("roles: all tiles, masks and forms of the softmax") {
  if (!hasRoles())
    return;
  struct Tiles {
    int64_t headDim;
    int32_t blockM, blockN, stages;
  };
  for (const auto &[headDim, blockM, blockN, stages] : {Tiles{64, 64, 64, 3},
                                                        {64, 128, 128, 2},
                                                        {64, 256, 64, 4},
                                                        {128, 64, 96, 2},
                                                        {128, 128, 128, 2},
                                                        {256, 128, 64, 2},
                                                        {96, 128, 64, 2},
                                                        {80, 64, 64, 1},
                                                        {32, 128, 64, 2},
                                                        {16, 64, 64, 2}})
    for (const Softmax softmax : {Softmax::exact, Softmax::stale})
      for (const bool causal : {false, true}) {
        if (reduced() && (causal != (softmax == Softmax::stale) || blockM > 128))
          continue;
        Trial trial({.type = causal ? Type::bf16 : Type::f16,
                     .seqlenQ = reduced() ? blockM + 3 : 300,
                     .seqlenK = reduced() ? 2 * blockN + 9 : 515,
                     .heads = 2,
                     .headsKv = 1,
                     .headDim = headDim,
                     .headDimV = headDim});
        trial.options.causal = causal;
        trial.schedule = roles(blockM, blockN, stages, softmax);
        INFO(toString(trial.schedule));
        check(trial);
      }
}

TEST_CASE("roles: blocks that stay run one program after another, or in pairs below a diagonal") {
  if (!hasRoles())
    return;
  for (const Softmax softmax : {Softmax::exact, Softmax::stale})
    for (const bool causal : {false, true})
      for (const int64_t seqlenQ : reduced() ? std::array{70, 130} : std::array{500, 330}) { // in even and odd numbers
        Trial trial({.type = Type::bf16,
                     .batch = 3,
                     .seqlenQ = seqlenQ,
                     .seqlenK = reduced() ? 140 : 700,
                     .heads = reduced() ? 1 : 16,
                     .headsKv = 1});
        trial.options.causal = causal;
        trial.schedule = roles(64, 64, 3, softmax);
        trial.schedule.persistent = Persistent::fixed;
        INFO(toString(trial.schedule) << ", " << seqlenQ << " queries");
        check(trial);
      }
}

TEST_CASE("roles: nothing beside the products") {
  if (!hasRoles())
    return;
  Trial trial({.type = Type::bf16, .seqlenQ = 70, .seqlenK = 200, .heads = 2, .headsKv = 2});
  trial.schedule = roles(64, 64, 2, Softmax::exact, Overlap::none);
  check(trial);
}
