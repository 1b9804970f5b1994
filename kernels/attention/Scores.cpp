#include "kernels/attention/Scores.h"

#include "kernels/attention/Philox.h"
#include "sectile/Error.h"

#include <limits>
#include <string>

namespace sectile::attention {
using namespace tile;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float log2e = 1.44269504f;

/// What a user's function returned, stretched to the score tile.
static Tile userResult(const char *option, const Tile &result, Type type, const Shape &shape) {
  if (result.type() != type)
    throw UserError("attention: " + std::string(option) + " returned a tile of type " +
                    std::string(typeName(result.type())) + ": it must return " + std::string(typeName(type)));
  return broadcast(result, shape);
}

/// The scale of the scores times those of the tensors.
static Tile productScale(const ForwardArguments &a, const Tile &batch, const Tile &kvHead) {
  Var scale = a.scale;
  for (const std::optional<View> *tensor : {&a.queryScale, &a.keyScale})
    if (*tensor)
      scale = scale * (*tensor)->load({batch, kvHead}, {});
  return scale;
}

ScoreRows::Place ScoreRows::placeIn(Trace &t, const ForwardConfig &c, const ForwardArguments &a) {
  if (c.paired) {
    const Tile place = t.program(0), half = floorDiv(place, 2);
    const Tile isOdd = place - half * 2 == 1;
    return {select(isOdd, ceilDiv(a.q.dim(2), t.schedule().blockM) - 1 - half, half), t.program(1), t.program(2)};
  }
  if (!c.longestFirst)
    return {t.program(0), t.program(1), t.program(2)};
  // Heads of all sequences in a row; those of the last ones lie beside one another, block after block.
  const Tile blocks = ceilDiv(a.q.dim(2), t.schedule().blockM), heads = a.q.dim(1);
  const Tile firstOfLast = a.q.dim(0) * heads - *a.lastHeads, start = firstOfLast * blocks;
  const Tile program = t.program(0), isLast = program >= start;
  const Tile place = program - select(isLast, start, 0), width = select(isLast, *a.lastHeads, blocks);
  const Tile line = floorDiv(place, width), rest = place - line * width;
  const Tile inAll = select(isLast, firstOfLast + rest, line), batch = floorDiv(inAll, heads);
  return {select(isLast, line, rest), inAll - batch * heads, batch};
}

/// Below a diagonal the last rows see the most keys: their programs come first, so that those that run last are short.
static Tile firstRow(const ForwardArguments &a, const Tile &block, int64_t blockM) {
  return (a.right ? ceilDiv(a.q.dim(2), blockM) - 1 - block : block) * blockM;
}

ScoreRows::ScoreRows(Trace &t, const ForwardConfig &c, const ForwardArguments &a)
    : ScoreRows(t, c, a, placeIn(t, c, a)) {}

ScoreRows::ScoreRows(Trace &t, const ForwardConfig &c, const ForwardArguments &a, const Place &place)
    : blockM(t.schedule().blockM), blockN(t.schedule().blockN), batch(place.batch), head(place.head),
      kvHead(floorDiv(head, floorDiv(a.q.dim(1), a.k.dim(1)))), // grouped-query attention
      row0(firstRow(a, place.block, blockM)), rows(column(t.iota(blockM)) + row0), t(t), c(c), a(a),
      queries(a.q.dim(2)), keys(a.k.dim(2)), length(a.keyLengths ? min(a.keyLengths->load({batch}, {}), keys) : keys),
      unit(c.scoreModifier ? 1.0f : log2e), scale(productScale(a, batch, kvHead)),
      factor(a.softcap ? scale / *a.softcap * (2 * log2e) : scale * unit),
      scaledLast(c.positiveScale && c.type != Type::f32 && !a.queryScale && !a.keyScale && !a.softcap && !a.bias &&
                 !a.alibiSlopes && !c.scoreModifier) {
  if (a.dropout) {
    const DropoutArguments &d = *a.dropout;
    dropoutStream.emplace(philox<Tile>({d.offsetLow, d.offsetHigh, batch, head}, {d.seedLow, d.seedHigh}));
  }
}

ScoreRows::Block ScoreRows::block(const Tile &index) const {
  const Tile col0 = index * blockN;
  return {col0, row(t.iota(blockN)) + col0};
}

Tile ScoreRows::firstBlock() const {
  return a.left ? floorDiv(max(row0 + *a.left, 0), blockN) : t.full(0, {}, Type::i32);
}

Tile ScoreRows::lastBlock() const { return ceilDiv(a.right ? min(length, row0 + blockM + *a.right) : length, blockN); }

// 16-bit queries cannot carry the scale without an error of their own.
Tile ScoreRows::scaledQueries(const Tile &Q) const { return c.type == Type::f32 ? Q * factor : Q; }

Tile ScoreRows::scores(const Tile &products, const Block &block) const {
  const Tile S = modified(products, block);
  const std::optional<Tile> keep = visible(block);
  return keep ? select(*keep, S, -infinity) : S;
}

Tile ScoreRows::scaled(const Tile &scores) const { return scaledLast ? scores * factor : scores; }

Tile ScoreRows::modified(const Tile &products, const Block &block) const {
  const Tile scaled = c.type == Type::f32 || scaledLast ? products : products * factor;
  Var S = scaled;
  if (a.softcap) { // tanh(x) = 1 - 2 / (e^2x + 1): exact to a last bit of 1, which is what a sum with it needs
    const Tile cap = *a.softcap * unit;
    S = cap - (cap + cap) * reciprocal(exp2(scaled) + 1);
  }
  if (a.bias)
    S = S + cast(a.bias->load({batch, head, row0, block.col0}, shape()), Type::f32) * unit;
  if (a.alibiSlopes) {
    // In floats, which hold positions up to 2^24: that is fewer conversions than of the distances.
    const Tile distance = abs(cast(rows + (keys - queries), Type::f32) - cast(block.cols, Type::f32));
    S = S - a.alibiSlopes->load({batch, head}, {1}) * unit * distance;
  }
  if (c.scoreModifier)
    S = userResult("scoreModifier", c.scoreModifier(S, position(block)), Type::f32, shape()) * log2e;
  return S;
}

// Each comparison is of an index plus a scalar with another, so that the compiler sees which blocks need none.
std::optional<Tile> ScoreRows::visible(const Block &block) const {
  std::optional<Tile> keep;
  const auto require = [&](const Tile &condition) {
    const Tile all = keep ? *keep & condition : condition;
    keep.emplace(all);
  };
  if (c.keyTail || a.keyLengths)
    require(block.cols < length);
  if (a.right)
    require(rows + *a.right >= block.cols);
  if (a.left)
    require(rows + *a.left <= block.cols);
  if (c.maskPredicate)
    require(userResult("maskPredicate", c.maskPredicate(position(block)), Type::i1, shape()));
  return keep;
}

Tile ScoreRows::values(const Tile &V, const Block &block) const {
  const Tile numbers = c.type == c.weightType() ? V : cast(V, c.weightType());
  return a.keyLengths ? select(column(t.iota(blockN)) + block.col0 < length, numbers, 0) : numbers;
}

Tile ScoreRows::kept(const Tile &P, const Block &block) const {
  if (!a.dropout || !dropoutStream)
    return P;
  // In blocks of whole sixteens the bit is that of the place in the block, where a compiler sees it.
  const Tile place = blockM % 16 == 0 ? column(t.iota(blockM)) : rows;
  const Tile near = blockM % 16 == 0 ? (place & ~8) + row0 : rows & ~8;
  const Tile word = dropoutWord<Tile>(*dropoutStream, near, (place & 8) != 0, block.cols >> 1, (block.cols & 1) != 0);
  return select((word ^ std::numeric_limits<int32_t>::min()) < a.dropout->threshold, P, 0);
}

ScorePosition ScoreRows::position(const Block &block) const {
  return {batch, head, rows, block.cols, queries, keys, a.scalars, t};
}

} // namespace sectile::attention
