// The host lowering as a pass: every tile.kernel of a module becomes a host function (compiler/Compiler.h, HostEntry).
#pragma once

#include "compiler/lower/host/HostVectors.h"

#include "mlir/Pass/Pass.h"

namespace sectile {

std::unique_ptr<mlir::Pass> createTileToVector(const host::HostVectors &vectors);

/// Makes the pass known to sectile-opt as `sectile-tile-to-vector{lanes=… registers=… narrow-masks=… amx=…}`.
void registerTileToVector();

} // namespace sectile
