// MFMA (gfx9) and WMMA (gfx11, gfx12): the product of two matrices that lie in registers.
//
// Operands: lane l of MFMA holds row (of A) or column (of B) l % m of block l / m % blocks, and consecutive k from
// (l / m / blocks) * (elements of a lane) on. WMMA is the same with m = 16 and 32 lanes; gfx11 wants lanes 16..31 to
// repeat lanes 0..15, which hold all k. Results lie as MatrixShape::places says.
#include "runtime/emulate/CodeObject.h"
#include "runtime/emulate/MatrixShape.h"
#include "runtime/emulate/NumberFormats.h"
#include "runtime/emulate/Semantics.h"
#include "runtime/emulate/Wave.h"

#include <cmath>

using namespace sectile::emulate;
using Element = MatrixShape::Element;
using u32 = uint32_t;

namespace {

/// Element i of a lane's operand, as bits.
uint64_t elementBits(const Wave &wave, const Operand &operand, unsigned bits, unsigned lane, unsigned i) {
  if (!operand.isVector())
    return operand.kind == Operand::Kind::constant ? (bits == 64 ? operand.bits64 : operand.bits32) : 0;
  const auto &rows = wave.v;
  if (bits == 64)
    return rows[operand.reg + 2 * i][lane] | uint64_t(rows[operand.reg + 2 * i + 1][lane]) << 32;
  const u32 word = rows[operand.reg + i * bits / 32][lane];
  return bits == 32 ? word : word >> (i * bits % 32) & ((1u << bits) - 1);
}

template <class V> V valueOf(uint64_t bits, Element element, const Wave &wave, bool isSigned) {
  const bool fnuz = wave.generation == Generation::gfx940;
  switch (element) {
  case Element::f16:
    return V(halfToFloat(u32(bits)));
  case Element::bf16:
    return V(bfloatToFloat(u32(bits)));
  case Element::f32:
    return V(asFloat(u32(bits)));
  case Element::f64:
    return V(std::bit_cast<double>(bits));
  case Element::fp8:
    return V(Float8{4, 3, fnuz}.toFloat(uint8_t(bits)));
  case Element::bf8:
    return V(Float8{5, 2, fnuz}.toFloat(uint8_t(bits)));
  case Element::i8:
    return isSigned ? V(int8_t(bits)) : V(uint8_t(bits));
  case Element::i4:
    return isSigned ? V(int8_t(bits << 4) >> 4) : V(bits & 15);
  case Element::i32:
    return V(int32_t(bits));
  }
  return V(0);
}

/// A or B of one block: [k][row or column], and rows that are undefined.
template <class V> struct Source {
  alignas(64) V at[mostElements];
  uint32_t undefined = 0;
};

/// `width` is m for A and n for B. False after a fault.
template <class V>
bool readSource(Wave &wave, const WaveInstruction &inst, unsigned index, unsigned block, Source<V> &out) {
  const MatrixShape &shape = inst.matrix;
  const Operand &operand = inst[index];
  const Element element = index == 1 ? shape.a : shape.b;
  const unsigned width = index == 1 ? shape.m : shape.n, bits = bitsOf(element), source = index - 1;
  const bool replicated = wave.generation == Generation::gfx11, wmma = wave.lanes == 32;
  const unsigned perLane = operand.dwords * 32 / bits;
  const bool isSigned = !wmma || inst.negLo >> source & 1;
  const bool isInteger = element == Element::i8 || element == Element::i4;
  const bool flush = wave.generation == Generation::gfx90a && bits == 16; // of 16-bit operands
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const unsigned i = lane % width, group = lane / width;
    uint64_t poison = 0;
    for (unsigned part = 0; part < operand.dwords; ++part)
      poison |= wave.poison[operand.reg + part].any() >> lane & 1;
    if (replicated && lane >= 16) {
      for (unsigned part = 0; part < operand.dwords; ++part)
        if (wave.v[operand.reg + part][lane] != wave.v[operand.reg + part][lane - 16]) {
          wave.fault("operand " + llvm::Twine(index == 1 ? "A" : "B") + " of this processor is the same in lanes " +
                         llvm::Twine(lane - 16) + " and " + llvm::Twine(lane) + ", but register v" +
                         llvm::Twine(operand.reg + part) + " is not",
                     int(lane));
          return false;
        }
      out.undefined |= u32(poison) << i;
      continue;
    }
    if (group % shape.blocks != block)
      continue;
    out.undefined |= u32(poison) << i;
    const unsigned firstK = replicated ? 0 : group / shape.blocks * perLane;
    for (unsigned e = 0; e < perLane && firstK + e < shape.k; ++e) {
      uint64_t raw = elementBits(wave, operand, bits, lane, e);
      if (flush && !(raw & (element == Element::f16 ? 0x7c00 : 0x7f80)))
        raw &= 0x8000;
      V value = valueOf<V>(raw, element, wave, isSigned);
      if (wmma && !isInteger && (e & 1 ? inst.negHi : inst.negLo) >> source & 1)
        value = -value;
      out.at[(firstK + e) * width + i] = value;
    }
  }
  return true;
}

