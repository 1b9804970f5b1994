// Kernels of sm_90a whose warps have roles: each tile size, with and without what runs beside the products, and every
// option, on arrays that TMA can map.
#include "tests/attention/Trial.h"

#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>

#include <algorithm>

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

/// That tiles come by TMA: an array that is not aligned, say, gets another kernel.
void checkMaps(const Trial &trial) {
  const auto executable = prepareAttentionForward(session(), trial.q, trial.k, trial.v, trial.out, trial.lse.view(),
                                                  trial.options, trial.schedule);
  const Resources &resources = executable->resources();
  CHECK(std::ranges::any_of(resources, [](const auto &r) { return r.first == "tensor_maps" && r.second == 3; }));
}

void check(Trial &trial) {
  checkMaps(trial);
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

TEST_CASE("roles: blocks that stay run one program after another") {
  if (!hasRoles())
    return;
  for (const Softmax softmax : {Softmax::exact, Softmax::stale})
    for (const bool causal : {false, true}) {
      Trial trial({.type = Type::bf16,
                   .batch = 3,
                   .seqlenQ = reduced() ? 70 : 500,
                   .seqlenK = reduced() ? 140 : 700,
                   .heads = reduced() ? 1 : 16,
                   .headsKv = 1});
      trial.options.causal = causal;
      trial.schedule = roles(64, 64, 3, softmax);
      trial.schedule.persistent = Persistent::fixed;
      INFO(toString(trial.schedule));
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
