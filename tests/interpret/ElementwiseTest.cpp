// Arithmetic, comparisons, selection and constants, with values worked out by hand.
#include "tests/interpret/InterpretText.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sectile;
using namespace sectile::test;

namespace {
bool gives(const std::string &op, Type type, const std::vector<Values> &operands, const Values &expected) {
  const Values actual = evaluate(op, type, operands);
  INFO(op << ": " << Catch::Detail::stringify(actual));
  CHECK(identical(actual, expected));
  return identical(actual, expected);
}
bool compares(const std::string &op, Type type, const std::vector<Values> &operands, const Values &expected) {
  const Values actual = evaluate(op, type, operands, Type::i1);
  INFO(op << ": " << Catch::Detail::stringify(actual));
  CHECK(identical(actual, expected));
  return identical(actual, expected);
}
} // namespace

TEST_CASE("float arithmetic rounds once to the element type") {
  // f32: 2^24 + 1 is a tie, 2^24 + 3 too, to even each.
  gives("%r = arith.addf %a, %b : $", Type::f32, {{16777216, 16777216, 3e38}, {1, 3, 3e38}},
        {16777216, 16777220, infinity});
  // f16 has 11 digits: 2048 + 1 ties down, 2048 + 3 ties up, 65504 + 16 is the last that stays finite minus one unit.
  gives("%r = arith.addf %a, %b : $", Type::f16, {{2048, 2048, 65504, 65504}, {1, 3, 15, 16}},
        {2048, 2052, 65504, infinity});
  gives("%r = arith.addf %a, %b : $", Type::bf16, {{256, 256, infinity}, {1, 3, -infinity}}, {256, 260, NaN});
  gives("%r = arith.subf %a, %b : $", Type::bf16, {{1, 0, -0.0}, {0.0078125, 0, 0}}, {0.9921875, 0, -0.0});
  // The smallest f16 is 2^-24; half of it ties to 0, 1.5 of it to 2 of it.
  gives("%r = arith.mulf %a, %b : $", Type::f16, {{0x1p-24, 0x1p-24 * 3, 0, -1}, {0.5, 0.5, infinity, 0}},
        {0, 0x1p-23, NaN, -0.0});
  gives("%r = arith.divf %a, %b : $", Type::f32, {{1, 1, -1, 0}, {3, 0, 0, 0}},
        {static_cast<float>(1.0 / 3), infinity, -infinity, NaN});
  gives("%r = arith.negf %a : $", Type::f16, {{1, 0, -infinity}}, {-1, -0.0, infinity});
  gives("%r = math.absf %a : $", Type::bf16, {{-1, -0.0, -infinity, NaN}}, {1, 0, infinity, NaN});
}

TEST_CASE("maxnumf and minnumf pass over NaN, maximumf and minimumf do not") {
  const std::vector<Values> operands{{1, NaN, 2, NaN, -infinity}, {2, 1, NaN, NaN, 0}};
  gives("%r = arith.maxnumf %a, %b : $", Type::f32, operands, {2, 1, 2, NaN, 0});
  gives("%r = arith.minnumf %a, %b : $", Type::f32, operands, {1, 1, 2, NaN, -infinity});
  gives("%r = arith.maximumf %a, %b : $", Type::f32, operands, {2, NaN, NaN, NaN, 0});
  gives("%r = arith.minimumf %a, %b : $", Type::f32, operands, {1, NaN, NaN, NaN, -infinity});
  gives("%r = arith.maximumf %a, %b : $", Type::f32, {{0, -0.0}, {-0.0, 0}}, {0, 0});
  gives("%r = arith.minimumf %a, %b : $", Type::f32, {{0, -0.0}, {-0.0, 0}}, {-0.0, -0.0});
}

TEST_CASE("elementary functions") {
  gives("%r = math.exp2 %a : $", Type::f32, {{0, 3, -149, -150, 128, -infinity, NaN}},
        {1, 8, 0x1p-149, 0, infinity, 0, NaN});
  gives("%r = math.exp %a : $", Type::f32, {{0, 1, -infinity, 89}}, {1, 2.7182817459106445, 0, infinity});
  gives("%r = math.log2 %a : $", Type::f32, {{8, 0, -1, infinity, 0x1p-149}}, {3, -infinity, NaN, infinity, -149});
  gives("%r = math.log %a : $", Type::f32, {{1, 0, 10}}, {0, -infinity, 2.3025851249694824});
  gives("%r = math.tanh %a : $", Type::f32, {{0, -0.0, 100, -infinity, 1}}, {0, -0.0, 1, -1, 0.7615941762924194});
  gives("%r = math.sqrt %a : $", Type::f32, {{4, -0.0, -1, 2}}, {2, -0.0, NaN, 1.4142135381698608});
}

