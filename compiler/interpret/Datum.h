// What an SSA value holds while a kernel is interpreted: the elements of a tile or scalar, or a view of memory.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace sectile::interpreter {

/// The element types of tiles, and `index`, which only loop bounds have.
enum class Element : uint8_t { f32, f16, bf16, f8e4m3, f8e5m2, i32, i1, index };

constexpr bool isFloat(Element element) { return element <= Element::f8e5m2; }
constexpr bool isF8(Element element) { return element == Element::f8e4m3 || element == Element::f8e5m2; }

/// The element type of a scalar, tensor or view type; none when it is not one of a tile.
std::optional<Element> elementOf(mlir::Type type);

/// The sizes of a tensor; none for a scalar.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);

using Shape = llvm::SmallVector<int64_t, 3>;
int64_t elementCount(llvm::ArrayRef<int64_t> shape);

/// Element e of the array is at base + bytes * sum(index[d] * strides[d]).
struct ViewDatum {
  char *base;
  llvm::ArrayRef<int64_t> sizes, strides;
};

/// Immutable once made; copies share the elements. Floats of every type are held in `float`, which represents them
/// all; i32 sign-extended and i1 as 0 or 1 in int64_t.
class Datum {
public:
  Datum() = default;
  Datum(Element element, llvm::ArrayRef<int64_t> shape, std::vector<float> values);
  Datum(Element element, llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values);
  Datum(Element element, ViewDatum view) : type(element), payload(view) {}
  static Datum scalar(Element element, int64_t value) { return Datum(element, {}, std::vector<int64_t>{value}); }

  Element element() const { return type; }
  llvm::ArrayRef<int64_t> shape() const { return sizes; }
  int64_t size() const { return elementCount(sizes); }
  llvm::ArrayRef<float> floats() const { return *std::get<Floats>(payload); }
  llvm::ArrayRef<int64_t> integers() const { return *std::get<Integers>(payload); }
  /// The value of an integer scalar.
  int64_t integer() const { return integers().front(); }
  const ViewDatum &view() const { return std::get<ViewDatum>(payload); }
  /// The same elements under another shape with as many.
  Datum reshaped(llvm::ArrayRef<int64_t> shape) const;

private:
  using Floats = std::shared_ptr<const std::vector<float>>;
  using Integers = std::shared_ptr<const std::vector<int64_t>>;
  Element type = Element::i32;
  Shape sizes;
  std::variant<Integers, Floats, ViewDatum> payload;
};

} // namespace sectile::interpreter
