// The pipelines of all targets under their names, so that sectile-opt and lit tests run the very same ones.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace sectile {

/// `sectile-cpu-pipeline`, `sectile-cpu-tile-to-vector` and `sectile-cpu-vector-to-llvm`; `sectile-nvptx-pipeline`,
/// `sectile-nvptx-tile-to-block` and `sectile-nvptx-block-to-llvm`; each with the options `processor` (default
/// x86-64-v3 or sm_80, so that the output is the same on every machine) and `schedule`. And the passes that Sectile
/// adds.
void registerPipelines();

/// Every dialect that the pipelines read or make, beside the traced kernel's own.
void registerTargetDialects(mlir::DialectRegistry &registry);

} // namespace sectile
