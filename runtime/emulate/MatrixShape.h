// What a matrix instruction multiplies.
#pragma once

#include "runtime/emulate/WaveInstruction.h"

namespace sectile::emulate {

enum class Generation : uint8_t;

constexpr unsigned mostElements = 32 * 128, mostResults = 32 * 64; ///< of A or B of a block; of all results

constexpr unsigned bitsOf(MatrixShape::Element element) {
  using Element = MatrixShape::Element;
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

/// Reads the shape out of the mnemonic; false: the emulator lacks it.
bool findShape(WaveInstruction &inst, Generation generation);

} // namespace sectile::emulate
