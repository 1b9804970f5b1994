// Conversions, carried out element by element, and whether a simpler kind would have done.
#include "compiler/ir/LayoutConversion.h"
#include "compiler/ir/Fragments.h"
#include "tests/unit/LayoutSamples.h"

#include <catch2/catch.hpp>

#include <map>

using namespace sectile::ir;
using namespace sectile::ir::samples;
using Kind = Conversion::Kind;

namespace {

constexpr int64_t undefined = -1;

/// The number of the element at a place, or `undefined` past the shape.
int64_t elementAt(const Layout &layout, int64_t reg, int64_t lane, int64_t warp) {
  const Coordinates element = layout.coordinates(reg, lane, warp);
  if (!layout.contains(element))
    return undefined;
  int64_t index = 0;
  for (size_t d = 0; d != layout.rank(); ++d)
    index = index * layout.shape()[d] + element[d];
  return index;
}

/// Whether the moves bring every element of the shape to its place, each lane served once.
bool arrives(const Conversion &conversion, const Layout &from, const Layout &to) {
  bool right = static_cast<int64_t>(conversion.moves.size()) == to.registers();
  forEachPlace(to, [&](const Layout::Place &place) {
    const int64_t wanted = elementAt(to, place.reg, place.lane, place.warp);
    if (!right || wanted == undefined)
      return;
    const Conversion::Move &move = conversion.moves[static_cast<size_t>(place.reg)];
    int64_t taken = 0;
    for (const Conversion::Source &source : move.sources)
      if (source.lanes >> place.lane & 1) {
        ++taken;
        right &= elementAt(from, source.reg, conversion.sourceLane(move, place.lane), place.warp) == wanted;
      }
    right &= taken == 1;
  });
  return right;
}

/// Whether the exchange, done step by step with all registers of all lanes, does what the moves do.
bool exchanges(const Conversion &conversion, const Layout &from, const Layout &to) {
  const Conversion::Exchange &exchange = *conversion.exchange;
  bool right = static_cast<int64_t>(exchange.start.size()) == to.registers();
  for (int64_t warp = 0; warp != to.warps() && right; ++warp) {
    std::vector<std::array<int64_t, 32>> held; // by register, lane
    for (int64_t reg : exchange.start)
      for (int64_t lane = 0; auto &element : held.emplace_back())
        element = reg < 0 ? undefined : elementAt(from, reg, lane++, warp);
    const auto swap = [&](llvm::ArrayRef<Conversion::Exchange::Swap> swaps) {
      for (const auto &each : swaps)
        for (const auto &[a, b] : each.registers)
          for (int64_t lane = 0; lane != 32; ++lane)
            if (lane >> each.laneBit & 1)
              std::swap(held[static_cast<size_t>(a)][lane], held[static_cast<size_t>(b)][lane]);
    };
    swap(exchange.before);
    for (size_t reg = 0; reg != held.size(); ++reg) {
      const auto sent = held[reg];
      for (int64_t lane = 0; lane != 32; ++lane) {
        int64_t source = conversion.moves[reg].lane;
        for (size_t bit = 0; bit != 5; ++bit)
          source ^= lane >> bit & 1 ? exchange.laneBits[bit] : 0;
        held[reg][lane] = sent[source];
      }
    }
    swap(exchange.after);
    for (size_t reg = 0; reg != held.size(); ++reg)
      for (int64_t lane = 0; lane != 32; ++lane) {
        const int64_t wanted = elementAt(to, static_cast<int64_t>(reg), lane, warp);
        right &= wanted == undefined || wanted == held[reg][lane];
      }
  }
  return right;
}

/// The simplest kind by trying: every place of the destination looks for its element, first where it is itself, then in
/// one register of its own lane (the same in all lanes and warps), then in its warp (in a lane and register that do
/// not depend on the warp).
Kind simplest(const Layout &from, const Layout &to) {
  if (from.warps() != to.warps())
    return Kind::shared;
  using Holders = std::set<std::pair<int64_t, int64_t>>;    // lane, register
  std::map<std::pair<int64_t, int64_t>, Holders> holdersOf; // by warp, element
  forEachPlace(from, [&](const Layout::Place &at) {
    holdersOf[{at.warp, elementAt(from, at.reg, at.lane, at.warp)}].insert({at.lane, at.reg});
  });
  const auto keep = [](auto &candidates, const auto &found, bool &first) {
    if (first)
      candidates = found;
    else
      std::erase_if(candidates, [&](const auto &each) { return !found.count(each); });
    first = false;
  };

  bool none = true, registers = true, shuffle = true;
  for (int64_t reg = 0; reg != to.registers(); ++reg) {
    std::set<int64_t> everywhere; // registers that hold it in every lane itself
    bool firstLane = true;
    for (int64_t lane = 0; lane != 32; ++lane) {
      Holders inEveryWarp;
      bool firstWarp = true;
      for (int64_t warp = 0; warp != to.warps(); ++warp) {
        const int64_t wanted = elementAt(to, reg, lane, warp);
        if (wanted == undefined)
          continue;
        const Holders &holders = holdersOf[{warp, wanted}];
        std::set<int64_t> own;
        for (const auto &[holder, r] : holders)
          if (holder == lane)
            own.insert(r);
        none &= own.count(reg) != 0;
        keep(everywhere, own, firstLane);
        keep(inEveryWarp, holders, firstWarp);
      }
      shuffle &= firstWarp || !inEveryWarp.empty();
    }
    registers &= firstLane || !everywhere.empty();
  }
  return none ? Kind::none : registers ? Kind::registers : shuffle ? Kind::shuffle : Kind::shared;
}

void check(const Layout &from, const Layout &to, std::optional<Kind> kind = {}) {
  INFO("from " << describe(from) << "\n  to " << describe(to));
  const Conversion result = conversion(from, to);
  if (kind)
    REQUIRE(result.kind == *kind);
  if (result.kind == Kind::shared)
    REQUIRE(result.moves.empty());
  else
    REQUIRE(arrives(result, from, to));
  REQUIRE((result.kind == Kind::shuffle || !result.exchange));
  if (result.exchange) {
    REQUIRE(exchanges(result, from, to));
    REQUIRE(result.shuffles() <= to.registers());
    int64_t fetched = 0;
    for (const Conversion::Move &move : result.moves)
      fetched += result.crossesLanes(move) ? static_cast<int64_t>(move.sources.size()) : 0;
    REQUIRE(result.shuffles() < fetched);
  }
  if (result.kind == Kind::none || result.kind == Kind::registers) {
    CHECK(result.shuffles() == 0);
    for (const Conversion::Move &move : result.moves)
      CHECK(move.sources.size() <= 1);
  }
}

} // namespace

