// One program of the grid while it is interpreted, and the groups of operations that execute in it.
#pragma once

#include "compiler/interpret/Datum.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <array>

namespace sectile::interpreter {

/// The values computed so far. A value of a loop's body is overwritten by the next pass.
class Frame {
public:
  explicit Frame(std::array<int32_t, 3> program) : program(program) {}

  const Datum &operator[](mlir::Value value) const { return values.find(value)->second; }
  void set(mlir::Value value, Datum datum) { values[value] = std::move(datum); }

  const std::array<int32_t, 3> program; ///< the index along x, y, z

private:
  llvm::DenseMap<mlir::Value, Datum> values;
};

/// "Flash.cpp:41: error: …", where the operation came from.
llvm::Error errorAt(mlir::Operation &op, const llvm::Twine &message);

/// Executes one operation: its results are in the frame afterwards. An operation that is not known is a user error.
llvm::Error execute(mlir::Operation &op, Frame &frame);

// The groups, a file each. None: the operation is of another group.
using Outcome = std::optional<llvm::Error>;
Outcome executeMemory(mlir::Operation &op, Frame &frame);  ///< tile.load, store, atomic_add, dim
Outcome executeShape(mlir::Operation &op, Frame &frame);   ///< tile.iota, splat, extract, broadcast, reshape, transpose
Outcome executeCompute(mlir::Operation &op, Frame &frame); ///< tile.reduce, any, dot, cast
Outcome executeElementwise(mlir::Operation &op, Frame &frame); ///< arith, math
Outcome executeControl(mlir::Operation &op, Frame &frame);     ///< tile.program, return; scf.for, if

} // namespace sectile::interpreter
