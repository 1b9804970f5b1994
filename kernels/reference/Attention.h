// Attention computed in plain loops from the definition in sectile/Attention.h, and the judgement of a result by it.
#pragma once

#include "sectile/Attention.h"

#include <functional>
#include <string>
#include <vector>

namespace sectile::reference {

/// Where a score stands: `head` is the query head.
struct Position {
  int64_t batch, head, query, key, seqlenQ, seqlenK;
};

/// What the options' scoreModifier and maskPredicate compute, for one score. Needed when the options have them.
struct ScoreFunctions {
  std::function<double(double score, const Position &at)> scoreModifier;
  std::function<bool(const Position &at)> maskPredicate;
};

/// Results in row-major order.
struct AttentionResult {
  std::vector<double> out; ///< (batch, seqlenQ, headsQ, headDimV)
  std::vector<double> lse; ///< (batch, headsQ, seqlenQ)
};

/// The exact result: fp64 throughout. Throws UserError when the options have a function and `functions` does not.
AttentionResult attention(const ArrayView &q, const ArrayView &k, const ArrayView &v, const AttentionOptions &options,
                          const ScoreFunctions &functions = {});

/// What a framework computes operation by operation in q's type: f32 arithmetic, and every tensor that would be in
/// memory (scores, weights, out) rounded to the type; f8 tensors it brings to bf16 first. Its error is the yardstick.
AttentionResult naiveAttention(const ArrayView &q, const ArrayView &k, const ArrayView &v,
                               const AttentionOptions &options, const ScoreFunctions &functions = {});

/// The errors of a result beside those of the naive computation.
struct Verdict {
  double error = 0, naiveError = 0; ///< largest |out - exact|; infinite where one is NaN or infinite and the other not
  double lseError = 0;              ///< largest |lse - exact| / (1 + |exact|); 0 without lse
  double bound() const { return 2 * naiveError + 1e-5; }
  static constexpr double lseBound = 5e-5;
  std::string worst; ///< where `error` is, and the two values
  bool passes() const { return error <= bound() && lseError <= lseBound; }
};

/// The accepted rule for exact attention: max |out - exact| <= 2 max |naive - exact| + 1e-5.
Verdict judge(const ArrayView &out, const std::optional<ArrayView> &lse, const AttentionResult &exact,
              const AttentionResult &naive);

} // namespace sectile::reference