TEST_CASE("the shuffle of the header") {
  const Layout from({{0, 1}}, {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}}, {}, {32, 2});
  const Layout to({{1, 0}}, {{0, 1}, {2, 0}, {4, 0}, {8, 0}, {16, 0}}, {}, {32, 2});
  check(from, to, Kind::shuffle);
  const Conversion result = conversion(from, to);
  CHECK(result.sourceLane(result.moves[0], 1) == 0);
  CHECK(result.sourceLane(result.moves[0], 31) == 30);
  CHECK(result.sourceLane(result.moves[1], 0) == 1);
  for (const Conversion::Move &move : result.moves) {
    REQUIRE(move.sources.size() == 2);
    CHECK(move.sources[0].reg == 0);
    CHECK(move.sources[0].lanes == 0x55555555);
    CHECK(move.sources[1].reg == 1);
    CHECK(move.sources[1].lanes == 0xaaaaaaaa);
  }
  REQUIRE(result.exchange);
  CHECK(result.exchange->start == llvm::SmallVector<int64_t>{0, 1});
  REQUIRE(result.exchange->before.size() == 1);
  REQUIRE(result.exchange->after.size() == 1);
  CHECK(result.exchange->before[0].laneBit == 0);
  CHECK(result.exchange->after[0].laneBit == 0);
  CHECK(result.exchange->laneBits == llvm::SmallVector<int64_t, 6>{1, 2, 4, 8, 16});
  CHECK(result.shuffles() == 1);
}

TEST_CASE("lanes past the shape have nothing to exchange") {
  const Layout from({{0, 1}}, {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {0, 0}}, {}, {16, 2});
  const Layout to({{1, 0}}, {{0, 1}, {2, 0}, {4, 0}, {8, 0}, {0, 2}}, {}, {16, 2});
  check(from, to, Kind::shuffle);
  REQUIRE(conversion(from, to).exchange);
  CHECK(conversion(from, to).exchange->before.size() == 1);
}

TEST_CASE("where lanes hold copies they only select") {
  const Layout from({{0, 1}}, {{0, 0}, {1, 0}, {2, 0}, {4, 0}, {8, 0}}, {}, {16, 2});
  const Layout to({}, {{0, 1}, {1, 0}, {2, 0}, {4, 0}, {8, 0}}, {}, {16, 2});
  check(from, to, Kind::shuffle);
  CHECK(conversion(from, to).shuffles() == 0);
  CHECK(!conversion(from, to).exchange);
}

TEST_CASE("random layouts of one shape") {
  generator().seed(1); // in any order of tests the same kinds are seen
  std::map<Kind, int> seen;
  int exchanged = 0;
  for (int round = 0; round != 400; ++round) {
    const auto shape = randomShape();
    const int64_t warpBits = below(3);
    const Layout from = randomLayout(shape, warpBits, below(4)), to = randomLayout(shape, warpBits, below(4));
    check(from, to);
    const Conversion result = conversion(from, to);
    ++seen[result.kind];
    exchanged += result.exchange.has_value();
  }
  CHECK(exchanged > 20);
  CHECK(seen[Kind::shuffle] > 20);
  CHECK(seen[Kind::shared] > 20);
}

