// The instructions of a block by their names in LLVM IR.
#pragma once

#include "tests/emulate/Block.h"

namespace sectile::warps {

/// "llvm.nvvm.mbarrier.init.shared", and all that Instructions.h has. Throws InternalError when there is none.
Instruction instructionNamed(const std::string &name);

} // namespace sectile::warps
