#include "compiler/analysis/Scratch.h"

#include "compiler/ir/Block.h"
#include "compiler/ir/LayoutConversion.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::ir;

static int64_t bytesOf(RankedTensorType type) {
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

static int64_t scratchOf(ReduceOp reduce) {
  const Layout layout = layoutOf(reduce.getSource());
  int64_t warps = 1;
  for (const Coordinates &bit : layout.warpBits())
    warps *= bit[reduce.getAxis()] != 0 ? 2 : 1;
  const int64_t lines = reduce.getSource().getType().getNumElements() / layout.shape()[reduce.getAxis()];
  return warps == 1 ? 0 : 4 * warps * lines;
}

int64_t sectile::scratchBytes(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](ConvertOp convert) {
        const auto kind = conversion(layoutOf(convert.getSource()), layoutOf(convert.getResult())).kind;
        return kind == Conversion::Kind::shared ? bytesOf(convert.getSource().getType()) : 0;
      })
      .Case([](ReshapeOp reshape) {
        const std::optional<Layout> free = layoutOf(reshape.getSource()).reshaped(reshape.getType().getShape());
        return free && *free == layoutOf(reshape.getResult()) ? 0 : bytesOf(reshape.getSource().getType());
      })
      .Case([](ReduceOp reduce) { return scratchOf(reduce); })
      .Default([](Operation *) { return int64_t{0}; });
}
