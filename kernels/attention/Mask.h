// Causal masks, windows and their alignment, brought into one form: a band around the diagonal.
#pragma once

#include "sectile/Attention.h"

namespace sectile::attention {

/// Key j is visible to query i when  i + left <= j <= i + right,  each bound only where it is on. A bound that hides
/// nothing is off, so that it costs nothing; the others lie in [-seqlenQ, seqlenK], where sums with an index fit i32.
struct Band {
  bool hasLeft = false, hasRight = false;
  int32_t left = 0, right = 0;
};

/// For checked options (Problem.h) and seqlenQ + seqlenK <= ArrayView::maxSize.
///   causal, 2 queries, 5 keys:  right = 5 - 2 = 3     (bottom-right: the last query sees every key)
///   window left 1, top-left:    left = -1
Band bandOf(const AttentionOptions &options, int64_t seqlenQ, int64_t seqlenK);

} // namespace sectile::attention