TEST_CASE("i32 arithmetic wraps around") {
  const double low = -2147483648.0, high = 2147483647.0;
  gives("%r = arith.addi %a, %b : $", Type::i32, {{high, low, 5}, {1, -1, -7}}, {low, high, -2});
  gives("%r = arith.subi %a, %b : $", Type::i32, {{low, 0}, {1, low}}, {high, low});
  gives("%r = arith.muli %a, %b : $", Type::i32, {{65536, -3, low}, {65536, 7, -1}}, {0, -21, low});
  gives("%r = arith.minsi %a, %b : $", Type::i32, {{-1, low}, {1, high}}, {-1, low});
  gives("%r = arith.maxsi %a, %b : $", Type::i32, {{-1, low}, {1, high}}, {1, high});
  gives("%r = math.absi %a : $", Type::i32, {{-5, 5, low}}, {5, 5, low});
}

TEST_CASE("i32 division rounds down or up") {
  const double low = -2147483648.0;
  gives("%r = arith.floordivsi %a, %b : $", Type::i32, {{7, -7, 7, -7, 6, low}, {2, 2, -2, -2, -3, -1}},
        {3, -4, -4, 3, -2, low});
  gives("%r = arith.ceildivsi %a, %b : $", Type::i32, {{7, -7, 7, -7, 6, 0}, {2, 2, -2, -2, -3, 5}},
        {4, -3, -3, 4, -2, 0});
  CHECK(userErrorOf([] {
          evaluate("%r = arith.floordivsi %a, %b : $", Type::i32, {{1, 2}, {1, 0}});
        }).find("'arith.floordivsi' divides by 0") != std::string::npos);
}

TEST_CASE("i32 as bits and as unsigned") {
  gives("%r = arith.andi %a, %b : $", Type::i32, {{12, -1}, {10, 5}}, {8, 5});
  gives("%r = arith.ori %a, %b : $", Type::i32, {{12, -1}, {10, 5}}, {14, -1});
  gives("%r = arith.xori %a, %b : $", Type::i32, {{12, -1}, {10, 5}}, {6, -6});
  gives("%r = arith.shli %a, %b : $", Type::i32, {{1, 1, -1, 3}, {31, 4, 1, 32}}, {-2147483648.0, 16, -2, 0});
  gives("%r = arith.shrui %a, %b : $", Type::i32, {{-1, -1, 64, -1}, {31, 1, 3, 32}}, {1, 2147483647, 8, 0});
  gives("%x, %r = arith.mului_extended %a, %b : $", Type::i32, {{-1, 65536, 3}, {-1, 65536, 5}}, {-2, 1, 0});
  gives("%r, %x = arith.mului_extended %a, %b : $", Type::i32, {{-1, 65536, 3}, {-1, 65536, 5}}, {1, 0, 15});
}

TEST_CASE("i1 is logical") {
  const std::vector<Values> operands{{0, 0, 1, 1}, {0, 1, 0, 1}};
  gives("%r = arith.andi %a, %b : $", Type::i1, operands, {0, 0, 0, 1});
  gives("%r = arith.ori %a, %b : $", Type::i1, operands, {0, 1, 1, 1});
  gives("%r = arith.xori %a, %b : $", Type::i1, operands, {0, 1, 1, 0});
  compares("%r = arith.cmpi ult, %a, %b : $", Type::i1, operands, {0, 1, 0, 0});
  compares("%r = arith.cmpi slt, %a, %b : $", Type::i1, operands, {0, 0, 1, 0}); // true is -1 as signed
}

