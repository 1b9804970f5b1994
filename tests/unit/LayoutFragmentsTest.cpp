// Fragments, against the formulas that the PTX ISA gives for each instruction, for every element of every lane; and
// ldmatrix, stmatrix against a model of what they do with memory.
#include "compiler/ir/Fragments.h"
#include "compiler/ir/Swizzle.h"
#include "tests/unit/LayoutSamples.h"

#include <catch2/catch.hpp>

#include <array>
#include <functional>
#include <map>

using namespace sectile::ir;
using namespace sectile::ir::samples;

namespace {

/// (group id, thread id in group, index of the element) -> (row, column), as the ISA's sections have them.
using Formula = std::function<std::array<int64_t, 2>(int64_t group, int64_t thread, int64_t i)>;

/// `elements` of each lane in one warp over one instruction.
void check(const Layout &layout, int64_t elements, const Formula &formula) {
  REQUIRE(layout.registers() == elements);
  REQUIRE(layout.replicatedLaneBits() == 0);
  for (int64_t lane = 0; lane != 32; ++lane)
    for (int64_t i = 0; i != elements; ++i) {
      const auto [row, column] = formula(lane >> 2, lane % 4, i);
      INFO("lane " << lane << " element " << i);
      REQUIRE(layout.coordinates(i, lane, 0) == Coordinates{row, column});
      REQUIRE(layout.locate({row, column}) == Layout::Place{i, lane, 0});
    }
}

} // namespace

TEST_CASE("mma.m16n8k8 with f16 and bf16") {
  check(mmaOperandA({16, 8}, 16, 8, {}), 4, [](int64_t group, int64_t thread, int64_t i) {
    return std::array{i < 2 ? group : group + 8, thread * 2 + (i & 1)};
  });
  check(mmaOperandB({8, 8}, 16, 8, {}), 2,
        [](int64_t group, int64_t thread, int64_t i) { return std::array{thread * 2 + i, group}; });
}

TEST_CASE("mma.m16n8k16 with f16 and bf16") {
  check(mmaOperandA({16, 16}, 16, 16, {}), 8, [](int64_t group, int64_t thread, int64_t i) {
    const bool upper = (0 <= i && i < 2) || (4 <= i && i < 6);
    return std::array{upper ? group : group + 8, i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8};
  });
  check(mmaOperandB({16, 8}, 16, 16, {}), 4, [](int64_t group, int64_t thread, int64_t i) {
    return std::array{i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8, group};
  });
}

TEST_CASE("mma.m16n8k4 and k8 with tf32") {
  check(mmaOperandA({16, 4}, 32, 4, {}), 2,
        [](int64_t group, int64_t thread, int64_t i) { return std::array{i == 0 ? group : group + 8, thread}; });
  check(mmaOperandB({4, 8}, 32, 4, {}), 1,
        [](int64_t group, int64_t thread, int64_t) { return std::array{thread, group}; });
  check(mmaOperandA({16, 8}, 32, 8, {}), 4, [](int64_t group, int64_t thread, int64_t i) {
    return std::array{i == 0 || i == 2 ? group : group + 8, i == 0 || i == 1 ? thread : thread + 4};
  });
  check(mmaOperandB({8, 8}, 32, 8, {}), 2,
        [](int64_t group, int64_t thread, int64_t i) { return std::array{i == 0 ? thread : thread + 4, group}; });
}

TEST_CASE("mma.m16n8k16 and k32 with fp8 and int8") {
  check(mmaOperandA({16, 16}, 8, 16, {}), 8, [](int64_t group, int64_t thread, int64_t i) {
    return std::array{i < 4 ? group : group + 8, thread * 4 + (i & 3)};
  });
  check(mmaOperandB({16, 8}, 8, 16, {}), 4,
        [](int64_t group, int64_t thread, int64_t i) { return std::array{thread * 4 + i, group}; });
  check(mmaOperandA({16, 32}, 8, 32, {}), 16, [](int64_t group, int64_t thread, int64_t i) {
    const bool upper = (0 <= i && i < 4) || (8 <= i && i < 12);
    return std::array{upper ? group : group + 8, i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16};
  });
  check(mmaOperandB({32, 8}, 8, 32, {}), 8, [](int64_t group, int64_t thread, int64_t i) {
    return std::array{i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16, group};
  });
}

