// The element types of tiles, in both worlds: sectile::Type and MLIR's.
#pragma once

#include "sectile/Type.h"

#include <optional>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace sectile::ir {

mlir::Type toMlir(mlir::MLIRContext *context, Type type);

/// The element type of a scalar, or nothing when tiles cannot hold it.
std::optional<Type> fromMlir(mlir::Type type);

} // namespace sectile::ir
