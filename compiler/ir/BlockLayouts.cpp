// The layouts of tensors in the IR, and those of matrix products when warps are left over.
#include "compiler/ir/Block.h"

using namespace mlir;
using namespace sectile::ir;

Layout sectile::ir::layoutOf(RankedTensorType type) {
  return cast<LayoutAttr>(type.getEncoding()).over(type.getShape());
}

Layout sectile::ir::layoutOf(Value tensor) { return layoutOf(cast<RankedTensorType>(tensor.getType())); }

RankedTensorType sectile::ir::withLayout(RankedTensorType type, const Layout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), LayoutAttr::get(type.getContext(), layout));
}

/// With bits for the warps beyond those of the layout, which hold copies.
static Layout withIdleWarps(const Layout &layout, int64_t warps) {
  SmallVector<Coordinates> bits(layout.warpBits());
  for (int64_t count = layout.warps(); count < warps; count *= 2)
    bits.emplace_back(layout.rank(), 0);
  return {layout.registerBits(), layout.laneBits(), bits, layout.shape()};
}

Layout sectile::ir::accumulatorLayout(ArrayRef<int64_t> shape, WarpGrid grid, int64_t warps) {
  return withIdleWarps(mmaAccumulator(shape, grid), warps);
}

static constexpr int64_t bitsOfK = 256; // of m16n8k16 with 16 bits, m16n8k8 with 32, m16n8k32 with 8

Layout sectile::ir::operandALayout(ArrayRef<int64_t> shape, int bits, WarpGrid grid, int64_t warps) {
  return withIdleWarps(mmaOperandA(shape, bits, bitsOfK / bits, grid), warps);
}

Layout sectile::ir::operandBLayout(ArrayRef<int64_t> shape, int bits, WarpGrid grid, int64_t warps) {
  return withIdleWarps(mmaOperandB(shape, bits, bitsOfK / bits, grid), warps);
}

std::optional<WarpGrid> sectile::ir::warpGridOf(const Layout &accumulator) {
  if (accumulator.rank() != 2)
    return {};
  WarpGrid grid;
  for (const Coordinates &bit : accumulator.warpBits()) {
    grid.m *= bit[0] != 0 ? 2 : 1;
    grid.n *= bit[1] != 0 ? 2 : 1;
  }
  const bool same = accumulator == accumulatorLayout(accumulator.shape(), grid, accumulator.warps());
  return same ? std::optional(grid) : std::nullopt;
}