TEST_CASE("layouts that differ a little need the simplest kind that there is") {
  generator().seed(1); // in any order of tests the same kinds are seen
  std::map<Kind, int> seen;
  for (int round = 0; round != 250; ++round) {
    const auto shape = randomShape();
    const int64_t warpBits = below(2), registerBits = below(3);
    const Layout from = randomLayout(shape, warpBits, registerBits);
    // Two bits change places, or one no longer moves anything.
    llvm::SmallVector<Coordinates> bases[] = {llvm::SmallVector<Coordinates>(from.registerBits()),
                                              llvm::SmallVector<Coordinates>(from.laneBits()),
                                              llvm::SmallVector<Coordinates>(from.warpBits())};
    const auto any = [&]() -> Coordinates & {
      for (;;)
        if (auto &group = bases[below(3)]; !group.empty())
          return group[static_cast<size_t>(below(static_cast<int64_t>(group.size())))];
    };
    if (below(4) != 0)
      std::swap(any(), any());
    else
      any() = Coordinates(shape.size(), 0);
    if (Layout::verify(bases[0], bases[1], bases[2], shape))
      continue;
    const Layout to(bases[0], bases[1], bases[2], shape);
    const Kind kind = conversion(from, to).kind;
    check(from, to, simplest(from, to));
    check(to, from, simplest(to, from));
    ++seen[kind];
  }
  for (Kind kind : {Kind::none, Kind::registers, Kind::shuffle, Kind::shared})
    CHECK(seen[kind] > 0);
}

TEST_CASE("between the fragments of products") {
  for (const auto &shape : {llvm::SmallVector<int64_t>{64, 64}, {48, 40}, {16, 8}, {20, 72}})
    for (const WarpGrid warps : {WarpGrid{1, 1}, WarpGrid{4, 1}, WarpGrid{2, 2}, WarpGrid{1, 4}}) {
      std::vector<Layout> layouts = {mmaAccumulator(shape, warps)};
      for (int bits : {8, 16, 32})
        for (int half : {1, 2}) {
          layouts.push_back(mmaOperandA(shape, bits, 256 / bits / half, warps));
          layouts.push_back(mmaOperandB(shape, bits, 256 / bits / half, warps));
        }
      for (int64_t vector : {1, 4, 8})
        layouts.push_back(Layout::blocked(shape, warps.m * warps.n, vector));
      for (const Layout &from : layouts) {
        check(from, from, Kind::none);
        for (const Layout &to : layouts) {
          check(from, to);
          check(from.sliced({1}), to.sliced({1}));
          check(from.sliced({0}), to.sliced({0}));
        }
      }
    }
}

TEST_CASE("what attention relies on") {
  const WarpGrid rows{4, 1};
  for (int64_t columns : {16, 32, 64, 80, 128}) {
    // Probabilities become the left operand of the next product: nothing moves.
    check(mmaAccumulator({128, columns}, rows), mmaOperandA({128, columns}, 16, 16, rows), Kind::none);
    check(mmaAccumulator({128, columns}, rows), mmaOperandA({128, columns}, 16, 8, rows), Kind::none);
    check(wgmmaAccumulator({128, columns}, 1), wgmmaOperandA({128, columns}, 16, 1), Kind::none);
    // With 8 or 32 bits it is within the quad.
    check(mmaAccumulator({128, columns}, rows), mmaOperandA({128, columns}, 8, 32, rows), Kind::shuffle);
    check(mmaAccumulator({128, columns}, rows), mmaOperandA({128, columns}, 32, 8, rows), Kind::shuffle);
    // Maxima and sums of the scores scale the output: nothing moves, whatever the widths of both.
    check(mmaAccumulator({128, columns}, rows).sliced({1}), mmaAccumulator({128, 64}, rows).sliced({1}), Kind::none);
    // The transpose of the scores crosses warps.
    check(mmaAccumulator({128, columns}, rows), mmaAccumulator({columns, 128}, rows).transposed({1, 0}), Kind::shared);
  }
  // Results leave in whole vectors of 16 bytes by shuffles within a quad.
  const Layout result = mmaAccumulator({64, 64}, rows);
  const Layout store({{0, 1}, {0, 2}, {0, 4}, {8, 0}}, {{0, 8}, {0, 16}, {1, 0}, {2, 0}, {4, 0}}, {{16, 0}, {32, 0}},
                     {64, 64});
  check(result, store, Kind::shuffle);
  CHECK(conversion(result, store).exchange.has_value());
  CHECK(conversion(result, store).shuffles() <= 32);
  for (int64_t columns : {32, 64, 80, 128})
    CHECK(conversion(mmaAccumulator({128, columns}, rows), mmaOperandA({128, columns}, 8, 32, rows)).exchange);
}

TEST_CASE("shared memory, when warps or shapes do not agree") {
  const Layout two = mmaAccumulator({64, 64}, {2, 1}), four = mmaAccumulator({64, 64}, {4, 1});
  check(two, four, Kind::shared);
  check(mmaAccumulator({64, 64}, {1, 4}), four, Kind::shared);
  CHECK(conversion(two, two.over({64, 32})).kind == Kind::shared);
}
