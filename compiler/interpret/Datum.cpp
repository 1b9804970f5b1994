#include "compiler/interpret/Datum.h"

#include "compiler/ir/Tile.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace sectile::interpreter;

std::optional<Element> sectile::interpreter::elementOf(mlir::Type type) {
  if (auto view = mlir::dyn_cast<ir::ViewType>(type))
    type = view.getElementType();
  return llvm::TypeSwitch<mlir::Type, std::optional<Element>>(mlir::getElementTypeOrSelf(type))
      .Case<mlir::Float32Type>([](auto) { return Element::f32; })
      .Case<mlir::Float16Type>([](auto) { return Element::f16; })
      .Case<mlir::BFloat16Type>([](auto) { return Element::bf16; })
      .Case<mlir::Float8E4M3FNType>([](auto) { return Element::f8e4m3; })
      .Case<mlir::Float8E5M2Type>([](auto) { return Element::f8e5m2; })
      .Case<mlir::IndexType>([](auto) { return Element::index; })
      .Case<mlir::IntegerType>([](mlir::IntegerType integer) -> std::optional<Element> {
        if (integer.isSignless() && integer.getWidth() == 32)
          return Element::i32;
        if (integer.isSignless() && integer.getWidth() == 1)
          return Element::i1;
        return std::nullopt;
      })
      .Default([](mlir::Type) { return std::nullopt; });
}

llvm::ArrayRef<int64_t> sectile::interpreter::shapeOf(mlir::Type type) {
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type))
    return tensor.getShape();
  return {};
}

int64_t sectile::interpreter::elementCount(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape)
    count *= size;
  return count;
}

Datum::Datum(Element element, llvm::ArrayRef<int64_t> shape, std::vector<float> values)
    : type(element), sizes(shape), payload(std::make_shared<const std::vector<float>>(std::move(values))) {}

Datum::Datum(Element element, llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values)
    : type(element), sizes(shape), payload(std::make_shared<const std::vector<int64_t>>(std::move(values))) {}

Datum Datum::reshaped(llvm::ArrayRef<int64_t> shape) const {
  Datum result = *this;
  result.sizes.assign(shape.begin(), shape.end());
  return result;
}
