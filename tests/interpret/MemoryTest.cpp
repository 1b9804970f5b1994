// load, store, atomic_add and dim: bounds, padding, strides.
#include "tests/interpret/InterpretText.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Loads a tile of `shape` at (i, j) from a 2-D view and stores it to a contiguous one.
Values loadTile(const Buffer &source, int32_t i, int32_t j, Index shape, const std::string &padding = "") {
  const std::string type = irName(source.type());
  const std::string view = "!tile.view<2x" + type + ">";
  const std::string tensor = "tensor<" + std::to_string(shape[0]) + "x" + std::to_string(shape[1]) + "x" + type + ">";
  Buffer out(source.type(), shape);
  interpretText("tile.kernel @load(%x: " + view + ", %y: " + view + ", %i: i32, %j: i32) {\n" +
                    "%c0 = arith.constant 0 : i32\n%t = tile.load %x[%i, %j]" + padding + " : " + view + " -> " +
                    tensor + "\ntile.store %t, %y[%c0, %c0] : " + tensor + ", " + view + "\ntile.return\n}",
                {source.view(), out.view(), i, j});
  CHECK(out.strayWrites() == 0);
  return out.values();
}

/// Stores the tile 1, 2, … of `shape` at (i, j).
void storeTile(Buffer &target, int32_t i, int32_t j, Index shape) {
  const std::string type = irName(target.type());
  const std::string view = "!tile.view<2x" + type + ">";
  const std::string tensor = "tensor<" + std::to_string(shape[0]) + "x" + std::to_string(shape[1]) + "x" + type + ">";
  Values values(shape[0] * shape[1]);
  for (size_t k = 0; k < values.size(); ++k)
    values[k] = static_cast<double>(k + 1);
  const Buffer source(target.type(), shape, values);
  interpretText("tile.kernel @store(%x: " + view + ", %y: " + view + ", %i: i32, %j: i32) {\n" +
                    "%c0 = arith.constant 0 : i32\n%t = tile.load %x[%c0, %c0] : " + view + " -> " + tensor +
                    "\ntile.store %t, %y[%i, %j] : " + tensor + ", " + view + "\ntile.return\n}",
                {source.view(), target.view(), i, j});
  CHECK(target.strayWrites() == 0);
}

} // namespace

TEST_CASE("a load reads padding outside the view, on every side") {
  const Buffer x(Type::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(loadTile(x, 0, 0, {2, 3}) == Values{1, 2, 3, 4, 5, 6});
  CHECK(loadTile(x, -1, -1, {2, 2}) == Values{0, 0, 0, 1});
  CHECK(loadTile(x, 1, 2, {2, 2}) == Values{6, 0, 0, 0});
  CHECK(loadTile(x, -1, -1, {4, 5}, " pad 7.0 : f32") ==
        Values{7, 7, 7, 7, 7, 7, 1, 2, 3, 7, 7, 4, 5, 6, 7, 7, 7, 7, 7, 7});
  CHECK(loadTile(x, 2, 0, {1, 1}, " pad -1.0 : f32") == Values{-1});
  CHECK(loadTile(x, 0, 3, {1, 1}) == Values{0});
  CHECK(loadTile(x, INT32_MIN, INT32_MAX, {2, 2}) == Values{0, 0, 0, 0});
  CHECK(loadTile(x, INT32_MAX, INT32_MIN, {2, 2}) == Values{0, 0, 0, 0});
  CHECK(loadTile(Buffer(Type::f32, Index{0, 3}), 0, 0, {1, 2}) == Values{0, 0});
}

TEST_CASE("padding has the view's type") {
  CHECK(identical(loadTile(Buffer(Type::f16, Index{0, 0}), 0, 0, {1, 1}, " pad 0xFC00 : f16"), {-infinity}));
  CHECK(loadTile(Buffer(Type::f8e4m3, Index{0, 0}), 0, 0, {1, 1}, " pad 448.0 : f8E4M3FN") == Values{448});
  CHECK(loadTile(Buffer(Type::i32, Index{0, 0}), 0, 0, {1, 1}, " pad -5 : i32") == Values{-5});
  CHECK(loadTile(Buffer(Type::i1, Index{0, 0}), 0, 0, {1, 1}, " pad true") == Values{1});
}

TEST_CASE("loads follow negative, zero and odd strides from unaligned bases") {
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2, Type::i32}) {
    for (const Index &strides : {Index{-3, -1}, Index{7, 2}, Index{-1, 5}}) {
      Buffer x = Buffer::strided(type, {2, 3}, strides, /*misalignment=*/1);
      x.set({1, 2, 3, 4, 5, 6});
      CHECK(loadTile(x, 0, 0, {2, 3}) == Values{1, 2, 3, 4, 5, 6});
      CHECK(loadTile(x, 1, 1, {2, 3}) == Values{5, 6, 0, 0, 0, 0});
    }
    Buffer repeated = Buffer::strided(type, {2, 3}, {0, 1});
    repeated.set({1, 2, 3, 1, 2, 3});
    CHECK(loadTile(repeated, 0, 0, {2, 3}) == Values{1, 2, 3, 1, 2, 3});
  }
}

TEST_CASE("a store drops what is outside the view") {
  for (const Index &strides : {Index{3, 1}, Index{-4, 1}, Index{2, -5}}) {
    Buffer y = Buffer::strided(Type::i32, {2, 3}, strides);
    y.set(Values(6, 0));
    storeTile(y, -1, -1, {2, 2});
    CHECK(y.values() == Values{4, 0, 0, 0, 0, 0});
    storeTile(y, 1, 1, {2, 3});
    CHECK(y.values() == Values{4, 0, 0, 0, 1, 2});
    storeTile(y, INT32_MIN, 0, {2, 3});
    storeTile(y, 2, 0, {2, 3});
    storeTile(y, 0, -3, {2, 3});
    CHECK(y.values() == Values{4, 0, 0, 0, 1, 2});
  }
}

