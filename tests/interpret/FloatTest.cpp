// The narrow float formats against llvm::APFloat: every pattern, every midpoint, and their neighbours in double.
#include "compiler/support/Float.h"

#include "llvm/ADT/APFloat.h"

#include <catch2/catch.hpp>
#include <random>

using namespace sectile;
using llvm::APFloat;

namespace {

const llvm::fltSemantics &semanticsOf(NarrowFloat format) {
  return format == f16      ? APFloat::IEEEhalf()
         : format == bf16   ? APFloat::BFloat()
         : format == f8e4m3 ? APFloat::Float8E4M3FN()
                            : APFloat::Float8E5M2();
}

double reference(NarrowFloat format, double x) {
  APFloat value(x);
  bool losesInfo;
  value.convert(semanticsOf(format), APFloat::rmNearestTiesToEven, &losesInfo);
  if (format.saturates && !std::isnan(x) && !value.isFinite())
    value = APFloat::getLargest(semanticsOf(format), std::signbit(x));
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

template <NarrowFloat format> void checkFormat() {
  int64_t wrong = 0;
  const auto check = [&](double x) {
    for (const double signedX : {x, -x})
      wrong += !same(sectile::roundTo<format>(signedX), reference(format, signedX));
  };
  // 1. Every pattern decodes as APFloat says, and encodes to itself.
  for (uint32_t pattern = 0; pattern < 1u << format.bits(); ++pattern) {
    APFloat value(semanticsOf(format), llvm::APInt(format.bits(), pattern));
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    const float decoded = decode<format>(pattern);
    wrong += !same(decoded, value.convertToDouble());
    wrong +=
        std::isnan(decoded) ? !std::isnan(decode<format>(encode<format>(decoded))) : encode<format>(decoded) != pattern;
  }
  CHECK(wrong == 0);
  // 2. Each value, the midpoint to the next one, and the doubles beside both. The last one is the overflow threshold.
  for (uint32_t pattern = 0; pattern <= format.maxPattern(); ++pattern) {
    const double low = format.magnitude(pattern);
    const double high =
        pattern == format.maxPattern() ? 2 * low - format.magnitude(pattern - 1) : format.magnitude(pattern + 1);
    for (const double x : {low, (low + high) / 2, high}) {
      check(x);
      check(std::nextafter(x, 0));
      check(std::nextafter(x, INFINITY));
    }
  }
  CHECK(wrong == 0);
  // 3. The far ends, and random doubles.
  for (const double x : {0.0, 5e-324, 1e-300, 1e300, 1.7976931348623157e308, double(INFINITY), double(NAN)})
    check(x);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) {
    check(std::bit_cast<double>(random()));
    // Within the formats' range: a significand below 2 and an exponent from -40 to 39.
    const double significand = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
    check(std::ldexp(significand, static_cast<int>(random() % 80) - 40));
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("f16 rounds, encodes and decodes as APFloat does") { checkFormat<f16>(); }
TEST_CASE("bf16 rounds, encodes and decodes as APFloat does") { checkFormat<bf16>(); }
TEST_CASE("f8e4m3 rounds, encodes and decodes as APFloat does, saturating") { checkFormat<f8e4m3>(); }
TEST_CASE("f8e5m2 rounds, encodes and decodes as APFloat does, saturating") { checkFormat<f8e5m2>(); }

TEST_CASE("arithmetic in double, rounded once, is the correctly rounded result") {
  // f32 operations of the host are correctly rounded; subnormal results included.
  std::mt19937 random(2);
  int64_t wrong = 0;
  for (int i = 0; i < 2000000; ++i) {
    float a = std::bit_cast<float>(static_cast<uint32_t>(random())),
          b = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (i % 2) { // near each other, so that sums cancel and quotients round
      int exponentOfA = 0, exponentOfB = 0;
      std::frexp(a, &exponentOfA);
      b = std::ldexp(std::frexp(b, &exponentOfB), exponentOfA % 30);
    }
    wrong += !same(static_cast<float>(static_cast<double>(a) + b), a + b);
    wrong += !same(static_cast<float>(static_cast<double>(a) * b), a * b);
    wrong += !same(static_cast<float>(static_cast<double>(a) / b), a / b);
  }
  CHECK(wrong == 0);
}