TEST_CASE("accumulators of mma.m16n8") {
  check(mmaAccumulator({16, 8}, {}), 4, [](int64_t group, int64_t thread, int64_t i) {
    return std::array{i < 2 ? group : group + 8, thread * 2 + (i & 1)};
  });
}

TEST_CASE("wgmma") {
  // D: row of warp w: 16 w + lane / 4, + 8 for odd pairs; a pair of columns for each 8 of N. A: as mma, 16 rows a warp.
  for (int64_t n = 8; n <= 256; n += 8) {
    const Layout accumulator = wgmmaAccumulator({64, n}, 1);
    REQUIRE(accumulator.registers() == n / 2);
    bool same = true;
    forEachPlace(accumulator, [&](const Layout::Place &at) {
      const int64_t row = at.warp * 16 + at.lane / 4 + at.reg / 2 % 2 * 8;
      const int64_t column = at.reg / 4 * 8 + at.lane % 4 * 2 + at.reg % 2;
      same &= accumulator.coordinates(at.reg, at.lane, at.warp) == Coordinates{row, column};
    });
    REQUIRE(same);
  }
  for (int bits : {8, 16, 32}) {
    const int64_t k = 256 / bits, pack = 32 / bits;
    const Layout operand = wgmmaOperandA({64, k}, bits, 1);
    REQUIRE(operand.registers() == 4 * pack);
    bool same = true;
    forEachPlace(operand, [&](const Layout::Place &at) {
      const int64_t r = at.reg / pack; // the four 32-bit registers
      const int64_t row = at.warp * 16 + at.lane / 4 + r % 2 * 8;
      const int64_t column = r / 2 * (k / 2) + at.lane % 4 * pack + at.reg % pack;
      same &= operand.coordinates(at.reg, at.lane, at.warp) == Coordinates{row, column};
    });
    REQUIRE(same);
  }
  CHECK(wgmmaAccumulator({256, 64}, 2).coordinates(0, 0, 4) == Coordinates{64, 0}); // the second group
}

TEST_CASE("several warps and instructions") {
  // 2 x 2 warps over 64 x 48, k 40: rows by warp % 2, columns by warp / 2; repeats row by row.
  const WarpGrid warps{2, 2};
  const Layout accumulator = mmaAccumulator({64, 48}, warps), a = mmaOperandA({64, 40}, 16, 16, warps),
               b = mmaOperandB({40, 48}, 16, 16, warps);
  CHECK(accumulator.registers() == 2 * 3 * 4);
  CHECK(a.registers() == 2 * 3 * 8); // k 40 takes three steps
  CHECK(b.registers() == 3 * 3 * 4);
  for (int64_t warp = 0; warp != 4; ++warp) {
    CHECK(accumulator.coordinates(0, 0, warp) == Coordinates{warp % 2 * 16, warp / 2 * 8});
    CHECK(a.coordinates(0, 0, warp) == Coordinates{warp % 2 * 16, 0});
    CHECK(b.coordinates(0, 0, warp) == Coordinates{0, warp / 2 * 8});
  }
  CHECK(a.replicatedWarpBits() == 2);
  CHECK(b.replicatedWarpBits() == 1);
  CHECK(accumulator.base(4) == Coordinates{0, 16});
  CHECK(accumulator.base(12) == Coordinates{32, 0});
  CHECK(b.base(4) == Coordinates{0, 16});
  CHECK(b.base(12) == Coordinates{16, 0});
  CHECK(a.presence(20) == Layout::Presence::none); // k 40 to 47
}

