// VALU arithmetic on f16, f32 and f64.
#include "runtime/emulate/Extrema.h"
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

#include <cmath>
#include <limits>

using namespace sectile::emulate;

namespace {

//===-- functions of one lane
//--------------------------------------------------------------------------------------===//

template <class V> V med3(V a, V b, V c) {
  if (a != a || b != b || c != c)
    return minNum(minNum(a, b), c);
  return maxNum(minNum(a, b), minNum(maxNum(a, b), c));
}
template <class V> V fract(V x) {
  const V one = std::nextafter(V(1), V(0)), part = x - std::floor(x);
  return part > one ? one : part;
}
template <class V> V mantissa(V x) {
  int exponent = 0;
  return std::isfinite(x) ? std::frexp(x, &exponent) : x;
}
template <class V> int32_t exponentOf(V x) {
  int exponent = 0;
  if (std::isfinite(x))
    std::frexp(x, &exponent);
  return exponent;
}

/// 2^x in f64: far more exact than f32, and it vectorizes.
double exp2Of(double x) {
  x = x < -300 ? -300 : x > 300 ? 300 : x;
  const double shifted = x + 0x1.8p52, whole = shifted - 0x1.8p52, r = (x - whole) * 0.693147180559945309417;
  double sum = 1 / 6227020800.0;
  for (double c : {1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0, 1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0,
                   1 / 120.0, 1 / 24.0, 1 / 6.0, 0.5, 1.0, 1.0})
    sum = sum * r + c;
  const uint64_t exponent = std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(0x1.8p52);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(sum) + (exponent << 52));
}
// These flush denormals whatever the mode.
float hardwareExp(float x) { return x != x ? x : flushed(float(exp2Of(flushed(x)))); }
float hardwareLog(float x) { return float(std::log2(double(flushed(x)))); }
float hardwareRcp(float x) { return flushed(1.0f / flushed(x)); }
float hardwareRsq(float x) { return flushed(float(1.0 / std::sqrt(double(flushed(x))))); }
float hardwareSqrt(float x) { return std::sqrt(flushed(x)); }

template <class V> struct Format;
template <> struct Format<float> {
  using Bits = uint32_t;
  static constexpr int mantissa = 23, top = 255, far = 96, scale = 64, tiny = 23, least = -150;
};
template <> struct Format<double> {
  using Bits = uint64_t;
  static constexpr int mantissa = 52, top = 2047, far = 768, scale = 128, tiny = 53, least = -1075;
};
template <class V> int biased(V x) {
  return int(std::bit_cast<typename Format<V>::Bits>(x) >> Format<V>::mantissa) & Format<V>::top;
}
template <class V> bool isDenormal(V x) { return x != 0 && biased(x) == 0; }

template <class V> V divScale(V s0, V denominator, V numerator, bool &scaled) {
  using F = Format<V>;
  scaled = false;
  if (numerator == 0 || denominator == 0)
    return std::numeric_limits<V>::quiet_NaN();
  if (biased(numerator) - biased(denominator) >= F::far) { // the quotient may overflow
    scaled = true;
    return s0 == denominator ? std::ldexp(s0, F::scale) : s0;
  }
  if (isDenormal(denominator))
    return std::ldexp(s0, F::scale);
  const bool inverse = isDenormal(V(1) / denominator), quotient = isDenormal(numerator / denominator);
  if (inverse && quotient) { // a smaller denominator, and a quotient that is no denormal until divFmas scales it back
    scaled = true;
    return s0 == denominator ? std::ldexp(s0, -F::scale) : s0;
  }
  if (inverse)
    return std::ldexp(s0, -F::scale);
  if (quotient) {
    scaled = true;
    return s0 == numerator ? std::ldexp(s0, F::scale) : s0;
  }
  return biased(numerator) <= F::tiny ? std::ldexp(s0, F::scale) : s0;
}

template <class V> V divFixup(V quotient, V denominator, V numerator) {
  using F = Format<V>;
  using Limits = std::numeric_limits<V>;
  const V sign = std::signbit(denominator) != std::signbit(numerator) ? -1 : 1;
  if (numerator != numerator)
    return numerator + numerator;
  if (denominator != denominator)
    return denominator + denominator;
  if ((numerator == 0 && denominator == 0) || (std::isinf(numerator) && std::isinf(denominator)))
    return -Limits::quiet_NaN();
  if (denominator == 0 || std::isinf(numerator))
    return sign * Limits::infinity();
  if (numerator == 0 || std::isinf(denominator))
    return sign * V(0);
  if (biased(numerator) - biased(denominator) < F::least)
    return sign * V(0);
  if (quotient != quotient) // of numbers: on the way to it something overflowed
    return sign * Limits::infinity();
  return std::copysign(std::fabs(quotient), sign);
}

