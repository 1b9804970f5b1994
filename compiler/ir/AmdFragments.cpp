#include "compiler/ir/AmdFragments.h"

namespace sectile::ir {
namespace {

using BasisList = llvm::SmallVector<Coordinates>;

/// Bases that move dimension d by these steps; 0 makes copies.
BasisList along(size_t d, std::initializer_list<int64_t> steps) {
  BasisList bases;
  for (int64_t step : steps)
    bases.push_back(d == 0 ? Coordinates{step, 0} : Coordinates{0, step});
  return bases;
}

/// An atom whose lanes count rows along `row`, with the rest along the other dimension.
struct Atom {
  BasisList registers, lanes;
};

Atom atomOf(AmdUnit unit, size_t row, std::initializer_list<int64_t> registers, std::initializer_list<int64_t> lanes) {
  Atom atom{along(1 - row, registers), along(row, {1, 2, 4, 8})};
  if (unit == AmdUnit::mfma)
    atom.lanes.append(along(row, {16}));
  atom.lanes.append(along(1 - row, lanes));
  return atom;
}

Atom operandAtom(AmdUnit unit, DepthOrder order, size_t row) {
  switch (unit) {
  case AmdUnit::mfma:
    return order == DepthOrder::wide ? atomOf(unit, row, {1, 2, 4}, {8}) : atomOf(unit, row, {1, 2, 8}, {4});
  case AmdUnit::wmma11:
    return atomOf(unit, row, {1, 2, 4, 8}, {0});
  case AmdUnit::wmma12:
    return atomOf(unit, row, {1, 2, 4}, {8});
  }
  llvm_unreachable("every unit is above");
}

Atom accumulatorAtom(AmdUnit unit) {
  switch (unit) {
  case AmdUnit::mfma:
    return atomOf(unit, 0, {1, 2, 8, 16}, {4});
  case AmdUnit::wmma11:
    return atomOf(unit, 0, {2, 4, 8}, {1});
  case AmdUnit::wmma12:
    return atomOf(unit, 0, {1, 2, 4}, {8});
  }
  llvm_unreachable("every unit is above");
}

/// Warps along m, then n; where an operand lacks one of the two they hold copies, and so do those beyond.
Layout overWarps(const Atom &atom, llvm::ArrayRef<int64_t> shape, int64_t rowStep, int64_t columnStep, WarpGrid grid,
                 int64_t warps) {
  BasisList bases;
  for (int64_t i = 1; i < grid.m; i *= 2)
    bases.push_back({i * rowStep, 0});
  for (int64_t i = 1; i < grid.n; i *= 2)
    bases.push_back({0, i * columnStep});
  for (int64_t count = grid.m * grid.n; count < warps; count *= 2)
    bases.push_back({0, 0});
  return Layout(atom.registers, atom.lanes, bases, shape);
}

} // namespace

Layout amdAccumulator(AmdUnit unit, llvm::ArrayRef<int64_t> shape, WarpGrid grid, int64_t warps) {
  return overWarps(accumulatorAtom(unit), shape, amdTile(unit), amdTile(unit), grid, warps);
}

Layout amdOperandA(AmdUnit unit, DepthOrder order, llvm::ArrayRef<int64_t> shape, WarpGrid grid, int64_t warps) {
  return overWarps(operandAtom(unit, order, 0), shape, amdTile(unit), 0, grid, warps);
}

Layout amdOperandB(AmdUnit unit, DepthOrder order, llvm::ArrayRef<int64_t> shape, WarpGrid grid, int64_t warps) {
  return overWarps(operandAtom(unit, order, 1), shape, 0, amdTile(unit), grid, warps);
}

std::optional<AmdProduct> amdProductOf(const Layout &accumulator) {
  if (accumulator.rank() != 2)
    return std::nullopt;
  WarpGrid grid;
  for (const Coordinates &bit : accumulator.warpBits()) {
    grid.m *= bit[0] != 0 ? 2 : 1;
    grid.n *= bit[1] != 0 ? 2 : 1;
  }
  for (AmdUnit unit : {AmdUnit::mfma, AmdUnit::wmma11, AmdUnit::wmma12})
    if (accumulator.lanes() == amdLanes(unit) &&
        accumulator == amdAccumulator(unit, accumulator.shape(), grid, accumulator.warps()))
      return AmdProduct{unit, grid};
  return std::nullopt;
}

} // namespace sectile::ir
