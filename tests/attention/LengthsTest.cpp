// Every pair of lengths from 0 to 40 with every kind of mask, over several blocks in both directions.
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;

namespace {

struct Masked {
  bool causal;
  int64_t left, right;
  MaskAlignment alignment;
};
constexpr auto bottomRight = MaskAlignment::bottomRight, topLeft = MaskAlignment::topLeft;
constexpr Masked masks[] = {
    {false, -1, -1, bottomRight}, {true, -1, -1, bottomRight}, {true, -1, -1, topLeft}, {false, 5, 2, bottomRight},
    {false, 5, 2, topLeft},       {false, 0, 0, bottomRight},  {false, 0, 0, topLeft},  {false, -1, 7, bottomRight},
    {false, 20, -1, bottomRight}, {true, 3, -1, bottomRight},  {true, 3, -1, topLeft},  {false, 40, 3, bottomRight},
};

} // namespace

TEST_CASE("all lengths from 0 to 40 with all masks") {
  const int64_t step = reduced() ? 3 : 1;
  for (const Masked &mask : masks)
    for (int64_t seqlenQ = 0; seqlenQ <= 40; seqlenQ += step)
      for (int64_t seqlenK = 0; seqlenK <= 40; seqlenK += step) {
        Shape shape;
        shape.seqlenQ = seqlenQ;
        shape.seqlenK = seqlenK;
        shape.headDim = 8;
        shape.headDimV = 4;
        Trial trial(shape, seqlenQ * 41 + seqlenK);
        trial.schedule.blockM = trial.schedule.blockN = 16;
        trial.options.causal = mask.causal;
        trial.options.windowLeft = mask.left;
        trial.options.windowRight = mask.right;
        trial.options.alignment = mask.alignment;
        INFO(describe(shape, trial.options, trial.schedule));
        trial.run();
        const reference::AttentionResult exact = reference::attention(trial.q, trial.k, trial.v, trial.options);
        const reference::Verdict verdict = reference::judge(trial.out, trial.lse.view(), exact, exact);
        const bool good = verdict.passes() && trial.out.guardsIntact() && trial.lse.guardsIntact();
        if (!good) { // thousands of cases: only what fails is reported
          CAPTURE(verdict.worst, verdict.lseError);
          CHECK(good);
        }
      }
}
