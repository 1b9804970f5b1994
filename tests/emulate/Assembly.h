// Inline assembly: a few PTX statements, read once and executed by each thread.
//
//     { .reg .pred p; setp.ne.b32 p, $67, 0; wgmma.mma_async… {$0, …, $63}, $64, $65, p, 1, 1, 0, 0; }
#pragma once

#include "tests/emulate/Block.h"

namespace sectile::warps {

/// Where operand $i of an asm statement is, in words of what the call passes.
struct AsmOperand {
  int in = -1, out = -1; ///< a result that is tied to an argument has both
  int words = 1;
};

/// Throws InternalError when it has something that is not known: setp, selp, mov, wgmma.mma_async, bar.sync,
/// bar.arrive, mbarrier.try_wait.parity are.
Instruction readAssembly(const std::string &text, const std::vector<AsmOperand> &operands);

} // namespace sectile::warps
