// What kernels should compute, in plain C++ over doubles, and how far a target may be from it.
#pragma once

#include "tests/support/Buffer.h"

#include "sectile/Tile.h"

#include <functional>
#include <random>
#include <string>

namespace sectile::conformance {
using test::Buffer;
using test::Index;
using test::Values;
using tile::Shape;

inline constexpr Type allTypes[] = {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2, Type::i32, Type::i1};
inline constexpr Type floatTypes[] = {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2};
inline constexpr Type arithmeticTypes[] = {Type::f32, Type::f16, Type::bf16, Type::i32};
/// Rank 1 to 3, with sizes around and off powers of two.
const std::vector<Shape> &tileShapes();

/// A row-major tensor of exact values.
struct Tensor {
  Shape shape;
  Values values;
  double at(const Shape &index) const;
};

int64_t count(const Shape &shape);
/// Calls f(index) for every index of a shape, in row-major order.
void forEachIndex(const Shape &shape, const std::function<void(const Shape &)> &f);
Tensor generate(const Shape &shape, const std::function<double(const Shape &)> &f);

/// Seeded, and the same on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t integer(int64_t low, int64_t high); ///< inclusive
  double real(double low, double high);
  /// Any value of the type: special ones (NaN, infinities, zeros, subnormals, the largest), random bits, small numbers.
  double any(Type type);
  /// A number of moderate size that the type represents.
  double tame(Type type);
  Tensor tensor(Type type, const Shape &shape);     ///< of any()
  Tensor tameTensor(Type type, const Shape &shape); ///< of tame()

private:
  std::mt19937_64 engine;
};

/// How an element may differ from its expectation.
struct Tolerance {
  double ulps = 0;             ///< units in the last place of the exact value; 0: the correctly rounded value
  bool signOfZeroFree = false; ///< 0 and -0 are alike
};

/// Whether `actual`, of the type, is right for the exact, unrounded value.
bool agrees(Type type, double exact, double actual, Tolerance tolerance);

/// The output of a kernel: a view of rank 4 whose first dimension is slots; a tile of rank up to 3 is stored at
/// {slot, 0, 0, 0}, and fills the trailing dimensions' low corner. Nothing else may be written.
class Slots {
public:
  Slots(Type type, int64_t slots, const std::vector<Shape> &shapes);
  Slots(Type type, int64_t slots, const Shape &shape) : Slots(type, slots, std::vector<Shape>{shape}) {}
  ArrayView view() const { return buffer.view(); }

  /// Fails the running test, naming `what`, the element and both values, unless the slot holds `exact`.
  void check(int64_t slot, const std::string &what, const Tensor &exact, Tolerance tolerance = {});
  /// The same with an absolute error bound an element.
  void checkWithin(int64_t slot, const std::string &what, const Tensor &exact, const Tensor &bound);
  /// Fails when something beside the slots' checked corners was written.
  void checkNothingElse();

private:
  void compare(int64_t slot, const std::string &what, const Tensor &exact,
               const std::function<bool(int64_t, double)> &isRight);
  static Shape sizesFor(int64_t slots, const std::vector<Shape> &shapes);
  Buffer buffer;
  std::vector<bool> checked;
};

/// An input for a kernel: a contiguous view of rank 4, {slot, d0, d1, d2}.
Buffer slotsOf(Type type, const std::vector<Tensor> &tensors);
/// {1, …, shape}: a shape of rank 3.
Shape padded(const Shape &shape);
std::string toString(const Shape &shape);

} // namespace sectile::conformance