namespace {

/// Bytes of a buffer whose rows run along `contiguous`: byte j of element (row, column) is a number of its own.
struct Memory {
  const Layout &layout;
  int64_t bytes;
  size_t contiguous;
  Swizzle swizzle = Swizzle::forRows(layout.repeats(contiguous) * layout.atomSize(contiguous) * bytes);

  int64_t address(const Coordinates &element) const {
    return swizzle.offset(element[1 - contiguous], element[contiguous] * bytes);
  }
  static int64_t content(const Coordinates &element, int64_t byte) {
    return (element[0] * 4096 + element[1]) * 4 + byte;
  }
  std::map<int64_t, int64_t> fill() const {
    std::map<int64_t, int64_t> memory;
    for (int64_t i = 0; i != layout.repeats(0) * layout.atomSize(0); ++i)
      for (int64_t j = 0; j != layout.repeats(1) * layout.atomSize(1); ++j)
        for (int64_t byte = 0; byte != bytes; ++byte)
          memory[address({i, j}) + byte] = content({i, j}, byte);
    return memory;
  }
};

/// ldmatrix.x{count}{.trans}.b16, by the ISA: thread t of a matrix gets elements 2 (t % 4) and 2 (t % 4) + 1 of row
/// t / 4, from the row addresses of threads 8 i to 8 i + 7; .trans swaps rows and columns.
int64_t loadedByte(const std::map<int64_t, int64_t> &memory, const std::vector<int64_t> &addresses, bool trans,
                   int64_t matrix, int64_t lane, int64_t byte) {
  int64_t row = lane / 4, column = lane % 4 * 2 + byte / 2;
  if (trans)
    std::swap(row, column);
  return memory.at(addresses[static_cast<size_t>(matrix * 8 + row)] + column * 2 + byte % 2);
}

/// Whether ldmatrix fills every register that is not past the shape, from rows whose places may be put together by XOR;
/// how many instructions it takes.
int64_t checkLoads(const Layout &layout, int bits, size_t contiguous, bool trans) {
  INFO(describe(layout));
  const auto plan = matrixAccesses(layout, bits, contiguous);
  REQUIRE(plan);
  REQUIRE(plan->trans == trans);
  const Memory memory{layout, bits / 8, contiguous};
  const auto bytes = memory.fill();
  std::set<int64_t> filled;
  bool same = true;
  for (const MatrixAccess &access : plan->accesses) {
    REQUIRE((access.count == 1 || access.count == 2 || access.count == 4));
    for (int64_t warp = 0; warp != layout.warps(); ++warp) {
      std::vector<int64_t> addresses;
      for (int64_t lane = 0; lane != 8 * access.count; ++lane) {
        Coordinates row = access.row(lane), joined = access.base; // by addition, and by XOR, as swizzles are
        for (size_t i = 0; i != layout.warpBits().size(); ++i)
          for (size_t d = 0; d != 2; ++d)
            row[d] += warp >> i & 1 ? layout.warpBits()[i][d] : 0;
        for (size_t d = 0; d != 2; ++d) {
          for (size_t i = 0; i != access.laneBits.size(); ++i)
            joined[d] ^= lane >> i & 1 ? access.laneBits[i][d] : 0;
          for (size_t i = 0; i != layout.warpBits().size(); ++i)
            joined[d] ^= warp >> i & 1 ? layout.warpBits()[i][d] : 0;
        }
        same &= row == joined;
        addresses.push_back(memory.address(row));
        same &= addresses.back() % 16 == 0;
      }
      for (int matrix = 0; matrix != access.count; ++matrix)
        for (int64_t lane = 0; lane != 32; ++lane)
          for (int64_t byte = 0; byte != 4; ++byte) {
            const int64_t reg = access.firstRegister + matrix * (32 / bits) + byte / (bits / 8);
            filled.insert(reg);
            same &= loadedByte(bytes, addresses, trans, matrix, lane, byte) ==
                    Memory::content(layout.coordinates(reg, lane, warp), byte % (bits / 8));
          }
    }
  }
  REQUIRE(same);
  for (int64_t reg = 0; reg != layout.registers(); ++reg)
    REQUIRE(filled.count(reg) == (layout.presence(reg) != Layout::Presence::none));
  return static_cast<int64_t>(plan->accesses.size());
}

} // namespace

