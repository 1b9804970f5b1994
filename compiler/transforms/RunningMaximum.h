// The running maximum of a softmax in a loop, and all that is done with it.
//
//   m' = max(m, x)                               between: from m to P and alpha
//   P = exp2(y - m'), alpha = exp2(m - m')       or the maximum's replacement by 0 while it is -inf
//   l' = l * alpha + reduce sum P, …
#pragma once

#include "compiler/ir/Tile.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <optional>
#include <string>

namespace sectile {

struct RunningMaximum {
  mlir::scf::ForOp loop;
  unsigned index;                                  ///< of m among what the loop carries
  mlir::arith::MaxNumFOp maximum;                  ///< m'
  mlir::Value scores;                              ///< y
  mlir::math::Exp2Op weights;                      ///< P
  llvm::SmallVector<ir::ReduceOp> sums;            ///< of P
  llvm::SmallVector<mlir::arith::MulFOp> rescaled; ///< what is carried, times alpha
  llvm::SmallPtrSet<mlir::Operation *, 8> between; ///< from m to P and alpha

  mlir::BlockArgument old() { return loop.getRegionIterArg(index); }
};

/// Of what a loop carries, number `index` being carried on as `maximum`. Nothing, with the reason, when something
/// depends on the maximum that would not come out the same with another number in its place (ScaleInvariance.h).
std::optional<RunningMaximum> findRunningMaximum(mlir::scf::ForOp loop, unsigned index, mlir::arith::MaxNumFOp maximum,
                                                 std::string &reason);

} // namespace sectile
