#include "sectile/Attention.h"

#include "kernels/attention/Forward.h"
#include "kernels/attention/Philox.h"
#include "sectile/Error.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace sectile {
namespace {

struct Prepared {
  attention::ForwardProblem problem;
  Schedule schedule;
};

Prepared check(const Session &session, const attention::ForwardArrays &arrays, const AttentionOptions &options,
               const Schedule &schedule, attention::Use use) {
  const attention::ForwardProblem problem = attention::checkForward(arrays, options, use);
  if (schedule.blockM < 0 || schedule.blockN < 0)
    throw UserError("attention: the schedule " + toString(schedule) +
                    " has a negative tile size: blockM and blockN are positive, or 0 to let Sectile choose");
  const attention::Band band = attention::bandOf(options, problem.seqlenQ, problem.seqlenK);
  const int threads = schedule.threads > 0 ? schedule.threads : session.threads();
  return {problem, attention::completeForwardSchedule(schedule, problem, band, session.target(), threads)};
}

} // namespace

void attentionForward(Session &session, const Stream &stream, const ArrayView &q, const ArrayView &k,
                      const ArrayView &v, const ArrayView &out, const std::optional<ArrayView> &lse,
                      const AttentionOptions &options, const Schedule &schedule) {
  const attention::ForwardArrays arrays{q, k, v, out, lse ? &*lse : nullptr};
  const Prepared prepared = check(session, arrays, options, schedule, attention::Use::run);
  if (prepared.problem.empty())
    return;
  const attention::ForwardCall call(prepared.problem, arrays, options, prepared.schedule);
  session.launch(stream, attention::forwardKernel, call.config, call.grid, call.arguments(), call.schedule);
}

std::shared_ptr<const Executable> prepareAttentionForward(Session &session, const ArrayView &q, const ArrayView &k,
                                                          const ArrayView &v, const ArrayView &out,
                                                          const std::optional<ArrayView> &lse,
                                                          const AttentionOptions &options, const Schedule &schedule) {
  const attention::ForwardArrays arrays{q, k, v, out, lse ? &*lse : nullptr};
  const Prepared prepared = check(session, arrays, options, schedule, attention::Use::compile);
  const attention::ForwardCall call(prepared.problem, arrays, options, prepared.schedule);
  return session.prepare(attention::forwardKernel, call.config, call.arguments(), call.schedule);
}

tile::Tile ScorePosition::scalar(int index) const {
  if (index < 0 || static_cast<size_t>(index) >= scalars.size())
    throw UserError("attention: scoreModifier or maskPredicate reads scalar " + std::to_string(index) +
                    ": AttentionOptions::scalars has " + std::to_string(scalars.size()) +
                    (scalars.empty() ? "" : "; legal are 0 to " + std::to_string(scalars.size() - 1)));
  return scalars[static_cast<size_t>(index)];
}

uint32_t attention::dropoutThreshold(float dropout) {
  return static_cast<uint32_t>(std::min(std::round((1 - static_cast<double>(dropout)) * 0x1p32), 0x1p32 - 1));
}

bool dropoutKeeps(uint64_t seed, uint64_t offset, float dropout, int64_t batch, int64_t head, int64_t query,
                  int64_t key) {
  if (dropout == 0)
    return true;
  const auto low = [](auto number) { return static_cast<uint32_t>(number); };
  const auto stream = attention::philox<uint32_t>({low(offset), low(offset >> 32), low(batch), low(head)},
                                                  {low(seed), low(seed >> 32)});
  const uint32_t i = low(query), j = low(key);
  return attention::dropoutWord<uint32_t>(stream, i & ~8u, (i & 8) != 0, j >> 1, (j & 1) != 0) <
         attention::dropoutThreshold(dropout);
}

} // namespace sectile
