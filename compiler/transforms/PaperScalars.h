// Scalars of a kernel that is run on paper: numbers where they can be known, else "something plus a number".
//
// What a kernel is given is not known, but most of what a schedule does with it needs no more than differences: that %j
// and %j + 1 are neighbours, that two loops to the same %n take as many passes. So an unknown scalar is a symbol of its
// own, sums and differences with numbers keep it, and whoever must go on can choose a number for it, once, for all that
// comes from it.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace sectile {

struct PaperScalar {
  int64_t symbol = 0; ///< 0: none, it is a number
  int64_t number = 0; ///< added to the symbol

  bool isNumber() const { return symbol == 0; }
};

class PaperScalars {
public:
  PaperScalar of(mlir::Value scalar);
  void set(mlir::Value scalar, PaperScalar value) { values[scalar] = value; }
  /// So that `value` is `number`; it is none yet.
  void choose(PaperScalar value, int64_t number) { chosen[value.symbol] = number - value.number; }
  /// Runs an operation that makes one scalar and touches nothing. Others are left alone.
  void run(mlir::Operation &op);
  /// Symbols that come later are greater.
  int64_t latestSymbol() const { return symbols; }

private:
  PaperScalar resolved(PaperScalar value) const;

  llvm::DenseMap<mlir::Value, PaperScalar> values;
  llvm::DenseMap<int64_t, int64_t> chosen;
  int64_t symbols = 0;
};

} // namespace sectile
