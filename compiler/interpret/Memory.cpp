// tile.load, store, atomic_add and dim.
#include "compiler/interpret/Frame.h"
#include "compiler/ir/Tile.h"
#include "compiler/support/Float.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <atomic>
#include <cstring>

using namespace sectile;
using namespace sectile::interpreter;

namespace {

constexpr int64_t bytesOf(Element element) {
  switch (element) {
  case Element::f32:
  case Element::i32:
    return 4;
  case Element::f16:
  case Element::bf16:
    return 2;
  default:
    return 1;
  }
}

/// Memory need not be aligned.
template <class T> T read(const char *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}
template <class T> void write(char *address, T value) { std::memcpy(address, &value, sizeof(T)); }

float readFloat(Element element, const char *address) {
  switch (element) {
  case Element::f16:
    return decode<f16>(read<uint16_t>(address));
  case Element::bf16:
    return decode<bf16>(read<uint16_t>(address));
  case Element::f8e4m3:
    return decode<f8e4m3>(read<uint8_t>(address));
  case Element::f8e5m2:
    return decode<f8e5m2>(read<uint8_t>(address));
  default:
    return read<float>(address);
  }
}

void writeFloat(Element element, char *address, float value) {
  switch (element) {
  case Element::f16:
    return write(address, static_cast<uint16_t>(encode<f16>(value)));
  case Element::bf16:
    return write(address, static_cast<uint16_t>(encode<bf16>(value)));
  case Element::f8e4m3:
    return write(address, static_cast<uint8_t>(encode<f8e4m3>(value)));
  case Element::f8e5m2:
    return write(address, static_cast<uint8_t>(encode<f8e5m2>(value)));
  default:
    return write(address, value);
  }
}

int64_t readInteger(Element element, const char *address) {
  return element == Element::i1 ? read<uint8_t>(address) != 0 : read<int32_t>(address);
}

void writeInteger(Element element, char *address, int64_t value) {
  if (element == Element::i1)
    write(address, static_cast<uint8_t>(value));
  else
    write(address, static_cast<int32_t>(value));
}

/// Calls visit(i, address) for each element i (row-major) of a tile that lies inside the view; `corner` is where in the
/// view the tile's element 0 lies, which may be outside.
template <class Visit>
void forEachInside(const Datum &array, llvm::ArrayRef<int64_t> corner, llvm::ArrayRef<int64_t> shape, Visit visit) {
  const ViewDatum &view = array.view();
  const int64_t bytes = bytesOf(array.element());
  const size_t leading = corner.size() - shape.size();

  // 1. The leading dimensions have one index each.
  int64_t offset = 0;
  for (size_t d = 0; d < leading; ++d) {
    if (corner[d] < 0 || corner[d] >= view.sizes[d])
      return;
    offset += corner[d] * view.strides[d];
  }
  if (shape.empty())
    return visit(0, view.base + offset * bytes);

  // 2. In each other dimension, the part [first, end) of the tile is inside.
  Shape first, end;
  for (auto [d, size] : llvm::enumerate(shape)) {
    first.push_back(std::clamp<int64_t>(-corner[leading + d], 0, size));
    end.push_back(std::clamp<int64_t>(view.sizes[leading + d] - corner[leading + d], 0, size));
    if (first.back() >= end.back())
      return;
  }

  // 3. Count through that box; the last dimension is the inner loop.
  const size_t last = shape.size() - 1;
  const int64_t step = view.strides[leading + last] * bytes;
  for (Shape at = first;;) {
    int64_t element = 0, row = offset;
    for (size_t d = 0; d <= last; ++d) {
      element = element * shape[d] + at[d];
      row += (corner[leading + d] + at[d]) * view.strides[leading + d];
    }
    char *address = view.base + row * bytes;
    for (int64_t j = first[last]; j < end[last]; ++j, address += step)
      visit(element++, address);
    size_t d = last;
    for (; d-- > 0;) {
      if (++at[d] < end[d])
        break;
      at[d] = first[d];
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

Shape cornerOf(mlir::ValueRange indices, const Frame &frame) {
  Shape corner;
  for (mlir::Value index : indices)
    corner.push_back(frame[index].integer());
  return corner;
}

llvm::Error execute(ir::DimOp op, Frame &frame) {
  frame.set(op.getResult(), Datum::scalar(Element::i32, frame[op.getView()].view().sizes[op.getAxis()]));
  return llvm::Error::success();
}

llvm::Error execute(ir::LoadOp op, Frame &frame) {
  const Datum &view = frame[op.getView()];
  const Element element = view.element();
  const llvm::ArrayRef<int64_t> shape = shapeOf(op.getType());
  const Shape corner = cornerOf(op.getIndices(), frame);
  const mlir::Attribute padding = op.getPaddingAttr();
  if (isFloat(element)) {
    const float fill = padding ? static_cast<float>(mlir::cast<mlir::FloatAttr>(padding).getValueAsDouble()) : 0.0f;
    std::vector<float> values(elementCount(shape), fill);
    forEachInside(view, corner, shape, [&](int64_t i, const char *at) { values[i] = readFloat(element, at); });
    frame.set(op.getResult(), Datum(element, shape, std::move(values)));
  } else {
    int64_t fill = 0;
    if (padding)
      fill = element == Element::i1 ? mlir::cast<mlir::IntegerAttr>(padding).getValue().getZExtValue()
                                    : mlir::cast<mlir::IntegerAttr>(padding).getValue().getSExtValue();
    std::vector<int64_t> values(elementCount(shape), fill);
    forEachInside(view, corner, shape, [&](int64_t i, const char *at) { values[i] = readInteger(element, at); });
    frame.set(op.getResult(), Datum(element, shape, std::move(values)));
  }
  return llvm::Error::success();
}

llvm::Error execute(ir::StoreOp op, Frame &frame) {
  const Datum &view = frame[op.getView()], &value = frame[op.getValue()];
  const Element element = view.element();
  const Shape corner = cornerOf(op.getIndices(), frame);
  if (isFloat(element))
    forEachInside(view, corner, value.shape(),
                  [&](int64_t i, char *at) { writeFloat(element, at, value.floats()[i]); });
  else
    forEachInside(view, corner, value.shape(),
                  [&](int64_t i, char *at) { writeInteger(element, at, value.integers()[i]); });
  return llvm::Error::success();
}

llvm::Error execute(ir::AtomicAddOp op, Frame &frame) {
  const Datum &view = frame[op.getView()], &value = frame[op.getValue()];
  const Shape corner = cornerOf(op.getIndices(), frame);
  if (view.element() != Element::f32 && view.element() != Element::i32)
    return errorAt(*op, "adds f32 or i32 only");
  if (reinterpret_cast<uintptr_t>(view.view().base) % 4 != 0)
    return errorAt(*op, "needs a view whose base address is divisible by 4");
  if (view.element() == Element::f32)
    forEachInside(view, corner, value.shape(), [&](int64_t i, char *at) {
      std::atomic_ref<float>(*reinterpret_cast<float *>(at)).fetch_add(value.floats()[i], std::memory_order_relaxed);
    });
  else
    forEachInside(view, corner, value.shape(), [&](int64_t i, char *at) {
      std::atomic_ref<int32_t>(*reinterpret_cast<int32_t *>(at))
          .fetch_add(static_cast<int32_t>(value.integers()[i]), std::memory_order_relaxed);
    });
  return llvm::Error::success();
}

} // namespace

Outcome interpreter::executeMemory(mlir::Operation &op, Frame &frame) {
  return llvm::TypeSwitch<mlir::Operation *, Outcome>(&op)
      .Case<ir::LoadOp, ir::StoreOp, ir::AtomicAddOp, ir::DimOp>(
          [&](auto known) -> Outcome { return ::execute(known, frame); })
      .Default([](mlir::Operation *) -> Outcome { return std::nullopt; });
}
