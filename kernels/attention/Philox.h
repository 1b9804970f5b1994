// Philox4x32 (Salmon et al., SC 2011): random numbers as a pure function of a counter. One source for the host
// (Word = uint32_t) and for kernels (Word = tile::Tile of i32, whose shapes may differ and broadcast).
#pragma once

#include "sectile/Tile.h"

#include <array>
#include <cstdint>

namespace sectile::attention {

inline uint32_t select(bool condition, uint32_t a, uint32_t b) { return condition ? a : b; }
inline uint32_t mulHigh(uint32_t a, uint32_t b) { return static_cast<uint32_t>((static_cast<uint64_t>(a) * b) >> 32); }

template <class Word, int rounds = 10>
std::array<Word, 4> philox(const std::array<Word, 4> &counter, const std::array<Word, 2> &key) {
  if constexpr (rounds == 0) {
    return counter;
  } else {
    constexpr auto multiplier0 = static_cast<int32_t>(0xD2511F53), multiplier1 = static_cast<int32_t>(0xCD9E8D57);
    constexpr auto weyl0 = static_cast<int32_t>(0x9E3779B9), weyl1 = static_cast<int32_t>(0xBB67AE85);
    const auto &[c0, c1, c2, c3] = counter;
    const auto &[k0, k1] = key;
    return philox<Word, rounds - 1>(
        {mulHigh(c2, multiplier1) ^ c1 ^ k0, c2 * multiplier1, mulHigh(c0, multiplier0) ^ c3 ^ k1, c0 * multiplier0},
        {k0 + weyl0, k1 + weyl1});
  }
}

/// Dropout's random words: every (seed, offset, batch, head) has a stream of its own, and every weight of it a word.
///   stream = philox(counter {offset low, offset high, batch, head}, key {seed low, seed high})
///   word(query, key) = philox of 7 rounds(counter {key / 2, query without its bit 3, stream[2], stream[3]},
///                                         key {stream[0], stream[1]})[key % 2 + 2 (bit 3 of query)]
/// The four words go to weights that one thread of a GPU holds after a matrix product: two keys, and two queries 8
/// apart. 7 rounds are the fewest that pass all of its authors' tests.
template <class Word, class Bit>
Word dropoutWord(const std::array<Word, 4> &stream, const Word &queryWithoutBit3, const Bit &bit3, const Word &halfKey,
                 const Bit &isOdd) {
  const auto words = philox<Word, 7>({halfKey, queryWithoutBit3, stream[2], stream[3]}, {stream[0], stream[1]});
  return select(bit3, select(isOdd, words[3], words[2]), select(isOdd, words[1], words[0]));
}

/// A weight is kept when its word, unsigned, is below this: (1 - p) 2^32, to nearest, at most 2^32 - 1.
uint32_t dropoutThreshold(float dropout);

} // namespace sectile::attention
