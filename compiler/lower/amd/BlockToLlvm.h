// The AMD lowering as a pass: every block.kernel of a module becomes an llvm.func, the program of one lane.
//
// The function has one parameter, a record of 64-bit words in the kernel's argument segment (as HostEntry's arguments,
// then the grid's x, y and z), and what compilers and runtimes must know as attributes: rocdl.kernel, the size of a
// work-group, `sectile.shared_bytes` (LDS, i64) and `sectile.threads` (i64). Its body mixes llvm with arith, math and
// scf on scalars; the passes that follow are those of lower/nvidia/BlockToLlvm.h.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile {

/// What the code may use.
struct AmdLoweringOptions {
  std::string processor = "gfx942";
  int64_t lanes = 64;             ///< of a wave
  bool hasWideMfma = false;       ///< 32x32x16 of f16 and bf16 (gfx950)
  bool hasPermlane32Swap = false; ///< gfx950
  bool hasRowXmask = false;       ///< DPP row_xmask and permlanex16 (RDNA)
};

std::unique_ptr<mlir::Pass> createBlockToLlvm(const AmdLoweringOptions &options);

/// Makes the pass known to sectile-opt as `sectile-block-to-llvm-amd{processor=…}`.
void registerAmdBlockToLlvm();

} // namespace sectile
