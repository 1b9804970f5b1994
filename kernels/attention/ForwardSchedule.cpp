// Known good tile sizes of the forward kernel.
#include "kernels/attention/Forward.h"

#include <algorithm>
#include <limits>

namespace sectile::attention {
namespace {

constexpr int64_t any = std::numeric_limits<int64_t>::max();

/// The first row that fits decides: target's name begins with `target`, sizes up to the limits.
struct Choice {
  std::string_view target;
  int64_t headDim, seqlenQ, seqlenK; ///< headDim is the larger one of q's and v's
  int32_t blockM, blockN;
};

constexpr Choice choices[] = {
    // target, headDim, seqlenQ, seqlenK, blockM, blockN
    {"", 255, 16, 127, 16, 64},  {"", 255, 16, any, 16, 128}, {"", 255, 32, 127, 32, 64},
    {"", 255, 32, any, 32, 128}, {"", 255, any, 127, 64, 64}, {"", 255, any, any, 64, 128},
    {"", any, 16, any, 16, 64},  {"", any, 32, any, 32, 64},  {"", any, any, any, 64, 64},
};

} // namespace

Schedule completeForwardSchedule(const Schedule &asked, const ForwardProblem &problem, std::string_view target) {
  const int64_t headDim = std::max(problem.headDim, problem.headDimV);
  const Choice &choice = *std::ranges::find_if(choices, [&](const Choice &c) {
    return target.starts_with(c.target) && headDim <= c.headDim && problem.seqlenQ <= c.seqlenQ &&
           problem.seqlenK <= c.seqlenK;
  });
  Schedule schedule = asked;
  if (schedule.blockM == 0)
    schedule.blockM = choice.blockM;
  if (schedule.blockN == 0)
    schedule.blockN = choice.blockN;
  return schedule;
}

} // namespace sectile::attention
