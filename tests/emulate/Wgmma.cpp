#include "tests/emulate/Wgmma.h"

#include "tests/emulate/BulkCopy.h"

#include "sectile/Error.h"

#include <charconv>
#include <cstring>
#include <map>

using namespace sectile;
using namespace sectile::warps;

namespace {

constexpr int rows = 64, coreBytes = 16, coreRows = 8;
constexpr uint32_t addressMask = (1u << 18) - 1;

/// The number after `letter`, from `place` on.
int numberAfter(const std::string &text, char letter, size_t place) {
  int number = 0;
  const size_t found = text.find(letter, place);
  if (found != std::string::npos)
    std::from_chars(text.data() + found + 1, text.data() + text.size(), number);
  return number;
}

} // namespace

Wgmma::Wgmma(const std::string &name, bool aInRegisters, const std::vector<int64_t> &immediates)
    : name(name), aInRegisters(aInRegisters) {
  const auto fail = [&](const std::string &why) {
    throw InternalError("there is no instruction " + name + ": " + why);
  };
  // 1. wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
  const std::string prefix = "wgmma.mma_async.sync.aligned.m64n";
  if (!name.starts_with(prefix))
    fail("its name should begin with " + prefix);
  n = numberAfter(name, 'n', prefix.size() - 1);
  k = numberAfter(name, 'k', prefix.size());
  if (n < 8 || n > 256 || n % 8 != 0)
    fail("n is " + std::to_string(n) + "; legal: multiples of 8 from 8 to 256");
  const std::map<std::string, Element> elements = {{"f16", Element::f16},
                                                   {"bf16", Element::bf16},
                                                   {"tf32", Element::tf32},
                                                   {"e4m3", Element::e4m3},
                                                   {"e5m2", Element::e5m2}};
  const size_t types = name.find('.', prefix.size()), second = name.find('.', types + 5);
  if (types == std::string::npos || second == std::string::npos || name.substr(types, 5) != ".f32.")
    fail("its types should be f32 and those of A and B");
  const auto foundA = elements.find(name.substr(types + 5, second - types - 5)),
             foundB = elements.find(name.substr(second + 1));
  if (foundA == elements.end() || foundB == elements.end())
    fail("A and B should be f16, bf16, tf32, e4m3 or e5m2");
  a = foundA->second;
  b = foundB->second;
  if (a != b && bitsOf(a) != 8)
    fail("A and B differ");
  if (bitsOf(b) != bitsOf(a) || k * bitsOf(a) != 256)
    fail("k is " + std::to_string(k) + "; legal: 256 bits");

  // 2. The numbers behind the operands.
  const size_t transposes = bitsOf(a) != 16 ? 0 : aInRegisters ? 1 : 2;
  if (immediates.size() != 2 + transposes)
    fail(std::to_string(immediates.size()) + " numbers come last; these operands have " +
         std::to_string(2 + transposes) + ": two scales, what is transposed");
  scaleA = static_cast<int>(immediates[0]);
  scaleB = static_cast<int>(immediates[1]);
  if (std::abs(scaleA) != 1 || std::abs(scaleB) != 1)
    fail("scales of A and B are 1 or -1");
  transposeA = transposes == 2 && immediates[2] != 0;
  transposeB = transposes != 0 && immediates.back() != 0;
}

//===-- operands in shared memory --------------------------------------------------------------------------------===//