TEST_CASE("i1 is stored as a byte, and any byte but 0 loads as true") {
  Buffer x(Type::i1, {1, 3});
  x.setBits({0, 1, 255});
  CHECK(loadTile(x, 0, 0, {1, 3}) == Values{0, 1, 1});
}

TEST_CASE("every bit pattern of f16, bf16 and f8 survives a load and a store, NaN as NaN") {
  for (const Type type : {Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2}) {
    const int64_t count = int64_t{1} << (8 * typeBytes(type));
    std::vector<uint32_t> patterns(count);
    for (uint32_t i = 0; i < patterns.size(); ++i)
      patterns[i] = i;
    Buffer x(type, {count / 256, 256});
    x.setBits(patterns);
    CHECK(identical(loadTile(x, 0, 0, {count / 256, 256}), x.values()));
  }
}

TEST_CASE("leading dimensions are indexed only") {
  Values values(24);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i);
  const Buffer x(Type::f32, {2, 3, 4}, values);
  Buffer y(Type::f32, {4});
  const char *text = R"(tile.kernel @row(%x: !tile.view<3xf32>, %y: !tile.view<1xf32>, %i: i32, %j: i32) {
    %c0 = arith.constant 0 : i32
    %t = tile.load %x[%i, %j, %c0] pad 9.0 : f32 : !tile.view<3xf32> -> tensor<4xf32>
    tile.store %t, %y[%c0] : tensor<4xf32>, !tile.view<1xf32>
    tile.return
  })";
  interpretText(text, {x.view(), y.view(), 1, 2});
  CHECK(y.values() == Values{20, 21, 22, 23});
  for (const auto &[i, j] : std::vector<std::pair<int32_t, int32_t>>{{-1, 0}, {2, 0}, {0, 3}, {0, -1}}) {
    interpretText(text, {x.view(), y.view(), i, j});
    CHECK(y.values() == Values{9, 9, 9, 9});
  }
}

TEST_CASE("dim gives the sizes, extract the only element") {
  const Buffer x(Type::f16, Index{3, 5});
  Buffer y(Type::i32, {2});
  interpretText(R"(tile.kernel @dims(%x: !tile.view<2xf16>, %y: !tile.view<1xi32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = tile.dim %x, 0 : !tile.view<2xf16>
    %n = tile.dim %x, 1 : !tile.view<2xf16>
    %a = tile.splat %m : tensor<1xi32>
    %b = tile.splat %n : tensor<1xi32>
    %e = tile.extract %b : tensor<1xi32>
    %f = tile.splat %e : tensor<1xi32>
    tile.store %a, %y[%c0] : tensor<1xi32>, !tile.view<1xi32>
    tile.store %f, %y[%c1] : tensor<1xi32>, !tile.view<1xi32>
    tile.return
  })",
                {x.view(), y.view()});
  CHECK(y.values() == Values{3, 5});
}

TEST_CASE("offsets are 64-bit: 2^31 elements of stride are not 32-bit arithmetic") {
  // Rows are 2^33 bytes apart; only row 1 exists.
  const Buffer row(Type::f32, {1, 2}, Values{1, 2});
  ArrayView far = row.view();
  far.sizes[0] = 2;
  far.strides[0] = int64_t{1} << 31;
  far.data = static_cast<char *>(far.data) - (int64_t{1} << 33);
  Buffer y(Type::f32, {2});
  interpretText(R"(tile.kernel @far(%x: !tile.view<2xf32>, %y: !tile.view<1xf32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %t = tile.load %x[%c1, %c0] : !tile.view<2xf32> -> tensor<2xf32>
    tile.store %t, %y[%c0] : tensor<2xf32>, !tile.view<1xf32>
    tile.return
  })",
                {far, y.view()});
  CHECK(y.values() == Values{1, 2});
}

TEST_CASE("atomic_add adds to memory from many threads, and drops what is outside") {
  for (const Type type : {Type::f32, Type::i32}) {
    Buffer y(type, {3});
    y.set({10, 20, 30});
    const std::string t = irName(type);
    const std::string text = "tile.kernel @add(%y: !tile.view<1x" + t + ">) {\n%c1 = arith.constant 1 : i32\n" +
                             "%t = arith.constant dense<" + (type == Type::f32 ? "1.0" : "1") + "> : tensor<4x" + t +
                             ">\ntile.atomic_add %t, %y[%c1] : tensor<4x" + t + ">, !tile.view<1x" + t +
                             ">\ntile.return\n}";
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] { interpretText(text, {y.view()}, {1000}); });
    for (std::thread &thread : threads)
      thread.join();
    CHECK(y.values() == Values{10, 4020, 4030});
    CHECK(y.strayWrites() == 0);
  }
  const Buffer odd = Buffer::strided(Type::f32, {3}, {1}, /*misalignment=*/2);
  CHECK(userErrorOf([&] {
          interpretText("tile.kernel @add(%y: !tile.view<1xf32>) {\n%c1 = arith.constant 1 : i32\n%t = arith.constant "
                        "dense<1.0> : tensor<4xf32>\ntile.atomic_add %t, %y[%c1] : tensor<4xf32>, "
                        "!tile.view<1xf32>\ntile.return\n}",
                        {odd.view()});
        }).find("'tile.atomic_add' needs a view whose base address is divisible by 4") != std::string::npos);
}
