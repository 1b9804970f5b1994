// The passes over the tile dialect and the block dialect, alphabetical.
#ifndef SECTILE_TRANSFORMS_PASSES_TD
#define SECTILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"sectile-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "tile.kernel becomes block.kernel, every tensor gets a layout";
  let description = [{
    From the matrix products outward: accumulators lie in the registers of mma.sync, warps along m; what meets them takes
    their layout, row statistics its slices. The rest is blocked, in vectors as wide as loads and stores allow. Constants,
    indices and masks are made anew in each layout; other tensors are converted where that is cheapest: outside of loops,
    before they are stretched or widened. Every tile program gets layouts.

    Products of f16, of bf16 (from sm_80 on), of f8 with any of them, and of f32 (as tf32, from sm_80 on) use matrix
    instructions, others `fma`.
  }];
  let options = [
    Option<"warps", "warps", "int32_t", "4", "of the thread block: a power of two up to 32">,
    Option<"sm", "sm", "int32_t", "80", "the compute capability, 75 or more">];
  let dependentDialects = ["::sectile::ir::BlockDialect"];
}

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
