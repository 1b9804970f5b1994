#include "compiler/ir/Swizzle.h"

#include "compiler/ir/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace sectile::ir {
namespace {

constexpr int64_t banks = 32, bankBytes = 4;

bool isPowerOfTwo(int64_t n) { return n > 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(n)); }

/// Conflicts of the lanes served together, whose words are given by bank.
int64_t conflictsOfPass(llvm::ArrayRef<int64_t> offsets, int64_t bytes) {
  llvm::SmallVector<int64_t, 64> words;
  for (int64_t offset : offsets)
    for (int64_t word = offset / bankBytes; word * bankBytes < offset + bytes; ++word)
      words.push_back(word);
  llvm::sort(words);
  words.erase(llvm::unique(words), words.end());

  std::array<int64_t, banks> wordsInBank = {};
  int64_t passes = 1;
  for (int64_t word : words)
    passes = std::max(passes, ++wordsInBank[static_cast<size_t>(word % banks)]);
  return passes - 1;
}

} // namespace

Swizzle Swizzle::forRows(int64_t rowBytes) {
  if (rowBytes % 16 != 0)
    return plain(rowBytes);
  // Rows start `chunks` chunks apart, modulo the 8 that the banks hold: after 8 / span of them they start over.
  const int64_t chunks = rowBytes / 16, span = std::min<int64_t>(8, chunks & -chunks);
  return span == 1 ? plain(rowBytes) : Swizzle{rowBytes, 8 / span, span};
}

std::optional<std::string> Swizzle::verify() const {
  std::string message;
  llvm::raw_string_ostream os(message);
  if (!isPowerOfTwo(step) || !isPowerOfTwo(span) || !isPowerOfTwo(unit) || unit > 64)
    os << "step, span and unit must be powers of two and a unit at most 64 bytes; they are " << step << ", " << span
       << " and " << unit;
  else if (rowBytes < 1 || (span > 1 && rowBytes % (unit * span) != 0))
    os << "a row of " << rowBytes << " bytes is no multiple of the " << unit * span << " bytes that change places ("
       << span << " chunks of " << unit << ")";
  else
    return std::nullopt;
  return message;
}

int64_t Swizzle::offset(int64_t row, int64_t byte) const { return row * rowBytes + (byte ^ row / step % span * unit); }

LinearLayout Swizzle::linear(int64_t rows, int64_t columns, int bits) const {
  const int64_t bytes = bits / 8;
  assert(!verify() && isPowerOfTwo(rows) && isPowerOfTwo(columns) && columns * bytes == rowBytes);
  LinearLayout::Input in{Axis::offset, {}};
  for (int64_t column = 1; column != columns; column *= 2)
    in.bases.push_back({0, column});
  for (int64_t row = 1; row != rows; row *= 2)
    in.bases.push_back({row, row / step % span * unit / bytes});
  return LinearLayout({std::move(in)}, {{dim(0), rows}, {dim(1), columns}});
}

int64_t vectorBytes(const Layout &layout, int bits, bool transposed, int64_t unit) {
  const size_t contiguous = transposed ? 0 : 1;
  const int64_t size = layout.shape()[contiguous];
  const int64_t elements = std::min(layout.vectorWidth(contiguous), size & -size);
  return std::min({elements * bits / 8, unit, int64_t{16}});
}

int64_t bankConflicts(llvm::ArrayRef<int64_t> offsets, int64_t bytes) {
  const size_t together = bytes == 16 ? 8 : bytes == 8 ? 16 : 32;
  int64_t conflicts = 0;
  for (; !offsets.empty(); offsets = offsets.drop_front(std::min(together, offsets.size())))
    conflicts += conflictsOfPass(offsets.take_front(together), bytes);
  return conflicts;
}

int64_t bankConflicts(const Swizzle &swizzle, const SharedAccess &access) {
  const Layout &layout = access.layout;
  const size_t contiguous = access.transposed ? 0 : 1;
  const auto offsetOf = [&](llvm::ArrayRef<int64_t> element) {
    return swizzle.offset(element[1 - contiguous], element[contiguous] * access.bits / 8);
  };
  int64_t conflicts = 0;

  if (access.bytes == 0) {
    const auto matrices = matrixAccesses(layout, access.bits, contiguous);
    assert(matrices);
    for (const MatrixAccess &matrix : matrices->accesses) {
      llvm::SmallVector<int64_t, 32> offsets;
      for (int64_t lane = 0; lane != 8 * matrix.count; ++lane)
        offsets.push_back(offsetOf(matrix.row(lane)));
      conflicts += bankConflicts(offsets, 16);
    }
    return conflicts;
  }

  // Lanes past the shape take no part, but keep their place in the passes: they do as a neighbour does.
  const int64_t elements = access.bytes * 8 / access.bits;
  llvm::SmallVector<Coordinates, 0> laneParts;
  for (int64_t lane = 0; lane != layout.lanes(); ++lane)
    laneParts.push_back(layout.coordinates(0, lane, 0)); // register 0 is at 0
  for (int64_t reg = 0; reg < layout.registers(); reg += elements) {
    llvm::SmallVector<int64_t, 32> offsets;
    const Coordinates base = layout.base(reg);
    for (const Coordinates &part : laneParts) {
      const int64_t element[] = {base[0] + part[0], base[1] + part[1]};
      if (layout.contains(element))
        offsets.push_back(offsetOf(element));
      else if (!offsets.empty())
        offsets.push_back(offsets.back());
    }
    conflicts += bankConflicts(offsets, access.bytes);
  }
  return conflicts;
}

Swizzle chooseSwizzle(int64_t rowBytes, const SharedAccess &write, const SharedAccess &read) {
  const auto vector = [](const SharedAccess &access) { return access.bytes == 0 ? int64_t{16} : access.bytes; };
  const int64_t shortest = std::max({vector(write), vector(read), bankBytes});

  Swizzle best = Swizzle::plain(rowBytes);
  int64_t fewest = bankConflicts(best, write) + bankConflicts(best, read);
  constexpr int64_t line = banks * bankBytes;
  for (int64_t span = 2; span * shortest <= line; span *= 2)
    for (int64_t step = 1; step != 32; step *= 2)
      for (int64_t unit = shortest; span * unit <= line; unit *= 2) {
        const Swizzle candidate{rowBytes, step, span, unit};
        if (fewest == 0 || candidate.verify())
          continue;
        const int64_t conflicts = bankConflicts(candidate, write) + bankConflicts(candidate, read);
        if (conflicts < fewest) {
          best = candidate;
          fewest = conflicts;
        }
      }
  return best;
}

} // namespace sectile::ir
