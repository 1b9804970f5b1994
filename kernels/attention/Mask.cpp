#include "kernels/attention/Mask.h"

#include <algorithm>

namespace sectile::attention {

Band bandOf(const AttentionOptions &options, int64_t seqlenQ, int64_t seqlenK) {
  const int64_t diagonal = options.alignment == MaskAlignment::bottomRight ? seqlenK - seqlenQ : 0;
  const int64_t windowRight = options.causal ? 0 : options.windowRight;
  const int64_t furthest = seqlenQ + seqlenK; // a window this wide reaches past both ends, and sums cannot overflow
  Band band;
  if (options.windowLeft >= 0) {
    const int64_t left = diagonal - std::min(options.windowLeft, furthest);
    band.hasLeft = seqlenQ - 1 + left > 0; // the last query is the one that loses most
    band.left = static_cast<int32_t>(std::clamp(left, -seqlenQ, seqlenK));
  }
  if (windowRight >= 0) {
    const int64_t right = diagonal + std::min(windowRight, furthest);
    band.hasRight = right < seqlenK - 1; // the first query is
    band.right = static_cast<int32_t>(std::clamp(right, -seqlenQ, seqlenK));
  }
  return band;
}

} // namespace sectile::attention
