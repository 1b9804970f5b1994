#include "kernels/attention/Forward.h"

#include "kernels/attention/Scores.h"

#include <limits>

namespace sectile::attention {
using namespace tile;

void forward(Trace &t, const ForwardConfig &c) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr float log2e = 1.44269504f, ln2 = 0.69314718f;
  const ForwardArguments a(t, c);
  const ScoreRows s(t, c, a);
  const int64_t M = s.blockM, N = s.blockN;
  const Tile Q = s.scaledQueries(a.q.load({s.batch, s.head, s.row0, 0}, {M, c.headDim}));

  // Running maximum of each row's scores, running sums of exp2(score - m) and of exp2(score - m) * value.
  Var m = a.sink ? broadcast(a.sink->load({s.head}, {1}) * log2e, {M, 1}) : t.full(-infinity, {M, 1});
  Var l = t.full(a.sink ? 1 : 0, {M, 1});
  Var acc = t.full(0, {M, c.headDimV});

  for (const Tile index : t.range(s.firstBlock(), s.lastBlock())) {
    const ScoreRows::Block block = s.block(index);
    const Tile K = a.k.load({s.batch, s.kvHead, block.col0, 0}, {N, c.headDim});
    const Tile V = s.values(a.v.load({s.batch, s.kvHead, block.col0, 0}, {N, c.headDimV}), block);
    const Tile S = s.scores(dot(Q, transpose(K)), block);

    const Tile mNew = max(m, s.scaled(maxRows(S)));
    const Tile mSafe = select(mNew > -infinity, mNew, 0); // a row may see no key yet
    const Tile P = exp2(s.scaled(S) - mSafe), alpha = exp2(m - mSafe);
    l = l * alpha + sumRows(P);
    acc = dot(cast(s.kept(P, block), c.weightType()), V, acc * alpha);
    m = mNew;
  }

  const Tile norm = select(l == 0, 1, l); // rows that see no key give 0 and lse = -inf; NaN stays
  Var inverse = reciprocal(norm);
  if (a.dropout)
    inverse = inverse * a.dropout->keepScale;
  if (a.valueScale)
    inverse = inverse * a.valueScale->load({s.batch, s.kvHead}, {});
  a.out.store({s.batch, s.head, s.row0, 0}, cast(acc * inverse, c.outType));
  if (a.lse)
    a.lse->store({s.batch, s.head, s.row0}, reshape((m + log2(norm)) * ln2, {M})); // base 2 to natural
}

} // namespace sectile::attention
