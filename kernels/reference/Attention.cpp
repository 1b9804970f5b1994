#include "kernels/reference/Attention.h"

#include "kernels/reference/Numbers.h"
#include "sectile/Error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace sectile::reference {
namespace {

/// Arithmetic in `Real`; what a framework would keep in memory goes through keep().
struct Exact {
  using Real = double;
  explicit Exact(Type) {}
  double keep(double value) const { return value; }
};
struct Naive {
  using Real = float;
  Type type;
  explicit Naive(Type type) : type(isStorageOnly(type) ? Type::bf16 : type) {}
  float keep(float value) const { return roundTo(type, value); }
};

template <class Real> Real dotProduct(const Real *a, const Real *b, int64_t size) {
  Real sum = 0;
  for (int64_t i = 0; i < size; ++i)
    sum += a[i] * b[i];
  return sum;
}

bool visible(const AttentionOptions &o, const ScoreFunctions &functions, const Position &at) {
  const int64_t diagonal =
      at.query + (o.alignment == MaskAlignment::bottomRight ? at.seqlenK - at.seqlenQ : int64_t{0});
  if (o.causal && at.key > diagonal)
    return false;
  if (o.windowRight >= 0 && at.key - diagonal > o.windowRight)
    return false;
  if (o.windowLeft >= 0 && diagonal - at.key > o.windowLeft)
    return false;
  if (o.keyLengths && at.key >= static_cast<int64_t>(element(*o.keyLengths, at.batch)))
    return false;
  return !o.maskPredicate || functions.maskPredicate(at);
}

/// What the numbers of an f8 tensor are multiplied by, for one head of keys.
double scaleOf(const std::optional<ArrayView> &scale, int64_t batch, int64_t headKv) {
  if (!scale)
    return 1;
  return scale->rank == 1 ? element(*scale, 0) : element(*scale, batch, headKv);
}

template <class Arithmetic>
AttentionResult compute(const ArrayView &q, const ArrayView &k, const ArrayView &v, const AttentionOptions &o,
                        const ScoreFunctions &functions) {
  using Real = Arithmetic::Real;
  if (o.scoreModifier && !functions.scoreModifier)
    throw UserError("reference: the options have a scoreModifier: give its scalar twin in ScoreFunctions");
  if (o.maskPredicate && !functions.maskPredicate)
    throw UserError("reference: the options have a maskPredicate: give its scalar twin in ScoreFunctions");

  const int64_t batch = q.sizes[0], seqlenQ = q.sizes[1], heads = q.sizes[2], headDim = q.sizes[3];
  const int64_t seqlenK = k.sizes[1], headDimV = v.sizes[3];
  const int64_t group = k.sizes[2] ? heads / k.sizes[2] : 1;
  const Arithmetic arithmetic(q.type);
  const Real infinity = std::numeric_limits<Real>::infinity();
  const Real scale = o.scale ? Real(*o.scale) : 1 / std::sqrt(Real(headDim));
  AttentionResult result;
  result.out.assign(batch * seqlenQ * heads * headDimV, 0);
  result.lse.assign(batch * heads * seqlenQ, -std::numeric_limits<double>::infinity());

  std::vector<Real> keys(seqlenK * headDim), values(seqlenK * headDimV), query(headDim), out(headDimV);
  std::vector<Real> score(seqlenK);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      // The tensors as numbers: scaled where they are f8, else as they are.
      const auto number = [&](double value, const std::optional<ArrayView> &factor) {
        return factor ? arithmetic.keep(Real(value) * Real(scaleOf(factor, b, h / group))) : Real(value);
      };
      for (int64_t j = 0; j < seqlenK; ++j) {
        for (int64_t d = 0; d < headDim; ++d)
          keys[j * headDim + d] = number(element(k, b, j, h / group, d), o.keyScale);
        for (int64_t d = 0; d < headDimV; ++d)
          values[j * headDimV + d] = number(element(v, b, j, h / group, d), o.valueScale);
      }
      for (int64_t i = 0; i < seqlenQ; ++i) {
        for (int64_t d = 0; d < headDim; ++d)
          query[d] = number(element(q, b, i, h, d), o.queryScale);

        // Scores, their maximum, and the sum of exp(score - maximum), the sink among them.
        const Real sink = o.sink ? Real(element(*o.sink, h)) : -infinity;
        Real maximum = sink;
        bool poisoned = std::isnan(sink);
        for (int64_t j = 0; j < seqlenK; ++j) {
          const Position at{b, h, i, j, seqlenQ, seqlenK};
          score[j] = -infinity;
          if (!visible(o, functions, at))
            continue;
          Real s = arithmetic.keep(arithmetic.keep(dotProduct(&query[0], &keys[j * headDim], headDim)) * scale);
          if (o.softcap > 0)
            s = arithmetic.keep(Real(o.softcap) * std::tanh(s / Real(o.softcap)));
          if (o.bias)
            s = arithmetic.keep(s + Real(element(*o.bias, b, h, i, j)));
          if (o.alibiSlopes) {
            const ArrayView &slopes = *o.alibiSlopes;
            const Real slope = Real(slopes.rank == 1 ? element(slopes, h) : element(slopes, b, h));
            s = arithmetic.keep(s - slope * Real(std::abs(i + seqlenK - seqlenQ - j)));
          }
          if (o.scoreModifier)
            s = arithmetic.keep(Real(functions.scoreModifier(s, at)));
          score[j] = s;
          poisoned |= std::isnan(s);
          maximum = std::max(maximum, s);
        }
        if (poisoned)
          maximum = std::numeric_limits<Real>::quiet_NaN();
        if (maximum == -infinity) // no key and no sink: 0 and -inf, as assigned above
          continue;
        Real sum = o.sink ? std::exp(sink - maximum) : 0;
        for (int64_t j = 0; j < seqlenK; ++j)
          sum += score[j] == -infinity ? 0 : std::exp(score[j] - maximum);
        result.lse[(b * heads + h) * seqlenQ + i] = maximum + std::log(sum);

        std::fill(out.begin(), out.end(), Real(0));
        for (int64_t j = 0; j < seqlenK; ++j) {
          if (score[j] == -infinity)
            continue;
          if (!dropoutKeeps(o.seed, o.offset, o.dropout, b, h, i, j))
            continue;
          Real weight = arithmetic.keep(std::exp(score[j] - maximum) / sum);
          if (o.dropout > 0)
            weight = arithmetic.keep(weight / (1 - Real(o.dropout)));
          for (int64_t d = 0; d < headDimV; ++d)
            out[d] += weight * values[j * headDimV + d];
        }
        for (int64_t d = 0; d < headDimV; ++d)
          result.out[((b * seqlenQ + i) * heads + h) * headDimV + d] = arithmetic.keep(out[d]);
      }
    }
  return result;
}

