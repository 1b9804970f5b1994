#include "tests/attention/Emulated.h"

#include "kernels/attention/Forward.h"
#include "tests/emulate/WarpEmulator.h"

#include <algorithm>
#include <map>

using namespace sectile;

/// Of an executable; kept, for a test often launches one many times.
static const warps::BlockProgram &programOf(const Executable &executable) {
  static std::map<std::string, warps::BlockProgram> programs;
  const auto found = programs.find(executable.key());
  if (found != programs.end())
    return found->second;
  const Stage &stage = *std::ranges::find(executable.stages(), "llvm", &Stage::name);
  return programs.emplace(executable.key(), stage.text).first->second;
}

void test::emulateAttention(Session &session, const ArrayView &q, const ArrayView &k, const ArrayView &v,
                            const ArrayView &out, const std::optional<ArrayView> &lse, const AttentionOptions &options,
                            const Schedule &schedule) {
  // 1. Refuse what attentionForward() refuses. Compiling checks all but the arrays' memory.
  const attention::ForwardArrays arrays{q, k, v, out, lse ? &*lse : nullptr};
  const attention::ForwardProblem problem = attention::checkForward(arrays, options, attention::Use::run);
  if (problem.empty())
    return;
  // 2. Compile.
  const auto executable = prepareAttentionForward(session, q, k, v, out, lse, options, schedule);
  // 3. Launch.
  const attention::ForwardCall call(problem, arrays, options, executable->schedule());
  programOf(*executable).launch(call.arguments(), call.grid);
}
