// Attention by a naive kernel in CUDA C++ (attention.cu): a judge that shares no code with what it judges, for problems
// that would take the host too long.
#pragma once

#include "kernels/reference/Attention.h"
#include "kernels/reference/cuda/OracleCall.h"

#include <string>

namespace sectile::reference::oracle {

/// The kernel's machine code for "sm_90" …, which takes an OracleCall by value and is launched with one block for each
/// (batch, head, query). Throws DeviceError when there is no NVRTC.
std::string compileOracle(const std::string &architecture);
inline constexpr const char *oracleEntry = "oracle_attention";
inline constexpr unsigned oracleThreads = 128;

/// The call without its results. `rounding`: the type of a framework's intermediate tensors; nothing: exact. Throws
/// UserError for a scoreModifier or maskPredicate: C++ functions do not run there.
OracleCall describeCall(const ArrayView &q, const ArrayView &k, const ArrayView &v, const AttentionOptions &options,
                        std::optional<Type> rounding);

} // namespace sectile::reference::oracle
