// Executes the tile dialect on the host: the definition of every operation. Slow and exact.
#pragma once

#include "compiler/dsl/TracedKernel.h"

#include "llvm/Support/Error.h"

#include <cstdint>

namespace sectile {

/// Runs one program of the grid. `arguments` as in HostEntry (compiler/Compiler.h). The module is only read, so that
/// programs may run in several threads at once.
llvm::Error interpret(const TracedKernel &kernel, const int64_t *arguments, int32_t x, int32_t y, int32_t z);

} // namespace sectile
