// What LLVM makes of scalar operations for each processor, on the emulator, against the host's arithmetic.
#include "tests/emulate/amd/CodeObjects.h"

#include "runtime/emulate/NumberFormats.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace sectile;
using namespace sectile::test;
using emulate::asBits;
using emulate::asFloat;

namespace {

constexpr unsigned threads = 256, groups = 8, count = threads * groups, uniformCount = 200;
using Word = uint64_t;

/// One operation: its LLVM IR over %a, %b, %c with the result %r, and the same on the host. Values travel as words.
struct Operation {
  std::string name, in, out, ir;
  std::function<Word(Word, Word, Word)> host;
  double tolerance = 0; ///< relative, of f32 results that the card only approximates
};

template <class T> T as(Word word) {
  if constexpr (std::is_same_v<T, float>)
    return asFloat(uint32_t(word));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(word);
  else
    return T(word);
}
template <class T> Word word(T value) {
  if constexpr (std::is_same_v<T, float>)
    return asBits(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<Word>(value);
  else
    return Word(std::make_unsigned_t<T>(value));
}
float half(Word bits) { return emulate::halfToFloat(uint32_t(bits) & 0xffff); }
float bfloat(Word bits) { return emulate::bfloatToFloat(uint32_t(bits) & 0xffff); }

template <class In, class Out = In, class F> std::function<Word(Word, Word, Word)> on(F function) {
  return [function](Word a, Word b, Word c) { return word<Out>(Out(function(as<In>(a), as<In>(b), as<In>(c)))); };
}
template <class F> std::function<Word(Word, Word, Word)> onHalf(F function) {
  return [function](Word a, Word b, Word c) {
    return Word(emulate::doubleToHalf(function(double(half(a)), double(half(b)), double(half(c)))));
  };
}
template <class F> std::function<Word(Word, Word, Word)> onBfloat(F function) {
  return [function](Word a, Word b, Word c) {
    return Word(emulate::floatToBfloat(float(function(bfloat(a), bfloat(b), bfloat(c)))));
  };
}

std::string call(const std::string &type, const std::string &function, const std::string &arguments) {
  return "%r = call " + type + " @llvm." + function + "(" + arguments + ")";
}
std::string binary(const std::string &op, const std::string &type) { return "%r = " + op + " " + type + " %a, %b"; }

template <class S> void addIntegers(std::vector<Operation> &ops) {
  using U = std::make_unsigned_t<S>;
  constexpr unsigned bits = sizeof(S) * 8;
  using Wide = __int128;
  const std::string t = "i" + std::to_string(bits), two = t + " %a, " + t + " %b";
  auto add = [&](const std::string &name, const std::string &ir, auto host) {
    ops.push_back({name + "_" + t, t, t, ir, on<U, U>(host), 0});
  };
  auto nonZero = "%b1 = or " + t + " %b, 1\n";
  auto shift = "%s = and " + t + " %b, " + std::to_string(bits - 1) + "\n";
  add("add", binary("add", t), [](U a, U b, U) { return a + b; });
  add("sub", binary("sub", t), [](U a, U b, U) { return a - b; });
  add("mul", binary("mul", t), [](U a, U b, U) { return U(uint64_t(a) * b); });
  add("udiv", nonZero + ("%r = udiv " + t + " %a, %b1"), [](U a, U b, U) { return a / U(b | 1); });
  add("urem", nonZero + ("%r = urem " + t + " %a, %b1"), [](U a, U b, U) { return a % U(b | 1); });
  add("sdiv", nonZero + ("%r = sdiv " + t + " %a, %b1"), [](U a, U b, U) { return U(Wide(S(a)) / S(b | 1)); });
  add("srem", nonZero + ("%r = srem " + t + " %a, %b1"), [](U a, U b, U) { return U(Wide(S(a)) % S(b | 1)); });
  add("udiv7", "%r = udiv " + t + " %a, 7", [](U a, U, U) { return a / 7; });
  add("and", binary("and", t), [](U a, U b, U) { return a & b; });
  add("or3", "%o = or " + t + " %a, %b\n%r = or " + t + " %o, %c", [](U a, U b, U c) { return a | b | c; });
  add("xor", binary("xor", t), [](U a, U b, U) { return a ^ b; });
  add("andnot", "%n = xor " + t + " %b, -1\n%r = and " + t + " %a, %n", [](U a, U b, U) { return a & ~b; });
  add("bfi", "%d = xor " + t + " %b, %c\n%e = and " + t + " %d, %a\n%r = xor " + t + " %e, %c",
      [](U a, U b, U c) { return (a & b) | (~a & c); });
  add("xnor3", "%d = xor " + t + " %a, %b\n%e = xor " + t + " %d, -1\n%r = or " + t + " %e, %c",
      [](U a, U b, U c) { return ~(a ^ b) | c; });
  add("shl", shift + ("%r = shl " + t + " %a, %s"), [](U a, U b, U) { return a << (b & (bits - 1)); });
  add("lshr", shift + ("%r = lshr " + t + " %a, %s"), [](U a, U b, U) { return a >> (b & (bits - 1)); });
  add("ashr", shift + ("%r = ashr " + t + " %a, %s"), [](U a, U b, U) { return U(S(a) >> (b & (bits - 1))); });
  add("shladd", "%s = shl " + t + " %a, 3\n%r = add " + t + " %s, %b", [](U a, U b, U) { return U(a << 3) + b; });
  add("add3", "%s = add " + t + " %a, %b\n%r = add " + t + " %s, %c", [](U a, U b, U c) { return a + b + c; });
  add("mad", "%s = mul " + t + " %a, %b\n%r = add " + t + " %s, %c",
      [](U a, U b, U c) { return U(uint64_t(a) * b + c); });
  add("smin", call(t, "smin." + t, two), [](U a, U b, U) { return S(a) < S(b) ? a : b; });
  add("smax", call(t, "smax." + t, two), [](U a, U b, U) { return S(a) > S(b) ? a : b; });
  add("umin", call(t, "umin." + t, two), [](U a, U b, U) { return a < b ? a : b; });
  add("umax", call(t, "umax." + t, two), [](U a, U b, U) { return a > b ? a : b; });
  add("uaddsat", call(t, "uadd.sat." + t, two), [](U a, U b, U) { return U(a + b) < a ? U(-1) : U(a + b); });
  add("usubsat", call(t, "usub.sat." + t, two), [](U a, U b, U) { return a < b ? U(0) : U(a - b); });
  auto saturate = [](Wide x) {
    const Wide least = std::numeric_limits<S>::min(), most = std::numeric_limits<S>::max();
    return U(x < least ? least : x > most ? most : x);
  };
  add("saddsat", call(t, "sadd.sat." + t, two), [=](U a, U b, U) { return saturate(Wide(S(a)) + S(b)); });
  add("ssubsat", call(t, "ssub.sat." + t, two), [=](U a, U b, U) { return saturate(Wide(S(a)) - S(b)); });
  add("abs", call(t, "abs." + t, t + " %a, i1 false"), [](U a, U, U) { return S(a) < 0 ? U(0 - a) : a; });
  add("ctpop", call(t, "ctpop." + t, t + " %a"), [](U a, U, U) { return std::popcount(a); });
  add("ctlz", call(t, "ctlz." + t, t + " %a, i1 false"), [](U a, U, U) { return std::countl_zero(a); });
  add("cttz", call(t, "cttz." + t, t + " %a, i1 false"), [](U a, U, U) { return std::countr_zero(a); });
  add("bitreverse", call(t, "bitreverse." + t, t + " %a"), [](U a, U, U) {
    U r = 0;
    for (unsigned i = 0; i < bits; ++i)
      r |= U(a >> i & 1) << (bits - 1 - i);
    return r;
  });
  add("fshr", call(t, "fshr." + t, two + ", " + t + " %c"), [](U a, U b, U c) {
    const unsigned n = c % bits;
    return n ? U(a << (bits - n)) | U(b >> n) : b;
  });
  for (auto [predicate, host] :
       std::vector<std::pair<std::string, bool (*)(U, U)>>{{"eq", [](U a, U b) { return a == b; }},
                                                           {"ne", [](U a, U b) { return a != b; }},
                                                           {"ult", [](U a, U b) { return a < b; }},
                                                           {"uge", [](U a, U b) { return a >= b; }},
                                                           {"slt", [](U a, U b) { return S(a) < S(b); }},
                                                           {"sle", [](U a, U b) { return S(a) <= S(b); }},
                                                           {"sgt", [](U a, U b) { return S(a) > S(b); }},
                                                           {"ugt", [](U a, U b) { return a > b; }}})
    add("select_" + predicate,
        "%p = icmp " + predicate + " " + t + " %a, %b\n%r = select i1 %p, " + t + " %c, " + t + " %a",
        [host = host](U a, U b, U c) { return host(a, b) ? c : a; });
}

void addMixedIntegers(std::vector<Operation> &ops) {
  ops.push_back({"mulhi_u32", "i32", "i32",
                 "%x = zext i32 %a to i64\n%y = zext i32 %b to i64\n%p = mul i64 %x, %y\n%h = lshr i64 %p, 32\n"
                 "%r = trunc i64 %h to i32",
                 on<uint32_t>([](uint64_t a, uint64_t b, uint64_t) { return uint32_t(a * b >> 32); })});
  ops.push_back({"mulhi_i32", "i32", "i32",
                 "%x = sext i32 %a to i64\n%y = sext i32 %b to i64\n%p = mul i64 %x, %y\n%h = lshr i64 %p, 32\n"
                 "%r = trunc i64 %h to i32",
                 on<uint32_t>([](int32_t a, int32_t b, int32_t) { return uint32_t(int64_t(a) * b >> 32); })});
  ops.push_back(
      {"mad64", "i32", "i64",
       "%x = zext i32 %a to i64\n%y = zext i32 %b to i64\n%z = sext i32 %c to i64\n"
       "%p = mul i64 %x, %y\n%r = add i64 %p, %z",
       on<uint32_t, uint64_t>([](uint64_t a, uint64_t b, int32_t c) { return a * b + uint64_t(int64_t(c)); })});
  ops.push_back({"mul24", "i32", "i32", "%x = and i32 %a, 16777215\n%y = and i32 %b, 16777215\n%r = mul i32 %x, %y",
                 on<uint32_t>([](uint32_t a, uint32_t b, uint32_t) { return (a & 0xffffff) * (b & 0xffffff); })});
  ops.push_back({"bfe", "i32", "i32", "%x = lshr i32 %a, 7\n%r = and i32 %x, 1023",
                 on<uint32_t>([](uint32_t a, uint32_t, uint32_t) { return a >> 7 & 1023; })});
  ops.push_back({"sbfe", "i32", "i32", "%x = shl i32 %a, 5\n%r = ashr i32 %x, 19",
                 on<uint32_t>([](uint32_t a, uint32_t, uint32_t) { return uint32_t(int32_t(a << 5) >> 19); })});
  ops.push_back({"bswap", "i32", "i32", call("i32", "bswap.i32", "i32 %a"),
                 on<uint32_t>([](uint32_t a, uint32_t, uint32_t) { return __builtin_bswap32(a); })});
  ops.push_back({"bswap64", "i64", "i64", call("i64", "bswap.i64", "i64 %a"),
                 on<uint64_t>([](uint64_t a, uint64_t, uint64_t) { return __builtin_bswap64(a); })});
  ops.push_back({"bytes", "i32", "i32",
                 "%v = bitcast i32 %a to <4 x i8>\n%w = bitcast i32 %b to <4 x i8>\n"
                 "%s = shufflevector <4 x i8> %v, <4 x i8> %w, <4 x i32> <i32 1, i32 6, i32 0, i32 7>\n"
                 "%r = bitcast <4 x i8> %s to i32",
                 on<uint32_t>([](uint32_t a, uint32_t b, uint32_t) {
                   return (a >> 8 & 0xff) | (b >> 16 & 0xff) << 8 | (a & 0xff) << 16 | (b >> 24) << 24;
                 })});
  auto packed = [&](const std::string &name, const std::string &ir, auto host) {
    ops.push_back({name, "i32", "i32",
                   "%v = bitcast i32 %a to <2 x i16>\n%w = bitcast i32 %b to <2 x i16>\n" + ir +
                       "\n%r = bitcast <2 x i16> %s to i32",
                   on<uint32_t>([host](uint32_t a, uint32_t b, uint32_t) {
                     return uint32_t(uint16_t(host(uint16_t(a), uint16_t(b)))) |
                            uint32_t(uint16_t(host(uint16_t(a >> 16), uint16_t(b >> 16)))) << 16;
                   })});
  };
  packed("pk_add", "%s = add <2 x i16> %v, %w", [](uint32_t a, uint32_t b) { return a + b; });
  packed("pk_sub", "%s = sub <2 x i16> %v, %w", [](uint32_t a, uint32_t b) { return a - b; });
  packed("pk_mul", "%s = mul <2 x i16> %v, %w", [](uint32_t a, uint32_t b) { return a * b; });
  packed("pk_smax", "%s = call <2 x i16> @llvm.smax.v2i16(<2 x i16> %v, <2 x i16> %w)",
         [](uint16_t a, uint16_t b) { return std::max(int16_t(a), int16_t(b)); });
  packed("pk_umin", "%s = call <2 x i16> @llvm.umin.v2i16(<2 x i16> %v, <2 x i16> %w)",
         [](uint16_t a, uint16_t b) { return std::min(a, b); });
  packed("pk_shl", "%n = and <2 x i16> %w, <i16 15, i16 15>\n%s = shl <2 x i16> %v, %n",
         [](uint32_t a, uint32_t b) { return a << (b & 15); });
  packed("pk_ashr", "%n = and <2 x i16> %w, <i16 15, i16 15>\n%s = ashr <2 x i16> %v, %n",
         [](uint16_t a, uint16_t b) { return int16_t(a) >> (b & 15); });
  packed("pk_saddsat", "%s = call <2 x i16> @llvm.sadd.sat.v2i16(<2 x i16> %v, <2 x i16> %w)",
         [](uint16_t a, uint16_t b) { return std::clamp(int16_t(a) + int16_t(b), -32768, 32767); });
}

/// With -0 below +0.
template <class V> V minOf(V a, V b) { return a == b ? (std::signbit(a) ? a : b) : a < b || b != b ? a : b; }
template <class V> V maxOf(V a, V b) { return a == b ? (std::signbit(a) ? b : a) : a > b || b != b ? a : b; }
template <class V> V minimumOf(V a, V b) { return a != a || b != b ? a + b : minOf(a, b); }

template <class V> void addFloats(std::vector<Operation> &ops, const std::string &t, const std::string &s) {
  const std::string one = t + " %a", two = one + ", " + t + " %b", three = two + ", " + t + " %c";
  auto add = [&](const std::string &name, const std::string &ir, auto host) {
    if constexpr (std::is_same_v<V, _Float16>) // the host's functions stand for f64, rounded once
      ops.push_back({name + "_" + s, "half", "half", ir, onHalf(host), 0});
    else
      ops.push_back({name + "_" + s, t, t, ir, on<V>(host), 0});
  };
  using X = std::conditional_t<std::is_same_v<V, _Float16>, double, V>;
  add("fadd", binary("fadd", t), [](X a, X b, X) { return a + b; });
  add("fsub", binary("fsub", t), [](X a, X b, X) { return a - b; });
  add("fmul", binary("fmul", t), [](X a, X b, X) { return a * b; });
  add("fdiv", binary("fdiv", t), [](X a, X b, X) { return a / b; });
  add("rcp", "%r = fdiv " + t + " 1.0, %a", [](X a, X, X) { return 1 / a; });
  add("fneg", "%r = fneg " + t + " %a", [](X a, X, X) { return -a; });
  add("fma", call(t, "fma." + s, three), [](X a, X b, X c) { return std::fma(a, b, c); });
  add("fmaneg",
      "%n = fneg " + t + " %a\n%x = call " + t + " @llvm.fabs." + s + "(" + t + " %b)\n%r = call " + t + " @llvm.fma." +
          s + "(" + t + " %n, " + t + " %x, " + t + " %c)",
      [](X a, X b, X c) { return std::fma(-a, std::fabs(b), c); });
  add("sqrt", call(t, "sqrt." + s, one), [](X a, X, X) { return std::sqrt(a); });
  add("floor", call(t, "floor." + s, one), [](X a, X, X) { return std::floor(a); });
  add("ceil", call(t, "ceil." + s, one), [](X a, X, X) { return std::ceil(a); });
  add("trunc", call(t, "trunc." + s, one), [](X a, X, X) { return std::trunc(a); });
  add("rint", call(t, "rint." + s, one), [](X a, X, X) { return std::nearbyint(a); });
  add("fabs", call(t, "fabs." + s, one), [](X a, X, X) { return std::fabs(a); });
  add("copysign", call(t, "copysign." + s, two), [](X a, X b, X) { return std::copysign(a, b); });
  add("maxnum", call(t, "maxnum." + s, two), [](X a, X b, X) { return maxOf(a, b); });
  add("minnum", call(t, "minnum." + s, two), [](X a, X b, X) { return minOf(a, b); });
  add("minimum", call(t, "minimum." + s, two), [](X a, X b, X) { return minimumOf(a, b); });
  add("max3",
      "%x = call nnan " + t + " @llvm.maxnum." + s + "(" + two + ")\n%r = call nnan " + t + " @llvm.maxnum." + s + "(" +
          t + " %x, " + t + " %c)",
      [](X a, X b, X c) { return maxOf(maxOf(a, b), c); });
  for (auto [predicate, host] :
       std::vector<std::pair<std::string, bool (*)(X, X)>>{{"oeq", [](X a, X b) { return a == b; }},
                                                           {"olt", [](X a, X b) { return a < b; }},
                                                           {"oge", [](X a, X b) { return a >= b; }},
                                                           {"one", [](X a, X b) { return a < b || a > b; }},
                                                           {"ord", [](X a, X b) { return a == a && b == b; }},
                                                           {"ueq", [](X a, X b) { return !(a < b || a > b); }},
                                                           {"ult", [](X a, X b) { return !(a >= b); }},
                                                           {"uge", [](X a, X b) { return !(a < b); }},
                                                           {"une", [](X a, X b) { return a != b; }},
                                                           {"uno", [](X a, X b) { return a != a || b != b; }}})
    add("select_" + predicate,
        "%p = fcmp " + predicate + " " + t + " %a, %b\n%r = select i1 %p, " + t + " %c, " + t + " %a",
        [host = host](X a, X b, X c) { return host(a, b) ? c : a; });
}

template <class To, class From> To saturated(From x) {
  const double v = double(x);
  if (v != v)
    return 0;
  if (v >= std::ldexp(1.0, std::numeric_limits<To>::digits))
    return std::numeric_limits<To>::max();
  if (v <= double(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  return To(v);
}

void addConversions(std::vector<Operation> &ops) {
  auto add = [&](const std::string &name, const std::string &in, const std::string &out, const std::string &ir,
                 auto host) { ops.push_back({name, in, out, ir, host, 0}); };
  add("sitofp32", "i32", "float", "%r = sitofp i32 %a to float",
      on<int32_t, float>([](int32_t a, int32_t, int32_t) { return float(a); }));
  add("uitofp32", "i32", "float", "%r = uitofp i32 %a to float",
      on<uint32_t, float>([](uint32_t a, uint32_t, uint32_t) { return float(a); }));
  add("sitofp64", "i64", "float", "%r = sitofp i64 %a to float",
      on<int64_t, float>([](int64_t a, int64_t, int64_t) { return float(a); }));
  add("uitofp64", "i64", "float", "%r = uitofp i64 %a to float",
      on<uint64_t, float>([](uint64_t a, uint64_t, uint64_t) { return float(a); }));
  add("sitofp64d", "i64", "double", "%r = sitofp i64 %a to double",
      on<int64_t, double>([](int64_t a, int64_t, int64_t) { return double(a); }));
  add("sitofp32d", "i32", "double", "%r = sitofp i32 %a to double",
      on<int32_t, double>([](int32_t a, int32_t, int32_t) { return double(a); }));
  add("sitofp8", "i8", "float", "%r = sitofp i8 %a to float",
      on<int8_t, float>([](int8_t a, int8_t, int8_t) { return float(a); }));
  add("uitofp8", "i32", "float", "%x = lshr i32 %a, 16\n%y = trunc i32 %x to i8\n%r = uitofp i8 %y to float",
      on<uint32_t, float>([](uint32_t a, uint32_t, uint32_t) { return float(a >> 16 & 0xff); }));
  add("sitofp16", "i16", "half", "%r = sitofp i16 %a to half",
      [](Word a, Word, Word) { return Word(emulate::floatToHalf(float(int16_t(a)))); });
  add("fptosi32", "float", "i32", call("i32", "fptosi.sat.i32.f32", "float %a"),
      on<float, uint32_t>([](float a, float, float) { return uint32_t(saturated<int32_t>(a)); }));
  add("fptoui32", "float", "i32", call("i32", "fptoui.sat.i32.f32", "float %a"),
      on<float, uint32_t>([](float a, float, float) { return saturated<uint32_t>(a); }));
  add("fptosi64", "float", "i64", call("i64", "fptosi.sat.i64.f32", "float %a"),
      on<float, uint64_t>([](float a, float, float) { return uint64_t(saturated<int64_t>(a)); }));
  add("fptosi32d", "double", "i32", call("i32", "fptosi.sat.i32.f64", "double %a"),
      on<double, uint32_t>([](double a, double, double) { return uint32_t(saturated<int32_t>(a)); }));
  add("fpext16", "half", "float", "%r = fpext half %a to float", [](Word a, Word, Word) { return word(half(a)); });
  add("fptrunc16", "float", "half", "%r = fptrunc float %a to half",
      [](Word a, Word, Word) { return Word(emulate::floatToHalf(as<float>(a))); });
  add("fpextbf", "bfloat", "float", "%r = fpext bfloat %a to float",
      [](Word a, Word, Word) { return word(bfloat(a)); });
  add("fptruncbf", "float", "bfloat", "%r = fptrunc float %a to bfloat",
      [](Word a, Word, Word) { return Word(emulate::floatToBfloat(as<float>(a))); });
  add("fptruncbf2", "float", "i32",
      "%v = insertelement <2 x float> poison, float %a, i32 0\n%w = insertelement <2 x float> %v, float %b, i32 1\n%x "
      "= fptrunc <2 x float> %w to <2 x bfloat>\n%r = bitcast <2 x bfloat> %x to i32",
      [](Word a, Word b, Word) {
        return Word(emulate::floatToBfloat(as<float>(a)) | emulate::floatToBfloat(as<float>(b)) << 16);
      });
  add("fptrunc16x2", "float", "i32",
      "%v = insertelement <2 x float> poison, float %a, i32 0\n%w = insertelement <2 x float> %v, float %b, i32 1\n%x "
      "= fptrunc <2 x float> %w to <2 x half>\n%r = bitcast <2 x half> %x to i32",
      [](Word a, Word b, Word) {
        return Word(emulate::floatToHalf(as<float>(a)) | emulate::floatToHalf(as<float>(b)) << 16);
      });
  add("fpext64", "float", "double", "%r = fpext float %a to double",
      [](Word a, Word, Word) { return word(double(as<float>(a))); });
  add("fptrunc64", "double", "float", "%r = fptrunc double %a to float",
      [](Word a, Word, Word) { return word(float(as<double>(a))); });
  add("mixed", "half", "float",
      "%x = fpext half %a to float\n%y = fpext half %b to float\n%z = fpext half %c to float\n%r = call float "
      "@llvm.fma.f32(float %x, float %y, float %z)",
      [](Word a, Word b, Word c) { return word(std::fma(half(a), half(b), half(c))); });
  add("mixlo", "half", "half",
      "%x = fpext half %a to float\n%y = fpext half %b to float\n%z = fpext half %c to float\n%m = call contract float "
      "@llvm.fma.f32(float %x, float %y, float %z)\n%r = fptrunc float %m to half",
      [](Word a, Word b, Word c) { return Word(emulate::floatToHalf(std::fma(half(a), half(b), half(c)))); });
  add("ldexp", "float", "float",
      "%n = call i32 @llvm.fptosi.sat.i32.f32(float %b)\n%n1 = srem i32 %n, 40\n" +
          call("float", "ldexp.f32.i32", "float %a, i32 %n1"),
      on<float>([](float a, float b, float) { return std::ldexp(a, saturated<int32_t>(b) % 40); }));
  ops.push_back({"exp2", "float", "float", call("float", "exp2.f32", "float %a"),
                 on<float>([](float a, float, float) { return float(std::exp2(double(a))); }), 1e-6});
  ops.push_back({"log2", "float", "float", call("float", "log2.f32", "float %a"),
                 on<float>([](float a, float, float) { return float(std::log2(double(a))); }), 1e-6});
  ops.push_back({"exp", "float", "float", call("float", "exp.f32", "float %a"),
                 on<float>([](float a, float, float) { return float(std::exp(double(a))); }), 1e-6});
  ops.push_back(
      {"arcpdiv", "float", "float",
       "%s = call float @llvm.fabs.f32(float %b)\n%p = fcmp olt float %s, 0x479E17B840000000\n"
       "%q = fcmp ogt float %s, 0x3F50624DE0000000\n%u = and i1 %p, %q\n%d = select i1 %u, float %b, float 3.0\n"
       "%r = fdiv afn float %a, %d",
       on<float>([](float a, float b, float) { return a / (std::fabs(b) < 1e37f && std::fabs(b) > 1e-3f ? b : 3); }),
       1e-6});
}

void addBfloats(std::vector<Operation> &ops) {
  auto add = [&](const std::string &name, const std::string &ir, auto host) {
    ops.push_back({name, "bfloat", "bfloat", ir, onBfloat(host), 0});
  };
  add("fadd_bf", binary("fadd", "bfloat"), [](float a, float b, float) { return a + b; });
  add("fmul_bf", binary("fmul", "bfloat"), [](float a, float b, float) { return a * b; });
  add("max_bf", call("bfloat", "maxnum.bf16", "bfloat %a, bfloat %b"),
      [](float a, float b, float) { return maxOf(a, b); });
  auto packed = [&](const std::string &name, const std::string &ir, auto host) {
    ops.push_back(
        {name, "i32", "i32",
         "%v = bitcast i32 %a to <2 x half>\n%w = bitcast i32 %b to <2 x half>\n%x = bitcast i32 %c to <2 x half>\n" +
             ir + "\n%r = bitcast <2 x half> %s to i32",
         [host](Word a, Word b, Word c) {
           auto one = [&](unsigned shift) {
             return Word(emulate::doubleToHalf(
                 host(double(half(a >> shift)), double(half(b >> shift)), double(half(c >> shift)))));
           };
           return one(0) | one(16) << 16;
         },
         0});
  };
  packed("pk_fadd", "%s = fadd <2 x half> %v, %w", [](double a, double b, double) { return a + b; });
  packed("pk_fma", "%s = call <2 x half> @llvm.fma.v2f16(<2 x half> %v, <2 x half> %w, <2 x half> %x)",
         [](double a, double b, double c) { return a * b + c; });
  packed("pk_fmulneg", "%n = fneg <2 x half> %w\n%s = fmul <2 x half> %v, %n",
         [](double a, double b, double) { return a * -b; });
}

std::vector<Operation> operations() {
  std::vector<Operation> ops;
  addIntegers<int32_t>(ops);
  addIntegers<int64_t>(ops);
  addIntegers<int16_t>(ops);
  addIntegers<int8_t>(ops);
  addMixedIntegers(ops);
  addFloats<float>(ops, "float", "f32");
  addFloats<double>(ops, "double", "f64");
  addFloats<_Float16>(ops, "half", "f16");
  addBfloats(ops);
  addConversions(ops);
  return ops;
}

/// `uniform`: one element a group, so that the scalar unit does what it can.
std::string kernelOf(const Operation &op, bool uniform) {
  std::string text = "define amdgpu_kernel void @" + std::string(uniform ? "uniform_" : "") + op.name +
                     "(ptr addrspace(1) %A, ptr addrspace(1) %B, ptr addrspace(1) %C, ptr addrspace(1) %R) #0 {\n"
                     "%g = call i32 @llvm.amdgcn.workgroup.id.x()\n%l = call i32 @llvm.amdgcn.workitem.id.x()\n"
                     "%o = mul i32 %g, " +
                     (uniform ? "1" : "256") + "\n%i = add i32 %o, " + (uniform ? "0" : "%l") + "\n";
  std::string body = op.ir;
  for (size_t at = 0; (at = body.find("%o ", at)) != std::string::npos;) // its own %o
    body.replace(at, 2, "%O");
  for (size_t at = 0; (at = body.find("%o,", at)) != std::string::npos;)
    body.replace(at, 2, "%O");
  for (const char *name : {"a", "b", "c"}) {
    const std::string upper(1, char(name[0] - 32));
    text += "%p" + upper + " = getelementptr i64, ptr addrspace(1) %" + upper + ", i32 %i\n%" + name + " = load " +
            op.in + ", ptr addrspace(1) %p" + upper + "\n";
  }
  return text + body + "\n%to = getelementptr i64, ptr addrspace(1) %R, i32 %i\nstore " + op.out +
         " %r, ptr addrspace(1) %to\nret void\n}\n";
}

/// Values of a type that go wrong easily, and others.
std::vector<Word> inputs(const std::string &type, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Word> words(count);
  for (Word &w : words) {
    const unsigned kind = random() % 8;
    w = random();
    if (type[0] == 'i') {
      if (kind < 2)
        w = Word(int64_t(random() % 33) - 16);
      else if (kind == 2)
        w = ~Word(0) << random() % 64;
      else if (kind == 3)
        w = Word(1) << random() % 64;
      continue;
    }
    const double specials[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 65504, 3.5, -2.5, 1e-40, 3e38, 6e-8};
    double value = kind == 0 ? specials[random() % std::size(specials)] : std::ldexp(double(int64_t(random())), -61);
    if (kind == 1)
      value = std::ldexp(value, int(random() % 40) - 20);
    if (kind < 6) // else any bits
      w = type == "float"    ? word(float(value))
          : type == "double" ? word(value)
          : type == "half"   ? Word(emulate::doubleToHalf(value))
                             : Word(emulate::floatToBfloat(float(value)));
  }
  return words;
}

bool isNan(Word w, const std::string &type) {
  return type == "float"    ? as<float>(w) != as<float>(w)
         : type == "double" ? as<double>(w) != as<double>(w)
         : type == "half"   ? half(w) != half(w)
         : type == "bfloat" ? bfloat(w) != bfloat(w)
                            : false;
}
bool same(const Operation &op, Word got, Word want) {
  const unsigned bits = op.out == "float"                        ? 32
                        : op.out == "half" || op.out == "bfloat" ? 16
                        : op.out == "double"                     ? 64
                                                                 : unsigned(std::stoi(op.out.substr(1)));
  const Word mask = bits == 64 ? ~Word(0) : (Word(1) << bits) - 1;
  got &= mask, want &= mask;
  if (got == want || (isNan(got, op.out) && isNan(want, op.out)))
    return true;
  if (op.name.starts_with("pk_f") || op.name.starts_with("fptruncbf2") ||
      op.name.starts_with("fptrunc16x2")) { // NaNs in either half
    auto halfSame = [&](unsigned shift) {
      const Word g = got >> shift & 0xffff, w = want >> shift & 0xffff;
      const std::string type = op.name == "fptruncbf2" ? "bfloat" : "half";
      return g == w || (isNan(g, type) && isNan(w, type));
    };
    return halfSame(0) && halfSame(16);
  }
  if (!op.tolerance)
    return false;
  const double g = as<float>(got), w = as<float>(want);
  if (std::fabs(w) < 1.2e-38 && std::fabs(g) < 1.2e-38) // flushed
    return true;
  return std::fabs(g - w) <= op.tolerance * std::max(1.0, std::fabs(w)) || (std::isinf(w) && g > 3.39e38);
}

std::vector<std::pair<Operation, bool>> both(const std::vector<Operation> &ops) {
  std::vector<std::pair<Operation, bool>> all;
  for (const Operation &op : ops)
    for (bool uniform : {false, true})
      all.emplace_back(op, uniform);
  return all;
}

} // namespace

TEST_CASE("arithmetic as LLVM compiles it is the host's") {
  const std::vector<Operation> ops = operations();
  std::string ir = "declare i32 @llvm.amdgcn.workgroup.id.x()\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n"
                   "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"256,256\" }\n";
  for (const Operation &op : ops)
    ir += kernelOf(op, false) + kernelOf(op, true);
  for (const std::string &processor : amdProcessors) {
    auto code = compileIr(processor, ir);
    for (const auto &[op, uniform] : both(ops)) {
      std::vector<Word> a = inputs(op.in, 1), b = inputs(op.in, 2), c = inputs(op.in, 3), r(count, 0);
      const std::vector<int64_t> arguments{addressOf(a), addressOf(b), addressOf(c), addressOf(r)};
      const std::vector<emulate::MemoryRange> memory{rangeOf(a, false, "a"), rangeOf(b, false, "b"),
                                                     rangeOf(c, false, "c"), rangeOf(r, true, "r")};
      emulate::Launch launch;
      launch.groups = uniform ? uniformCount : groups, launch.threads = uniform ? 64 : threads;
      launch.kernarg = arguments, launch.memory = memory;
      auto counters = emulate::run(*code, (uniform ? "uniform_" : "") + op.name, launch);
      INFO(processor << ": " << op.name << (uniform ? ", uniform" : ""));
      if (!counters) {
        FAIL_CHECK(toString(counters.takeError()));
        continue;
      }
      for (unsigned i = 0; i < (uniform ? uniformCount : count); ++i)
        if (const Word want = op.host(a[i], b[i], c[i]); !same(op, r[i], want)) {
          FAIL_CHECK(std::hex << "(" << a[i] << ", " << b[i] << ", " << c[i] << ") = " << r[i] << ", not " << want);
          break;
        }
    }
  }
}
