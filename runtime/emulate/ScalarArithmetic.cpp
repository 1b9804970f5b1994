// SALU: arithmetic, bits, comparisons. Each function of values also gets SCC.
#include "runtime/emulate/Extrema.h"
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

#include "llvm/ADT/bit.h"

#include <cmath>
#include <limits>

using namespace sectile::emulate;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

namespace {

/// How poison spreads: to all bits of the result, to those that depend on it, or to those above as carries do.
enum class Flow { all, bits, upwards };
enum class Scc { keeps, writes };

template <class T> struct Source {
  T value;
  u64 poison;
};

template <class T> Source<T> source(const Wave &wave, const Operand &operand) {
  if constexpr (sizeof(T) == 4) {
    u32 poison = 0;
    const u32 bits = wave.scalar32(operand, poison);
    return {std::bit_cast<T>(bits), poison};
  } else {
    u64 poison = 0;
    u64 bits = wave.scalar64(operand, poison);
    if (std::is_same_v<T, i64> && operand.kind == Operand::Kind::constant && operand.literal)
      bits = u64(i64(i32(operand.bits32)));
    return {T(bits), poison};
  }
}

template <class R> void setResult(Wave &wave, const Operand &operand, R value, u64 poison) {
  if constexpr (sizeof(R) == 4)
    wave.setScalar32(operand, std::bit_cast<u32>(value), u32(poison));
  else
    wave.setScalar64(operand, u64(value), poison);
}

/// operand 0 = F(scc, operand 1, …)
template <auto F, Scc writesScc, Flow flow, class R, class... A, size_t... I>
void scalarOf(Wave &wave, const WaveInstruction &inst, std::index_sequence<I...>) {
  const std::tuple<Source<A>...> in{source<A>(wave, inst[I + 1])...};
  const u64 undefined = (std::get<I>(in).poison | ... | 0);
  bool scc = wave.scc;
  const R result = F(scc, std::get<I>(in).value...);
  u64 poison = undefined ? ~u64(0) : 0;
  if constexpr (flow == Flow::bits)
    if (undefined) {
      bool ignored = scc;
      const R zeros = F(ignored, A(std::get<I>(in).value & ~std::get<I>(in).poison)...);
      const R ones = F(ignored, A(std::get<I>(in).value | std::get<I>(in).poison)...);
      poison = u64(zeros ^ ones);
    }
  if constexpr (flow == Flow::upwards)
    poison = u64(0) - (undefined & (u64(0) - undefined));
  if constexpr (writesScc == Scc::writes) {
    wave.scc = scc;
    wave.sccPoison = poison != 0;
  }
  setResult<R>(wave, inst[0], result, poison);
}
template <auto F, Scc scc, Flow flow, class R, class... A> void scalar(Wave &wave, const WaveInstruction &inst) {
  scalarOf<F, scc, flow, R, A...>(wave, inst, std::index_sequence_for<A...>());
}
template <auto F, Scc scc, class R, class... A> constexpr Semantics all = scalar<F, scc, Flow::all, R, A...>;
template <auto F, Scc scc, class R, class... A> constexpr Semantics sum = scalar<F, scc, Flow::upwards, R, A...>;
template <auto F, class R, class... A> constexpr Semantics bitwise = scalar<F, Scc::writes, Flow::bits, R, A...>;
template <auto F, class R, class... A> constexpr Semantics move = scalar<F, Scc::keeps, Flow::bits, R, A...>;

/// As `scalar` with the result as one more source in front, and SCC as a source.
template <auto F, class R, class... A> void carried(Wave &wave, const WaveInstruction &inst) {
  const bool poison = wave.sccPoison;
  scalar<F, Scc::writes, Flow::all, R, A...>(wave, inst);
  if (poison)
    wave.sccPoison = true, setResult<R>(wave, inst[0], R(0), ~u64(0));
}

template <auto F, class A> void compare(Wave &wave, const WaveInstruction &inst) {
  const Source<A> a = source<A>(wave, inst[0]), b = source<A>(wave, inst[1]);
  wave.scc = F(a.value, b.value);
  wave.sccPoison = a.poison || b.poison;
}

/// With the 16-bit immediate, extended as A is.
template <auto F, class A> void compareK(Wave &wave, const WaveInstruction &inst) {
  const Source<A> a = source<A>(wave, inst[0]);
  wave.scc = F(a.value, A(std::is_same_v<A, i32> ? i32(int16_t(inst.immediate)) : i32(inst.immediate)));
  wave.sccPoison = a.poison != 0;
}

template <class T> void select(Wave &wave, const WaveInstruction &inst) {
  const Source<T> chosen = source<T>(wave, inst[wave.scc ? 1 : 2]);
  setResult<T>(wave, inst[0], chosen.value, wave.sccPoison ? ~u64(0) : chosen.poison);
}
template <class T> void conditionalMove(Wave &wave, const WaveInstruction &inst) {
  if (wave.sccPoison)
    return setResult<T>(wave, inst[0], 0, ~u64(0));
  if (wave.scc)
    if (const Source<T> in = source<T>(wave, inst[1]); true)
      setResult<T>(wave, inst[0], in.value, in.poison);
}

void moveK(Wave &wave, const WaveInstruction &inst) { wave.setScalar32(inst[0], u32(int16_t(inst.immediate)), 0); }
void addK(Wave &wave, const WaveInstruction &inst) {
  u32 poison = 0;
  const i32 a = i32(wave.scalar32(inst[0], poison)), b = int16_t(inst.immediate);
  i32 sum = 0;
  wave.scc = __builtin_add_overflow(a, b, &sum);
  wave.sccPoison = poison != 0;
  wave.setScalar32(inst[0], u32(sum), 0u - (poison & (0u - poison)));
}
void mulK(Wave &wave, const WaveInstruction &inst) {
  u32 poison = 0;
  const u32 a = wave.scalar32(inst[0], poison);
  wave.setScalar32(inst[0], a * u32(int16_t(inst.immediate)), 0u - (poison & (0u - poison)));
}

template <class T, bool value> void bitSet(Wave &wave, const WaveInstruction &inst) {
  const Source<T> old = source<T>(wave, inst[0]);
  const Source<u32> bit = source<u32>(wave, inst[1]);
  const T mask = T(1) << (bit.value & (sizeof(T) * 8 - 1));
  setResult<T>(wave, inst[0], value ? old.value | mask : old.value & ~mask, bit.poison ? ~u64(0) : old.poison & ~mask);
}

/// dst = EXEC, EXEC = F(source, EXEC); for `write` forms dst is the new EXEC.
template <auto F, bool write> void saveExec(Wave &wave, const WaveInstruction &inst) {
  u64 poison = 0;
  const u64 in = wave.laneMask(inst[1], poison), old = wave.execMask();
  const u64 result = F(in, old) & wave.allLanes;
  if ((F(in & ~poison, old) ^ F(in | poison, old)) & wave.allLanes)
    return wave.faultPoison("EXEC", -1, inst[1]);
  wave.setLaneMask(inst[0], write ? result : old, 0);
  wave.setExecMask(result);
  wave.scc = result != 0;
  wave.sccPoison = false;
}

template <class T> T shiftMask(u32 amount) { return amount & (sizeof(T) * 8 - 1); }
template <class T> T fieldOf(T value, u32 field) { // s_bfe: offset in the low bits, width in 22:16
  constexpr unsigned bits = sizeof(T) * 8;
  const u32 offset = field & (bits - 1), width = std::min(field >> 16 & 0x7f, bits - offset);
  if (!width)
    return 0;
  using U = std::make_unsigned_t<T>;
  return T(U(value) << (bits - offset - width)) >> (bits - width);
}

template <class T> void addLogic(SemanticsTable &t, const std::string &suffix) {
  t["s_and_" + suffix] = bitwise<[](bool &scc, T a, T b) { return scc = (a & b) != 0, T(a & b); }, T, T, T>;
  t["s_or_" + suffix] = bitwise<[](bool &scc, T a, T b) { return scc = (a | b) != 0, T(a | b); }, T, T, T>;
  t["s_xor_" + suffix] = bitwise<[](bool &scc, T a, T b) { return scc = (a ^ b) != 0, T(a ^ b); }, T, T, T>;
  t["s_nand_" + suffix] = bitwise<[](bool &scc, T a, T b) { return scc = ~(a & b) != 0, T(~(a & b)); }, T, T, T>;
  t["s_nor_" + suffix] = bitwise<[](bool &scc, T a, T b) { return scc = ~(a | b) != 0, T(~(a | b)); }, T, T, T>;
  t["s_xnor_" + suffix] = bitwise<[](bool &scc, T a, T b) { return scc = ~(a ^ b) != 0, T(~(a ^ b)); }, T, T, T>;
  // Poison of a source that is complemented: both evaluations see the same bits, so the results differ where they do.
  t["s_andn2_" + suffix] = t["s_and_not1_" + suffix] =
      bitwise<[](bool &scc, T a, T b) { return scc = (a & ~b) != 0, T(a & ~b); }, T, T, T>;
  t["s_orn2_" + suffix] = t["s_or_not1_" + suffix] =
      bitwise<[](bool &scc, T a, T b) { return scc = (a | ~b) != 0, T(a | ~b); }, T, T, T>;
  t["s_not_" + suffix] = bitwise<[](bool &scc, T a) { return scc = T(~a) != 0, T(~a); }, T, T>;
  t["s_mov_" + suffix] = move<[](bool &, T a) { return a; }, T, T>;
  t["s_cselect_" + suffix] = select<T>;
  t["s_cmov_" + suffix] = conditionalMove<T>;
  t["s_bitset0_" + suffix] = bitSet<T, false>;
  t["s_bitset1_" + suffix] = bitSet<T, true>;
  t["s_brev_" + suffix] = move<[](bool &, T a) { return llvm::reverseBits(a); }, T, T>;
  t["s_lshl_" + suffix] =
      bitwise<[](bool &scc, T a, u32 n) { return a <<= shiftMask<T>(n), scc = a != 0, a; }, T, T, u32>;
  t["s_lshr_" + suffix] =
      bitwise<[](bool &scc, T a, u32 n) { return (a >>= shiftMask<T>(n), scc = a != 0, a); }, T, T, u32>;
  t["s_bfm_" + suffix] =
      all<[](bool &, u32 width, u32 offset) { return T((T(1) << shiftMask<T>(width)) - 1) << shiftMask<T>(offset); },
          Scc::keeps, T, u32, u32>;
  t["s_bcnt1_i32_" + suffix] =
      all<[](bool &scc, T a) { return scc = a != 0, u32(llvm::popcount(a)); }, Scc::writes, u32, T>;
  t["s_bcnt0_i32_" + suffix] =
      all<[](bool &scc, T a) { return scc = T(~a) != 0, u32(llvm::popcount(T(~a))); }, Scc::writes, u32, T>;
  t["s_ff1_i32_" + suffix] = t["s_ctz_i32_" + suffix] =
      all<[](bool &, T a) { return a ? u32(llvm::countr_zero(a)) : ~0u; }, Scc::keeps, u32, T>;
  t["s_ff0_i32_" + suffix] =
      all<[](bool &, T a) { return T(~a) ? u32(llvm::countr_one(a)) : ~0u; }, Scc::keeps, u32, T>;
  t["s_flbit_i32_" + suffix] = t["s_clz_i32_u" + std::to_string(sizeof(T) * 8)] =
      all<[](bool &, T a) { return a ? u32(llvm::countl_zero(a)) : ~0u; }, Scc::keeps, u32, T>;
  using S = std::make_signed_t<T>;
  const std::string bits = std::to_string(sizeof(T) * 8);
  t["s_ashr_i" + bits] =
      bitwise<[](bool &scc, S a, u32 n) { return (a >>= shiftMask<T>(n), scc = a != 0, a); }, S, S, u32>;
  t["s_bfe_u" + bits] = bitwise<[](bool &scc, T a, u32 f) { return a = fieldOf<T>(a, f), scc = a != 0, a; }, T, T, u32>;
  t["s_bfe_i" + bits] = bitwise<[](bool &scc, S a, u32 f) { return a = fieldOf<S>(a, f), scc = a != 0, a; }, S, S, u32>;
  for (const char *wave : {"saveexec_", "wrexec_"}) {
    const bool write = wave[0] == 'w';
    auto add = [&](const char *name, Semantics save, Semantics replace) {
      t["s_" + std::string(name) + "_" + wave + suffix] = write ? replace : save;
    };
    constexpr auto andOp = [](u64 a, u64 e) { return a & e; };
    constexpr auto orOp = [](u64 a, u64 e) { return a | e; };
    constexpr auto xorOp = [](u64 a, u64 e) { return a ^ e; };
    constexpr auto not1 = [](u64 a, u64 e) { return a & ~e; };
    constexpr auto not0 = [](u64 a, u64 e) { return ~a & e; };
    constexpr auto orNot1 = [](u64 a, u64 e) { return a | ~e; };
    constexpr auto orNot0 = [](u64 a, u64 e) { return ~a | e; };
    constexpr auto nand = [](u64 a, u64 e) { return ~(a & e); };
    constexpr auto nor = [](u64 a, u64 e) { return ~(a | e); };
    constexpr auto xnor = [](u64 a, u64 e) { return ~(a ^ e); };
    add("and", saveExec<andOp, false>, saveExec<andOp, true>);
    add("or", saveExec<orOp, false>, saveExec<orOp, true>);
    add("xor", saveExec<xorOp, false>, saveExec<xorOp, true>);
    add("nand", saveExec<nand, false>, saveExec<nand, true>);
    add("nor", saveExec<nor, false>, saveExec<nor, true>);
    add("xnor", saveExec<xnor, false>, saveExec<xnor, true>);
    for (const char *name : {"andn2", "and_not1"})
      add(name, saveExec<not1, false>, saveExec<not1, true>);
    for (const char *name : {"andn1", "and_not0"})
      add(name, saveExec<not0, false>, saveExec<not0, true>);
    for (const char *name : {"orn2", "or_not1"})
      add(name, saveExec<orNot1, false>, saveExec<orNot1, true>);
    for (const char *name : {"orn1", "or_not0"})
      add(name, saveExec<orNot0, false>, saveExec<orNot0, true>);
  }
}

template <class A> void addCompare(SemanticsTable &t, const std::string &suffix) {
  auto add = [&](const char *name, Semantics plain, Semantics immediate) {
    t["s_cmp_" + std::string(name) + "_" + suffix] = plain;
    t["s_cmpk_" + std::string(name) + "_" + suffix] = immediate;
  };
  constexpr auto eq = [](A a, A b) { return a == b; };
  constexpr auto ne = [](A a, A b) { return a != b; };
  constexpr auto gt = [](A a, A b) { return a > b; };
  constexpr auto ge = [](A a, A b) { return a >= b; };
  constexpr auto lt = [](A a, A b) { return a < b; };
  constexpr auto le = [](A a, A b) { return a <= b; };
  add("eq", compare<eq, A>, compareK<eq, A>);
  add("lg", compare<ne, A>, compareK<ne, A>);
  add("gt", compare<gt, A>, compareK<gt, A>);
  add("ge", compare<ge, A>, compareK<ge, A>);
  add("lt", compare<lt, A>, compareK<lt, A>);
  add("le", compare<le, A>, compareK<le, A>);
}

u32 toUnsigned(float x) { return !(x > 0) ? 0 : x >= 4294967296.0f ? ~0u : u32(x); }
i32 toSigned(float x) { return x != x ? 0 : x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : i32(x); }

void fmac(Wave &wave, const WaveInstruction &inst) {
  const auto a = source<float>(wave, inst[1]), b = source<float>(wave, inst[2]), c = source<float>(wave, inst[0]);
  setResult(wave, inst[0], std::fma(a.value, b.value, c.value), a.poison | b.poison | c.poison ? ~u64(0) : 0);
}

/// F on the lower halves.
template <auto F> void half(Wave &wave, const WaveInstruction &inst) {
  scalar<[](bool &, u32 a, u32 b) { return floatToHalf(F(halfToFloat(a & 0xffff), halfToFloat(b & 0xffff))); },
         Scc::keeps, Flow::all, u32, u32, u32>(wave, inst);
}

void addFloat(SemanticsTable &t) { // gfx12
  t["s_add_f32"] = all<[](bool &, float a, float b) { return a + b; }, Scc::keeps, float, float, float>;
  t["s_sub_f32"] = all<[](bool &, float a, float b) { return a - b; }, Scc::keeps, float, float, float>;
  t["s_mul_f32"] = all<[](bool &, float a, float b) { return a * b; }, Scc::keeps, float, float, float>;
  t["s_max_num_f32"] = all<[](bool &, float a, float b) { return maxNum(a, b); }, Scc::keeps, float, float, float>;
  t["s_min_num_f32"] = all<[](bool &, float a, float b) { return minNum(a, b); }, Scc::keeps, float, float, float>;
  t["s_minimum_f32"] = all<[](bool &, float a, float b) { return minimum(a, b); }, Scc::keeps, float, float, float>;
  t["s_maximum_f32"] = all<[](bool &, float a, float b) { return maximum(a, b); }, Scc::keeps, float, float, float>;
  t["s_cmp_nlg_f32"] = compare<[](float a, float b) { return !(a < b) && !(b < a); }, float>;
  t["s_fmac_f32"] = fmac;
  t["s_fmaak_f32"] = t["s_fmamk_f32"] =
      all<[](bool &, float a, float b, float c) { return std::fma(a, b, c); }, Scc::keeps, float, float, float, float>;
  t["s_ceil_f32"] = all<[](bool &, float a) { return std::ceil(a); }, Scc::keeps, float, float>;
  t["s_floor_f32"] = all<[](bool &, float a) { return std::floor(a); }, Scc::keeps, float, float>;
  t["s_trunc_f32"] = all<[](bool &, float a) { return std::trunc(a); }, Scc::keeps, float, float>;
  t["s_rndne_f32"] = all<[](bool &, float a) { return std::nearbyint(a); }, Scc::keeps, float, float>;
  t["s_cvt_f32_i32"] = all<[](bool &, i32 a) { return float(a); }, Scc::keeps, float, i32>;
  t["s_cvt_f32_u32"] = all<[](bool &, u32 a) { return float(a); }, Scc::keeps, float, u32>;
  t["s_cvt_i32_f32"] = all<[](bool &, float a) { return toSigned(a); }, Scc::keeps, i32, float>;
  t["s_cvt_u32_f32"] = all<[](bool &, float a) { return toUnsigned(a); }, Scc::keeps, u32, float>;
  t["s_cvt_f16_f32"] = all<[](bool &, float a) { return floatToHalf(a); }, Scc::keeps, u32, float>;
  t["s_cvt_f32_f16"] = all<[](bool &, u32 a) { return halfToFloat(a & 0xffff); }, Scc::keeps, float, u32>;
  // The scalar forms of what VALU computes with its own precision; they flush denormals, too.
  t["v_s_exp_f32"] =
      all<[](bool &, float a) { return flushed(float(std::exp2(double(flushed(a))))); }, Scc::keeps, float, float>;
  t["v_s_log_f32"] =
      all<[](bool &, float a) { return float(std::log2(double(flushed(a)))); }, Scc::keeps, float, float>;
  t["v_s_rcp_f32"] = all<[](bool &, float a) { return flushed(1 / flushed(a)); }, Scc::keeps, float, float>;
  t["v_s_rsq_f32"] =
      all<[](bool &, float a) { return flushed(float(1 / std::sqrt(double(flushed(a))))); }, Scc::keeps, float, float>;
  t["v_s_sqrt_f32"] = all<[](bool &, float a) { return std::sqrt(flushed(a)); }, Scc::keeps, float, float>;
  t["s_add_f16"] = half<[](float a, float b) { return a + b; }>;
  t["s_sub_f16"] = half<[](float a, float b) { return a - b; }>;
  t["s_mul_f16"] = half<[](float a, float b) { return a * b; }>;
  t["s_max_num_f16"] = half<[](float a, float b) { return maxNum(a, b); }>;
  t["s_min_num_f16"] = half<[](float a, float b) { return minNum(a, b); }>;
  t["s_cvt_hi_f32_f16"] = all<[](bool &, u32 a) { return halfToFloat(a >> 16); }, Scc::keeps, float, u32>;
  addCompare<float>(t, "f32");
  t["s_cmp_neq_f32"] = compare<[](float a, float b) { return !(a == b); }, float>;
  t["s_cmp_nlt_f32"] = compare<[](float a, float b) { return !(a < b); }, float>;
  t["s_cmp_nle_f32"] = compare<[](float a, float b) { return !(a <= b); }, float>;
  t["s_cmp_ngt_f32"] = compare<[](float a, float b) { return !(a > b); }, float>;
  t["s_cmp_nge_f32"] = compare<[](float a, float b) { return !(a >= b); }, float>;
  t["s_cmp_lg_f32"] = compare<[](float a, float b) { return (a < b || a > b); }, float>;
  t["s_cmp_o_f32"] = compare<[](float a, float b) { return a == a && b == b; }, float>;
  t["s_cmp_u_f32"] = compare<[](float a, float b) { return a != a || b != b; }, float>;
}

} // namespace

