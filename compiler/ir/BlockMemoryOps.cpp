// Operations on shared memory, asynchronous copies and barriers: verifiers.
#include "compiler/ir/Block.h"

using namespace mlir;
using namespace sectile::ir;

LogicalResult AllocOp::verify() {
  if (std::optional<int64_t> offset = getOffset(); offset && (*offset < 0 || *offset % 16 != 0))
    return emitOpError("begins at a multiple of 16 bytes, got ") << *offset;
  if (std::optional<int64_t> barriers = getBarriers(); barriers && (*barriers < 0 || *barriers % 8 != 0))
    return emitOpError("has barriers at a multiple of 8 bytes, got ") << *barriers;
  SharedType type = getType();
  if (getBarriers() && !type.isRing())
    return emitOpError("has barriers for each stage of a ring, got ") << type;
  if (type.hasPanels() && !llvm::isPowerOf2_64(type.getPanel()))
    return emitOpError("has panels of as many columns as a power of two, got ") << type;
  return success();
}

LogicalResult StageOp::verify() {
  SharedType ring = getRing().getType();
  if (!ring.isRing())
    return emitOpError("needs a ring (stages, rows, columns), got ") << ring;
  if (getResult().getType() != ring.stage())
    return emitOpError("makes ") << ring.stage() << " of " << ring << ", got " << getResult().getType();
  return success();
}

/// That a tensor fits a buffer, which may hold its transpose.
static LogicalResult verifyTransfer(Operation *op, RankedTensorType tensor, SharedType buffer, bool transposed) {
  if (buffer.isRing())
    return op->emitOpError("needs one stage of a ring, got ") << buffer;
  const int64_t rows = buffer.getRows(), columns = buffer.getColumns();
  const auto shape = transposed ? std::array{columns, rows} : std::array{rows, columns};
  if (tensor.getShape() != ArrayRef(shape) || tensor.getElementType() != buffer.getElementType())
    return op->emitOpError("needs a tensor of ") << RankedTensorType::get(shape, buffer.getElementType()) << " for "
                                                 << buffer << (transposed ? ", transposed" : "") << ", got " << tensor;
  return success();
}

LogicalResult WriteOp::verify() {
  return verifyTransfer(*this, getValue().getType(), getBuffer().getType(), /*transposed=*/false);
}

LogicalResult ReadOp::verify() {
  return verifyTransfer(*this, getResult().getType(), getBuffer().getType(), getTransposed());
}

LogicalResult sectile::ir::verifyFacts(Operation *op, Value view, ArrayRef<StringRef> facts) {
  auto argument = dyn_cast<BlockArgument>(view);
  auto kernel = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
  for (StringRef fact : facts)
    if (!kernel || !kernel.getArgAttr(argument.getArgNumber(), fact))
      return op->emitOpError("needs a view with ") << fact;
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  ViewType view = getView().getType();
  SharedType buffer = getBuffer().getType();
  if (static_cast<int64_t>(getIndices().size()) != view.getRank())
    return emitOpError("needs one index for each of the ")
           << view.getRank() << " dimensions, got " << getIndices().size();
  if (view.getRank() < 2)
    return emitOpError("copies rows and columns, got a view of rank ") << view.getRank();
  if (buffer.isRing())
    return emitOpError("needs one stage of a ring, got ") << buffer;
  if (buffer.getElementType() != view.getElementType())
    return emitOpError("needs the view's element type ") << view.getElementType() << ", got " << buffer;
  if (const int64_t bytes = buffer.getColumns() * buffer.elementBytes(); bytes % 16 != 0 || buffer.getUnit() != 16)
    return emitOpError("copies chunks of 16 bytes, got rows of ")
           << bytes << " bytes and swizzled units of " << buffer.getUnit() << " bytes: " << buffer;
  return verifyFacts(*this, getView(), {"tile.unit_stride", "tile.aligned16"}); // whole chunks
}

LogicalResult WaitOp::verify() {
  if (static_cast<int32_t>(getPending()) < 0)
    return emitOpError("leaves 0 or more groups pending, got ") << static_cast<int32_t>(getPending());
  return success();
}
