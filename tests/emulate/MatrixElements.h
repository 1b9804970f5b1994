// Numbers as the operands of matrix instructions hold them.
#pragma once

#include "compiler/support/Float.h"

namespace sectile::warps {

enum class Element { f16, bf16, tf32, e4m3, e5m2 };

inline int bitsOf(Element element) { return element == Element::tf32 ? 32 : element <= Element::bf16 ? 16 : 8; }

inline float decodeElement(Element element, uint32_t bits) {
  switch (element) {
  case Element::f16:
    return decode<f16>(bits);
  case Element::bf16:
    return decode<bf16>(bits);
  case Element::e4m3:
    return decode<f8e4m3>(bits);
  case Element::e5m2:
    return decode<f8e5m2>(bits);
  case Element::tf32:
    break;
  }
  return std::bit_cast<float>(bits & 0xffffe000u);
}

/// Element i of the words of a lane, undecoded.
inline uint32_t elementBits(Element type, const uint32_t *words, int i) {
  const int bits = bitsOf(type), perWord = 32 / bits;
  const uint32_t word = words[i / perWord] >> (i % perWord * bits);
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

} // namespace sectile::warps
