#include "compiler/ir/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace sectile::ir {
namespace {

using BasisList = llvm::SmallVector<Coordinates>;

Coordinates along(size_t d, int64_t step) {
  Coordinates basis(2, 0);
  basis[d] = step;
  return basis;
}

/// Bases that count to `count` along d in steps.
void append(BasisList &bases, size_t d, int64_t step, int64_t count) {
  for (int64_t i = 1; i < count; i *= 2)
    bases.push_back(along(d, i * step));
}

void appendCopies(BasisList &bases, int64_t count) {
  for (int64_t i = 1; i < count; i *= 2)
    bases.push_back({0, 0});
}

/// 8 rows along dimension `row`, and across them four lanes with `pack` elements each.
BasisList quadRows(size_t row, int64_t pack) {
  BasisList lanes;
  append(lanes, 1 - row, pack, 4);
  append(lanes, row, 1, 8);
  return lanes;
}

/// Whether the bits of i each add bits to places[0] that it does not have, and places[i] is the sum: addresses may then
/// be put together by XOR as by addition. In a layout with an odd number of repeats it is not so where a row of repeats
/// ends: the next place is below, and back at the left.
bool areMovedByBits(llvm::ArrayRef<Coordinates> places) {
  for (size_t d = 0; d != places[0].size(); ++d) {
    const int64_t start = places[0][d];
    for (const Coordinates &place : places)
      if ((start & place[d]) != start)
        return false;
    if (places.size() == 4) {
      const int64_t first = places[1][d] - start, second = places[2][d] - start, both = places[3][d] - start;
      if ((first & second) != 0 || both != (first | second))
        return false;
    }
  }
  return true;
}

} // namespace

Layout mmaAccumulator(llvm::ArrayRef<int64_t> shape, WarpGrid warps) {
  BasisList registers = {{0, 1}, {8, 0}}, warpBases;
  append(warpBases, 0, 16, warps.m);
  append(warpBases, 1, 8, warps.n);
  return Layout(registers, quadRows(0, 2), warpBases, shape);
}

Layout mmaOperandA(llvm::ArrayRef<int64_t> shape, int bits, int64_t instructionK, WarpGrid warps) {
  const int64_t pack = 32 / bits;
  assert(instructionK == 4 * pack || instructionK == 8 * pack);
  BasisList registers, warpBases;
  append(registers, 1, 1, pack);
  append(registers, 0, 8, 2);
  append(registers, 1, 4 * pack, instructionK / (4 * pack));
  append(warpBases, 0, 16, warps.m);
  appendCopies(warpBases, warps.n);
  return Layout(registers, quadRows(0, pack), warpBases, shape);
}

Layout mmaOperandB(llvm::ArrayRef<int64_t> shape, int bits, int64_t instructionK, WarpGrid warps) {
  const int64_t pack = 32 / bits;
  assert(instructionK == 4 * pack || instructionK == 8 * pack);
  BasisList registers, warpBases;
  append(registers, 0, 1, pack);
  append(registers, 0, 4 * pack, instructionK / (4 * pack));
  appendCopies(warpBases, warps.m);
  append(warpBases, 1, 8, warps.n);
  return Layout(registers, quadRows(1, pack), warpBases, shape);
}

Layout wgmmaAccumulator(llvm::ArrayRef<int64_t> shape, int64_t warpGroups) {
  return mmaAccumulator(shape, {4 * warpGroups, 1});
}

Layout wgmmaOperandA(llvm::ArrayRef<int64_t> shape, int bits, int64_t warpGroups) {
  return mmaOperandA(shape, bits, 256 / bits, {4 * warpGroups, 1});
}

Coordinates MatrixAccess::row(int64_t lane) const {
  Coordinates result = base;
  for (size_t i = 0; i != laneBits.size(); ++i)
    for (size_t d = 0; d != result.size(); ++d)
      result[d] += lane >> i & 1 ? laneBits[i][d] : 0;
  return result;
}

std::optional<MatrixAccesses> matrixAccesses(const Layout &layout, int bits, size_t contiguous) {
  if (layout.rank() != 2 || (bits != 8 && bits != 16 && bits != 32))
    return std::nullopt;

  // 1. Packed elements and four lanes run along dimension `across` of the 8 rows that the other lanes count.
  const int64_t pack = 32 / bits;
  const auto bitsOfPack = static_cast<size_t>(llvm::Log2_64(static_cast<uint64_t>(pack)));
  const size_t across = layout.laneBits()[0][1] != 0 ? 1 : 0;
  BasisList packed;
  append(packed, across, 1, pack);
  if (layout.registerBits().size() < bitsOfPack ||
      layout.registerBits().take_front(bitsOfPack) != Layout::Bases(packed) ||
      layout.laneBits() != Layout::Bases(quadRows(1 - across, pack)))
    return std::nullopt;
  const bool trans = contiguous != across;
  if (trans && bits != 16)
    return std::nullopt;

  // 2. Four packed registers at a time, else two, else one: as many as one instruction can bring.
  MatrixAccesses result{trans, {}};
  const auto place = [&](int64_t matrix) { return layout.base(matrix * pack); };
  const auto isPresent = [&](int64_t matrix) { return layout.presence(matrix * pack) != Layout::Presence::none; };
  const auto difference = [](Coordinates a, const Coordinates &b) { return Coordinates{a[0] - b[0], a[1] - b[1]}; };
  const int64_t matrices = layout.registers() / pack;
  const auto canBeOne = [&](int64_t first, int count) {
    if (first + count > matrices)
      return false;
    llvm::SmallVector<Coordinates> places;
    for (int matrix = 0; matrix != count; ++matrix) {
      if (!isPresent(first + matrix))
        return false;
      places.push_back(place(first + matrix));
    }
    return areMovedByBits(places);
  };
  for (int64_t first = 0; first != matrices;) {
    if (!isPresent(first)) {
      ++first;
      continue;
    }
    const int count = canBeOne(first, 4) ? 4 : canBeOne(first, 2) ? 2 : 1;

    // 3. Lanes 0 to 7 count the rows in memory, the next bits the matrices.
    MatrixAccess access{first * pack, count, place(first), {}};
    for (int64_t row = 1; row != 8; row *= 2)
      access.laneBits.push_back(along(1 - contiguous, row));
    for (int matrix = 1; matrix != 4; matrix *= 2)
      access.laneBits.push_back(matrix < count ? difference(place(first + matrix), place(first)) : Coordinates{0, 0});
    result.accesses.push_back(std::move(access));
    first += count;
  }
  return result;
}

} // namespace sectile::ir
