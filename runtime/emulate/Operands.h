// Typed operands of vector instructions, and what makes semantics of a function of one lane:
//   table["v_add_f32"] = valu<[](float a, float b) { return a + b; }, F32, F32, F32>;
// Modifiers (neg, abs, clamp, omod, op_sel, SDWA, DPP), denormal modes and poison are dealt with here, once.
#pragma once

#include "runtime/emulate/CodeObject.h"
#include "runtime/emulate/NumberFormats.h"
#include "runtime/emulate/Wave.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <tuple>

namespace sectile::emulate {

template <class V, unsigned Bits, bool IsFloat> struct Type {
  using Value = V;
  static constexpr unsigned bits = Bits;
  static constexpr bool isFloat = IsFloat;
};
struct F32 : Type<float, 32, true> {};
struct F16 : Type<float, 16, true> {};
struct H16 : Type<double, 16, true> {}; ///< f16 for operations whose exact result needs more than f32
struct F64 : Type<double, 64, true> {};
struct U32 : Type<uint32_t, 32, false> {};
struct I32 : Type<int32_t, 32, false> {};
struct U16 : Type<uint32_t, 16, false> {};
struct I16 : Type<int32_t, 16, false> {};
struct U64 : Type<uint64_t, 64, false> {};
struct I64 : Type<int64_t, 64, false> {};

template <class T> struct alignas(64) Lanes {
  typename T::Value at[maxLanes];
};

/// An operand of all lanes: `buffer`, or the register itself. Adds to the wave's poisonIn.
template <class T>
const typename T::Value *read(Wave &wave, const WaveInstruction &inst, const Operand &operand, Lanes<T> &buffer);
/// Writes lanes that are on; undefined where poisonIn says so.
template <class T> void write(Wave &wave, const WaveInstruction &inst, const Operand &operand, Lanes<T> &result);

inline float flushed(float x) { return (asBits(x) & 0x7f800000) ? x : asFloat(asBits(x) & 0x80000000); }

/// Semantics of a function of one lane's values: operand 0 is the result, the sources follow.
template <auto F, class R, class... A, size_t... I>
void valuOf(Wave &wave, const WaveInstruction &inst, std::index_sequence<I...>) {
  std::tuple<Lanes<A>...> buffers;
  const std::tuple<const typename A::Value *...> in{read<A>(wave, inst, inst[I + 1], std::get<I>(buffers))...};
  Lanes<R> result;
  const unsigned lanes = wave.lanes;
  for (unsigned lane = 0; lane < lanes; ++lane)
    result.at[lane] = F(std::get<I>(in)[lane]...);
  write<R>(wave, inst, inst[0], result);
}
template <auto F, class R, class... A> void valu(Wave &wave, const WaveInstruction &inst) {
  valuOf<F, R, A...>(wave, inst, std::index_sequence_for<A...>());
}

/// The same for sums and products of 32 bits: the lower half of the result depends on the lower halves alone.
template <auto F, class R, class... A> void carrying(Wave &wave, const WaveInstruction &inst) {
  wave.carriesUp = true;
  valu<F, R, A...>(wave, inst);
  wave.carriesUp = false;
}

/// The same for functions that move bits (32-bit types): poison keeps to the halves it can reach. A half of the result
/// is undefined if it differs for undefined bits of 0 and of 1.
void spreadBits(Wave &wave, const WaveInstruction &inst, unsigned sources,
                llvm::function_ref<uint32_t(const uint32_t *)> function);

template <auto F, size_t... I> void bitsOf(Wave &wave, const WaveInstruction &inst, std::index_sequence<I...> indices) {
  uint64_t undefined = 0;
  for (unsigned source : {unsigned(I + 1)...})
    undefined |= wave.poisonOf(inst, inst[source], 0).any();
  if (!(undefined & wave.execMask()) || inst.sdwa)
    return valuOf<F, U32, std::conditional_t<I == 0, U32, U32>...>(wave, inst, indices);
  spreadBits(wave, inst, sizeof...(I), [](const uint32_t *in) -> uint32_t { return F(in[I]...); });
}
template <auto F, unsigned sources> void bits(Wave &wave, const WaveInstruction &inst) {
  bitsOf<F>(wave, inst, std::make_index_sequence<sources>());
}

/// One value of a lane, for instructions that are not a function of lanes.
inline uint32_t laneBits(const Wave &wave, const Operand &operand, unsigned part, unsigned lane) {
  if (operand.isVector())
    return wave.v[operand.reg + part][lane];
  if (operand.isScalar())
    return operand.reg == nullRegister ? 0 : wave.s[operand.reg + part];
  return operand.dwords > 1 || part ? uint32_t(operand.bits64 >> (32 * part)) : operand.bits32;
}

} // namespace sectile::emulate
