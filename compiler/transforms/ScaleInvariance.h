// Whether results stay the same when what they are made from is scaled.
//
// Of a softmax in one pass over the scores, a loop carries for each row a reference m and sums of exp2(y - m). With
// another reference, m - log2 s, the sums are s times as large; what comes out of all must not tell:
//
//     l, acc                      scaled, power 1          times s
//     m                           logarithm, power -1      plus -log2 s
//     acc / l                     -                        the same
//     m + log2(l)                 -                        the same
//
// Operations are followed one by one, in program order, from such values to those that no longer depend on s.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace sectile {

class ScaleInvariance {
public:
  /// How a value depends on s: times s^power, or plus power * log2 s.
  struct Dependence {
    bool logarithm;
    int power;
    bool operator==(const Dependence &) const = default;
  };

  /// A value depends on s, or, with power 0, does not.
  void set(mlir::Value value, Dependence dependence);
  /// With power 0 when the value does not depend on s.
  Dependence of(mlir::Value value) const;
  bool depends(mlir::Value value) const { return of(value).power != 0; }
  /// Finds out how an operation's results depend on s. False when they do in no simple way, or when the operation does
  /// something else with a value that depends on s, such as storing it.
  bool follow(mlir::Operation *op);

private:
  std::optional<Dependence> resultOf(mlir::Operation *op) const;
  llvm::DenseMap<mlir::Value, Dependence> dependences;
};

} // namespace sectile
