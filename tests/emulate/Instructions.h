// What the emulated machine's instructions do.
#pragma once

#include "tests/emulate/AsyncCopies.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sectile::warps {

constexpr int warpSize = 32;

/// Arguments and results of an instruction in the threads of a warp: words of 32 bits, addresses two of them.
struct WarpState {
  const uint32_t *in[warpSize];
  uint32_t *out[warpSize];
};

/// An instruction of the whole warp, which all threads must have reached.
using WarpInstruction = std::function<void(const WarpState &)>;
/// By LLVM's name of the intrinsic: "llvm.nvvm.mma.m16n8k16.row.col.bf16".
std::optional<WarpInstruction> warpInstruction(const std::string &name);

/// An instruction of one thread; what it has to do with copies that are on their way.
using ThreadInstruction = std::function<void(AsyncCopies &copies, const uint32_t *in, uint32_t *out)>;
std::optional<ThreadInstruction> threadInstruction(const std::string &name);

} // namespace sectile::warps
