// Known good tile sizes of the forward kernel.
#include "kernels/attention/Forward.h"

#include <algorithm>
#include <limits>

namespace sectile::attention {
namespace {

constexpr int64_t any = std::numeric_limits<int64_t>::max();

/// The first row that fits decides: the target's name begins with `target`, sizes are up to the limits, and every
/// thread gets at least `programs` programs (blocks of blockM rows of one head), so that uneven ones balance out.
struct Choice {
  std::string_view target;
  int64_t headDim, seqlenQ, seqlenK; ///< headDim is the larger one of q's and v's
  int64_t programs;
  int32_t blockM, blockN;
};

// Taller blocks load and convert keys and values less often; wider ones waste more beside a causal diagonal.
constexpr Choice choices[] = {
    // target, headDim, seqlenQ, seqlenK, programs, blockM, blockN
    {"", any, 16, 127, 0, 16, 64},    {"", 255, 16, any, 0, 16, 128},  {"", any, 16, any, 0, 16, 64},
    {"", any, 32, 127, 0, 32, 64},    {"", 255, 32, any, 0, 32, 128},  {"", any, 32, any, 0, 32, 64},
    {"", 255, any, any, 32, 256, 64}, {"", 255, any, any, 8, 128, 64}, {"", any, any, any, 0, 64, 64},
};

} // namespace

Schedule completeForwardSchedule(const Schedule &asked, const ForwardProblem &problem, std::string_view target,
                                 int threads) {
  const int64_t headDim = std::max(problem.headDim, problem.headDimV);
  const Choice &choice = *std::ranges::find_if(choices, [&](const Choice &c) {
    return target.starts_with(c.target) && headDim <= c.headDim && problem.seqlenQ <= c.seqlenQ &&
           problem.seqlenK <= c.seqlenK &&
           (problem.seqlenQ + c.blockM - 1) / c.blockM * problem.headsQ * problem.batch >= c.programs * threads;
  });
  Schedule schedule = asked;
  if (schedule.blockM == 0)
    schedule.blockM = choice.blockM;
  if (schedule.blockN == 0)
    schedule.blockN = choice.blockN;
  return schedule;
}

} // namespace sectile::attention
