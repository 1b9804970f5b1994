// Array views: strides, permutations, and what is refused.
#include "sectile/Array.h"
#include "sectile/Error.h"

#include <catch2/catch.hpp>

using namespace sectile;

TEST_CASE("a contiguous view has row-major strides") {
  const ArrayView view(nullptr, Type::f16, {2, 3, 4});
  CHECK(view.rank == 3);
  CHECK(view.elements() == 24);
  CHECK(view.strides[0] == 12);
  CHECK(view.strides[1] == 4);
  CHECK(view.strides[2] == 1);
  CHECK(ArrayView(nullptr, Type::f16, {}).elements() == 1);
  CHECK(ArrayView(nullptr, Type::f16, {5, 0, 2}).elements() == 0);
}

TEST_CASE("a permuted view has its dimensions in another order") {
  const ArrayView view = ArrayView(nullptr, Type::f32, {2, 3, 4}).permuted({2, 0, 1});
  CHECK(view.sizes[0] == 4);
  CHECK(view.strides[0] == 1);
  CHECK(view.sizes[1] == 2);
  CHECK(view.strides[1] == 12);
  CHECK(view.sizes[2] == 3);
  CHECK(view.strides[2] == 4);
}

TEST_CASE("malformed views are refused") {
  CHECK_THROWS_WITH(ArrayView(nullptr, Type::f32, {1, 1, 1, 1, 1, 1, 1}),
                    "an array view has a rank from 0 to 6, got 7");
  const std::array<int64_t, 2> sizes = {1, 2};
  const std::array<int64_t, 1> strides = {1};
  CHECK_THROWS_WITH(ArrayView(nullptr, Type::f32, sizes, strides),
                    "an array view needs one stride a dimension, got 2 sizes and 1 strides");
  const ArrayView view(nullptr, Type::f32, {2, 3});
  CHECK_THROWS_WITH(view.permuted({0, 0}),
                    "'permuted' of an array of rank 2 needs each dimension from 0 to 1 once, got {0, 0}");
  CHECK_THROWS_AS(view.permuted({0}), UserError);
  CHECK_THROWS_AS(view.permuted({0, 2}), UserError);
  CHECK_THROWS_AS(view.permuted({-1, 0}), UserError);
}
