// The tile dialect in C++: see Tile.td for what each operation means.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sectile::ir {
constexpr int64_t maxTileElements = int64_t{1} << 24;
/// Whether a tile can have this shape: rank and sizes from 1 on, at most `maxTileElements` elements.
bool isTileShape(llvm::ArrayRef<int64_t> shape);
/// That a kernel of any level has the arguments and argument attributes that tile.kernel documents, and no results.
mlir::LogicalResult verifyKernelArguments(mlir::FunctionOpInterface kernel);
} // namespace sectile::ir

#include "compiler/ir/TileDialect.h.inc"
#include "compiler/ir/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/ir/TileOps.h.inc"

namespace sectile::ir {

/// Loads the dialects that a traced kernel uses: tile, arith, math, scf.
void registerTileDialects(mlir::DialectRegistry &registry);

} // namespace sectile::ir
