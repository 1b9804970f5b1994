// VALU comparisons: a mask of lanes into VCC, a scalar register or EXEC.
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

#include <cmath>

using namespace sectile::emulate;

namespace {

template <auto F, bool setsExec, class A, class B = A> void compare(Wave &wave, const WaveInstruction &inst) {
  const bool hasResult = inst.operandCount > 2; // gfx10 and later: v_cmpx writes EXEC alone
  Lanes<A> bufferA;
  Lanes<B> bufferB;
  const auto *a = read<A>(wave, inst, inst[hasResult ? 1 : 0], bufferA);
  const auto *b = read<B>(wave, inst, inst[hasResult ? 2 : 1], bufferB);
  uint8_t bits[maxLanes] = {};
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    bits[lane] = F(a[lane], b[lane]);
  uint64_t mask = 0;
  for (unsigned i = 0; i < wave.lanes / 8; ++i) { // eight bytes of 0 or 1 become eight bits
    uint64_t bytes = 0;
    std::memcpy(&bytes, bits + 8 * i, 8);
    mask |= (bytes * 0x0102040810204080 >> 56) << (8 * i);
  }
  const uint64_t on = wave.execMask(), poison = wave.poisonIn & on;
  mask &= on;
  if (setsExec) {
    if (poison)
      return wave.faultPoison("EXEC", -1, inst[hasResult ? 1 : 0]);
    wave.setExecMask(mask);
  }
  if (hasResult)
    wave.setLaneMask(inst[0], mask, poison);
}

template <class A, class B, auto F> void add(SemanticsTable &t, const std::string &name) {
  t["v_cmp_" + name] = compare<F, false, A, B>;
  t["v_cmpx_" + name] = compare<F, true, A, B>;
}

template <class T> void addOrdered(SemanticsTable &t, const std::string &s) {
  using V = typename T::Value;
  add<T, T, [](V a, V b) { return a < b; }>(t, "lt_" + s);
  add<T, T, [](V a, V b) { return a <= b; }>(t, "le_" + s);
  add<T, T, [](V a, V b) { return (a > b); }>(t, "gt_" + s);
  add<T, T, [](V a, V b) { return (a >= b); }>(t, "ge_" + s);
  add<T, T, [](V a, V b) { return a == b; }>(t, "eq_" + s);
  add<T, T, [](V, V) { return false; }>(t, "f_" + s);
  if constexpr (!T::isFloat) {
    add<T, T, [](V a, V b) { return a != b; }>(t, "ne_" + s);
    add<T, T, [](V, V) { return true; }>(t, "t_" + s);
  } else {
    add<T, T, [](V a, V b) { return (a < b) | (a > b); }>(t, "lg_" + s);
    add<T, T, [](V a, V b) { return a == a && b == b; }>(t, "o_" + s);
    add<T, T, [](V a, V b) { return a != a || b != b; }>(t, "u_" + s);
    add<T, T, [](V a, V b) { return !(a >= b); }>(t, "nge_" + s);
    add<T, T, [](V a, V b) { return !((a < b) | (a > b)); }>(t, "nlg_" + s);
    add<T, T, [](V a, V b) { return !(a > b); }>(t, "ngt_" + s);
    add<T, T, [](V a, V b) { return !(a <= b); }>(t, "nle_" + s);
    add<T, T, [](V a, V b) { return !(a == b); }>(t, "neq_" + s);
    add<T, T, [](V a, V b) { return !(a < b); }>(t, "nlt_" + s);
    add<T, T, [](V, V) { return true; }>(t, "tru_" + s);
    add<T, T, [](V, V) { return true; }>(t, "t_" + s);
  }
}

/// v_cmp_class: the classes, by bit: signalling NaN, quiet NaN, then -inf, -normal, -denormal, -0, +0, … +inf.
template <class Bits, int mantissaBits, int exponentBits> bool isOfClass(Bits x, uint32_t classes) {
  const Bits mantissa = x & ((Bits(1) << mantissaBits) - 1);
  const Bits exponent = x >> mantissaBits & ((Bits(1) << exponentBits) - 1), top = (Bits(1) << exponentBits) - 1;
  const bool negative = x >> (mantissaBits + exponentBits) & 1;
  unsigned index = 0;
  if (exponent == top && mantissa)
    index = mantissa >> (mantissaBits - 1) ? 1 : 0;
  else if (exponent == top)
    index = negative ? 2 : 9;
  else if (exponent)
    index = negative ? 3 : 8;
  else if (mantissa)
    index = negative ? 4 : 7;
  else
    index = negative ? 5 : 6;
  return classes >> index & 1;
}

} // namespace

void sectile::emulate::addComparisons(SemanticsTable &t) {
  addOrdered<F16>(t, "f16");
  addOrdered<F32>(t, "f32");
  addOrdered<F64>(t, "f64");
  addOrdered<I16>(t, "i16");
  addOrdered<U16>(t, "u16");
  addOrdered<I32>(t, "i32");
  addOrdered<U32>(t, "u32");
  addOrdered<I64>(t, "i64");
  addOrdered<U64>(t, "u64");
  add<U32, U32, [](uint32_t a, uint32_t c) { return isOfClass<uint32_t, 23, 8>(a, c); }>(t, "class_f32");
  add<U16, U32, [](uint32_t a, uint32_t c) { return isOfClass<uint32_t, 10, 5>(a, c); }>(t, "class_f16");
  add<U64, U32, [](uint64_t a, uint32_t c) { return isOfClass<uint64_t, 52, 11>(a, c); }>(t, "class_f64");
}
