#include "kernels/attention/Forward.h"

#include "kernels/attention/Philox.h"
#include "sectile/Error.h"

#include <cmath>
#include <limits>
#include <optional>

namespace sectile::attention {
using namespace tile;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float log2e = 1.44269504f, ln2 = 0.69314718f;

template <class Declare> auto only(bool on, Declare declare) -> std::optional<decltype(declare())> {
  if (on)
    return declare();
  return std::nullopt;
}

/// Dropout's run-time values. 64-bit numbers are two words, low and high.
struct Dropout {
  Tile seedLow, seedHigh, offsetLow, offsetHigh;
  Tile threshold; ///< dropoutThreshold() with its sign bit flipped, so that a signed comparison orders it
  Tile keepScale; ///< 1 / (1 - p)

  explicit Dropout(Trace &t)
      : seedLow(t.scalar("seed_low", Type::i32)), seedHigh(t.scalar("seed_high", Type::i32)),
        offsetLow(t.scalar("offset_low", Type::i32)), offsetHigh(t.scalar("offset_high", Type::i32)),
        threshold(t.scalar("dropout_threshold", Type::i32)), keepScale(t.scalar("keep_scale")) {}
};

/// The kernel's arguments in the order in which ForwardCall binds them. Arrays are [batch, head, row, column].
struct Arguments {
  View q, k, v;
  std::optional<View> bias, alibiSlopes, sink, keyLengths;
  View out;
  std::optional<View> lse;
  Tile scale;
  std::optional<Tile> softcap, left, right;
  std::optional<Dropout> dropout;

  Arguments(Trace &t, const ForwardConfig &c)
      : q(t.input("q", c.type, 4)), k(t.input("k", c.type, 4)), v(t.input("v", c.type, 4)),
        bias(only(c.bias, [&] { return t.input("bias", c.biasType, 4); })),
        alibiSlopes(only(c.alibi, [&] { return t.input("alibi_slopes", Type::f32, 2); })),
        sink(only(c.sink, [&] { return t.input("sink", Type::f32, 1); })),
        keyLengths(only(c.keyLengths, [&] { return t.input("key_lengths", Type::i32, 1); })),
        out(t.output("out", c.type, 4)), lse(only(c.lse, [&] { return t.output("lse", Type::f32, 3); })),
        scale(t.scalar("scale")), softcap(only(c.softcap, [&] { return t.scalar("softcap"); })),
        left(only(c.left, [&] { return t.scalar("left", Type::i32); })),
        right(only(c.right, [&] { return t.scalar("right", Type::i32); })),
        dropout(only(c.dropout, [&] { return Dropout(t); })) {}
};

/// What a user's function returned, stretched to the score tile.
Tile userResult(const char *option, const Tile &result, Type type, const Shape &shape) {
  if (result.type() != type)
    throw UserError("attention: " + std::string(option) + " returned a tile of type " +
                    std::string(typeName(result.type())) + ": it must return " + std::string(typeName(type)));
  return broadcast(result, shape);
}

int64_t roundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

} // namespace

