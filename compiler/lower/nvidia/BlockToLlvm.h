// The NVIDIA lowering as a pass: every block.kernel of a module becomes an llvm.func, the program of one lane.
//
// The function has one parameter, a struct of 64-bit words by value (as HostEntry's arguments, then the grid's x, y and
// z; tensor maps of 16 words each come first, as many as `sectile.tensor_maps` has entries, each of which tells the
// parameter that is the view, the `rows` and `columns` of the box in its last two dimensions, and `swizzle`, the bytes
// of a swizzled row or 0), and what the driver and ptxas must know as attributes: nvvm.kernel, nvvm.reqntid,
// `sectile.shared_bytes` (dynamic shared memory of a launch, i64) and `sectile.threads` (i64). Its body mixes llvm with
// arith, math and scf on scalars; the passes that follow are, in order:
//
//   sectile-expand-math, sectile-expand-conversions, canonicalize, cse, convert-scf-to-cf, convert-math-to-llvm,
//   convert-arith-to-llvm, convert-ub-to-llvm, convert-cf-to-llvm, reconcile-unrealized-casts
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile {

/// What the code may use.
struct NvidiaLoweringOptions {
  int sm = 80;               ///< 75, 80, 86, 89, 90, 100, 120 …
  bool archSpecific = false; ///< sm_90a and its kind
  int ptxVersion = 70;       ///< 10 * major + minor

  bool hasCpAsync() const { return sm >= 80; }
  bool hasBf16() const { return sm >= 80; } ///< conversions and mma.sync of bf16, mma.sync m16n8k16
  bool hasFp8() const { return sm >= 89; }  ///< conversions and mma.sync m16n8k32 of f8 (PTX 8.4)
  bool hasStmatrix() const { return sm >= 90 && ptxVersion >= 78; }
  bool hasTma() const { return sm >= 90 && ptxVersion >= 80; } ///< and barriers in shared memory that count bytes
  bool hasSetmaxnreg() const { return hasTma() && archSpecific; }
  bool hasWgmma() const { return hasTma() && archSpecific && sm == 90; }
};

std::unique_ptr<mlir::Pass> createBlockToLlvm(const NvidiaLoweringOptions &options);

/// Makes the pass known to sectile-opt as `sectile-block-to-llvm{sm=… ptx=…}`.
void registerBlockToLlvm();

} // namespace sectile
