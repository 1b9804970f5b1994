// The passes over the tile and block dialects: see Passes.td for what each does.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::scf {
class SCFDialect;
}
namespace mlir::arith {
class ArithDialect;
}
namespace mlir {
class ModuleOp;
}
namespace sectile::ir {
class BlockDialect;
class TileDialect;
} // namespace sectile::ir

namespace sectile {

#define GEN_PASS_DECL
#include "compiler/transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/transforms/Passes.h.inc"

/// Makes every tile pass known by name, for sectile-opt.
inline void registerPasses() { registerSectilePasses(); }

} // namespace sectile
