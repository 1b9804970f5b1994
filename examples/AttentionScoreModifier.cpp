// Attention with score and mask functions of your own: written over tiles, traced into the kernel, as fast as it.
#include "sectile/Attention.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::tile;

/// Scores fall with the logarithm of the distance, more steeply in later heads.
Tile logDistance(const Tile &score, const ScorePosition &at) {
  const Tile distance = cast(abs(at.query - at.key), Type::f32); // [rows, 1] - [1, columns]
  return score - log(distance + 1) * cast(at.head + 1, Type::f32);
}

/// A sliding window to the left in which every fourth key stays visible for ever. Its width is known at run time only.
Tile strided(const ScorePosition &at) {
  const Tile width = cast(at.scalar(0), Type::i32);
  return (at.key <= at.query) & ((at.query - at.key < width) | (floorMod(at.key, 4) == 0));
}

int main() {
  const int64_t batch = 2, length = 50, heads = 3, dim = 32;
  std::vector<float> q(batch * length * heads * dim), k(q), v(q), out(q);
  for (size_t i = 0; i < q.size(); ++i) {
    q[i] = std::sin(static_cast<float>(i));
    k[i] = std::cos(static_cast<float>(3 * i));
    v[i] = std::sin(static_cast<float>(7 * i));
  }
  const auto view = [&](std::vector<float> &x) { return ArrayView(x.data(), Type::f32, {batch, length, heads, dim}); };

  Session session(Options::fromEnvironment("cpu"));
  AttentionOptions options;
  options.scoreModifier = logDistance;
  options.maskPredicate = strided;
  options.scalars = {8}; // other numbers need no other kernel
  attentionForward(session, Stream::host(), view(q), view(k), view(v), view(out), std::nullopt, options);

  double worst = 0;
  const auto at = [&](int64_t b, int64_t i, int64_t h) { return ((b * length + i) * heads + h) * dim; };
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < length; ++i) {
        std::vector<double> expected(dim);
        double sum = 0;
        for (int64_t j = 0; j <= i; ++j) {
          if (i - j >= 8 && j % 4 != 0)
            continue;
          double score = 0;
          for (int64_t d = 0; d < dim; ++d)
            score += static_cast<double>(q[at(b, i, h) + d]) * k[at(b, j, h) + d];
          const double weight = std::exp(score / std::sqrt(dim) - std::log(i - j + 1.0) * static_cast<double>(h + 1));
          sum += weight;
          for (int64_t d = 0; d < dim; ++d)
            expected[d] += weight * v[at(b, j, h) + d];
        }
        for (int64_t d = 0; d < dim; ++d)
          worst = std::fmax(worst, std::abs(out[at(b, i, h) + d] - expected[d] / sum));
      }
  const std::string target = session.target().substr(0, session.target().find(":+")); // without the features
  std::printf("attention with a score modifier on %s: largest error %.2g\n", target.c_str(), worst);
  return worst < 1e-5 ? 0 : 1;
}
