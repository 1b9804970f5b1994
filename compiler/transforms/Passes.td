// The passes over the tile dialect, alphabetical.
#ifndef SECTILE_TRANSFORMS_PASSES_TD
#define SECTILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseAccumulator : Pass<"sectile-fuse-accumulator"> {
  let summary = "x + dot(a, b, 0) becomes dot(a, b, x)";
  let description = [{
    Matrix units and register-blocked loops add to an accumulator for free. Only a product whose accumulator is zero
    and whose single use is the addition is rewritten; the sum is associated differently, which `tile.dot` allows.
  }];
  let dependentDialects = ["::sectile::ir::TileDialect"];
}

def GuardMasks : Pass<"sectile-guard-masks"> {
  let summary = "tiles that need no mask pay for none";
  let description = [{
    `select(mask, x, padding)` with a mask of comparisons between affine i32 tiles becomes

      scf.if (the mask holds for every element) { x } else { select(mask, x, padding) }

    where the condition compares the smallest and largest element of each side, as scalars. Conjuncts whose range is not
    known stay in a plain select around it. In attention, only blocks on the diagonal, at a window's edges and at
    the end of the keys evaluate their mask.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

#endif // SECTILE_TRANSFORMS_PASSES_TD
