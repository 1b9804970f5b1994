// One wgmma.mma_async: the product D = A B + D of a group of four warps, 64 rows.
#pragma once

#include "tests/emulate/MatrixElements.h"

#include <optional>
#include <string>
#include <vector>

namespace sectile::warps {

constexpr int warpGroupSize = 128;

/// What the instruction says, other than its registers.
struct Wgmma {
  std::string name; ///< "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
  int n = 0, k = 0;
  Element a = Element::f16, b = Element::f16;
  bool aInRegisters = false;
  int scaleA = 1, scaleB = 1;
  bool transposeA = false, transposeB = false; ///< in shared memory, rows run along m, n instead of k

  /// By its name, and the numbers that come last: the scales, then what is transposed. Throws InternalError when
  /// there is no such instruction.
  Wgmma(const std::string &name, bool aInRegisters, const std::vector<int64_t> &immediates);
  int accumulators() const { return n / 2; } ///< registers of a thread
};

/// An operand in shared memory, as its descriptor says, and its elements when it was read.
class SharedOperand {
public:
  /// `size`: rows of A, columns of B. Throws InternalError for descriptors that have no meaning.
  SharedOperand(uint64_t descriptor, Element type, bool transposed, int size, int k, const char *shared,
                uint32_t sharedBytes);
  float at(int i, int k) const { return decodeElement(type, bits[i * depth + k]); }
  /// The address of an element that is not what it was; none is the rule.
  std::optional<uint32_t> changed() const;

private:
  uint32_t addressOf(int i, int k) const;
  uint32_t read(int i, int k) const;
  Element type;
  bool transposed;
  int size, depth;
  uint32_t start, leading, stride, swizzle; ///< bytes
  const char *shared;
  std::vector<uint32_t> bits;
};

/// Where register i of a thread of the group has its element of D.
inline int accumulatorRow(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8; }
inline int accumulatorColumn(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

/// Row-major matrices of f32: A is 64 x k.
using Matrix = std::vector<float>;
Matrix matrixA(const SharedOperand &operand, int k);
/// From the four words of each thread.
Matrix matrixA(const Wgmma &instruction, const uint32_t *const (&words)[warpGroupSize]);
/// D += A B: D is 64 x n, B n columns of k.
void multiplyAdd(const Wgmma &instruction, const Matrix &a, const SharedOperand &b, Matrix &d);

} // namespace sectile::warps