/// (x * y + z) * 2^scale, rounded once.
float scaledSum(float x, float y, float z, int scale) {
  // The sum in f64, rounded to odd: rounding that again gives what rounding once does.
  const double product = double(x) * y, sum = product + z, back = sum - product;
  const double rest = (product - (sum - back)) + (z - back);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (rest != 0 && std::isfinite(sum) && !(bits & 1))
    bits += (rest > 0) == (sum > 0) ? 1 : -1;
  return float(std::ldexp(std::bit_cast<double>(bits), scale));
}
double scaledSum(double x, double y, double z, int scale) { return std::ldexp(std::fma(x, y, z), scale); }

//===-- semantics ------------------------------------------------------------------------------------------------===//

/// The result is the third source, too.
template <auto F, class T> void accumulate(Wave &wave, const WaveInstruction &inst) {
  Lanes<T> a, b, c, result;
  const auto *x = read<T>(wave, inst, inst[1], a), *y = read<T>(wave, inst, inst[2], b),
             *z = read<T>(wave, inst, inst[0], c);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result.at[lane] = F(x[lane], y[lane], z[lane]);
  write<T>(wave, inst, inst[0], result);
}

template <class T> void divScaleLanes(Wave &wave, const WaveInstruction &inst) {
  Lanes<T> a, b, c, result;
  const auto *s0 = read<T>(wave, inst, inst[2], a), *denominator = read<T>(wave, inst, inst[3], b),
             *numerator = read<T>(wave, inst, inst[4], c);
  uint64_t mask = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    bool scaled = false;
    result.at[lane] = divScale(s0[lane], denominator[lane], numerator[lane], scaled);
    mask |= uint64_t(scaled) << lane;
  }
  const uint64_t poison = wave.poisonIn & wave.execMask();
  write<T>(wave, inst, inst[0], result);
  wave.setLaneMask(inst[1], mask & wave.execMask(), poison);
}

template <class T> void divFmas(Wave &wave, const WaveInstruction &inst) {
  using V = typename T::Value;
  Lanes<T> a, b, c, result;
  const auto *x = read<T>(wave, inst, inst[1], a), *y = read<T>(wave, inst, inst[2], b),
             *z = read<T>(wave, inst, inst[3], c);
  const uint64_t mask = wave.pair(vcc);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const int scale = biased(z[lane]) > Format<V>::top / 2 ? Format<V>::scale : -Format<V>::scale;
    result.at[lane] =
        mask >> lane & 1 ? scaledSum(x[lane], y[lane], z[lane], scale) : std::fma(x[lane], y[lane], z[lane]);
  }
  wave.poisonIn |= wave.pairPoison(vcc) & wave.allLanes;
  write<T>(wave, inst, inst[0], result);
}

/// What f16, f32 and f64 have in common. W is the type in which a fused product of T is exact.
template <class T, class W> void addArithmetic(SemanticsTable &t, const std::string &suffix) {
  using V = typename T::Value;
  using X = typename W::Value;
  constexpr auto fma = [](X a, X b, X c) {
    if constexpr (std::is_same_v<T, F16>)
      return a * b + c; // exact in f64
    else
      return std::fma(a, b, c);
  };
  constexpr auto add = [](V a, V b) { return a + b; };
  constexpr auto mul = [](V a, V b) { return a * b; };
  constexpr auto min = [](V a, V b) { return minNum(a, b); };
  constexpr auto max = [](V a, V b) { return maxNum(a, b); };
  constexpr auto min3 = [](V a, V b, V c) { return minNum(minNum(a, b), c); };
  constexpr auto max3 = [](V a, V b, V c) { return maxNum(maxNum(a, b), c); };
  constexpr auto minMax = [](V a, V b, V c) { return maxNum(minNum(a, b), c); };
  constexpr auto maxMin = [](V a, V b, V c) { return minNum(maxNum(a, b), c); };
  auto name = [&](const char *op) { return "v_" + std::string(op) + "_" + suffix; };
  t[name("add")] = valu<add, T, T, T>;
  t[name("sub")] = valu<[](V a, V b) { return a - b; }, T, T, T>;
  t[name("subrev")] = valu<[](V a, V b) { return b - a; }, T, T, T>;
  t[name("mul")] = valu<mul, T, T, T>;
  t[name("min")] = t[name("min_num")] = valu<min, T, T, T>;
  t[name("max")] = t[name("max_num")] = valu<max, T, T, T>;
  t[name("minimum")] = valu<[](V a, V b) { return minimum(a, b); }, T, T, T>;
  t[name("maximum")] = valu<[](V a, V b) { return maximum(a, b); }, T, T, T>;
  t[name("minimum3")] = valu<[](V a, V b, V c) { return minimum(minimum(a, b), c); }, T, T, T, T>;
  t[name("maximum3")] = valu<[](V a, V b, V c) { return maximum(maximum(a, b), c); }, T, T, T, T>;
  t[name("min3")] = t[name("min3_num")] = valu<min3, T, T, T, T>;
  t[name("max3")] = t[name("max3_num")] = valu<max3, T, T, T, T>;
  t[name("minmax")] = t[name("minmax_num")] = valu<minMax, T, T, T, T>;
  t[name("maxmin")] = t[name("maxmin_num")] = valu<maxMin, T, T, T, T>;
  t[name("minimummaximum")] = valu<[](V a, V b, V c) { return maximum(minimum(a, b), c); }, T, T, T, T>;
  t[name("maximumminimum")] = valu<[](V a, V b, V c) { return minimum(maximum(a, b), c); }, T, T, T, T>;
  t[name("med3")] = t[name("med3_num")] = valu<[](V a, V b, V c) { return med3(a, b, c); }, T, T, T, T>;
  t[name("fma")] = t[name("fmaak")] = t[name("fmamk")] = valu<fma, W, W, W, W>;
  t[name("fmac")] = accumulate<fma, W>;
  t[name("mad")] = t[name("madak")] = t[name("madmk")] = valu<[](V a, V b, V c) { return a * b + c; }, T, T, T, T>;
  t[name("mac")] = accumulate<[](V a, V b, V c) { return a * b + c; }, T>;
  t[name("trunc")] = valu<[](V a) { return std::trunc(a); }, T, T>;
  t[name("ceil")] = valu<[](V a) { return std::ceil(a); }, T, T>;
  t[name("floor")] = valu<[](V a) { return std::floor(a); }, T, T>;
  t[name("rndne")] = valu<[](V a) { return std::nearbyint(a); }, T, T>;
  t[name("fract")] = valu<[](V a) { return fract(a); }, T, T>;
  t[name("frexp_mant")] = valu<[](V a) { return mantissa(a); }, T, T>;
}

} // namespace

