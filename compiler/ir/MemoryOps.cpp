// Operations on views: verifiers.
#include "compiler/ir/Tile.h"

using namespace mlir;
using namespace sectile::ir;

/// What load, store and atomic_add have in common.
static LogicalResult verifyAccess(Operation *op, ViewType view, size_t indices, RankedTensorType tile) {
  if (static_cast<int64_t>(indices) != view.getRank())
    return op->emitOpError("needs one index for each of the ") << view.getRank() << " dimensions, got " << indices;
  if (tile.getRank() > view.getRank())
    return op->emitOpError("needs a tile of rank ") << view.getRank() << " or less, got " << tile;
  if (tile.getElementType() != view.getElementType())
    return op->emitOpError("needs the view's element type ") << view.getElementType() << ", got " << tile;
  return success();
}

LogicalResult DimOp::verify() {
  if (getAxis() >= getView().getType().getRank())
    return emitOpError("needs an axis from 0 to ")
           << getView().getType().getRank() - 1 << ", got " << static_cast<int32_t>(getAxis());
  return success();
}

LogicalResult LoadOp::verify() {
  ViewType view = getView().getType();
  if (failed(verifyAccess(*this, view, getIndices().size(), getResult().getType())))
    return failure();
  if (std::optional<TypedAttr> padding = getPadding(); padding && padding->getType() != view.getElementType())
    return emitOpError("needs padding of the view's element type ")
           << view.getElementType() << ", got " << padding->getType();
  if (std::optional<TypedAttr> padding = getPadding(); padding && !isa<FloatAttr, IntegerAttr>(*padding))
    return emitOpError("needs a number as padding, got ") << *padding;
  return success();
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getView().getType(), getIndices().size(), getValue().getType());
}

LogicalResult AtomicAddOp::verify() {
  Type element = getView().getType().getElementType();
  if (!element.isF32() && !element.isInteger(32))
    return emitOpError("adds f32 or i32, got ") << element;
  return verifyAccess(*this, getView().getType(), getIndices().size(), getValue().getType());
}
