// Attention calls on machines without a GPU, through the code for one.
#pragma once

#include "sectile/Attention.h"

namespace sectile::test {

/// What attentionForward() does with a session on an NVIDIA GPU, but the arrays are in host memory, and tests/emulate
/// runs the launch. The session may be one that can only compile.
void emulateAttention(Session &session, const ArrayView &q, const ArrayView &k, const ArrayView &v,
                      const ArrayView &out, const std::optional<ArrayView> &lse, const AttentionOptions &options,
                      const Schedule &schedule);

} // namespace sectile::test