void sectile::emulate::addVectorFloat(SemanticsTable &t) {
  addArithmetic<F32, F32>(t, "f32");
  addArithmetic<F16, H16>(t, "f16");
  addArithmetic<F64, F64>(t, "f64");
  t["v_mul_legacy_f32"] = t["v_mul_dx9_zero_f32"] =
      valu<[](float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }, F32, F32, F32>;
  t["v_exp_f32"] = valu<hardwareExp, F32, F32>;
  t["v_log_f32"] = valu<hardwareLog, F32, F32>;
  t["v_rcp_f32"] = t["v_rcp_iflag_f32"] = valu<hardwareRcp, F32, F32>;
  t["v_rsq_f32"] = valu<hardwareRsq, F32, F32>;
  t["v_sqrt_f32"] = valu<hardwareSqrt, F32, F32>;
  t["v_sin_f32"] = valu<[](float a) { return float(std::sin(6.283185307179586477 * a)); }, F32, F32>;
  t["v_cos_f32"] = valu<[](float a) { return float(std::cos(6.283185307179586477 * a)); }, F32, F32>;
  t["v_exp_f16"] = valu<[](double a) { return a != a ? a : exp2Of(a); }, H16, H16>;
  t["v_log_f16"] = valu<[](double a) { return std::log2(a); }, H16, H16>;
  t["v_rcp_f16"] = valu<[](double a) { return 1 / a; }, H16, H16>;
  t["v_rsq_f16"] = valu<[](double a) { return 1 / std::sqrt(a); }, H16, H16>;
  t["v_sqrt_f16"] = valu<[](double a) { return std::sqrt(a); }, H16, H16>;
  t["v_rcp_f64"] = valu<[](double a) { return 1 / a; }, F64, F64>;
  t["v_rsq_f64"] = valu<[](double a) { return 1 / std::sqrt(a); }, F64, F64>;
  t["v_sqrt_f64"] = valu<[](double a) { return std::sqrt(a); }, F64, F64>;
  t["v_ldexp_f32"] = valu<[](float a, int32_t n) { return std::ldexp(a, n); }, F32, F32, I32>;
  t["v_ldexp_f16"] = valu<[](double a, int32_t n) { return std::ldexp(a, n); }, H16, H16, I16>;
  t["v_ldexp_f64"] = valu<[](double a, int32_t n) { return std::ldexp(a, n); }, F64, F64, I32>;
  t["v_frexp_exp_i32_f32"] = valu<[](float a) { return exponentOf(a); }, I32, F32>;
  t["v_frexp_exp_i16_f16"] = valu<[](float a) { return exponentOf(a); }, I16, F16>;
  t["v_frexp_exp_i32_f64"] = valu<[](double a) { return exponentOf(a); }, I32, F64>;
  t["v_div_scale_f32"] = divScaleLanes<F32>;
  t["v_div_scale_f64"] = divScaleLanes<F64>;
  t["v_div_fmas_f32"] = divFmas<F32>;
  t["v_div_fmas_f64"] = divFmas<F64>;
  t["v_div_fixup_f32"] = valu<[](float q, float d, float n) { return divFixup(q, d, n); }, F32, F32, F32, F32>;
  t["v_div_fixup_f64"] = valu<[](double q, double d, double n) { return divFixup(q, d, n); }, F64, F64, F64, F64>;
  t["v_div_fixup_f16"] = valu<[](float q, float d, float n) {
    return divFixup(q, d, n); // an f16 quotient is never in the range where f32 would scale
  },
                              F16, F16, F16, F16>;
}
