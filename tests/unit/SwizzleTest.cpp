// Swizzles and bank conflicts, against a model of the banks that serves the words of 32 lanes one by one.
#include "compiler/ir/Swizzle.h"
#include "compiler/ir/Fragments.h"
#include "tests/unit/LayoutSamples.h"

#include <catch2/catch.hpp>

#include <map>

using namespace sectile::ir;
using namespace sectile::ir::samples;

namespace {

/// Passes that the hardware takes: as long as there are words left, each bank serves one (to all lanes that want it).
int64_t passes(const std::vector<int64_t> &offsets, int64_t bytes) {
  std::set<int64_t> waiting;
  for (int64_t offset : offsets)
    for (int64_t byte = 0; byte != bytes; ++byte)
      waiting.insert((offset + byte) / 4);
  int64_t count = 0;
  for (; !waiting.empty(); ++count) {
    std::set<int64_t> busy;
    std::erase_if(waiting, [&](int64_t word) { return busy.insert(word % 32).second; });
  }
  return count;
}

} // namespace

TEST_CASE("conflicts of random accesses") {
  for (int round = 0; round != 3000; ++round) {
    const int64_t bytes = int64_t{1} << below(5), reach = int64_t{1} << (1 + below(8));
    const int64_t together = bytes == 16 ? 8 : bytes == 8 ? 16 : 32;
    std::vector<int64_t> offsets;
    for (int lane = 0; lane != 32; ++lane)
      offsets.push_back(below(reach) * bytes);
    int64_t expected = 0;
    for (int64_t first = 0; first != 32; first += together)
      expected += passes({offsets.begin() + first, offsets.begin() + first + together}, bytes) - 1;
    REQUIRE(bankConflicts(offsets, bytes) == expected);
  }
  const auto stride = [](int64_t step, int64_t bytes) {
    std::vector<int64_t> offsets;
    for (int64_t lane = 0; lane != 32; ++lane)
      offsets.push_back(lane * step);
    return bankConflicts(offsets, bytes);
  };
  CHECK(stride(4, 4) == 0);
  CHECK(stride(0, 4) == 0); // one word for all
  CHECK(stride(2, 2) == 0); // halves of a word
  CHECK(stride(8, 4) == 1);
  CHECK(stride(128, 4) == 31);
  CHECK(stride(132, 4) == 0); // a padded column
  CHECK(stride(8, 8) == 0);
  CHECK(stride(16, 16) == 0);
  CHECK(stride(32, 16) == 4);
}

TEST_CASE("a swizzle permutes the chunks of each row") {
  for (int64_t chunks = 1; chunks <= 64; ++chunks) {
    const Swizzle swizzle = Swizzle::forRows(chunks * 16);
    REQUIRE(!swizzle.verify());
    for (int64_t row = 0; row != 16; ++row) {
      std::set<int64_t> places;
      for (int64_t byte = 0; byte != chunks * 16; ++byte) {
        const int64_t offset = swizzle.offset(row, byte);
        REQUIRE(offset / (chunks * 16) == row);
        REQUIRE(offset % 16 == byte % 16);
        places.insert(offset);
      }
      REQUIRE(static_cast<int64_t>(places.size()) == chunks * 16);
    }
  }
}

TEST_CASE("rows and columns of chunks meet no bank twice, whatever the length of a row") {
  for (int64_t chunks = 1; chunks <= 64; ++chunks) {
    const Swizzle swizzle = Swizzle::forRows(chunks * 16);
    for (int64_t chunk = 0; chunk != chunks; ++chunk) // ldmatrix: 8 rows from a multiple of 8 on
      for (int64_t first = 0; first != 64; first += 8) {
        std::vector<int64_t> offsets;
        for (int64_t row = first; row != first + 8; ++row)
          offsets.push_back(swizzle.offset(row, chunk * 16));
        REQUIRE(passes(offsets, 16) == 1);
      }
    for (int64_t chunk = 0; chunk + 8 <= chunks; chunk += 8) { // 8 chunks of a row, as written by 8 lanes
      std::vector<int64_t> offsets;
      for (int64_t i = chunk; i != chunk + 8; ++i)
        offsets.push_back(swizzle.offset(5, i * 16));
      REQUIRE(passes(offsets, 16) == 1);
    }
  }
  CHECK(Swizzle::forRows(100) == Swizzle::plain(100));
  CHECK(Swizzle::forRows(128) == Swizzle{128, 1, 8});
  CHECK(Swizzle::forRows(192) == Swizzle{192, 2, 4});
  CHECK(Swizzle::forRows(160) == Swizzle{160, 4, 2});
  CHECK(Swizzle::forRows(112) == Swizzle::plain(112));
}

