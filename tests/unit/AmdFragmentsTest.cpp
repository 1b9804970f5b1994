// Fragments of AMD's matrix instructions against the formulas of its ISA documents.
#include "compiler/ir/AmdFragments.h"
#include "compiler/ir/LayoutConversion.h"

#include <catch2/catch.hpp>

using namespace sectile::ir;

namespace {

/// Where element i of lane l of the instruction's operand is: its row (of the first operand; of the second its column)
/// and its k.
std::pair<int64_t, int64_t> operandPlace(AmdUnit unit, int64_t lane, int64_t i) {
  switch (unit) {
  case AmdUnit::mfma: // 32x32x8, twice
    return {lane % 32, 8 * (i / 4) + 4 * (lane / 32) + i % 4};
  case AmdUnit::wmma11:
    return {lane % 16, i};
  case AmdUnit::wmma12:
    return {lane % 16, 8 * (lane / 16) + i};
  }
  return {};
}

/// Row and column of the instruction's result.
std::pair<int64_t, int64_t> resultPlace(AmdUnit unit, int64_t lane, int64_t reg) {
  switch (unit) {
  case AmdUnit::mfma:
    return {8 * (reg / 4) + 4 * (lane / 32) + reg % 4, lane % 32};
  case AmdUnit::wmma11:
    return {2 * reg + lane / 16, lane % 16};
  case AmdUnit::wmma12:
    return {reg + 8 * (lane / 16), lane % 16};
  }
  return {};
}

constexpr AmdUnit units[] = {AmdUnit::mfma, AmdUnit::wmma11, AmdUnit::wmma12};

} // namespace

TEST_CASE("accumulators lie as the instructions have them, transposed") {
  for (const AmdUnit unit : units) {
    const int64_t tile = amdTile(unit);
    const Layout layout = amdAccumulator(unit, {tile, tile}, {}, 1);
    REQUIRE(layout.lanes() == amdLanes(unit));
    REQUIRE(layout.registers() == tile * tile / amdLanes(unit));
    for (int64_t lane = 0; lane < amdLanes(unit); ++lane)
      for (int64_t reg = 0; reg < layout.registers(); ++reg) {
        const auto [row, column] = resultPlace(unit, lane, reg);
        CHECK(layout.coordinates(reg, lane, 0) == Coordinates{column, row});
      }
  }
}

TEST_CASE("operands lie as the instructions have them") {
  for (const AmdUnit unit : units) {
    const int64_t tile = amdTile(unit);
    const Layout a = amdOperandA(unit, DepthOrder::asAccumulator, {tile, 16}, {}, 1),
                 b = amdOperandB(unit, DepthOrder::asAccumulator, {16, tile}, {}, 1);
    for (int64_t lane = 0; lane < amdLanes(unit); ++lane)
      for (int64_t i = 0; i < a.registers(); ++i) {
        const auto [row, k] = operandPlace(unit, lane, i);
        CHECK(a.coordinates(i, lane, 0) == Coordinates{row, k});
        CHECK(b.coordinates(i, lane, 0) == Coordinates{k, row});
      }
  }
}

TEST_CASE("in any order of k both operands have the same one") {
  for (const AmdUnit unit : units)
    for (const DepthOrder order : {DepthOrder::wide, DepthOrder::asAccumulator}) {
      const int64_t tile = amdTile(unit);
      const Layout a = amdOperandA(unit, order, {tile, 48}, {}, 1), b = amdOperandB(unit, order, {48, tile}, {}, 1);
      for (int64_t lane = 0; lane < amdLanes(unit); ++lane)
        for (int64_t i = 0; i < a.registers(); ++i)
          CHECK(a.coordinates(i, lane, 0)[1] == b.coordinates(i, lane, 0)[0]);
    }
}

TEST_CASE("what was made of an accumulator is an operand") {
  for (const WarpGrid grid : {WarpGrid{1, 1}, WarpGrid{4, 1}})
    for (const AmdUnit unit : units) {
      const int64_t warps = grid.m * grid.n, m = amdTile(unit) * grid.m;
      const Conversion way = conversion(amdAccumulator(unit, {m, 64}, grid, warps),
                                        amdOperandA(unit, DepthOrder::asAccumulator, {m, 64}, grid, warps));
      CHECK(way.kind == (unit == AmdUnit::wmma11 ? Conversion::Kind::shuffle : Conversion::Kind::none));
    }
}

TEST_CASE("a product is known by its accumulator") {
  for (const AmdUnit unit : units)
    for (const WarpGrid grid : {WarpGrid{1, 1}, WarpGrid{2, 1}, WarpGrid{2, 2}, WarpGrid{1, 4}}) {
      const std::optional<AmdProduct> product = amdProductOf(amdAccumulator(unit, {96, 80}, grid, 8));
      REQUIRE(product);
      CHECK(product->unit == unit);
      CHECK((product->grid.m == grid.m && product->grid.n == grid.n));
    }
  CHECK_FALSE(amdProductOf(mmaAccumulator({64, 64}, {4, 1})));
}
