// From the products q k^T to the weights of the softmax: scale, softcap, bias, ALiBi, the user's modifier, masks,
// dropout.
#pragma once

#include "kernels/attention/ForwardArguments.h"

#include <array>

namespace sectile::attention {

/// The rows of scores that one program computes: what does not change from one block of keys to the next.
class ScoreRows {
public:
  ScoreRows(Trace &t, const ForwardConfig &c, const ForwardArguments &a);

  /// One block of keys: its first, and the column indices [1, blockN].
  struct Block {
    tile::Tile col0, cols;
  };
  Block block(const tile::Tile &index) const;
  /// The blocks [first, last) that some row can see.
  tile::Tile firstBlock() const;
  tile::Tile lastBlock() const;

  /// Queries with as much of the scale in them as their type can carry.
  tile::Tile scaledQueries(const tile::Tile &Q) const;
  /// The scores of a block, from the products of scaledQueries() and keys; -inf where the key is invisible. They are in
  /// units of ln 2, for exp2, once they are scaled().
  tile::Tile scores(const tile::Tile &products, const Block &block) const;
  /// What is left of the scale when it is positive and comes last: the maximum does not need it then, and a scaled
  /// score less the maximum is one multiply-add.
  tile::Tile scaled(const tile::Tile &scores) const;
  /// Values as they are multiplied by weights, with zeros past the key length: what lies there may be anything, and 0 *
  /// NaN is NaN.
  tile::Tile values(const tile::Tile &V, const Block &block) const;
  /// Weights without the dropped ones. The softmax is of all weights: its sum takes them before.
  tile::Tile kept(const tile::Tile &P, const Block &block) const;

  const int64_t blockM, blockN;
  const tile::Tile batch, head, kvHead, row0, rows; ///< rows is [blockM, 1]

private:
  /// Where a program is in the grid.
  struct Place {
    tile::Tile block, head, batch;
  };
  static Place placeIn(Trace &t, const ForwardConfig &c, const ForwardArguments &a);
  ScoreRows(Trace &t, const ForwardConfig &c, const ForwardArguments &a, const Place &place);

  tile::Tile modified(const tile::Tile &products, const Block &block) const;
  std::optional<tile::Tile> visible(const Block &block) const;
  ScorePosition position(const Block &block) const;
  tile::Shape shape() const { return {blockM, blockN}; }

  Trace &t;
  const ForwardConfig &c;
  const ForwardArguments &a;
  const tile::Tile queries, keys, length; ///< length: keys at or past it are invisible
  const float unit;                       ///< of scores before the user's modifier: it sees natural ones
  const tile::Tile scale;                 ///< of products, those of f8 tensors in it
  const tile::Tile factor;                ///< from products to scores; with a softcap, to the exponent of its tanh
  const bool scaledLast;                  ///< by scaled()
  std::optional<std::array<tile::Tile, 4>> dropoutStream;
};

} // namespace sectile::attention
