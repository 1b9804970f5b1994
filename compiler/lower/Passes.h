// Passes that lower the vector stage's operations to what a processor has.
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace sectile {

struct ExpandMathOptions {
  bool avx512 = false; ///< vscalef and vreduce exist (AVX-512 F, VL, DQ)
};

/// math.exp2, exp, log2, log and tanh on f32 scalars and vectors become arithmetic: within 2 ulp (tanh 3) for normal
/// results. Without AVX-512 a result below 2^-126 is only known to stay below it.
std::unique_ptr<mlir::Pass> createExpandMath(ExpandMathOptions options = {});

/// arith.extf and arith.truncf between f32 and bf16, f8E4M3FN or f8E5M2 become integer arithmetic that LLVM vectorizes;
/// f16 is left to F16C. Exact, to nearest even; f8 saturates to the largest finite value (here arith.truncf means so).
std::unique_ptr<mlir::Pass> createExpandConversions();

/// Makes the passes above known by name.
void registerExpansionPasses();

} // namespace sectile