void sectile::emulate::addScalarArithmetic(SemanticsTable &t) {
  addLogic<u32>(t, "b32");
  addLogic<u64>(t, "b64");
  addCompare<i32>(t, "i32");
  addCompare<u32>(t, "u32");
  addCompare<u64>(t, "u64");
  addFloat(t);
  t["s_movk_i32"] = moveK;
  t["s_addk_i32"] = t["s_addk_co_i32"] = addK;
  t["s_mulk_i32"] = mulK;
  t["s_add_u32"] = t["s_add_co_u32"] =
      sum<[](bool &scc, u32 a, u32 b) { return scc = a + b < a, a + b; }, Scc::writes, u32, u32, u32>;
  t["s_sub_u32"] = t["s_sub_co_u32"] =
      sum<[](bool &scc, u32 a, u32 b) { return scc = (b > a), a - b; }, Scc::writes, u32, u32, u32>;
  t["s_add_i32"] = t["s_add_co_i32"] = sum<[](bool &scc, i32 a, i32 b) {
    i32 sum = 0;
    scc = __builtin_add_overflow(a, b, &sum);
    return sum;
  },
                                           Scc::writes, i32, i32, i32>;
  t["s_sub_i32"] = t["s_sub_co_i32"] = sum<[](bool &scc, i32 a, i32 b) {
    i32 difference = 0;
    scc = __builtin_sub_overflow(a, b, &difference);
    return difference;
  },
                                           Scc::writes, i32, i32, i32>;
  t["s_addc_u32"] = t["s_add_co_ci_u32"] = carried<[](bool &scc, u32 a, u32 b) {
    const u64 sum = u64(a) + b + scc;
    scc = (sum >> 32) != 0;
    return u32(sum);
  },
                                                   u32, u32, u32>;
  t["s_subb_u32"] = t["s_sub_co_ci_u32"] = carried<[](bool &scc, u32 a, u32 b) {
    const u64 difference = u64(a) - b - scc;
    scc = (difference >> 63) != 0;
    return u32(difference);
  },
                                                   u32, u32, u32>;
  t["s_min_i32"] = all<[](bool &scc, i32 a, i32 b) { return scc = a < b, std::min(a, b); }, Scc::writes, i32, i32, i32>;
  t["s_max_i32"] =
      all<[](bool &scc, i32 a, i32 b) { return scc = (a > b), std::max(a, b); }, Scc::writes, i32, i32, i32>;
  t["s_min_u32"] = all<[](bool &scc, u32 a, u32 b) { return scc = a < b, std::min(a, b); }, Scc::writes, u32, u32, u32>;
  t["s_max_u32"] =
      all<[](bool &scc, u32 a, u32 b) { return scc = (a > b), std::max(a, b); }, Scc::writes, u32, u32, u32>;
  t["s_mul_i32"] = sum<[](bool &, u32 a, u32 b) { return a * b; }, Scc::keeps, u32, u32, u32>;
  t["s_mul_hi_u32"] = all<[](bool &, u32 a, u32 b) { return u32(u64(a) * b >> 32); }, Scc::keeps, u32, u32, u32>;
  t["s_mul_hi_i32"] = all<[](bool &, i32 a, i32 b) { return i32(i64(a) * b >> 32); }, Scc::keeps, i32, i32, i32>;
  t["s_add_u64"] = t["s_add_nc_u64"] = sum<[](bool &, u64 a, u64 b) { return a + b; }, Scc::keeps, u64, u64, u64>;
  t["s_sub_u64"] = t["s_sub_nc_u64"] = sum<[](bool &, u64 a, u64 b) { return a - b; }, Scc::keeps, u64, u64, u64>;
  t["s_mul_u64"] = sum<[](bool &, u64 a, u64 b) { return a * b; }, Scc::keeps, u64, u64, u64>;
  t["s_abs_i32"] =
      all<[](bool &scc, i32 a) { return scc = a != 0, a < 0 ? i32(0u - u32(a)) : a; }, Scc::writes, i32, i32>;
  t["s_absdiff_i32"] = all<[](bool &scc, u32 a, u32 b) {
    const i32 difference = i32(a - b);
    const u32 result = difference < 0 ? 0u - u32(difference) : u32(difference);
    scc = result != 0;
    return result;
  },
                           Scc::writes, u32, u32, u32>;
  t["s_cls_i32_i64"] = t["s_flbit_i32_i64"] = all<[](bool &, i64 a) {
    const u64 x = u64(a < 0 ? ~a : a);
    return x ? u32(llvm::countl_zero(x)) : ~0u;
  },
                                                  Scc::keeps, u32, i64>;
  t["s_sext_i32_i8"] = move<[](bool &, u32 a) { return i32(int8_t(a)); }, i32, u32>;
  t["s_sext_i32_i16"] = move<[](bool &, u32 a) { return i32(int16_t(a)); }, i32, u32>;
  t["s_flbit_i32"] = t["s_cls_i32"] = all<[](bool &, i32 a) {
    const u32 x = u32(a < 0 ? ~a : a);
    return x ? u32(llvm::countl_zero(x)) : ~0u;
  },
                                          Scc::keeps, u32, i32>;
  t["s_lshl1_add_u32"] =
      sum<[](bool &scc, u32 a, u32 b) { return scc = (((u64(a) << 1) + b) >> 32) != 0, (a << 1) + b; }, Scc::writes,
          u32, u32, u32>;
  t["s_lshl2_add_u32"] =
      sum<[](bool &scc, u32 a, u32 b) { return scc = (((u64(a) << 2) + b) >> 32) != 0, (a << 2) + b; }, Scc::writes,
          u32, u32, u32>;
  t["s_lshl3_add_u32"] =
      sum<[](bool &scc, u32 a, u32 b) { return scc = (((u64(a) << 3) + b) >> 32) != 0, (a << 3) + b; }, Scc::writes,
          u32, u32, u32>;
  t["s_lshl4_add_u32"] =
      sum<[](bool &scc, u32 a, u32 b) { return scc = (((u64(a) << 4) + b) >> 32) != 0, (a << 4) + b; }, Scc::writes,
          u32, u32, u32>;
  t["s_pack_ll_b32_b16"] = move<[](bool &, u32 a, u32 b) { return (a & 0xffff) | b << 16; }, u32, u32, u32>;
  t["s_pack_lh_b32_b16"] = move<[](bool &, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }, u32, u32, u32>;
  t["s_pack_hh_b32_b16"] = move<[](bool &, u32 a, u32 b) { return (a >> 16 | (b & 0xffff0000)); }, u32, u32, u32>;
  t["s_pack_hl_b32_b16"] = move<[](bool &, u32 a, u32 b) { return (a >> 16 | b << 16); }, u32, u32, u32>;
  t["s_bitcmp0_b32"] = compare<[](u32 a, u32 b) { return !(a >> (b & 31) & 1); }, u32>;
  t["s_bitcmp1_b32"] = compare<[](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; }, u32>;
}