SharedOperand::SharedOperand(uint64_t descriptor, Element type, bool transposed, int size, int k, const char *shared,
                             uint32_t sharedBytes)
    : type(type), transposed(transposed), size(size), depth(k), shared(shared) {
  // 1. The fields of a descriptor: 14 bits for each address, in units of 16 bytes.
  const auto bytes = [&](int bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3fff) << 4; };
  start = bytes(0);
  leading = bytes(16);
  stride = bytes(32);
  constexpr uint32_t swizzles[] = {0, 128, 64, 32};
  swizzle = swizzles[descriptor >> 62];
  constexpr uint64_t known = 0x3fff | uint64_t{0x3fff} << 16 | uint64_t{0x3fff} << 32 | uint64_t{3} << 62;
  if (descriptor & ~known)
    throw InternalError("a descriptor of wgmma, " + std::to_string(descriptor) +
                        ", has bits set that have no meaning, or a base offset");
  // 2. The elements.
  bits.reserve(static_cast<size_t>(size) * k);
  for (int i = 0; i < size; ++i)
    for (int p = 0; p < k; ++p) {
      if (const uint32_t address = addressOf(i, p); address >= sharedBytes)
        throw InternalError("wgmma reads shared address " + std::to_string(address) + "; there are " +
                            std::to_string(sharedBytes) + " bytes");
      bits.push_back(read(i, p));
    }
}

/// By the canonical layouts of the PTX manual. Cores of 8 rows, each of 16 bytes or of as many as the swizzle spans,
/// lie `leading` and `stride` apart; which is which depends on the direction that rows run in.
uint32_t SharedOperand::addressOf(int i, int k) const {
  const int bytes = bitsOf(type) / 8, pitch = swizzle ? static_cast<int>(swizzle) : coreBytes;
  const int row = transposed ? k : i, byte = (transposed ? i : k) * bytes;
  const uint32_t acrossRows = row / coreRows, alongRow = byte / pitch;
  const bool strideAlongRow = transposed && !swizzle;
  const uint32_t offset =
      row % coreRows * pitch + byte % pitch +
      (strideAlongRow ? acrossRows * leading + alongRow * stride : acrossRows * stride + alongRow * leading);
  return swizzled((start + offset) & addressMask, swizzle);
}

uint32_t SharedOperand::read(int i, int k) const {
  uint32_t result = 0;
  std::memcpy(&result, shared + addressOf(i, k), bitsOf(type) / 8);
  return result;
}

std::optional<uint32_t> SharedOperand::changed() const {
  for (int i = 0; i < size; ++i)
    for (int p = 0; p < depth; ++p)
      if (read(i, p) != bits[i * depth + p])
        return addressOf(i, p);
  return std::nullopt;
}

//===-- the product ----------------------------------------------------------------------------------------------===//

Matrix warps::matrixA(const SharedOperand &operand, int k) {
  Matrix a;
  for (int i = 0; i < rows; ++i)
    for (int p = 0; p < k; ++p)
      a.push_back(operand.at(i, p));
  return a;
}

/// Blocks of 8 rows and 128 bits, as for mma: 0 and 1 below each other, 2 and 3 to their right.
Matrix warps::matrixA(const Wgmma &instruction, const uint32_t *const (&words)[warpGroupSize]) {
  const int pack = 32 / bitsOf(instruction.a);
  Matrix a(static_cast<size_t>(rows) * instruction.k);
  for (int thread = 0; thread < warpGroupSize; ++thread)
    for (int i = 0; i < 4 * pack; ++i) {
      const int block = i / pack, row = thread / 32 * 16 + thread % 32 / 4 + block % 2 * 8,
                column = thread % 4 * pack + i % pack + block / 2 * 4 * pack;
      a[row * instruction.k + column] = decodeElement(instruction.a, elementBits(instruction.a, words[thread], i));
    }
  return a;
}

void warps::multiplyAdd(const Wgmma &instruction, const Matrix &a, const SharedOperand &b, Matrix &d) {
  const int n = instruction.n, k = instruction.k;
  Matrix right(static_cast<size_t>(k) * n);
  for (int j = 0; j < n; ++j)
    for (int p = 0; p < k; ++p)
      right[p * n + j] = b.at(j, p) * static_cast<float>(instruction.scaleA * instruction.scaleB);
  std::vector<double> sums(n);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < n; ++j)
      sums[j] = d[i * n + j];
    for (int p = 0; p < k; ++p) {
      const double factor = a[i * k + p];
      for (int j = 0; j < n; ++j)
        sums[j] += factor * right[p * n + j];
    }
    for (int j = 0; j < n; ++j)
      d[i * n + j] = static_cast<float>(sums[j]);
  }
}