TEST_CASE("the swizzles of TMA and wgmma") {
  // They XOR address bits: 4 to 6 with 7 to 9 (128 bytes), 4 and 5 with 7 and 8 (64), 4 with 7 (32).
  for (const auto &[bytes, mask] : {std::pair(128, 7), {64, 3}, {32, 1}})
    for (int64_t address = 0; address != 4096; ++address)
      REQUIRE(Swizzle::forRows(bytes).offset(address / bytes, address % bytes) ==
              (address ^ ((address >> 7 & mask) << 4)));
}

TEST_CASE("as a linear layout") {
  for (int bits : {8, 16, 32})
    for (int64_t columns : {16, 32, 64, 128})
      for (const Swizzle &swizzle : {Swizzle::plain(columns * bits / 8), Swizzle::forRows(columns * bits / 8),
                                     Swizzle{columns * bits / 8, 1, 4, 4}, Swizzle{columns * bits / 8, 2, 2, 8}}) {
        const LinearLayout layout = swizzle.linear(32, columns, bits);
        REQUIRE(layout.isInvertible());
        bool same = true;
        for (int64_t row = 0; row != 32; ++row)
          for (int64_t column = 0; column != columns; ++column)
            same &= layout.apply({{Axis::offset, swizzle.offset(row, column * bits / 8) * 8 / bits}}) ==
                    Coordinates{row, column};
        REQUIRE(same);
      }
}

TEST_CASE("accesses of layouts, counted address by address") {
  for (int round = 0; round != 300; ++round) {
    const llvm::SmallVector<int64_t> shape = {8 * (1 + below(8)), 8 * (1 + below(8))};
    const int bits = 8 << below(3);
    const bool transposed = below(2) != 0;
    const int64_t warpBits = below(2), registerBits = 1 + below(4);
    const Layout layout = randomLayout(shape, warpBits, registerBits);
    const int64_t longest = vectorBytes(layout, bits, transposed);
    const int64_t rowBytes = shape[transposed ? 0 : 1] * bits / 8;
    REQUIRE(rowBytes % longest == 0);
    const Swizzle swizzle = Swizzle::forRows(rowBytes);

    int64_t expected = 0;
    const int64_t elements = longest * 8 / bits, together = longest == 16 ? 8 : longest == 8 ? 16 : 32;
    bool contiguous = true;
    for (int64_t reg = 0; reg < layout.registers(); reg += elements)
      for (int64_t first = 0; first != 32; first += together) {
        std::vector<int64_t> offsets;
        for (int64_t lane = first; lane != first + together; ++lane) {
          const auto offset = [&](int64_t reg) {
            const Coordinates at = layout.coordinates(reg, lane, 0);
            return swizzle.offset(at[transposed ? 1 : 0], at[transposed ? 0 : 1] * bits / 8);
          };
          if (!layout.contains(layout.coordinates(reg, lane, 0)))
            continue;
          offsets.push_back(offset(reg));
          for (int64_t i = 1; i != elements; ++i)
            contiguous &= offset(reg + i) == offset(reg) + i * bits / 8;
        }
        expected += std::max<int64_t>(passes(offsets, longest), 1) - 1;
      }
    INFO(describe(layout) << " bits " << bits << " transposed " << transposed);
    REQUIRE(contiguous);
    REQUIRE(bankConflicts(swizzle, {layout, bits, transposed, longest}) == expected);
  }
}

TEST_CASE("vectors end where rows do") {
  const auto bytes = [](int64_t columns, int64_t vector, int bits, int64_t unit = 16) {
    return vectorBytes(Layout::blocked({8, columns}, 1, vector), bits, false, unit);
  };
  CHECK(bytes(24, 8, 16) == 16);
  CHECK(bytes(20, 8, 16) == 8); // the last vector of 8 would reach into the next row
  CHECK(bytes(21, 8, 16) == 2);
  CHECK(bytes(64, 8, 32) == 16); // at most 16 bytes
  CHECK(bytes(64, 8, 16, 4) == 4);
  CHECK(bytes(64, 8, 32, 64) == 16);
  CHECK(bytes(64, 2, 16) == 4);
  CHECK(vectorBytes(mmaOperandB({64, 64}, 16, 16, {}), 16, true) == 4);
  CHECK(vectorBytes(mmaOperandB({64, 64}, 16, 16, {}), 16, false) == 2);
}