TEST_CASE("comparisons of floats: ordered ones are false on NaN, unordered ones true") {
  const std::vector<Values> operands{{1, 2, 3, NaN, -0.0}, {2, 2, 2, 2, 0}};
  const std::vector<std::pair<std::string, Values>> table{
      {"false", {0, 0, 0, 0, 0}}, {"oeq", {0, 1, 0, 0, 1}}, {"ogt", {0, 0, 1, 0, 0}}, {"oge", {0, 1, 1, 0, 1}},
      {"olt", {1, 0, 0, 0, 0}},   {"ole", {1, 1, 0, 0, 1}}, {"one", {1, 0, 1, 0, 0}}, {"ord", {1, 1, 1, 0, 1}},
      {"ueq", {0, 1, 0, 1, 1}},   {"ugt", {0, 0, 1, 1, 0}}, {"uge", {0, 1, 1, 1, 1}}, {"ult", {1, 0, 0, 1, 0}},
      {"ule", {1, 1, 0, 1, 1}},   {"une", {1, 0, 1, 1, 0}}, {"uno", {0, 0, 0, 1, 0}}, {"true", {1, 1, 1, 1, 1}}};
  for (const auto &[predicate, expected] : table)
    compares("%r = arith.cmpf " + predicate + ", %a, %b : $", Type::f16, operands, expected);
}

TEST_CASE("comparisons of i32: signed and unsigned") {
  const std::vector<Values> operands{{1, 2, -1, 3}, {2, 2, 1, -3}};
  const std::vector<std::pair<std::string, Values>> table{
      {"eq", {0, 1, 0, 0}},  {"ne", {1, 0, 1, 1}},  {"slt", {1, 0, 1, 0}}, {"sle", {1, 1, 1, 0}},
      {"sgt", {0, 0, 0, 1}}, {"sge", {0, 1, 0, 1}}, {"ult", {1, 0, 0, 1}}, {"ule", {1, 1, 0, 1}},
      {"ugt", {0, 0, 1, 0}}, {"uge", {0, 1, 1, 0}}};
  for (const auto &[predicate, expected] : table)
    compares("%r = arith.cmpi " + predicate + ", %a, %b : $", Type::i32, operands, expected);
}

TEST_CASE("select by element and by a scalar, of every type") {
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2, Type::i32, Type::i1}) {
    const std::string tensor = "tensor<4x" + irName(type) + ">";
    gives("%m = arith.constant dense<[true, false, false, true]> : tensor<4xi1>\n%r = arith.select %m, %a, %b : "
          "tensor<4xi1>, " +
              tensor,
          type, {{1, 0, 1, 0}, {0, 1, 1, 1}}, {1, 1, 1, 0});
    gives("%m = arith.constant false\n%r = arith.select %m, %a, %b : " + tensor, type, {{1, 0, 1, 0}, {0, 1, 1, 1}},
          {0, 1, 1, 1});
  }
}

TEST_CASE("constants of every type, splat and dense") {
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2}) {
    gives("%r = arith.constant dense<-1.5> : $", type, {{0, 0}}, {-1.5, -1.5});
    gives("%r = arith.constant dense<[-1.5, 0.25]> : $", type, {{0, 0}}, {-1.5, 0.25});
    gives("%s = arith.constant 0.5 : " + irName(type) + "\n%r = tile.splat %s : $", type, {{0, 0}}, {0.5, 0.5});
  }
  gives("%r = arith.constant dense<[-7, 2147483647]> : $", Type::i32, {{0, 0}}, {-7, 2147483647});
  gives("%r = arith.constant dense<-7> : $", Type::i32, {{0, 0}}, {-7, -7});
  gives("%r = arith.constant dense<[true, false, true]> : $", Type::i1, {{0, 0, 0}}, {1, 0, 1});
  gives("%r = arith.constant dense<true> : $", Type::i1, {{0, 0, 0}}, {1, 1, 1});
  CHECK(userErrorOf([] {
          evaluate("%x = arith.constant 1.0 : f64\n%r = arith.negf %a : $", Type::f32, {{1}});
        }).find("has a type that tiles do not have") != std::string::npos);
}

TEST_CASE("arithmetic on f8 and unknown operations are refused with their line") {
  CHECK(userErrorOf([] {
          evaluate("%r = arith.addf %a, %b : $", Type::f8e4m3, {{1}, {1}});
        }).find("'arith.addf' computes in f32, f16 or bf16: f8 wants a cast first") != std::string::npos);
  const std::string message = userErrorOf([] { evaluate("%r = math.cos %a : $", Type::f32, {{1}}); });
  CHECK(message.find(":4: error: 'math.cos' is not an operation of a tile kernel") != std::string::npos);
}
