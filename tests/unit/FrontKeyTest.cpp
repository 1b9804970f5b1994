// What the key of a launch knows of its arguments, and what it leaves out where the target has no use for it.
#include "runtime/FrontKey.h"

#include <catch2/catch.hpp>

using namespace sectile;

namespace {

constexpr FrontKey::Uses none{}, alignment{.alignment = true}, all{.alignment = true, .bulk = true};

FrontKey keyOf(const Argument &argument, FrontKey::Uses uses) {
  return FrontKey({"kernel", nullptr, nullptr, 0, nullptr}, std::span(&argument, 1), {}, uses);
}

using Numbers = std::vector<int64_t>;

alignas(16) float memory[64];

ArrayView array(const Numbers &sizes, const Numbers &strides, Type type = Type::f32) {
  return ArrayView(memory, type, sizes, strides);
}

bool isBulk(const ArrayView &view) { return keyOf(view, all).facts()[0].bulk; }
bool isBulk(const Numbers &sizes, const Numbers &strides, Type type = Type::f32) {
  return isBulk(array(sizes, strides, type));
}

} // namespace

TEST_CASE("alignment tells arrays apart only for targets that make use of it") {
  auto key = [&](float *address, int64_t pitch, FrontKey::Uses uses, int64_t columns = 4) {
    const std::array<int64_t, 2> sizes{2, columns}, strides{pitch, 1};
    return keyOf(ArrayView(address, Type::f32, sizes, strides), uses);
  };
  const FrontKey aligned = key(memory, 8, alignment);
  CHECK(aligned.facts() == std::vector<ArgumentFacts>{{.unitStride = true, .aligned16 = true}});
  for (const FrontKey &other :
       {key(memory + 1, 8, alignment), key(memory, 5, alignment), key(memory, 8, alignment, 3)}) {
    CHECK_FALSE(other.facts()[0].aligned16);
    CHECK(FrontKey::differences(aligned, other, {}) ==
          std::vector<std::string>{"argument facts differ: #0 aligned16 1 -> 0"});
  }
  CHECK(key(memory, 8, none) == key(memory + 1, 5, none, 3));
}

TEST_CASE("what TMA can map tells arrays apart only for targets that have it") {
  const ArrayView dense = array({2, 3, 4}, {12, 4, 1}), repeated = array({2, 3, 4}, {0, 4, 1});
  CHECK(keyOf(dense, all).facts() == std::vector<ArgumentFacts>{{.unitStride = true, .aligned16 = true, .bulk = true}});
  CHECK(keyOf(repeated, all).facts() == std::vector<ArgumentFacts>{{.unitStride = true, .aligned16 = true}});
  CHECK(FrontKey::differences(keyOf(dense, all), keyOf(repeated, all), {}) ==
        std::vector<std::string>{"argument facts differ: #0 bulk 1 -> 0"});
  CHECK(keyOf(dense, alignment) == keyOf(repeated, alignment));
}

TEST_CASE("TMA maps dense arrays of rank 2 to 5, in any order of their dimensions") {
  CHECK(isBulk({3, 4}, {4, 1}));
  CHECK(isBulk({3, 8}, {8, 1}, Type::bf16));
  CHECK(isBulk({3, 16}, {16, 1}, Type::f8e4m3));
  CHECK(isBulk({2, 3, 5, 7, 4}, {420, 4, 12, 60, 1}));
  CHECK_FALSE(isBulk({4}, {1}));
  CHECK_FALSE(isBulk({2, 2, 2, 2, 2, 4}, {64, 32, 16, 8, 4, 1}));
}

TEST_CASE("TMA needs what copies of whole chunks need") {
  CHECK_FALSE(isBulk({3, 4}, {4, 2}));             // the last stride
  CHECK_FALSE(isBulk({3, 4}, {5, 1}));             // another one
  CHECK_FALSE(isBulk({3, 3}, {4, 1}));             // the last size
  CHECK_FALSE(isBulk({3, 4}, {4, 1}, Type::bf16)); // the same in bytes
  ArrayView moved = array({3, 4}, {4, 1});
  moved.data = memory + 1;
  CHECK_FALSE(isBulk(moved));
}

TEST_CASE("TMA steps forward, and no 2^40 bytes; dimensions of size 1 are not stepped along") {
  const int64_t most = (int64_t{1} << 38) - 4; // in f32, and a multiple of 16 bytes
  CHECK(isBulk({3, 2, 4}, {most, 4, 1}));
  CHECK_FALSE(isBulk({3, 2, 4}, {most + 4, 4, 1}));
  CHECK(isBulk({3, 2, 16}, {4 * most, 16, 1}, Type::f8e5m2));
  CHECK_FALSE(isBulk({3, 2, 16}, {4 * most + 16, 16, 1}, Type::f8e5m2));
  for (int64_t stride : {int64_t{0}, int64_t{-4}, most + 4, INT64_MIN, INT64_MAX - 3}) {
    INFO(stride);
    CHECK_FALSE(isBulk({3, 2, 4}, {stride, 4, 1}));
    CHECK_FALSE(isBulk({3, 2, 4}, {4, stride, 1}));
    CHECK(isBulk({1, 2, 4}, {stride, 4, 1}));
    CHECK(isBulk({3, 1, 4}, {4, stride, 1}));
  }
}

TEST_CASE("TMA has no map of nothing") {
  CHECK_FALSE(isBulk({0, 2, 4}, {8, 4, 1}));
  CHECK_FALSE(isBulk({2, 0, 4}, {8, 4, 1}));
  CHECK_FALSE(isBulk({2, 2, 0}, {8, 4, 1}));
  CHECK_FALSE(isBulk({2, -1, 4}, {8, 4, 1})); // refused later
}

TEST_CASE("arguments that are no legal array have no facts") {
  ArrayView odd = array({3, 4}, {4, 1});
  odd.rank = 7;
  CHECK_FALSE(isBulk(odd));
  odd.rank = -1;
  CHECK_FALSE(isBulk(odd));
  odd.rank = 2;
  odd.type = static_cast<Type>(77);
  CHECK_FALSE(isBulk(odd));
  CHECK(keyOf(2.0f, all).facts() == std::vector<ArgumentFacts>{{}});
  CHECK(keyOf(2, all).facts() == std::vector<ArgumentFacts>{{}});
  CHECK_FALSE(keyOf(2, all) == keyOf(2.0f, all));
}