TEST_CASE("what attention writes and reads has no conflicts") {
  for (int64_t depth : {32, 64, 80, 96, 128, 192, 256}) {
    const int bits = 16;
    const SharedAccess rows{Layout::blocked({64, depth}, 4, 8), bits, false, 16};
    const SharedAccess queries{mmaOperandA({64, depth}, bits, 16, {4, 1}), bits, false, 0};
    const SharedAccess keys{mmaOperandB({depth, 64}, bits, 16, {4, 1}), bits, true, 0};
    const SharedAccess values{mmaOperandB({64, depth}, bits, 16, {4, 1}), bits, false, 0}; // .trans
    const SharedAccess results{mmaAccumulator({64, depth}, {4, 1}), bits, false, 0};       // stmatrix
    const Swizzle swizzle = Swizzle::forRows(depth * 2);
    for (const SharedAccess &access : {queries, keys, values, results})
      CHECK(bankConflicts(swizzle, access) == 0);
    for (const SharedAccess &access : {queries, keys, values})
      if (depth % 32 == 0)
        CHECK(bankConflicts(Swizzle::plain(depth * 2), access) > 0);
    const Swizzle chosen = chooseSwizzle(depth * 2, rows, keys);
    CHECK(!chosen.verify());
    if (depth % 32 == 0) // two rows of 80 that are written together overlap in any order
      CHECK(bankConflicts(chosen, rows) + bankConflicts(chosen, keys) == 0);
  }
}

TEST_CASE("the chosen swizzle has the fewest conflicts") {
  // A matrix of f32 written by rows and read by columns, one word each: every element in a bank of its own.
  const SharedAccess write{Layout::blocked({32, 32}, 1, 1), 32, false, 4};
  const SharedAccess columns{Layout::blocked({32, 32}, 1, 1), 32, true, 4};
  CHECK(bankConflicts(Swizzle::plain(128), write) == 0);
  CHECK(bankConflicts(Swizzle::plain(128), columns) == 32 * 31);
  CHECK(chooseSwizzle(128, write, columns) == Swizzle{128, 1, 32, 4});
  CHECK(bankConflicts(Swizzle{128, 1, 32, 4}, write) + bankConflicts(Swizzle{128, 1, 32, 4}, columns) == 0);
  // Operand B of f32, which ldmatrix cannot transpose: four rows of eight words each meet no bank twice in chunks of 32
  // bytes, and vectors of 16 stay whole in them.
  const SharedAccess vectors{Layout::blocked({64, 64}, 4, 4), 32, false, 16};
  const SharedAccess operand{mmaOperandB({64, 64}, 32, 8, {4, 1}), 32, false, 4};
  CHECK(chooseSwizzle(256, vectors, operand) == Swizzle{256, 1, 4, 32});
  CHECK(bankConflicts(Swizzle{256, 1, 4, 32}, vectors) + bankConflicts(Swizzle{256, 1, 4, 32}, operand) == 0);
  // Without conflicts the plain one is the simplest.
  CHECK(chooseSwizzle(128, write, write) == Swizzle::plain(128));
  // Never worse than plain rows or the table.
  for (int round = 0; round != 60; ++round) {
    const llvm::SmallVector<int64_t> shape = {16 * (1 + below(4)), 16 * (1 + below(4))};
    const int bits = 8 << below(3);
    const auto access = [&] {
      const bool transposed = below(2) != 0;
      const int64_t warpBits = below(2), registerBits = 1 + below(4);
      const Layout layout = randomLayout({shape[transposed], shape[!transposed]}, warpBits, registerBits);
      return SharedAccess{layout, bits, transposed, vectorBytes(layout, bits, transposed)};
    };
    const SharedAccess first = access(), second = access();
    const int64_t rowBytes = shape[1] * bits / 8;
    const auto conflicts = [&](const Swizzle &swizzle) {
      return bankConflicts(swizzle, first) + bankConflicts(swizzle, second);
    };
    const Swizzle chosen = chooseSwizzle(rowBytes, first, second);
    REQUIRE(!chosen.verify());
    REQUIRE(chosen.unit >= std::max(first.bytes, second.bytes));
    REQUIRE(conflicts(chosen) <= conflicts(Swizzle::plain(rowBytes)));
    REQUIRE(conflicts(chosen) <= conflicts(Swizzle::forRows(rowBytes)));
  }
}

TEST_CASE("what is no swizzle") {
  CHECK(Swizzle{96, 1, 8}.verify() ==
        "a row of 96 bytes is no multiple of the 128 bytes that change places (8 chunks of 16)");
  CHECK(Swizzle{128, 3, 8}.verify() ==
        "step, span and unit must be powers of two and a unit at most 64 bytes; they are 3, 8 and 16");
  CHECK(Swizzle{1024, 1, 4, 128}.verify().has_value());
  CHECK(Swizzle{0}.verify().has_value());
  CHECK(!Swizzle{100}.verify());
}