/// |got - expected|; both NaN, or the same infinity, is no error, and one of them alone an infinite one.
double distance(double got, double expected) {
  if (std::isnan(got) && std::isnan(expected))
    return 0;
  if (got == expected)
    return 0;
  const double difference = std::abs(got - expected);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

} // namespace

AttentionResult attention(const ArrayView &q, const ArrayView &k, const ArrayView &v, const AttentionOptions &options,
                          const ScoreFunctions &functions) {
  return compute<Exact>(q, k, v, options, functions);
}

AttentionResult naiveAttention(const ArrayView &q, const ArrayView &k, const ArrayView &v,
                               const AttentionOptions &options, const ScoreFunctions &functions) {
  return compute<Naive>(q, k, v, options, functions);
}

Verdict judge(const ArrayView &out, const std::optional<ArrayView> &lse, const AttentionResult &exact,
              const AttentionResult &naive) {
  Verdict verdict;
  const auto &[batch, seqlenQ, heads, headDimV, unused0, unused1] = out.sizes;
  size_t at = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < seqlenQ; ++i)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t d = 0; d < headDimV; ++d, ++at) {
          const double got = element(out, b, i, h, d), error = distance(got, exact.out[at]);
          verdict.naiveError = std::max(verdict.naiveError, distance(naive.out[at], exact.out[at]));
          if (error > verdict.error) {
            verdict.error = error;
            std::ostringstream worst;
            worst << "out[" << b << ", " << i << ", " << h << ", " << d << "] is " << got << ", exactly "
                  << exact.out[at];
            verdict.worst = worst.str();
          }
        }
  if (!lse)
    return verdict;
  at = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < seqlenQ; ++i, ++at) {
        const double expected = exact.lse[at];
        const double scale = std::isfinite(expected) ? 1 + std::abs(expected) : 1;
        verdict.lseError = std::max(verdict.lseError, distance(element(*lse, b, h, i), expected) / scale);
      }
  return verdict;
}

} // namespace sectile::reference
