// The argument list of the forward kernel, from its two sides: declared while tracing, bound for a launch.
#pragma once

#include "kernels/attention/Forward.h"

#include <optional>
#include <vector>

namespace sectile::attention {

/// Dropout's run-time values. 64-bit numbers are two words, low and high.
struct DropoutArguments {
  tile::Tile seedLow, seedHigh, offsetLow, offsetHigh;
  tile::Tile threshold; ///< dropoutThreshold() with its sign bit flipped, so that a signed comparison orders it
  tile::Tile keepScale; ///< 1 / (1 - p)

  explicit DropoutArguments(Trace &t);
};

/// What forward() declares, in this order. Arrays are [batch, head, row, column].
struct ForwardArguments {
  tile::View q, k, v;
  std::optional<tile::View> queryScale, keyScale, valueScale; // [batch, key head]
  std::optional<tile::View> bias, alibiSlopes, sink, keyLengths;
  tile::View out;
  std::optional<tile::View> lse;
  tile::Tile scale;
  std::optional<tile::Tile> softcap, left, right;
  std::optional<DropoutArguments> dropout;
  std::optional<tile::Tile> lastHeads; ///< how many at the end have their longest blocks first
  std::vector<tile::Tile> scalars;     ///< of the user's functions

  ForwardArguments(Trace &t, const ForwardConfig &c);
};

} // namespace sectile::attention
