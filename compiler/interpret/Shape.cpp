// tile.iota, splat, extract, broadcast, reshape and transpose.
#include "compiler/interpret/Frame.h"
#include "compiler/ir/Tile.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace sectile;
using namespace sectile::interpreter;

namespace {

Shape rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    strides[d] = stride;
  return strides;
}

/// Result element i is source element sum(i[d] * strides[d]).
template <class T>
std::vector<T> gather(llvm::ArrayRef<T> source, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  std::vector<T> result;
  result.reserve(elementCount(shape));
  if (shape.empty())
    return {source.begin(), source.end()};
  const size_t last = shape.size() - 1;
  Shape index(shape.size(), 0);
  const int64_t rows = elementCount(shape.drop_back());
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (size_t d = 0; d < last; ++d)
      offset += index[d] * strides[d];
    for (int64_t j = 0; j < shape[last]; ++j)
      result.push_back(source[offset + j * strides[last]]);
    for (size_t d = last; d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return result;
}

Datum gather(const Datum &source, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  if (isFloat(source.element()))
    return Datum(source.element(), shape, gather(source.floats(), shape, strides));
  return Datum(source.element(), shape, gather(source.integers(), shape, strides));
}

Datum evaluate(ir::IotaOp op, Frame &) {
  const llvm::ArrayRef<int64_t> shape = shapeOf(op.getType());
  std::vector<int64_t> values(elementCount(shape));
  std::iota(values.begin(), values.end(), 0);
  return Datum(Element::i32, shape, std::move(values));
}

Datum evaluate(ir::SplatOp op, Frame &frame) {
  const llvm::ArrayRef<int64_t> shape = shapeOf(op.getType());
  return gather(frame[op.getValue()], shape, Shape(shape.size(), 0));
}

Datum evaluate(ir::ExtractOp op, Frame &frame) { return frame[op.getSource()].reshaped({}); }

Datum evaluate(ir::BroadcastOp op, Frame &frame) {
  const Datum &source = frame[op.getSource()];
  Shape strides = rowMajorStrides(source.shape());
  for (auto [stride, size] : llvm::zip_equal(strides, source.shape()))
    if (size == 1)
      stride = 0;
  return gather(source, shapeOf(op.getType()), strides);
}

Datum evaluate(ir::ReshapeOp op, Frame &frame) { return frame[op.getSource()].reshaped(shapeOf(op.getType())); }

Datum evaluate(ir::TransposeOp op, Frame &frame) {
  const Datum &source = frame[op.getSource()];
  const Shape sourceStrides = rowMajorStrides(source.shape());
  Shape strides;
  for (const int64_t dimension : op.getOrder())
    strides.push_back(sourceStrides[dimension]);
  return gather(source, shapeOf(op.getType()), strides);
}

} // namespace

Outcome interpreter::executeShape(mlir::Operation &op, Frame &frame) {
  return llvm::TypeSwitch<mlir::Operation *, Outcome>(&op)
      .Case<ir::IotaOp, ir::SplatOp, ir::ExtractOp, ir::BroadcastOp, ir::ReshapeOp, ir::TransposeOp>(
          [&](auto known) -> Outcome {
            frame.set(known.getResult(), evaluate(known, frame));
            return llvm::Error::success();
          })
      .Default([](mlir::Operation *) -> Outcome { return std::nullopt; });
}