void forward(Trace &t, const ForwardConfig &c) {
  const int64_t blockM = t.schedule().blockM, blockN = t.schedule().blockN;
  const Shape scoreShape{blockM, blockN};
  const Arguments a(t, c);
  const Tile row0 = t.program(0) * blockM, head = t.program(1), batch = t.program(2);
  const Tile queries = a.q.dim(2), keys = a.k.dim(2);
  const Tile kvHead = floorDiv(head, floorDiv(a.q.dim(1), a.k.dim(1))); // grouped-query attention
  const Tile rows = column(t.iota(blockM)) + row0;

  // Scores are kept in units of ln 2, for exp2; a user's modifier sees natural ones.
  const float unit = c.scoreModifier ? 1.0f : log2e;
  const Tile factor = c.softcap ? a.scale / *a.softcap : a.scale * unit;
  const Tile rawQ = a.q.load({batch, head, row0, 0}, {blockM, c.headDim});
  const bool scaledQ = c.type == Type::f32; // one rounding more, which 16-bit queries could not afford
  const Tile Q = scaledQ ? rawQ * factor : rawQ;

  // The keys that some row of this block can see.
  const Tile length = c.keyLengths ? min(a.keyLengths->load({batch}, {}), keys) : keys;
  const Tile end = c.right ? min(length, row0 + blockM + *a.right) : length;
  const Tile first = c.left ? floorDiv(max(row0 + *a.left, 0), blockN) : t.full(0, {}, Type::i32);

  const std::optional<std::array<Tile, 4>> dropoutStream = only(c.dropout, [&] {
    const Dropout &d = *a.dropout;
    return philox<Tile>({d.offsetLow, d.offsetHigh, batch, head}, {d.seedLow, d.seedHigh});
  });

  Var m(c.sink ? broadcast(a.sink->load({head}, {1}) * log2e, {blockM, 1})
               : t.full(-infinity, {blockM, 1})); // running row maximum
  Var l(t.full(c.sink ? 1 : 0, {blockM, 1}));     // running row sum
  Var acc(t.full(0, {blockM, c.headDimV}));       // running weighted sum of values

  for (const Tile block : t.range(first, ceilDiv(end, blockN))) {
    const Tile col0 = block * blockN, cols = row(t.iota(blockN)) + col0;
    const Tile K = a.k.load({batch, kvHead, col0, 0}, {blockN, c.headDim});
    const Tile rawV = a.v.load({batch, kvHead, col0, 0}, {blockN, c.headDimV});
    // 0 * NaN is NaN: what lies past a key length may be anything and must not count.
    const Tile V = c.keyLengths ? select(column(t.iota(blockN)) + col0 < length, rawV, 0) : rawV;

    const auto score = [&]() -> Tile {
      const Tile products = dot(Q, transpose(K));
      const Tile scaled = scaledQ ? products : products * factor;
      const Tile capped = c.softcap ? tanh(scaled) * (*a.softcap * unit) : scaled;
      const Tile biased =
          c.bias ? capped + cast(a.bias->load({batch, head, row0, col0}, scoreShape), Type::f32) * unit : capped;
      const Tile sloped = c.alibi ? biased - a.alibiSlopes->load({batch, head}, {1}) * unit *
                                                 cast(abs(rows + (keys - queries) - cols), Type::f32)
                                  : biased;
      if (!c.scoreModifier)
        return sloped;
      const ScorePosition at{batch, head, rows, cols, queries, keys, t};
      return userResult("scoreModifier", c.scoreModifier(sloped, at), Type::f32, scoreShape) * log2e;
    };
    const auto masked = [&](const Tile &S) -> Tile {
      std::optional<Tile> keep;
      const auto require = [&](const Tile &condition) {
        const Tile all = keep ? *keep & condition : condition;
        keep.emplace(all);
      };
      if (c.keyTail || c.keyLengths)
        require(cols < length);
      if (c.right)
        require(rows + *a.right >= cols);
      if (c.left)
        require(rows + *a.left <= cols);
      if (c.maskPredicate)
        require(userResult("maskPredicate", c.maskPredicate({batch, head, rows, cols, queries, keys, t}), Type::i1,
                           scoreShape));
      return keep ? select(*keep, S, -infinity) : S;
    };
    const Tile S = masked(score());

    const Tile mNew = max(m, maxRows(S));
    const Tile mSafe = select(mNew > -infinity, mNew, 0); // a row may see no key yet
    const Tile P = exp2(S - mSafe), alpha = exp2(m - mSafe);
    l = l * alpha + sumRows(P);
    m = mNew;

    const auto dropped = [&]() -> Tile { // does not change l: the softmax is of all weights
      if (!c.dropout)
        return P;
      const Tile word = dropoutWord<Tile>(*dropoutStream, rows, cols);
      return select((word ^ std::numeric_limits<int32_t>::min()) < a.dropout->threshold, P, 0);
    };
    acc = dot(cast(dropped(), c.type), V, acc * alpha);
  }

  const Tile norm = select(l == 0, 1, l); // rows that see no key give 0 and lse = -inf; NaN stays
  const Tile inverse = c.dropout ? a.dropout->keepScale / norm : 1 / norm;
  a.out.store({batch, head, row0, 0}, cast(acc * inverse, c.type));
  if (c.lse)
    a.lse->store({batch, head, row0}, reshape((m + log2(norm)) * ln2, {blockM}));
}

ForwardCall::ForwardCall(const ForwardProblem &problem, const ForwardArrays &arrays, const AttentionOptions &options,
                         const Schedule &schedule)
    : schedule(schedule) {
  const Band band = bandOf(options, problem.seqlenQ, problem.seqlenK);
  config.scoreModifier = options.scoreModifier;
  config.maskPredicate = options.maskPredicate;
  config.headDim = static_cast<int16_t>(roundUp(problem.headDim, ForwardConfig::headDimStep));
  config.headDimV = static_cast<int16_t>(roundUp(problem.headDimV, ForwardConfig::headDimStep));
  config.type = problem.type;
  config.bias = options.bias.has_value();
  config.biasType = config.bias ? options.bias->type : Type::f32;
  config.alibi = options.alibiSlopes.has_value();
  config.sink = options.sink.has_value();
  config.softcap = options.softcap > 0;
  config.dropout = options.dropout > 0;
  config.lse = arrays.lse != nullptr;
  config.keyLengths = options.keyLengths.has_value();
  config.left = band.hasLeft;
  config.right = band.hasRight;
  config.keyTail = problem.seqlenK % schedule.blockN != 0;
  grid = {(problem.seqlenQ + schedule.blockM - 1) / schedule.blockM, problem.headsQ, problem.batch};

  const auto headsFirst = [](const ArrayView &array) { return array.permuted({0, 2, 1, 3}); };
  bind(headsFirst(arrays.q));
  bind(headsFirst(arrays.k));
  bind(headsFirst(arrays.v));
  if (config.bias)
    bind(*options.bias);
  if (config.alibi) {
    ArrayView slopes = *options.alibiSlopes;
    if (slopes.rank == 1) { // one for all batches
      slopes.rank = 2;
      slopes.sizes = {problem.batch, slopes.sizes[0]};
      slopes.strides = {0, slopes.strides[0]};
    }
    bind(slopes);
  }
  if (config.sink)
    bind(*options.sink);
  if (config.keyLengths)
    bind(*options.keyLengths);
  bind(headsFirst(arrays.out));
  if (config.lse)
    bind(*arrays.lse);
  bind(options.scale.value_or(1 / std::sqrt(static_cast<float>(problem.headDim))));
  if (config.softcap)
    bind(options.softcap);
  if (config.left)
    bind(band.left);
  if (config.right)
    bind(band.right);
  if (config.dropout) {
    for (const uint64_t number : {options.seed, options.offset}) {
      bind(static_cast<int32_t>(number));
      bind(static_cast<int32_t>(number >> 32));
    }
    bind(static_cast<int32_t>(dropoutThreshold(options.dropout) ^ 0x80000000u));
    bind(1 / (1 - options.dropout));
  }
}

} // namespace sectile::attention
