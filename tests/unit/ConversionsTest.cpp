// Conversions of bf16, f16 and f8 against llvm::APFloat: every narrow value up; ties, bounds and random values down.
#include "tests/unit/VectorKernel.h"

#include "llvm/ADT/APFloat.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <random>

using namespace sectile;
using namespace sectile::test;

namespace {

struct Narrow {
  const char *type;
  const llvm::fltSemantics &semantics;
  int bits;
  bool saturates;
};

const Narrow narrows[] = {
    {"bf16", llvm::APFloat::BFloat(), 16, false},
    {"f16", llvm::APFloat::IEEEhalf(), 16, false},
    {"f8E4M3FN", llvm::APFloat::Float8E4M3FN(), 8, true},
    {"f8E5M2", llvm::APFloat::Float8E5M2(), 8, true},
};

float widened(const Narrow &narrow, uint32_t bits) {
  llvm::APFloat value(narrow.semantics, llvm::APInt(narrow.bits, bits));
  bool loses;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.convertToFloat();
}

uint32_t narrowed(const Narrow &narrow, float x) {
  llvm::APFloat value(x), largest = llvm::APFloat::getLargest(narrow.semantics);
  bool loses;
  if (narrow.saturates && !std::isnan(x)) {
    llvm::APFloat bound = largest;
    bound.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
    if (std::abs(x) > bound.convertToFloat())
      value = llvm::APFloat(std::copysign(bound.convertToFloat(), x));
  }
  value.convert(narrow.semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  return static_cast<uint32_t>(value.bitcastToAPInt().getZExtValue());
}

bool isNan(const Narrow &narrow, uint32_t bits) {
  return llvm::APFloat(narrow.semantics, llvm::APInt(narrow.bits, bits)).isNaN();
}

uint32_t element(const Narrow &narrow, const void *array, size_t i) {
  return narrow.bits == 8 ? static_cast<const uint8_t *>(array)[i] : static_cast<const uint16_t *>(array)[i];
}

} // namespace

TEST_CASE("every narrow float widens exactly") {
  for (const Target &target : runnableTargets())
    for (const Narrow &narrow : narrows)
      for (int lanes : {0, 4, 8, 16}) {
        INFO(target.name() << " " << narrow.type << " lanes " << lanes);
        ElementwiseKernel kernel(elementwise(narrow.type, "f32", lanes, "%r = arith.extf %v : !in to !out"), target);
        const size_t count = size_t{1} << narrow.bits;
        std::vector<uint8_t> in(count * narrow.bits / 8);
        for (size_t i = 0; i < count; ++i)
          if (narrow.bits == 8)
            in[i] = static_cast<uint8_t>(i);
          else
            reinterpret_cast<uint16_t *>(in.data())[i] = static_cast<uint16_t>(i);
        std::vector<float> out(count);
        kernel(in.data(), out.data(), count);
        size_t wrong = 0;
        for (size_t i = 0; i < count; ++i) {
          float expected = widened(narrow, static_cast<uint32_t>(i));
          bool same = std::isnan(expected) ? std::isnan(out[i])
                                           : std::bit_cast<uint32_t>(out[i]) == std::bit_cast<uint32_t>(expected);
          wrong += !same;
        }
        CHECK(wrong == 0);
      }
}

TEST_CASE("f32 narrows to nearest even, f8 saturates") {
  std::mt19937 random(1);
  for (const Narrow &narrow : narrows) {
    // Every narrow value, what lies half way to the next, and the f32 values on both sides of each; then random bits.
    std::vector<float> in;
    for (uint32_t i = 0; i < (1u << narrow.bits); ++i) {
      float x = widened(narrow, i), next = widened(narrow, (i + 1) & ((1u << narrow.bits) - 1));
      float middle = static_cast<float>((static_cast<double>(x) + next) / 2);
      for (float y : {x, middle})
        for (float z : {y, std::nextafter(y, INFINITY), std::nextafter(y, -INFINITY)})
          in.push_back(z);
    }
    for (float x : {INFINITY, -INFINITY, 448.0f, 464.0f, 480.0f, 57344.0f, 61440.0f, 65504.0f, 65519.0f, 65520.0f,
                    3.4e38f, -3.4e38f, 1e-45f, -1e-45f, 0.0f, -0.0f, std::bit_cast<float>(0x7f800001u),
                    std::bit_cast<float>(0xffffffffu), std::bit_cast<float>(0x7fffffffu)})
      in.push_back(x);
    for (int i = 0; i < 200000; ++i)
      in.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    for (int i = 0; i < 100000; ++i) // the range of f8
      in.push_back(std::ldexp(1.0f + static_cast<float>(random()) * 0x1p-32f, static_cast<int>(random() % 40) - 22));
    in.resize((in.size() + 15) / 16 * 16);

    for (const Target &target : runnableTargets())
      for (int lanes : {0, 4, 8, 16}) {
        ElementwiseKernel kernel(elementwise("f32", narrow.type, lanes, "%r = arith.truncf %v : !in to !out"), target);
        std::vector<uint16_t> out(in.size());
        kernel(in.data(), out.data(), in.size());
        size_t wrong = 0;
        float first = 0;
        for (size_t i = 0; i < in.size(); ++i) {
          uint32_t got = element(narrow, out.data(), i), expected = narrowed(narrow, in[i]);
          bool same = std::isnan(in[i]) ? isNan(narrow, got) : got == expected;
          if (!same && wrong++ == 0)
            first = in[i];
        }
        INFO(target.name() << " " << narrow.type << " lanes " << lanes << ": first wrong at " << first);
        CHECK(wrong == 0);
      }
  }
}
