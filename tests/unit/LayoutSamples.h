// Layouts to test with: random ones, and all their places.
#pragma once

#include "compiler/ir/Layout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <string>

namespace sectile::ir::samples {

inline std::mt19937 &generator() {
  static std::mt19937 random(7);
  return random;
}
inline int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(generator()); }

inline std::string describe(const Layout &layout) {
  std::string text = layout.toString() + " over";
  for (int64_t size : layout.shape())
    (text += ' ') += std::to_string(size);
  return text;
}

template <class Body> void forEachPlace(const Layout &layout, Body body) {
  for (int64_t reg = 0; reg != layout.registers(); ++reg)
    for (int64_t lane = 0; lane != 32; ++lane)
      for (int64_t warp = 0; warp != layout.warps(); ++warp)
        body(Layout::Place{reg, lane, warp});
}

/// Bits in any order, some of lanes and warps without effect, over a shape that has them.
inline Layout randomLayout(llvm::ArrayRef<int64_t> shape, int64_t warpBits, int64_t registerBits) {
  const auto copies = [](int64_t bits) { return below(3) == 0 ? below(bits + 1) : 0; };
  const int64_t laneCopies = copies(5), warpCopies = copies(warpBits);
  const int64_t bits = registerBits + 5 - laneCopies + warpBits - warpCopies;

  llvm::SmallVector<Coordinates> moves;
  Coordinates size(shape.size(), 1);
  for (int64_t i = 0; i != bits; ++i) {
    const auto d = static_cast<size_t>(below(static_cast<int64_t>(shape.size())));
    moves.emplace_back(shape.size(), 0)[d] = size[d];
    size[d] *= 2;
  }
  std::shuffle(moves.begin(), moves.end(), generator());
  const auto take = [&](int64_t count, int64_t copies) {
    llvm::SmallVector<Coordinates> bases(static_cast<size_t>(copies), Coordinates(shape.size(), 0));
    for (int64_t i = 0; i != count - copies; ++i)
      bases.push_back(moves.pop_back_val());
    std::shuffle(bases.begin(), bases.end(), generator());
    return bases;
  };
  const auto registers = take(registerBits, 0), lanes = take(5, laneCopies), warps = take(warpBits, warpCopies);
  return {registers, lanes, warps, shape};
}

inline llvm::SmallVector<int64_t> randomShape() {
  static constexpr int64_t sizes[] = {1, 2, 3, 8, 12, 16, 20, 32, 40, 64};
  llvm::SmallVector<int64_t> shape(static_cast<size_t>(1 + below(3)), 1);
  int64_t elements = 1;
  for (int64_t &size : shape)
    if (const int64_t wish = sizes[below(10)]; elements * wish <= 2048)
      elements *= size = wish;
  return shape;
}

inline Layout randomLayout() {
  const auto shape = randomShape();
  const int64_t warpBits = below(3), registerBits = below(4);
  return randomLayout(shape, warpBits, registerBits);
}

} // namespace sectile::ir::samples
