// MFMA (gfx9) and WMMA (gfx11, gfx12): where each lane's elements belong, and the product.
//
// Operands: lane l of MFMA holds row (of A) or column (of B) l % m of block l / m % blocks, and consecutive k from
// (l / m / blocks) * (elements of a lane) on. WMMA is the same with m = 16 and 32 lanes; gfx11 wants lanes 16..31 to
// repeat lanes 0..15, which hold all k. Results lie as rowOf() and columnOf() say.
#include "runtime/emulate/CodeObject.h"
#include "runtime/emulate/NumberFormats.h"
#include "runtime/emulate/Semantics.h"
#include "runtime/emulate/Wave.h"

#include <cmath>

using namespace sectile::emulate;
using Element = MatrixShape::Element;
using u32 = uint32_t;

namespace {

unsigned bitsOf(Element element) {
  switch (element) {
  case Element::f16:
  case Element::bf16:
    return 16;
  case Element::fp8:
  case Element::bf8:
  case Element::i8:
    return 8;
  case Element::i4:
    return 4;
  case Element::f64:
    return 64;
  default:
    return 32;
  }
}

/// What one lane holds of a result.
struct Layout {
  const Instruction &inst;
  const unsigned lanes;
  const Generation generation;

  bool isWide() const { return inst.matrix.c == Element::f64; }
  unsigned perBlock() const {
    return inst.matrix.m * inst.matrix.n / lanes * (inst.matrix.m == 4 ? inst.matrix.blocks : 1);
  }
  unsigned elements() const { return inst.matrix.m * inst.matrix.n * inst.matrix.blocks / lanes; }
  unsigned columnOf(unsigned lane) const { return lane % inst.matrix.n; }
  unsigned rowOf(unsigned lane, unsigned r) const {
    const unsigned group = lane / inst.matrix.n;
    if (generation == Generation::gfx11)
      return 2 * r + group;
    if (generation == Generation::gfx12)
      return r + 8 * group;
    if (inst.matrix.m == 4)
      return isWide() ? lane / 16 : r;
    if (isWide())
      return 4 * r + group;
    r %= perBlock();
    return inst.matrix.m == 32 ? 8 * (r / 4) + 4 * group + r % 4 : 4 * group + r;
  }
  unsigned blockOf(unsigned lane, unsigned r) const {
    if (inst.matrix.m == 4)
      return lane / 4 % inst.matrix.blocks;
    return r / perBlock();
  }
};

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

constexpr unsigned mostElements = 32 * 128; ///< m or n times k of a block

/// A or B of one block: [k][row or column], and rows that are undefined.
template <class V> struct Source {
  alignas(64) V at[mostElements];
  uint32_t undefined = 0;
};

/// `width` is m for A and n for B. False after a fault.
template <class V>
bool readSource(Wave &wave, const Instruction &inst, unsigned index, unsigned block, Source<V> &out) {
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

/// acc[m][n] += A * B, one k after another.
template <class V> void multiply(const V *a, const V *b, V *acc, unsigned m, unsigned n, unsigned k, bool exact) {
  for (unsigned step = 0; step < k; ++step)
    for (unsigned i = 0; i < m; ++i) {
      const V x = a[step * m + i];
      const V *row = b + step * n;
      V *sums = acc + i * n;
      if constexpr (std::is_floating_point_v<V>)
        if (!exact) {
          for (unsigned j = 0; j < n; ++j)
            sums[j] = std::fma(x, row[j], sums[j]);
          continue;
        }
      for (unsigned j = 0; j < n; ++j)
        sums[j] += x * row[j];
    }
}

template <class V> void product(Wave &wave, const Instruction &inst) {
  const MatrixShape &shape = inst.matrix;
  const Layout layout{inst, wave.lanes, wave.generation};
  const Operand &to = inst[0], &from = inst[3];
  const bool wmma = wave.lanes == 32, narrow = bitsOf(shape.c) == 16;
  if (wmma && wave.execMask() != wave.allLanes)
    return wave.fault("a WMMA instruction needs all lanes on");
  ++wave.counters.mfma;
  static thread_local Source<V> a, b;
  alignas(64) V acc[32 * 32];
  u32 result[64][maxLanes];
  Poison poison[64];
  const unsigned elements = layout.elements();
  const bool exact = bitsOf(shape.a) <= 16; // the product of two elements has no rounding
  const bool high = narrow && wave.generation == Generation::gfx11 && inst.opSel >> 2 & 1;
  if (narrow && wave.generation == Generation::gfx11) // the other halves stay
    for (unsigned r = 0; r < to.dwords; ++r) {
      std::memcpy(result[r], wave.v[to.reg + r], sizeof result[r]);
      poison[r] = wave.poison[to.reg + r];
      (high ? poison[r].high : poison[r].low) = 0;
    }
  // Where an element of the accumulator lies: register, and shift of 16-bit ones.
  auto placeOf = [&](unsigned r, unsigned &shift) {
    shift = !narrow ? 0 : wave.generation == Generation::gfx11 ? (high ? 16 : 0) : r % 2 * 16;
    return !narrow ? r : wave.generation == Generation::gfx11 ? r : r / 2;
  };
  for (unsigned block = 0; block < shape.blocks; ++block) {
    a.undefined = b.undefined = 0;
    if (!readSource(wave, inst, 1, block, a) || !readSource(wave, inst, 2, block, b))
      return;
    auto each = [&](auto function) {
      for (unsigned r = 0; r < elements; ++r)
        for (unsigned lane = 0; lane < wave.lanes; ++lane)
          if (layout.blockOf(lane, r) == block)
            function(r, lane, layout.rowOf(lane, r) * shape.n + layout.columnOf(lane));
    };
    each([&](unsigned r, unsigned lane, unsigned at) {
      unsigned shift = 0;
      const unsigned reg = placeOf(r, shift);
      V value;
      if (narrow && from.isVector())
        value = valueOf<V>(wave.v[from.reg + reg][lane] >> shift & 0xffff, shape.c, wave, true);
      else if (from.isVector() || !from.isFloat || shape.c == Element::f64)
        value = valueOf<V>(elementBits(wave, from, std::max(32u, bitsOf(shape.c)), lane, r),
                           narrow ? Element::f32 : shape.c, wave, true);
      else
        value = V(from.value);
      if (wmma && inst.negHi >> 2 & 1)
        value = value < 0 ? -value : value;
      if (wmma && inst.negLo >> 2 & 1)
        value = -value;
      acc[at] = value;
    });
    multiply(a.at, b.at, acc, shape.m, shape.n, shape.k, exact);
    each([&](unsigned r, unsigned lane, unsigned at) {
      unsigned shift = 0;
      const unsigned reg = placeOf(r, shift);
      V value = acc[at];
      if (shape.c == Element::f64) {
        const uint64_t bits = std::bit_cast<uint64_t>(double(value));
        result[2 * r][lane] = u32(bits), result[2 * r + 1][lane] = u32(bits >> 32);
      } else if (shape.c == Element::f32) {
        const float single = float(value);
        result[r][lane] = asBits(wave.generation == Generation::gfx90a && exact
                                     ? (asBits(single) & 0x7f800000 ? single : asFloat(asBits(single) & 0x80000000))
                                     : single);
      } else if (shape.c == Element::i32) {
        result[r][lane] = u32(int64_t(value));
      } else {
        const u32 half = shape.c == Element::f16 ? floatToHalf(float(value)) : floatToBfloat(float(value));
        result[reg][lane] = shift || wave.generation == Generation::gfx11
                                ? (result[reg][lane] & ~(0xffffu << shift)) | half << shift
                                : half;
      }
      bool undefined = (a.undefined >> (at / shape.n) | b.undefined >> (at % shape.n)) & 1;
      const unsigned wide = shape.c == Element::f64 ? 2 : 1;
      if (from.isVector())
        for (unsigned part = 0; part < wide; ++part) {
          const Poison &own = wave.poison[from.reg + reg * wide + part];
          undefined |= (!narrow ? own.any() : shift ? own.high : own.low) >> lane & 1;
        }
      if (undefined)
        for (unsigned part = 0; part < wide; ++part) {
          Poison &own = poison[reg * wide + part];
          if (!narrow || !shift)
            own.low |= uint64_t(1) << lane;
          if (!narrow || shift)
            own.high |= uint64_t(1) << lane;
        }
    });
  }
  for (unsigned part = 0; part < to.dwords; ++part) // whatever EXEC is
    wave.setDwords(inst, to, part, result[part], wave.allLanes, poison[part]);
}

bool parseElement(llvm::StringRef &name, Element &element) {
  const std::pair<const char *, Element> names[] = {
      {"bf16", Element::bf16}, {"f16", Element::f16}, {"f32", Element::f32}, {"f64", Element::f64},
      {"fp8", Element::fp8},   {"bf8", Element::bf8}, {"iu8", Element::i8},  {"iu4", Element::i4},
      {"i8", Element::i8},     {"i32", Element::i32}};
  for (const auto &[text, value] : names)
    if (name.consume_front(text))
      return element = value, true;
  return false;
}

/// "f32_32x32x8f16", "f32_32x32x4_2b_bf16", "f32_16x16x32_fp8_bf8"
bool parseShape(llvm::StringRef name, MatrixShape &shape) {
  auto number = [&](uint16_t &value) { return !name.consumeInteger(10, value); };
  if (!parseElement(name, shape.c) || !name.consume_front("_") || !number(shape.m) || !name.consume_front("x") ||
      !number(shape.n) || !name.consume_front("x") || !number(shape.k))
    return false;
  shape.blocks = shape.m == 4 ? 16 : 0;
  name.consume_front("_");
  if (uint16_t blocks = 0; !name.empty() && name.front() <= '9') {
    if (!number(blocks) || !name.consume_front("b"))
      return false;
    shape.blocks = blocks;
    name.consume_front("_");
  }
  if (!parseElement(name, shape.a))
    return false;
  shape.b = shape.a;
  if (name.consume_front("_") && name != "1k" && !parseElement(name, shape.b))
    return false;
  return true;
}

} // namespace

Semantics sectile::emulate::findMatrix(Instruction &inst) {
  llvm::StringRef name = inst.mnemonic;
  const bool wmma = name.consume_front("v_wmma_");
  if ((!wmma && !name.consume_front("v_mfma_")) || !parseShape(name, inst.matrix) || inst.operandCount < 4)
    return nullptr;
  if (inst.cbsz || inst.abid || inst.blgp || (!wmma && inst.negLo))
    return nullptr; // broadcasts
  MatrixShape &shape = inst.matrix;
  // gfx90a's names do not say how many blocks there are; the result's registers do.
  const unsigned perElement = shape.c == Element::f64 ? 2 : 1;
  if (wmma)
    shape.blocks = 1;
  else
    shape.blocks = uint16_t(inst[0].dwords / perElement * 64 / (shape.m * shape.n));
  const unsigned elements = shape.m * shape.n * shape.blocks;
  if (!shape.blocks || elements / 64 > 32 || shape.m > 32 || shape.n > 32 || shape.m * shape.k > mostElements)
    return nullptr;
  switch (shape.c) {
  case Element::i32:
    return product<uint32_t>; // wraps
  case Element::f64:
    return product<double>;
  default:
    return product<float>;
  }
}
