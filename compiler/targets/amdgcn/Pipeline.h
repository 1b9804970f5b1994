// The passes of the amdgcn target, in order: the table of contents of this backend.
#pragma once

#include "compiler/targets/Target.h"

namespace mlir {
class OpPassManager;
}

namespace sectile::amdgcn {

struct PipelineOptions {
  Target target;
  Schedule schedule; ///< complete
};

/// The whole pipeline: the two parts below.
void buildPipeline(mlir::OpPassManager &passes, const PipelineOptions &options);
/// tile -> block.
void buildTileToBlock(mlir::OpPassManager &passes, const PipelineOptions &options);
/// block -> llvm.
void buildBlockToLlvm(mlir::OpPassManager &passes, const PipelineOptions &options);

} // namespace sectile::amdgcn