/// acc[m][n] += A * B, one k after another; `exact`: products have no rounding, so that a fused sum is the same.
template <bool exact, unsigned n, class V> void multiplyBy(const V *a, const V *b, V *acc, unsigned m, unsigned k) {
  for (unsigned i = 0; i < m; ++i) {
    V sums[n];
    std::copy_n(acc + i * n, n, sums);
    for (unsigned step = 0; step < k; ++step)
      for (unsigned j = 0; j < n; ++j)
        if constexpr (exact || std::is_integral_v<V>)
          sums[j] += a[step * m + i] * b[step * n + j];
        else
          sums[j] = std::fma(a[step * m + i], b[step * n + j], sums[j]);
    std::copy_n(sums, n, acc + i * n);
  }
}
template <bool exact, class V> void multiply(const V *a, const V *b, V *acc, const MatrixShape &shape) {
  const auto function = shape.n == 32   ? multiplyBy<exact, 32, V>
                        : shape.n == 16 ? multiplyBy<exact, 16, V>
                                        : multiplyBy<exact, 4, V>;
  function(a, b, acc, shape.m, shape.k);
}

/// Where element r of a lane's accumulator is: which register, and by how much 16-bit ones are shifted.
struct Place {
  unsigned reg, shift;
};

template <class V> class Product {
public:
  Product(Wave &wave, const WaveInstruction &inst)
      : wave(wave), inst(inst), shape(inst.matrix), elements(unsigned(shape.places.size()) / wave.lanes),
        wide(shape.c == Element::f64 ? 2 : 1), narrow(bitsOf(shape.c) == 16), wmma(wave.lanes == 32) {}

  void run() {
    if (wmma && wave.execMask() != wave.allLanes)
      return wave.fault("a WMMA instruction needs all lanes on");
    static thread_local Source<V> a, b;
    alignas(64) V acc[mostResults];
    readAccumulator(acc);
    const bool exact = bitsOf(shape.a) <= 16;
    uint32_t undefinedA[16] = {}, undefinedB[16] = {};
    bool undefined = false;
    for (unsigned block = 0; block < shape.blocks; ++block) {
      a.undefined = b.undefined = 0;
      if (!readSource(wave, inst, 1, block, a) || !readSource(wave, inst, 2, block, b))
        return;
      undefinedA[block] = a.undefined, undefinedB[block] = b.undefined;
      undefined |= a.undefined || b.undefined;
      V *sums = acc + block * shape.m * shape.n;
      exact ? multiply<true>(a.at, b.at, sums, shape) : multiply<false>(a.at, b.at, sums, shape);
    }
    for (unsigned source : {1, 2, 3}) // where the first poison comes from
      for (unsigned part = 0; part < inst[source].dwords && inst[source].isVector() && !wave.originIn; ++part)
        if (wave.poison[inst[source].reg + part].any())
          wave.originIn = wave.origin[inst[source].reg + part];
    for (unsigned part = 0; part < inst[0].dwords; ++part)
      poison[part] = inst[3].isVector() ? wave.poison[inst[3].reg + part] : Poison();
    if (undefined)
      spread(undefinedA, undefinedB);
    writeResult(acc);
  }

private:
  /// gfx11 has one 16-bit result in a register and keeps the other half, gfx12 has two.
  Place placeOf(unsigned r) const {
    if (!narrow)
      return {r * wide, 0};
    return wave.generation == Generation::gfx11 ? Place{r, inst.opSel >> 2 & 1 ? 16u : 0u} : Place{r / 2, r % 2 * 16};
  }

  void readAccumulator(V *acc) const {
    const Operand &from = inst[3];
    for (unsigned r = 0; r < elements; ++r) {
      const Place place = placeOf(r);
      const uint16_t *places = &shape.places[r * wave.lanes];
      for (unsigned lane = 0; lane < wave.lanes; ++lane) {
        V value;
        if (!from.isVector())
          value = from.isFloat ? V(from.value)
                               : valueOf<V>(elementBits(wave, from, 32 * wide, 0, 0), narrow ? Element::f32 : shape.c,
                                            wave, true);
        else if (narrow)
          value = valueOf<V>(wave.v[from.reg + place.reg][lane] >> place.shift & 0xffff, shape.c, wave, true);
        else if (wide == 2)
          value = valueOf<V>(elementBits(wave, from, 64, lane, r), shape.c, wave, true);
        else
          value = std::bit_cast<std::conditional_t<sizeof(V) == 4, V, float>>(wave.v[from.reg + r][lane]);
        if (wmma && inst.negHi >> 2 & 1)
          value = value < 0 ? -value : value;
        if (wmma && inst.negLo >> 2 & 1)
          value = -value;
        acc[places[lane]] = value;
      }
    }
  }

  /// An undefined element of A makes its row undefined, one of B its column.
  void spread(const uint32_t *undefinedA, const uint32_t *undefinedB) {
    for (unsigned r = 0; r < elements; ++r)
      for (unsigned lane = 0; lane < wave.lanes; ++lane) {
        const unsigned at = shape.places[r * wave.lanes + lane], block = at / (shape.m * shape.n);
        const unsigned row = at / shape.n % shape.m, column = at % shape.n;
        if (!((undefinedA[block] >> row | undefinedB[block] >> column) & 1))
          continue;
        const Place place = placeOf(r);
        for (unsigned part = 0; part < wide; ++part) {
          Poison &own = poison[place.reg + part];
          own.low |= uint64_t(!narrow || !place.shift) << lane;
          own.high |= uint64_t(!narrow || place.shift) << lane;
        }
      }
  }

  void writeResult(const V *acc) {
    const Operand &to = inst[0];
    alignas(64) u32 rows[64][maxLanes];
    if (narrow) // halves that are no result stay
      for (unsigned part = 0; part < to.dwords; ++part) {
        std::memcpy(rows[part], wave.v[to.reg + part], sizeof rows[part]);
        if (wave.generation == Generation::gfx11) {
          const Poison &old = wave.poison[to.reg + part];
          inst.opSel >> 2 & 1 ? poison[part].low = old.low : poison[part].high = old.high;
        }
      }
    const bool flush = wave.generation == Generation::gfx90a && bitsOf(shape.a) == 16;
    for (unsigned r = 0; r < elements; ++r) {
      const Place place = placeOf(r);
      const uint16_t *places = &shape.places[r * wave.lanes];
      u32 *row = rows[place.reg];
      for (unsigned lane = 0; lane < wave.lanes; ++lane) {
        const V value = acc[places[lane]];
        if constexpr (sizeof(V) == 8) {
          const uint64_t bits = std::bit_cast<uint64_t>(value);
          row[lane] = u32(bits), rows[place.reg + 1][lane] = u32(bits >> 32);
        } else if (narrow) {
          const u32 half = shape.c == Element::f16 ? floatToHalf(float(value)) : floatToBfloat(float(value));
          row[lane] = (row[lane] & ~(0xffffu << place.shift)) | half << place.shift;
        } else {
          const u32 bits = std::bit_cast<u32>(value);
          row[lane] = flush && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
        }
      }
    }
    for (unsigned part = 0; part < to.dwords; ++part) // whatever EXEC is
      wave.setDwords(inst, to, part, rows[part], wave.allLanes, poison[part]);
  }

  Wave &wave;
  const WaveInstruction &inst;
  const MatrixShape &shape;
  const unsigned elements, wide;
  const bool narrow, wmma;
  Poison poison[64];
};

template <class V> void product(Wave &wave, const WaveInstruction &inst) { Product<V>(wave, inst).run(); }

} // namespace

Semantics sectile::emulate::findMatrix(WaveInstruction &inst, Generation generation) {
  if (!findShape(inst, generation))
    return nullptr;
  switch (inst.matrix.c) {
  case Element::i32:
    return product<uint32_t>; // wraps
  case Element::f64:
    return product<double>;
  default:
    return product<float>;
  }
}
