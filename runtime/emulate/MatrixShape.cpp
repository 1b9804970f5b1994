// Names of matrix instructions, and where the elements of their results lie.
#include "runtime/emulate/MatrixShape.h"
#include "runtime/emulate/CodeObject.h"

using namespace sectile::emulate;
using Element = MatrixShape::Element;

namespace {

/// What one lane holds of a result.
struct Layout {
  const WaveInstruction &inst;
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
bool parseShape(llvm::StringRef name, MatrixShape &shape, uint8_t &cbsz, uint8_t &blgp) {
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
  if (name == "f8f6f4") { // the modifiers say which
    if (cbsz > 1 || blgp > 1)
      return false;
    shape.a = cbsz ? Element::bf8 : Element::fp8, shape.b = blgp ? Element::bf8 : Element::fp8;
    cbsz = blgp = 0;
    return true;
  }
  if (!parseElement(name, shape.a))
    return false;
  shape.b = shape.a;
  if (name.consume_front("_") && name != "1k" && !parseElement(name, shape.b))
    return false;
  return true;
}

} // namespace

bool sectile::emulate::findShape(WaveInstruction &inst, Generation generation) {
  llvm::StringRef name = inst.mnemonic;
  MatrixShape &shape = inst.matrix;
  const bool wmma = name.consume_front("v_wmma_");
  if ((!wmma && !name.consume_front("v_mfma_")) || !parseShape(name, shape, inst.cbsz, inst.blgp) ||
      inst.operandCount < 4)
    return false;
  if (inst.cbsz || inst.abid || inst.blgp || (!wmma && inst.negLo)) // broadcasts
    return false;
  // gfx90a's names do not say how many blocks there are; the result's registers do.
  const unsigned lanes = wmma ? 32 : 64, wide = shape.c == Element::f64 ? 2 : 1;
  shape.blocks = wmma ? 1 : uint16_t(inst[0].dwords / wide * lanes / (shape.m * shape.n));
  const unsigned elements = shape.m * shape.n * shape.blocks;
  if (!shape.blocks || elements > mostResults || shape.m > 32 || shape.n > 32 || shape.m * shape.k > mostElements)
    return false;
  const Layout layout{inst, lanes, generation};
  for (unsigned r = 0; r < layout.elements(); ++r)
    for (unsigned lane = 0; lane < lanes; ++lane)
      shape.places.push_back(
          uint16_t((layout.blockOf(lane, r) * shape.m + layout.rowOf(lane, r)) * shape.n + layout.columnOf(lane)));
  return true;
}
