// The passes of the cpu target, in order: the table of contents of this backend.
#pragma once

#include "compiler/targets/Target.h"

namespace mlir {
class OpPassManager;
}

namespace sectile::cpu {

struct CpuPipelineOptions {
  Target target;
  Schedule schedule; ///< complete
};

/// The whole pipeline: the two parts below.
void buildCpuPipeline(mlir::OpPassManager &passes, const CpuPipelineOptions &options);
/// tile -> vector.
void buildTileToVector(mlir::OpPassManager &passes, const CpuPipelineOptions &options);
/// vector -> llvm.
void buildVectorToLlvm(mlir::OpPassManager &passes, const CpuPipelineOptions &options);

} // namespace sectile::cpu
