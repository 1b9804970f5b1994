// Operations that make and move elements: verifiers, folders and canonical forms.
//
// A constant stays a splat: a folder that had to write out every element would turn a line of IR into megabytes.
#include "compiler/ir/Tile.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sectile::ir;

/// The constant of another shape, if all elements are equal.
static OpFoldResult reshapedSplat(Attribute constant, RankedTensorType type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(constant);
  return splat ? OpFoldResult(splat.resizeSplat(type)) : OpFoldResult();
}

static LogicalResult verifySameElement(Operation *op, RankedTensorType source, RankedTensorType result) {
  if (source.getElementType() != result.getElementType())
    return op->emitOpError("keeps the element type, got ") << source << " to " << result;
  return success();
}

//===-- iota, splat, extract ------------------------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  RankedTensorType type = getResult().getType();
  if (type.getRank() != 1 || !type.getElementType().isInteger(32))
    return emitOpError("makes a tile of i32 of rank 1, got ") << type;
  return success();
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  if (!isa_and_nonnull<FloatAttr, IntegerAttr>(adaptor.getValue()))
    return {};
  return SplatElementsAttr::get(getResult().getType(), adaptor.getValue());
}

LogicalResult ExtractOp::verify() {
  if (getSource().getType().getNumElements() != 1)
    return emitOpError("needs a tile of one element, got ") << getSource().getType();
  return success();
}

OpFoldResult ExtractOp::fold(FoldAdaptor adaptor) {
  if (auto constant = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource()))
    return constant.getSplatValue<Attribute>();
  Operation *source = getSource().getDefiningOp();
  if (auto splat = dyn_cast_or_null<SplatOp>(source))
    return splat.getValue();
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(source)) {
    getSourceMutable().assign(reshape.getSource());
    return getResult();
  }
  return {};
}

/// Two of `Op` in a row are one; `Op` of a splat is a splat.
template <class Op> static LogicalResult mergeWithSource(Op op, PatternRewriter &rewriter) {
  if (auto inner = op.getSource().template getDefiningOp<Op>()) {
    rewriter.replaceOpWithNewOp<Op>(op, op.getResult().getType(), inner.getSource());
    return success();
  }
  if (auto splat = op.getSource().template getDefiningOp<SplatOp>()) {
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getResult().getType(), splat.getValue());
    return success();
  }
  return rewriter.notifyMatchFailure(op, "the source is neither of the same kind nor a splat");
}

//===-- broadcast -----------------------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  if (failed(verifySameElement(*this, source, result)))
    return failure();
  if (source.getRank() != result.getRank())
    return emitOpError("keeps the rank, got ") << source << " to " << result << ": reshape first";
  for (auto [axis, from, to] : llvm::enumerate(source.getShape(), result.getShape()))
    if (from != to && from != 1)
      return emitOpError("stretches dimensions of size 1, got ")
             << source << " to " << result << " (axis " << axis << ")";
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  return reshapedSplat(adaptor.getSource(), getResult().getType());
}

LogicalResult BroadcastOp::canonicalize(BroadcastOp op, PatternRewriter &rewriter) {
  return mergeWithSource(op, rewriter);
}

//===-- reshape -------------------------------------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  if (failed(verifySameElement(*this, source, result)))
    return failure();
  if (source.getNumElements() != result.getNumElements())
    return emitOpError("keeps the number of elements, got ") << source << " to " << result;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  return reshapedSplat(adaptor.getSource(), getResult().getType());
}

LogicalResult ReshapeOp::canonicalize(ReshapeOp op, PatternRewriter &rewriter) { return mergeWithSource(op, rewriter); }

//===-- transpose -----------------------------------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  if (failed(verifySameElement(*this, source, result)))
    return failure();
  ArrayRef<int64_t> order = getOrder();
  const int64_t rank = source.getRank();
  SmallVector<bool> seen(rank, false);
  bool legal = static_cast<int64_t>(order.size()) == rank && result.getRank() == rank;
  for (int64_t axis : order) {
    legal = legal && axis >= 0 && axis < rank && !seen[axis];
    if (legal)
      seen[axis] = true;
  }
  if (!legal)
    return emitOpError("needs each axis of ") << source << " once, got [" << order << "] for " << result;
  for (auto [axis, from] : llvm::enumerate(order))
    if (result.getDimSize(axis) != source.getDimSize(from))
      return emitOpError("makes dimension ")
             << axis << " from dimension " << from << ", got " << source << " to " << result;
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::is_sorted(getOrder()) && getSource().getType() == getResult().getType())
    return getSource();
  return reshapedSplat(adaptor.getSource(), getResult().getType());
}

LogicalResult TransposeOp::canonicalize(TransposeOp op, PatternRewriter &rewriter) {
  if (auto inner = op.getSource().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> order;
    for (int64_t axis : op.getOrder())
      order.push_back(inner.getOrder()[axis]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getResult().getType(), inner.getSource(), order);
    return success();
  }
  if (auto splat = op.getSource().getDefiningOp<SplatOp>()) {
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getResult().getType(), splat.getValue());
    return success();
  }
  return rewriter.notifyMatchFailure(op, "the source is neither a transpose nor a splat");
}