TEST_CASE("ldmatrix fills every operand") {
  for (const WarpGrid warps : {WarpGrid{1, 1}, WarpGrid{4, 1}, WarpGrid{2, 2}})
    for (const auto &shape : {llvm::SmallVector<int64_t>{64, 64}, {64, 96}, {48, 40}, {80, 24}, {32, 208}, {16, 8}})
      for (int half : {1, 2}) {
        for (int bits : {8, 16, 32}) {
          checkLoads(mmaOperandA(shape, bits, 256 / bits / half, warps), bits, 1, false);
          checkLoads(mmaOperandB(shape, bits, 256 / bits / half, warps), bits, 0, false);
        }
        checkLoads(mmaOperandA(shape, 16, 16 / half, warps), 16, 0, true);
        checkLoads(mmaOperandB(shape, 16, 16 / half, warps), 16, 1, true);
        checkLoads(mmaAccumulator(shape, warps), 16, 1, false); // stmatrix, of results in 16 bits
        checkLoads(mmaAccumulator(shape, warps), 16, 0, true);
      }
}

TEST_CASE("four matrices at a time") {
  CHECK(checkLoads(mmaOperandA({16, 16}, 16, 16, {}), 16, 1, false) == 1);
  CHECK(checkLoads(mmaOperandA({64, 128}, 16, 16, {4, 1}), 16, 1, false) == 8);
  CHECK(checkLoads(mmaOperandB({128, 64}, 16, 16, {4, 1}), 16, 0, false) == 32); // keys, as stored
  CHECK(checkLoads(mmaOperandB({64, 128}, 16, 16, {4, 1}), 16, 1, true) == 32);  // values
  CHECK(checkLoads(mmaOperandB({16, 8}, 16, 16, {}), 16, 1, true) == 1);         // two matrices
  CHECK(checkLoads(mmaOperandB({8, 8}, 16, 8, {}), 16, 1, true) == 1);           // one
  CHECK(checkLoads(mmaOperandB({16, 24}, 16, 16, {}), 16, 1, true) == 2);        // four and two
  CHECK(checkLoads(mmaAccumulator({16, 16}, {}), 16, 1, false) == 1);
  // The example of the header.
  const auto plan = matrixAccesses(mmaOperandA({16, 16}, 16, 16, {}), 16, 1);
  for (int64_t lane = 0; lane != 32; ++lane)
    CHECK(plan->accesses[0].row(lane) == Coordinates{lane % 16, lane / 16 * 8});
}

TEST_CASE("what ldmatrix cannot do") {
  CHECK(!matrixAccesses(mmaOperandB({32, 32}, 8, 32, {}), 8, 1)); // .trans moves 16 bits
  CHECK(!matrixAccesses(mmaOperandB({32, 32}, 32, 8, {}), 32, 1));
  CHECK(!matrixAccesses(mmaOperandA({32, 32}, 16, 16, {}), 8, 1));  // packed otherwise
  CHECK(!matrixAccesses(mmaOperandA({32, 32}, 16, 16, {}), 32, 1)); // not packed
  CHECK(!matrixAccesses(Layout::blocked({32, 32}, 1, 2), 16, 1));   // another order of lanes
  CHECK(!matrixAccesses(mmaAccumulator({32, 32}, {}).sliced({1}), 16, 1));
  CHECK(!matrixAccesses(*mmaAccumulator({32, 32}, {}).reshaped({1, 32, 32}), 16, 1));
}
