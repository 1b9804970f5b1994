// exp2, exp, log2, log and tanh against double precision: special values and dense samples of all f32 values.
#include "tests/unit/VectorKernel.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace sectile;
using namespace sectile::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float smallestNormal = std::numeric_limits<float>::min();
const float quietNan = std::numeric_limits<float>::quiet_NaN();

struct Function {
  const char *op;
  double (*exact)(double);
  double bound; ///< in units of the last place; what Tile.h promises is wider
};

const Function functions[] = {
    {"exp2", [](double x) { return std::exp2(x); }, 1.5}, {"exp", [](double x) { return std::exp(x); }, 1.5},
    {"log2", [](double x) { return std::log2(x); }, 3},   {"log", [](double x) { return std::log(x); }, 3},
    {"tanh", [](double x) { return std::tanh(x); }, 3},
};

/// Distance in units of the last place of an f32 at `exact`; 0 when both are beyond f32 the same way.
double error(float got, double exact) {
  float rounded = static_cast<float>(exact);
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : infinity;
  if (std::isinf(rounded) || std::isinf(got))
    return got == rounded ? 0 : (std::abs(exact) > 3.4028e38 && std::abs(got) > 3.4028e38f ? 1 : infinity);
  if (std::abs(exact) < smallestNormal) // such a result only has to stay this small
    return std::abs(got) <= smallestNormal ? 0 : infinity;
  int exponent;
  std::frexp(exact, &exponent);
  return std::abs(got - exact) / std::ldexp(1.0, exponent - 24);
}

std::string body(const Function &function) { return "%r = math." + std::string(function.op) + " %v : !in"; }

} // namespace

TEST_CASE("elementary functions are close to double precision everywhere") {
  for (const Target &target : runnableTargets())
    for (const Function &function : functions)
      for (int lanes : {0, 4, 8, 16}) {
        INFO(target.name() << " " << function.op << " lanes " << lanes);
        ElementwiseKernel kernel(elementwise("f32", "f32", lanes, body(function)), target);
        // Every 16th to every 1021st bit pattern, both signs: all exponents, mantissas from everywhere.
        const uint32_t stride = lanes == target.vectorBits / 32 ? 509 : 40009;
        constexpr size_t batch = 4096;
        std::vector<float> in(batch), out(batch);
        double worst = 0;
        float where = 0;
        for (uint64_t bits = 0; bits <= 0xffffffffu; bits += stride * batch) {
          for (size_t i = 0; i < batch; ++i)
            in[i] = std::bit_cast<float>(static_cast<uint32_t>(bits + i * stride));
          kernel(in.data(), out.data(), batch);
          for (size_t i = 0; i < batch; ++i)
            if (double e = error(out[i], function.exact(in[i])); e > worst) {
              worst = e;
              where = in[i];
            }
        }
        INFO("worst " << worst << " ulp at " << where);
        if (lanes)
          std::printf("%-28s %-5s x%-2d %.3f ulp at %g\n", target.name().c_str(), function.op, lanes, worst, where);
        CHECK(worst <= function.bound);
      }
}

TEST_CASE("elementary functions of special values") {
  const float payload = std::bit_cast<float>(0x7fc00001u); // a NaN whose bits reach the exponent when shifted
  const std::vector<float> in{infinity, -infinity, quietNan, payload, -payload, 0.0f,    -0.0f, 1.0f,
                              128.0f,   -150.0f,   1e30f,    -1e30f,  1e-40f,   -1e-40f, -1.0f, 127.99999f};
  for (const Target &target : runnableTargets())
    for (const Function &function : functions)
      for (int lanes : {0, 4, 8, 16}) {
        ElementwiseKernel kernel(elementwise("f32", "f32", lanes, body(function)), target);
        std::vector<float> out(in.size());
        kernel(in.data(), out.data(), in.size());
        for (size_t i = 0; i < in.size(); ++i) {
          INFO(target.name() << " " << function.op << " lanes " << lanes << ": " << in[i] << " gives " << out[i]);
          CHECK(error(out[i], function.exact(in[i])) <= function.bound);
          if (function.exact(in[i]) == 0)
            CHECK(out[i] == 0.0f);
        }
        CHECK(std::signbit(out[6]) == std::signbit(function.exact(-0.0)));
      }
}

TEST_CASE("exp2 and exp are exact where softmax needs it") {
  for (const Target &target : runnableTargets())
    for (const char *op : {"exp2", "exp"}) {
      ElementwiseKernel kernel(elementwise("f32", "f32", 8, "%r = math." + std::string(op) + " %v : !in"), target);
      std::vector<float> in{0.0f, -0.0f, -infinity, 0, 0, 0, 0, 0}, out(8);
      kernel(in.data(), out.data(), in.size());
      CHECK(out[0] == 1.0f);
      CHECK(out[1] == 1.0f);
      CHECK(std::bit_cast<uint32_t>(out[2]) == 0);
    }
  for (const Target &target : runnableTargets()) {
    ElementwiseKernel kernel(elementwise("f32", "f32", 8, "%r = math.exp2 %v : !in"), target);
    for (int n = -126; n < 128; ++n) {
      std::vector<float> in(8, static_cast<float>(n)), out(8);
      kernel(in.data(), out.data(), in.size());
      CHECK(out[0] == std::ldexp(1.0f, n));
    }
  }
}
