// Programs, loops, branches, and what the interpreter says of kernels it cannot run.
#include "tests/interpret/InterpretText.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Runs `body`, which computes i32 scalars %r0 and %r1 from i32 scalars %a and %b.
Values run(const std::string &body, int32_t a, int32_t b, Grid grid = {}) {
  Buffer y(Type::i32, {2});
  interpretText("tile.kernel @control(%y: !tile.view<1xi32>, %a: i32, %b: i32) {\n" + body + R"(
    %out0 = arith.constant 0 : i32
    %out1 = arith.constant 1 : i32
    %t0 = tile.splat %r0 : tensor<1xi32>
    %t1 = tile.splat %r1 : tensor<1xi32>
    tile.store %t0, %y[%out0] : tensor<1xi32>, !tile.view<1xi32>
    tile.store %t1, %y[%out1] : tensor<1xi32>, !tile.view<1xi32>
    tile.return
  })",
                {y.view(), a, b}, grid);
  return y.values();
}

} // namespace

TEST_CASE("a loop carries values from pass to pass, and swaps them in parallel") {
  const char *fibonacci = R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r0, %r1 = scf.for %i = %c0 to %a step %c1 iter_args(%x = %c0, %y1 = %c1) -> (i32, i32) : i32 {
      %sum = arith.addi %x, %y1 : i32
      scf.yield %y1, %sum : i32, i32
    })";
  CHECK(run(fibonacci, 10, 0) == Values{55, 89});
  CHECK(run(fibonacci, 0, 0) == Values{0, 1}); // no pass
  CHECK(run(fibonacci, -5, 0) == Values{0, 1});
  const char *swap = R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r0, %r1 = scf.for %i = %c0 to %a step %c1 iter_args(%x = %c0, %y1 = %b) -> (i32, i32) : i32 {
      scf.yield %y1, %x : i32, i32
    })";
  CHECK(run(swap, 3, 7) == Values{7, 0});
  CHECK(run(swap, 4, 7) == Values{0, 7});
}

TEST_CASE("a loop steps from its lower bound, in i32 and index, and stops at the end of i32") {
  const char *last = R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %r0, %r1 = scf.for %i = %a to %b step %c3 iter_args(%x = %c0, %n = %c0) -> (i32, i32) : i32 {
      %m = arith.addi %n, %c1 : i32
      scf.yield %i, %m : i32, i32
    })";
  CHECK(run(last, -4, 5) == Values{2, 3});
  CHECK(run(last, 2147483640, 2147483647) == Values{2147483646, 3});
  CHECK(run(R"(
    %begin = arith.constant 2 : index
    %end = arith.constant 9 : index
    %step = arith.constant 4 : index
    %c0 = arith.constant 0 : i32
    %r0, %r1 = scf.for %i = %begin to %end step %step iter_args(%x = %c0, %n = %a) -> (i32, i32) {
      %m = arith.addi %n, %b : i32
      scf.yield %n, %m : i32, i32
    })",
            1, 10) == Values{11, 21});
}

TEST_CASE("a loop whose step is not positive is refused") {
  CHECK(userErrorOf([] {
          run("%c0 = arith.constant 0 : i32\n%r0, %r1 = scf.for %i = %c0 to %a step %b iter_args(%x = %a, %z = %a) -> "
              "(i32, i32) : i32 { scf.yield %x, %z : i32, i32 }",
              5, 0);
        }).find("'scf.for' needs a positive step, got 0") != std::string::npos);
}

TEST_CASE("loops nest, and see values from outside") {
  CHECK(run(R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r0, %r1 = scf.for %i = %c0 to %a step %c1 iter_args(%x = %c0, %n = %c0) -> (i32, i32) : i32 {
      %s, %k = scf.for %j = %c0 to %i step %c1 iter_args(%y1 = %x, %l = %n) -> (i32, i32) : i32 {
        %p = arith.muli %i, %j : i32
        %q = arith.addi %y1, %p : i32
        %m = arith.addi %l, %c1 : i32
        scf.yield %q, %m : i32, i32
      }
      scf.yield %s, %k : i32, i32
    })",
            4, 0) == Values{1 * 0 + 2 * 0 + 2 * 1 + 3 * 0 + 3 * 1 + 3 * 2, 6});
}

TEST_CASE("a branch runs one side, with and without results") {
  const char *branch = R"(
    %less = arith.cmpi slt, %a, %b : i32
    %r0, %r1 = scf.if %less -> (i32, i32) {
      %d = arith.subi %b, %a : i32
      scf.yield %a, %d : i32, i32
    } else {
      scf.yield %b, %a : i32, i32
    })";
  CHECK(run(branch, 2, 7) == Values{2, 5});
  CHECK(run(branch, 7, 2) == Values{2, 7});
  const char *effect = R"(
    %r0 = arith.constant 1 : i32
    %r1 = arith.constant 2 : i32
    %less = arith.cmpi slt, %a, %b : i32
    scf.if %less {
      %zero = arith.constant 0 : i32
      %q = arith.floordivsi %a, %zero : i32
    })";
  CHECK(run(effect, 3, 2) == Values{1, 2});
  CHECK(userErrorOf([&] { run(effect, 2, 3); }).find("divides by 0") != std::string::npos);
}

TEST_CASE("every program of a grid knows its index along three axes") {
  Buffer y(Type::i32, {2, 3, 4});
  interpretText(R"(tile.kernel @programs(%y: !tile.view<3xi32>) {
    %x = tile.program 0
    %j = tile.program 1
    %k = tile.program 2
    %c10 = arith.constant 10 : i32
    %a = arith.muli %k, %c10 : i32
    %b = arith.addi %a, %j : i32
    %c = arith.muli %b, %c10 : i32
    %d = arith.addi %c, %x : i32
    %t = tile.splat %d : tensor<1xi32>
    tile.store %t, %y[%k, %j, %x] : tensor<1xi32>, !tile.view<3xi32>
    tile.return
  })",
                {y.view()}, {4, 3, 2});
  Values expected;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int x = 0; x < 4; ++x)
        expected.push_back(100 * k + 10 * j + x);
  CHECK(y.values() == expected);
}

TEST_CASE("scalar arguments of f32 and i32 are read from their low 32 bits") {
  Buffer y(Type::f32, {1});
  interpretText(R"(tile.kernel @scalars(%s: f32, %y: !tile.view<1xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %m = tile.cast %n : i32 to f32
    %p = arith.mulf %s, %m : f32
    %t = tile.splat %p : tensor<1xf32>
    tile.store %t, %y[%c0] : tensor<1xf32>, !tile.view<1xf32>
    tile.return
  })",
                {-0.5f, y.view(), -6});
  CHECK(y.values() == Values{3});
}

TEST_CASE("an argument that no launch can pass is refused") {
  const std::string message = userErrorOf([] { interpretText("tile.kernel @k(%x: f16) { tile.return }", {1.0f}); });
  INFO(message);
  CHECK(message.find("f16") != std::string::npos);
}
