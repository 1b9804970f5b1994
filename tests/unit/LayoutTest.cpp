// Layouts of tensors: every claim of the interface over all registers, lanes and warps of random layouts.
#include "compiler/ir/Layout.h"
#include "compiler/ir/Fragments.h"
#include "tests/unit/LayoutSamples.h"

#include <catch2/catch.hpp>

#include <map>

using namespace sectile::ir;
using namespace sectile::ir::samples;

namespace {

bool isNextTo(const Coordinates &a, Coordinates b, size_t d) { return (b[d] -= 1, a == b); }

} // namespace

TEST_CASE("the example of the header") {
  const Layout layout({{0, 1}, {8, 0}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, {}, {16, 24});
  CHECK(layout.registers() == 12);
  const Coordinates bases[] = {{0, 0}, {0, 1}, {8, 0}, {8, 1}, {0, 8}, {0, 9}, {8, 8}, {8, 9}, {0, 16}};
  for (const auto &[reg, base] : llvm::enumerate(bases))
    CHECK(layout.base(static_cast<int64_t>(reg)) == base);
  CHECK(layout.base(11) == Coordinates{8, 17});
  CHECK(layout.coordinates(2, 13, 0) == Coordinates{11, 2});
  CHECK(layout.locate({11, 2}) == Layout::Place{2, 13, 0});
  CHECK(layout == mmaAccumulator({16, 24}, {}));
  CHECK(layout.toString() == "register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []");

  const Layout narrow = layout.over({16, 20}); // column 20 has registers
  CHECK(narrow.registers() == 12);
  CHECK(narrow.presence(8) == Layout::Presence::some);
  CHECK(layout.over({9, 20}).presence(6) == Layout::Presence::some);
  CHECK(layout.over({8, 20}).presence(6) == Layout::Presence::none);
}

TEST_CASE("tables draw the first holder of each element") {
  const Layout layout({{0, 1}}, {{1, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}, {{2, 0}}, {4, 3});
  CHECK(layout.table() == "0: 0.0   0: 0.1   0: 0.2 \n0: 1.0   0: 1.1   0: 1.2 \n"
                          "1: 0.0   1: 0.1   1: 0.2 \n1: 1.0   1: 1.1   1: 1.2 \n");
}

TEST_CASE("every element is held, by as many as the copies say") {
  for (int round = 0; round != 300; ++round) {
    const Layout layout = randomLayout();
    INFO(describe(layout));
    std::map<std::vector<int64_t>, int64_t> holders;
    bool first = true;
    forEachPlace(layout, [&](const Layout::Place &place) {
      const Coordinates element = layout.coordinates(place.reg, place.lane, place.warp);
      const Layout::Place holder = layout.locate(element);
      first &= holder.reg == place.reg && holder.lane == (place.lane & ~layout.replicatedLaneBits()) &&
               holder.warp == (place.warp & ~layout.replicatedWarpBits());
      if (layout.contains(element))
        ++holders[{element.begin(), element.end()}];
    });
    REQUIRE(first);
    int64_t elements = 1;
    for (int64_t size : layout.shape())
      elements *= size;
    REQUIRE(static_cast<int64_t>(holders.size()) == elements);
    const int64_t copies = int64_t{1} << (std::popcount(static_cast<uint64_t>(layout.replicatedLaneBits())) +
                                          std::popcount(static_cast<uint64_t>(layout.replicatedWarpBits())));
    for (const auto &[element, count] : holders)
      REQUIRE(count == copies);
  }
}

TEST_CASE("bases, presence and vectors") {
  for (int round = 0; round != 300; ++round) {
    const Layout layout = randomLayout();
    INFO(describe(layout));
    for (int64_t reg = 0; reg != layout.registers(); ++reg) {
      REQUIRE(layout.registerAt(layout.base(reg)) == reg);
      REQUIRE(layout.base(reg) == layout.coordinates(reg, 0, 0));
      int64_t inside = 0;
      for (int64_t lane = 0; lane != 32; ++lane)
        for (int64_t warp = 0; warp != layout.warps(); ++warp)
          inside += layout.contains(layout.coordinates(reg, lane, warp));
      REQUIRE(layout.presence(reg) == (inside == 0                     ? Layout::Presence::none
                                       : inside == 32 * layout.warps() ? Layout::Presence::all
                                                                       : Layout::Presence::some));
    }
    for (size_t d = 0; d != layout.rank(); ++d) {
      int64_t width = 1;
      for (int64_t wider = 2; layout.registers() % wider == 0; wider *= 2) {
        bool neighbours = true;
        for (int64_t reg = 0; reg != layout.registers(); ++reg)
          neighbours &= reg % wider == 0 || isNextTo(layout.base(reg - 1), layout.base(reg), d);
        width = neighbours ? wider : width;
      }
      REQUIRE(layout.vectorWidth(d) == width);
    }
    // What no register starts at: places of other lanes and past the last repeat.
    for (const Coordinates &basis : layout.laneBits())
      if (llvm::any_of(basis, [](int64_t c) { return c != 0; }))
        REQUIRE(layout.registerAt(basis) == -1);
    Coordinates past(layout.rank(), 0);
    past[0] = layout.repeats(0) * layout.atomSize(0);
    REQUIRE(layout.registerAt(past) == -1);
  }
}

TEST_CASE("slices hold what their rows and columns hold") {
  for (int round = 0; round != 200; ++round) {
    const Layout layout = randomLayout();
    INFO(describe(layout));
    const auto axis = static_cast<size_t>(below(static_cast<int64_t>(layout.rank())));
    const Layout slice = layout.sliced({static_cast<int64_t>(axis)});
    REQUIRE(slice.shape()[axis] == 1);
    bool same = true;
    std::set<int64_t> used;
    forEachPlace(layout, [&](Layout::Place place) {
      Coordinates base = layout.base(place.reg), element = layout.coordinates(place.reg, place.lane, place.warp);
      base[axis] = element[axis] = 0;
      const int64_t reg = slice.registerAt(base);
      used.insert(reg);
      same &= reg >= 0 && slice.coordinates(reg, place.lane, place.warp) == element;
    });
    REQUIRE(same);
    REQUIRE(static_cast<int64_t>(used.size()) == slice.registers()); // none twice
  }
  // The row vectors of a softmax: two rows in each thread, the quad holds copies.
  const Layout rows = mmaAccumulator({128, 64}, {4, 1}).sliced({1});
  CHECK(rows.registers() == 4);
  CHECK(rows.replicatedLaneBits() == 3);
  CHECK(rows.toString() ==
        "register = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]");
}

TEST_CASE("lanes keep parts of what is reduced where there are as many") {
  // Four lanes hold a row of an accumulator: each keeps its part, in as many registers as there are rows.
  const Layout accumulator = mmaAccumulator({128, 64}, {4, 1}), parts = accumulator.reduced(1, 4);
  CHECK(parts.registers() == 4);
  CHECK(parts.atomSize(1) == 4);
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t warp = 0; warp < 4; ++warp)
      for (int64_t reg = 0; reg < parts.registers(); ++reg) {
        const Coordinates at = parts.coordinates(reg, lane, warp);
        CHECK(at[1] == lane % 4);
        CHECK(at[0] == accumulator.sliced({1}).coordinates(reg, lane, warp)[0]);
      }
  // Other numbers of parts, and rows that several warps hold: each thread has all parts.
  for (const Layout &whole : {accumulator.reduced(1, 2), accumulator.reduced(1, 8), accumulator.reduced(0, 4),
                              mmaAccumulator({64, 64}, {2, 2}).reduced(1, 4)})
    CHECK((whole.atomSize(1) == 1 || whole.atomSize(0) == 1));
  CHECK(mmaAccumulator({64, 64}, {2, 2}).reduced(1, 4).registers() == 4 * 4);
  CHECK(accumulator.reduced(1, 1) == accumulator.sliced({1}));
}

TEST_CASE("transposed layouts hold the same") {
  for (int round = 0; round != 100; ++round) {
    const Layout layout = randomLayout();
    llvm::SmallVector<int64_t> order;
    for (size_t d = 0; d != layout.rank(); ++d)
      order.push_back(static_cast<int64_t>(d));
    std::shuffle(order.begin(), order.end(), generator());
    const auto permuted = [&](const Coordinates &element) {
      Coordinates result;
      for (int64_t d : order)
        result.push_back(element[static_cast<size_t>(d)]);
      return result;
    };
    const Layout turned = layout.transposed(order);
    bool same = true;
    forEachPlace(layout, [&](Layout::Place place) {
      const int64_t reg = turned.registerAt(permuted(layout.base(place.reg)));
      same &= turned.coordinates(reg, place.lane, place.warp) ==
              permuted(layout.coordinates(place.reg, place.lane, place.warp));
    });
    REQUIRE(same);
  }
}

TEST_CASE("a reshape moves nothing") {
  const auto rowMajor = [](const Coordinates &element, llvm::ArrayRef<int64_t> shape) {
    int64_t index = 0;
    for (size_t d = 0; d != shape.size(); ++d)
      index = index * shape[d] + element[d];
    return index;
  };
  const auto check = [&](const Layout &layout, llvm::ArrayRef<int64_t> shape) {
    INFO(describe(layout));
    const auto reshaped = layout.reshaped(shape);
    REQUIRE(reshaped);
    REQUIRE(reshaped->registers() == layout.registers());
    bool same = true;
    forEachPlace(layout, [&](Layout::Place place) {
      const Coordinates from = layout.coordinates(place.reg, place.lane, place.warp);
      const Coordinates to = reshaped->coordinates(place.reg, place.lane, place.warp);
      same &= layout.contains(from) == reshaped->contains(to);
      same &= !layout.contains(from) || rowMajor(from, layout.shape()) == rowMajor(to, shape);
    });
    REQUIRE(same);
  };
  const Layout accumulator = mmaAccumulator({64, 32}, {4, 1});
  check(accumulator, {2048});
  check(accumulator, {16, 4, 32});
  check(accumulator, {128, 16});
  check(accumulator, {64, 1, 32});
  check(accumulator.over({72, 20}), {72, 20});
  check(accumulator.over({72, 20}), {1, 72, 1, 20, 1});
  check(*accumulator.over({72, 20}).reshaped({1, 72, 1, 20, 1}), {72, 20});
  check(accumulator.over({72, 20}).sliced({1}), {72});
  check(Layout::blocked({8, 32}, 4, 2), {16, 16});
  CHECK(!accumulator.over({72, 20}).reshaped({36, 40})); // no power of two
  CHECK(!accumulator.over({8, 32}).reshaped({16, 16}));  // lanes past the shape
  CHECK(!accumulator.over({1, 32}).reshaped({32}));      // also here
  CHECK(!accumulator.reshaped({64, 64}));                // not as many elements
}

TEST_CASE("blocked layouts") {
  for (const auto &shape : {llvm::SmallVector<int64_t>{64, 128},
                            {64, 96},
                            {7, 80},
                            {1, 8},
                            {33},
                            {4096},
                            {2, 3, 40},
                            {128, 1},
                            {16, 16},
                            {5, 7},
                            {1}})
    for (int64_t warps : {1, 2, 4, 8})
      for (int64_t vector : {1, 2, 4, 8}) {
        const Layout layout = Layout::blocked(shape, warps, vector);
        INFO(describe(layout));
        REQUIRE(layout.shape() == llvm::ArrayRef(shape));
        REQUIRE(layout.warps() == warps);
        REQUIRE(layout.vectorWidth() >= vector);
        // No lane or warp beyond the shape in a dimension, except in the last vectors of rows.
        for (size_t d = 0; d + 1 < shape.size(); ++d)
          REQUIRE(layout.atomSize(d) < 2 * shape[d]);
        REQUIRE(layout.atomSize(shape.size() - 1) < std::max<int64_t>(2 * (shape.back() + vector - 1), 2 * vector));
      }
  // Rows of 128 bytes: 8 lanes each, 4 rows a warp; then the warps.
  CHECK(Layout::blocked({64, 64}, 4, 8).toString() == "register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], "
                                                      "[0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]");
  // 12 vectors a row: four lanes, three times, rather than 16 of which four are idle.
  CHECK(Layout::blocked({64, 96}, 1, 8).toString() ==
        "register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = []");
  // 10 vectors: four lanes, although two would fit exactly.
  CHECK(Layout::blocked({64, 80}, 1, 8).atomSize(1) == 32);
  // A vector: lanes, warps along it, no copies until it is covered.
  CHECK(Layout::blocked({64}, 4, 1).toString() ==
        "register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]]");
}

TEST_CASE("what is no layout") {
  using Bases = llvm::SmallVector<Coordinates>;
  const Bases lanes = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}};
  const auto message = [](const Bases &registers, const Bases &lanes, const Bases &warps,
                          llvm::SmallVector<int64_t> shape) {
    return Layout::verify(registers, lanes, warps, shape).value_or("");
  };
  CHECK(message({}, lanes, {}, {4, 32}) == "");
  CHECK(message({}, lanes, {}, {}) == "a layout needs a shape of rank and sizes from 1 on, this one is []");
  CHECK(message({}, lanes, {}, {4, 0}) == "a layout needs a shape of rank and sizes from 1 on, this one is [4, 0]");
  CHECK(message({}, {{1, 0}}, {}, {4, 32}) == "a warp has 32 or 64 lanes: lane needs 5 or 6 bases, not the 1 in [[1, 0]]");
  CHECK(message({{1}}, lanes, {}, {4, 32}) == "basis 0 of register, [1], has 1 coordinates, the tensor has rank 2");
  CHECK(message({{1, 0}, {0, 0}}, lanes, {}, {4, 32}) ==
        "basis 1 of register, [0, 0], moves nothing: only lanes and warps may hold copies");
  CHECK(message({{3, 0}}, lanes, {}, {4, 32}) ==
        "basis 0 of register, [3, 0], must move one coordinate by a power of two up to 16777216, or be all 0");
  CHECK(message({{1, 32}}, lanes, {}, {4, 32}) ==
        "basis 0 of register, [1, 32], must move one coordinate by a power of two up to 16777216, or be all 0");
  CHECK(message({{-1, 0}}, lanes, {}, {4, 32}) ==
        "basis 0 of register, [-1, 0], must move one coordinate by a power of two up to 16777216, or be all 0");
  CHECK(message({}, lanes, {{0, 8}}, {4, 32}) ==
        "basis 0 of warp, [0, 8], moves the same bit as basis 3 of lane, [0, 8]");
  CHECK(message({}, lanes, {{0, 64}}, {4, 128}) ==
        "nobody holds coordinate 32 of dimension 1: no basis moves it by 32, "
        "but basis 0 of warp, [0, 64], moves it further");
  CHECK(message({}, lanes, Bases(6, Coordinates{0, 0}), {4, 128}) ==
        "a layout has at most 20 bits of register and 5 of warp, this one has 0 and 6");
}
